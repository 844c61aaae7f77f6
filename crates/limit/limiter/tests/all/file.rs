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
    let file: serde_json::Value = serde_json::from_str(include_str!("../../../../../vectors/limit.json")).unwrap();
    let refused = file["refused"].as_array().unwrap();
    assert!(refused.len() >= 15);
    for case in refused {
        assert_eq!(error(&case["settings"].to_string()), case["error"].as_str().unwrap(), "{case}");
    }
    assert!(error(r#"{"ictcp_window": {"gamma1": 0.6}}"#).contains(" is above gamma2 1/2"));
    assert!(error("{").starts_with("invalid JSON: "));
}

#[test]
fn error_names_the_file() {
    let why = Settings::from_file("/nonexistent/limit.json").unwrap_err().to_string();
    assert!(why.starts_with("/nonexistent/limit.json: "), "{why}");
}
