//! Settings from a file.

use fanin_limit::{Law, Settings};
use fanin_units::{Rate, Share, Time};

fn error(json: &str) -> String {
    Settings::from_json(json).unwrap_err().to_string()
}

#[test]
fn reads_every_key() {
    let settings = Settings::from_json(
        r#"{"law": "tsw", "link": "25 Gbit/s", "budget": "1 MiB", "expected": "2 KB",
            "sliding_window": {"initial": 3, "grows": "window", "late": "20 ms"}, "ictcp_window": {"usable": 0.8}}"#,
    )
    .unwrap();
    assert_eq!(settings.law, Law::SlidingWindow);
    assert_eq!((settings.link, settings.budget, settings.expected), (Rate(25_000_000_000), Some(1 << 20), 2000));
    assert_eq!(
        (settings.fanout.sliding_window.initial, settings.fanout.sliding_window.late),
        (3, Time::from_millis(20))
    );
    assert_eq!(settings.fanout.ictcp_window.usable, Share::of(8, 10));
    assert_eq!(Settings::from_json("{}").unwrap(), Settings::default());
}

#[test]
fn errors_name_the_key_the_problem_and_the_solution() {
    for (json, wanted) in [
        (r#"{"law": "gradient"}"#, "`law`: \"gradient\" is no concurrency limit; use one of one-all, sw, ictcp-window"),
        (r#"{"law": "sicc"}"#, "`law`: \"sicc\" is no concurrency limit; use one of one-all, sw, ictcp-window"),
        (r#"{"laws": 1}"#, "`laws`: unknown key; use one of law, link, budget, expected, sliding_window, ictcp_window"),
        (
            r#"{"link": "1 GB/s"}"#,
            "`link`: \"1 GB/s\": it is in bytes per second: write `8 Gbit/s`; write a rate above zero such as \"10 Gbit/s\"",
        ),
        (r#"{"link": "0 bit/s"}"#, "`link`: \"0 bit/s\": it is zero; write a rate above zero such as \"10 Gbit/s\""),
        (r#"{"budget": 1000}"#, "`budget`: 1000: it is no text; write a size from 1 B to 256 TiB such as \"64 KiB\""),
        (
            r#"{"budget": "0 B"}"#,
            "`budget`: \"0 B\": it is out of range; write a size from 1 B to 256 TiB such as \"64 KiB\"",
        ),
        (r#"{"sliding_window": {"initial": 0}}"#, "`sliding_window.initial`: 0: it is below 1"),
        (
            r#"{"sliding_window": {"initial": -1}}"#,
            "`sliding_window.initial`: -1: it is no whole number below 2^32; write one such as 100",
        ),
        (r#"{"sliding_window": {"late": "101 s"}}"#, "`sliding_window.late`: \"101 s\": it is above 100 s"),
        (
            r#"{"sliding_window": {"grows": "often"}}"#,
            "`sliding_window.grows`: \"often\": use \"answer\" or \"window\"",
        ),
        (r#"{"ictcp_window": {"usable": 2}}"#, "`ictcp_window.usable`: 2: it is too large; write a share such as 0.9"),
        (r#"{"ictcp_window": {"usable": "1/2000"}}"#, "`ictcp_window.usable`: \"1/2000\": it is below 1/1024"),
        (r#"{"ictcp_window": [1]}"#, "`ictcp_window`: it is no object; write {\"most\": 100}"),
        ("[]", "the settings are not an object; write {\"law\": \"ictcp-window\", \"link\": \"10 Gbit/s\"}"),
    ] {
        assert_eq!(error(json), wanted, "{json}");
    }
    assert!(error(r#"{"ictcp_window": {"gamma1": 0.6}}"#).contains(" is above gamma2 1/2"));
    assert!(
        error(r#"{"ictcp_window": {"gamma": 0.6}}"#)
            .starts_with("`ictcp_window.gamma`: unknown key; use one of initial, ")
    );
    assert!(error("{").starts_with("invalid JSON: "));
}

#[test]
fn error_names_the_file() {
    let why = Settings::from_file("/nonexistent/limit.json").unwrap_err().to_string();
    assert!(why.starts_with("/nonexistent/limit.json: "), "{why}");
}
