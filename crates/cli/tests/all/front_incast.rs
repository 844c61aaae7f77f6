//! Prediction of incast by `fanin front`: from assumed, then from observed multigets; and `--advise`.
#![expect(clippy::disallowed_types, reason = "simple clients")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use fanin_testing::own_address;
use serde_json::Value;

use super::common::Place;
use super::front::server;

/// Bytes of every value.
const VALUE: usize = 560;

/// A server that has every key; returns its address.
fn full_server() -> String {
    server(|line| {
        let value = |key: &str| format!("VALUE {key} 0 {VALUE}\r\n{}\r\n", "x".repeat(VALUE));
        let values: String = line.split(' ').skip(1).map(value).collect();
        format!("{values}END\r\n")
    })
}

/// Sixteen servers behind a port of 200 Mbit/s with 64 KiB; small multigets are assumed.
fn settings(at: &str, more: &str) -> String {
    let servers: Vec<String> = (0..16).map(|_| full_server()).collect();
    format!(
        "threads = 1\n[messages]\nformat = \"json\"\n[[pool]]\nname = \"a\"\nlisten = \"{at}\"\nservers = {servers:?}\nlink = \"200 Mbit/s\"\n\
         {more}incast = {{ buffer = \"64 KiB\", rto_min = \"200 ms\", keys = 32, value = \"100 B\" }}\n"
    )
}

/// Requests 300 keys, this many times; then returns the figures of `stats`.
fn request(address: &str, times: usize) -> Vec<String> {
    let mut client = TcpStream::connect(address).unwrap();
    let mut lines = BufReader::new(client.try_clone().unwrap()).lines().map_while(Result::ok);
    let keys: Vec<String> = (0..300).map(|number| format!("{number}-key")).collect();
    for _ in 0..times {
        client.write_all(format!("get {}\r\n", keys.join(" ")).as_bytes()).unwrap();
        let values = lines.by_ref().take_while(|line| line != "END").filter(|line| line.starts_with("VALUE ")).count();
        assert_eq!(values, 300);
    }
    client.write_all(b"stats\r\n").unwrap();
    lines.take_while(|line| line != "END").collect()
}

/// Messages of predictions.
fn predictions(child: &mut Child) -> impl Iterator<Item = Value> + use<> {
    let lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    lines.map(|line| serde_json::from_str::<Value>(&line).expect(&line)).filter(|message| message["event"] == "incast")
}

#[test]
fn observed_multigets_change_prediction_limit_and_advice() {
    let (place, at) = (Place::with(""), own_address().to_string());
    fs::write(place.path("front.toml"), settings(&at, "")).unwrap();
    let front = ["front", "--config", "front.toml"];
    let advise = |more: &[&str]| {
        let output = place.fanin(&[&front, more].concat());
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let assumed = advise(&["--advise"]);
    let says = "a: multigets of 32 keys from 14 servers, 125 B each (assumed): no incast predicted up to 16 servers; mean time ";
    assert!(assumed.starts_with(says) && assumed.contains("Nothing needs changing."), "{assumed}");
    let mut child = place.command(&front).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut messages = predictions(&mut child);
    let first = messages.next().unwrap();
    assert_eq!((first["observed"].as_bool(), first["servers"].as_u64()), (Some(false), Some(14)), "{first}");
    assert_eq!(
        (first["level"].as_str(), first.get("limit"), first.get("collapse_servers")),
        (Some("INFO"), None, None)
    );
    request(&at, 60);
    let second = messages.next().unwrap();
    let number = |name: &str| second[name].as_u64().unwrap();
    // A client that has just connected may request fewer keys at once.
    assert!(second["observed"] == true && (250..=300).contains(&number("keys")), "{second}");
    // A server has 19 values of 584 B: six responses are 66 kB, and 300 values take 7 ms.
    assert!((580..590).contains(&number("value_bytes")) && number("servers") == 16, "{second}");
    assert!((4..=10).contains(&number("collapse_servers")) && (2..=6).contains(&number("limit")), "{second}");
    assert!(number("unlimited_us") > 3 * number("expected_us"), "{second}");
    assert!((6_000..11_000).contains(&number("expected_us")) && second["sustains"] == true, "{second}");
    let limit = format!("STAT a.incast_limit {}", number("limit"));
    let stats = request(&at, 1);
    assert!(stats.contains(&limit) && stats.contains(&"STAT a.incast_basis observed".to_owned()), "{stats:?}");
    let observed = advise(&["--advise", "advice"]);
    assert!(observed.starts_with("a: multigets of ") && observed.contains(" keys from 16 servers, "), "{observed}");
    assert!(observed.contains("(observed): without a limit they are predicted to collapse from "), "{observed}");
    assert!(observed.contains("advice/a.toml: sw+cubic sustains 16 servers: "), "{observed}");
    let compared = place.fanin(&["compare", "advice/a.toml"]);
    assert_eq!(compared.status.code(), Some(0), "{}", String::from_utf8_lossy(&compared.stderr));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn pool_without_a_limit_is_warned_and_gets_remedies() {
    let (place, at) = (Place::with(""), own_address().to_string());
    let text = settings(&at, "multiget = \"one-all\"\n").replace("keys = 32, value = \"100 B\"", "keys = 600");
    fs::write(place.path("front.toml"), text).unwrap();
    let front = ["front", "--config", "front.toml"];
    let mut child = place.command(&front).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let message = predictions(&mut child).next().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!((message["level"].as_str(), message["sustains"].as_bool()), (Some("WARN"), Some(false)), "{message}");
    let says = message["message"].as_str().unwrap();
    assert!(says.ends_with("; `one-all` has no limit: set multiget = \"sliding-window\""), "{says}");
    let output = place.fanin(&[&front[..], &["--advise"]].concat());
    let told = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(told.contains("a concurrency limit of at most ") && told.contains("RTOmin of "), "{told}");
}

#[test]
fn advice_needs_a_pool_with_a_network() {
    let place = Place::with("");
    fs::write(place.path("front.toml"), "[[pool]]\nlisten = \"127.0.0.1:0\"\nservers = [\"127.0.0.1:1\"]\n").unwrap();
    let output = place.fanin(&["front", "--config", "front.toml", "--advise"]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("--advise: no pool has `incast`: add incast = { buffer = "), "{told}");
    let output = place.fanin(&["front", "--config", "front.toml", "--advise", "--check"]);
    assert_eq!(output.status.code(), Some(2));
}
