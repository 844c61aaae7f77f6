//! Messages and spans for an OpenTelemetry collector.
#![expect(clippy::disallowed_types, reason = "a collector that waits for its clients, as simple programs do")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use fanin_daemon::Settings;
use fanin_testing::LIMIT;
use prost::Message;

use crate::support::{Cluster, Manner, own_address};

/// Environment variable with the collector of a front end.
const COLLECTOR: &str = "FANIN_TEST_COLLECTOR";
/// Delay of the servers of the slow multiget.
const DELAY: Duration = Duration::from_millis(50);

/// A process of its own for the other tests, since a process has one collector.
#[test]
#[ignore = "the other tests start it"]
#[expect(clippy::disallowed_methods, reason = "the test that starts this process chooses the collector")]
fn front_end() {
    let Ok(collector) = std::env::var(COLLECTOR) else { return };
    let cluster = Cluster::with(2, &format!("[messages]\notlp = \"{collector}\""), "slow = \"40 ms\"");
    let keys = cluster.filled(20);
    cluster.servers.iter().for_each(|server| server.set(Manner::Slow(DELAY.as_millis() as u64)));
    assert_eq!(cluster.client().get(&keys), (keys, "END".to_owned()));
    cluster.front.stop();
    // It ends while its collector says nothing.
    cluster.front.wait().unwrap();
}

/// Runs a front end with a collector; returns its messages on stderr.
fn run(collector: SocketAddr) -> String {
    let mut front_end = Command::new(std::env::current_exe().unwrap());
    front_end.args(["--exact", "opentelemetry::front_end", "--ignored", "--nocapture"]);
    let output = front_end.env(COLLECTOR, format!("http://{collector}")).output().unwrap();
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{messages}");
    assert_eq!(messages.matches("a multiget of 20 keys").count(), 1, "{messages}");
    messages
}

/// Reads a request; returns its path and its body.
fn receive(mut stream: TcpStream) -> (String, Vec<u8>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let lines = reader.by_ref().lines().map(Result::unwrap);
    let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    let length = head.iter().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    reader.read_exact(&mut body).unwrap();
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
    (head[0].split(' ').nth(1).unwrap().to_owned(), body)
}

fn contains(body: &[u8], part: &[u8]) -> bool {
    body.windows(part.len()).any(|window| window == part)
}

#[test]
fn collector_gets_record_and_span_of_slow_multiget() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || listener.incoming().try_for_each(|stream| sender.send(receive(stream.unwrap()))));
    let messages = run(address);
    assert!(!messages.contains("OpenTelemetry collector"), "{messages}");
    let mut received: Vec<(String, Vec<u8>)> = Vec::new();
    let mut find = |wanted: &str, part: &[u8]| loop {
        if let Some((_, body)) = received.iter().find(|(path, body)| path == wanted && contains(body, part)) {
            return body.clone();
        }
        received.push(receiver.recv_timeout(LIMIT).unwrap());
    };
    let [logs, traces] = [find("/v1/logs", b"a multiget of 20 keys"), find("/v1/traces", b"slow_multiget")];
    let spans = Traces::decode(&traces[..]).unwrap().resources.remove(0).scopes.remove(0).spans;
    let [span] = &spans[..] else { panic!("{spans:?}") };
    for part in [&b"service.name"[..], b"fanin", b"slow_multiget", &span.trace] {
        assert!(contains(&logs, part), "{part:?} is not in {}", String::from_utf8_lossy(&logs));
    }
    assert!(contains(&traces, b"service.name") && contains(&traces, b"fanin"));
    assert!(span.name == "slow_multiget" && span.end - span.start >= DELAY.as_nanos() as u64, "{span:?}");
    let attributes: BTreeMap<&str, &Value> =
        span.attributes.iter().map(|one| (one.key.as_str(), one.value.as_ref().unwrap())).collect();
    let words = ["pool", "why"].map(|key| attributes[key].text.as_deref());
    assert_eq!(words, [Some("pool0"), Some("the server was slow")]);
    assert_eq!(["keys", "servers"].map(|key| attributes[key].number), [Some(20), Some(2)]);
    assert!(attributes["slowest"].text.as_ref().is_some_and(|server| server.starts_with("127.0.0.1:")));
    let times = ["waited_us", "responded_us", "unread_us"].map(|key| attributes[key].number.unwrap());
    assert!(times[1] >= DELAY.as_micros() as i64, "{times:?}");
    let took = (span.end - span.start) / 1000;
    assert!(times.iter().sum::<i64>().abs_diff(took as i64) < 1000, "{times:?} of {took}");
}

#[test]
fn unreachable_collector_delays_nothing() {
    let messages = run(own_address());
    assert_eq!(messages.matches("the OpenTelemetry collector").count(), 1, "{messages}");
}

#[test]
fn silent_collector_delays_end_only_briefly() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    run(listener.local_addr().unwrap());
}

#[test]
fn collector_cannot_change_in_a_reload() {
    let pool = "[[pool]]\nlisten = \"127.0.0.1:0\"\nservers = [\"127.0.0.1:1\"]\n";
    let plain = Settings::of_file("f.toml", pool).unwrap();
    let sent = format!("[messages]\notlp = \"http://127.0.0.1:4318\"\n{pool}");
    let refused = plain.check_reload(&Settings::of_file("f.toml", &sent).unwrap()).unwrap_err().to_string();
    assert!(refused.starts_with("[messages] cannot change in a reload"), "{refused}");
}

/// A request with spans, as far as these tests read it.
#[derive(Clone, PartialEq, Message)]
struct Traces {
    #[prost(message, repeated, tag = "1")]
    resources: Vec<OfResource>,
}

#[derive(Clone, PartialEq, Message)]
struct OfResource {
    #[prost(message, repeated, tag = "2")]
    scopes: Vec<OfScope>,
}

#[derive(Clone, PartialEq, Message)]
struct OfScope {
    #[prost(message, repeated, tag = "2")]
    spans: Vec<Span>,
}

#[derive(Clone, PartialEq, Message)]
struct Span {
    #[prost(bytes = "vec", tag = "1")]
    trace: Vec<u8>,
    #[prost(string, tag = "5")]
    name: String,
    #[prost(fixed64, tag = "7")]
    start: u64,
    #[prost(fixed64, tag = "8")]
    end: u64,
    #[prost(message, repeated, tag = "9")]
    attributes: Vec<Attribute>,
}

#[derive(Clone, PartialEq, Message)]
struct Attribute {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(message, optional, tag = "2")]
    value: Option<Value>,
}

#[derive(Clone, PartialEq, Message)]
struct Value {
    #[prost(string, optional, tag = "1")]
    text: Option<String>,
    #[prost(int64, optional, tag = "3")]
    number: Option<i64>,
}
