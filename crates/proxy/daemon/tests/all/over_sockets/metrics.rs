//! Metrics over HTTP: their figures, and clients that misbehave.
#![expect(clippy::disallowed_types, reason = "a simple HTTP client")]

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use fanin_testing::{LIMIT, wait_for};

use super::cluster;
use crate::support::{Client, Cluster, Manner, now, value};

fn exposed(servers: usize, more: &str) -> Cluster {
    cluster(servers, &format!("[metrics]\nlisten = \"127.0.0.1:0\"\n{more}"), "")
}

/// Sends a request, and returns the whole response.
fn ask(at: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut response = Vec::new();
    stream.read_to_end(&mut response).unwrap();
    String::from_utf8_lossy(&response).into_owned()
}

pub fn get(at: SocketAddr, path: &str, more: &str) -> String {
    ask(at, &format!("GET {path} HTTP/1.1\r\nHost: here\r\n{more}\r\n"))
}

/// Samples by their name with labels.
fn samples(cluster: &Cluster) -> BTreeMap<String, f64> {
    let response = get(cluster.front.metrics_at().unwrap(), "/metrics", "");
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    let lines = body.lines().filter(|line| !line.starts_with('#'));
    let sample = |line: &str| line.rsplit_once(' ').map(|(name, value)| (name.to_owned(), value.parse().unwrap()));
    lines.filter_map(sample).collect()
}

/// Waits until samples fit; a response is reused for a moment.
fn wait(cluster: &Cluster, mut fits: impl FnMut(&BTreeMap<String, f64>) -> bool) -> BTreeMap<String, f64> {
    wait_for("figures that fit", || {
        let found = samples(cluster);
        if fits(&found) { Ok(found) } else { Err(found) }
    })
}

#[test]
fn requests_are_counted_by_pool_and_command() {
    let cluster = exposed(3, "hot_keys = 3\n");
    let keys = cluster.filled(20);
    let mut client = cluster.client();
    client.get(&keys);
    client.get(&["0-key".to_owned()]);
    client.get(&["none".to_owned(), "1-key".to_owned()]);
    client.ask("mg none v\r\n");
    client.ask("delete 5-key\r\n");
    client.ask("incr 1-key 1\r\n");
    let count = |command: &str| format!("fanin_request_seconds_count{{pool=\"pool0\",command=\"{command}\"}}");
    // Figures may have been read between a request's end and its count.
    let none_is_active = |found: &BTreeMap<_, _>| found["fanin_requests_active"] == 0.0;
    let last_is_counted = |found: &BTreeMap<_, _>| found.get(&count("other")).is_some_and(|count| *count >= 1.0);
    let found = wait(&cluster, |found| none_is_active(found) && last_is_counted(found));
    let counts = ["get", "multiget", "store", "delete"].map(|command| found[&count(command)]);
    assert_eq!(counts, [2.0, 2.0, 20.0, 1.0]);
    for (name, number) in [
        ("fanin_get_keys_total", 23.0),
        ("fanin_meta_gets_total", 1.0),
        ("fanin_get_hits_total", 22.0),
        ("fanin_get_misses_total", 2.0),
        ("fanin_stores_total", 20.0),
        ("fanin_multiget_keys_sum{pool=\"pool0\"}", 22.0),
        ("fanin_multiget_keys_bucket{le=\"2.0\",pool=\"pool0\"}", 1.0),
        ("fanin_multiget_servers_count{pool=\"pool0\"}", 2.0),
        ("fanin_multiget_limit_count{pool=\"pool0\"}", 2.0),
        ("fanin_batch_wait_seconds_count{pool=\"pool0\"}", found["fanin_batches_total"]),
        ("fanin_multiget_servers_sum{pool=\"pool0\"}", found["fanin_batches_total"]),
        ("fanin_threads", 2.0),
        ("fanin_ready", 1.0),
        ("fanin_errors_total{cause=\"down\"}", 0.0),
    ] {
        let swapped = name.replace("{le=\"2.0\",pool=\"pool0\"}", "{pool=\"pool0\",le=\"2\"}");
        let value = found.get(name).or(found.get(&swapped));
        assert_eq!(value, Some(&number), "{name}: {found:#?}");
    }
    let p = |of: &str| found[&format!("fanin_request_seconds_{of}{{pool=\"pool0\",command=\"multiget\"}}")];
    assert!(p("sum") > 0.0 && p("sum") < 1.0);
    let families = get(cluster.front.metrics_at().unwrap(), "/metrics", "");
    assert!(families.lines().filter(|line| line.starts_with("# TYPE fanin_")).count() >= 30);
}

#[test]
fn servers_have_response_times_and_tcps_figures() {
    let cluster = exposed(2, "");
    let keys = cluster.filled(30);
    let of = |name: &str, server: usize| {
        format!("fanin_server_{name}{{pool=\"pool0\",server=\"{}\"}}", cluster.servers[server].address)
    };
    let found = wait(&cluster, |found| [0, 1].iter().all(|server| found[&of("rtt_seconds", *server)] > 0.0));
    assert_eq!([0, 1].map(|server| found[&of("up", server)]), [1.0, 1.0]);
    assert_eq!([0, 1].map(|server| found[&of("response_seconds_count", server)]).iter().sum::<f64>(), 30.0);
    assert!(found[&of("rtt_seconds", 0)] < 0.1 && found[&of("retransmits_total", 0)] < 30.0);
    cluster.servers[1].set(Manner::Hangs);
    let his = cluster.keys_of(1, &keys);
    let (_, end) = cluster.client().get(&his[..1]);
    assert!(end.starts_with("SERVER_ERROR "), "{end}");
    let failure = of("failures_total", 1).replace('}', ",cause=\"timeout\"}");
    let found = wait(&cluster, |found| found[&failure] > 0.0);
    assert_eq!((found[&of("up", 1)], found[&of("up", 0)]), (0.0, 1.0));
    assert!(found["fanin_errors_total{cause=\"timeout\"}"] > 0.0);
}

#[test]
fn hot_keys_are_reported_only_if_wanted() {
    let cluster = exposed(2, "hot_keys = 2\n");
    let mut client = cluster.client();
    let odd = "a\"b\\\u{e9}";
    let ask: String = (0..100).map(|number| format!("get {odd}\r\nget {odd}\r\nget cold{number}\r\n")).collect();
    let hot = |found: &BTreeMap<String, f64>| -> Vec<(String, f64)> {
        let hot = found.iter().filter(|(name, _)| name.starts_with("fanin_hot_key_share"));
        hot.map(|(name, value)| (name.clone(), *value)).collect()
    };
    let found = wait(&cluster, |found| {
        client.send(&ask);
        (0..300).for_each(|_| assert_eq!(client.line(), "END"));
        hot(found).iter().any(|(_, share)| (0.4..0.9).contains(share))
    });
    let names: Vec<(String, f64)> = hot(&found);
    assert!(names.len() <= 2);
    // Prometheus' escapes of escaped bytes.
    let name = "fanin_hot_key_share{pool=\"pool0\",key=\"a\\\\\\\"b\\\\\\\\\\\\xc3\\\\xa9\"}";
    assert!(found.contains_key(name), "{names:?}");
    let without = exposed(1, "");
    without.filled(100);
    assert_eq!(hot(&samples(&without)), []);
}

#[test]
fn endpoint_has_other_paths_and_formats() {
    let cluster = exposed(1, "");
    let at = cluster.front.metrics_at().unwrap();
    let status = |response: &str| response.split(' ').nth(1).unwrap_or_default().to_owned();
    assert_eq!(status(&get(at, "/healthz", "")), "200");
    assert_eq!(status(&get(at, "/ready", "")), "200");
    assert_eq!(status(&get(at, "/other", "")), "404");
    assert_eq!(status(&ask(at, "POST /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")), "405");
    assert_eq!(status(&ask(at, "nonsense\r\n\r\n")), "400");
    let open = get(at, "/metrics", "Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5\r\n");
    assert!(open.contains("application/openmetrics-text") && open.ends_with("# EOF\n"));
    assert!(open.contains("# TYPE fanin_requests counter\n") && open.contains("\nfanin_requests_total "));
    let protobuf = get(
        at,
        "/metrics",
        "Accept: application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited\r\n",
    );
    assert!(protobuf.contains("application/vnd.google.protobuf") && protobuf.contains("fanin_requests_total"));
    let head = ask(at, "HEAD /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(head.ends_with("\r\n\r\n"), "{head}");
    // Draining: the endpoint is there until the last client is served.
    cluster.filled(1);
    cluster.servers[0].set(Manner::Hangs);
    let mut client = cluster.client();
    client.send("get 0-key\r\n");
    wait(&cluster, |found| found["fanin_requests_active"] > 0.0);
    cluster.front.stop();
    assert_eq!(
        (status(&get(at, "/ready", "")), status(&get(at, "/healthz", ""))),
        ("503".to_owned(), "200".to_owned())
    );
    assert!(client.values().1.starts_with("SERVER_ERROR "));
    cluster.front.wait().unwrap();
    TcpStream::connect(at).unwrap_err();
}

#[test]
fn flood_and_stalling_clients_harm_nothing() {
    let cluster = exposed(1, "");
    let at = cluster.front.metrics_at().unwrap();
    // A header without end is refused.
    let mut stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let _ = stream.write_all(format!("GET /metrics HTTP/1.1\r\nA: {}", "x".repeat(1 << 20)).as_bytes());
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
    assert!(!rest.starts_with(b"HTTP/1.1 200"));
    // More connections than are served: some that say nothing, some that do not read.
    let stalled: Vec<TcpStream> = (0..100)
        .map(|number| {
            let mut stream = TcpStream::connect(at).unwrap();
            let _ = stream.write_all(if number % 2 == 0 {
                b"GET /metrics HTTP/1.1\r\n"
            } else {
                b"GET /metrics HTTP/1.1\r\nA: a\r\n\r\n"
            });
            stream
        })
        .collect();
    // Clients of the front end notice nothing.
    let mut client = cluster.client();
    for number in 0..200 {
        let key = format!("{number}-key");
        assert_eq!(client.set(&key, &value(&key, 10)), "STORED");
    }
    drop(stalled);
    assert!(get(at, "/healthz", "").starts_with("HTTP/1.1 200"));
}

#[test]
fn address_in_use_is_an_error_at_the_start() {
    let cluster = exposed(1, "");
    let at = cluster.front.metrics_at().unwrap();
    let text = format!(
        "[metrics]\nlisten = \"{at}\"\n[[pool]]\nlisten = \"127.0.0.1:0\"\nservers = [\"{}\"]\n",
        cluster.servers[0].address
    );
    let settings = fanin_daemon::Settings::of_file("f.toml", &text).unwrap();
    let error = fanin_daemon::start(&settings).err().expect("the address is in use").to_string();
    assert!(error.starts_with(&format!("metrics on {at}: ")), "{error}");
}

#[test]
fn reload_changes_pools_and_keeps_counts() {
    let mut cluster = exposed(2, "hot_keys = 5\n");
    cluster.filled(20);
    let stores = |pool: &str| format!("fanin_request_seconds_count{{pool=\"{pool}\",command=\"store\"}}");
    wait(&cluster, |found| found[&stores("pool0")] >= 20.0);
    let mut settings = cluster.front.settings().clone();
    let mut other = settings.pools[0].clone();
    (other.name, other.listen) = ("other".to_owned(), "127.0.0.2:0".parse::<SocketAddr>().unwrap().into());
    other.servers.truncate(1);
    settings.pools.push(other);
    cluster.front.reload(&settings).unwrap();
    let other = cluster.front.listens()[1].ip().unwrap();
    assert_eq!(Client::to(other).set("a", "1"), "STORED");
    let found = wait(&cluster, |found| found.get(&stores("other")).is_some_and(|count| *count >= 1.0));
    assert_eq!((found[&stores("pool0")], found["fanin_reloads_total"]), (20.0, 1.0));
    let server = |pool: &str| format!("fanin_server_up{{pool=\"{pool}\",server=\"{}\"}}", cluster.servers[0].address);
    assert_eq!([found[&server("pool0")], found[&server("other")]], [1.0, 1.0]);
    settings.pools.remove(0);
    cluster.front.reload(&settings).unwrap();
    let found = wait(&cluster, |found| found["fanin_reloads_total"] >= 2.0);
    assert!(!found.contains_key(&stores("pool0")) && found[&stores("other")] >= 1.0);
    settings.metrics = None;
    let refused = cluster.front.reload(&settings).unwrap_err().to_string();
    assert!(refused.starts_with("[metrics] cannot change"), "{refused}");
}

#[test]
fn slow_connections_keep_nobody_away() {
    let cluster = exposed(1, "");
    let at = cluster.front.metrics_at().unwrap();
    let slow: Vec<TcpStream> = (0..100)
        .map(|_| {
            let mut stream = TcpStream::connect(at).unwrap();
            stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: he").unwrap();
            stream
        })
        .collect();
    let begun = now();
    for _ in 0..5 {
        assert!(get(at, "/ready", "").starts_with("HTTP/1.1 200 OK"));
    }
    // 64 are served at once, and a further one replaces the oldest. On a machine that takes longer than that, their headers are late.
    let is_closed = |mut stream: &TcpStream| {
        stream.set_nonblocking(true).unwrap();
        !stream.read(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    };
    let closed = slow.iter().filter(|stream| is_closed(stream)).count();
    assert!(closed <= 100 - 64 + 5 || begun.elapsed() >= Duration::from_secs(5), "{closed} were closed");
}

#[test]
fn memory_and_failed_logins_are_counted_by_tenant() {
    let folder = tempfile::tempdir().unwrap();
    let users = folder.path().join("users");
    std::fs::write(&users, "ann:secret\n").unwrap();
    let more = "[metrics]\nlisten = \"127.0.0.1:0\"\n";
    let cluster = cluster(1, more, &format!("auth = \"{}\"\n", users.display()));
    let mut guesser = cluster.client();
    assert!(guesser.ask("set a 0 0 9\r\nann wrong\r\n").starts_with("CLIENT_ERROR"));
    let mut large = cluster.client();
    assert_eq!(large.ask("set a 0 0 10\r\nann secret\r\n"), "STORED");
    large.send(&format!("set large 0 0 900000\r\n{}", "v".repeat(500_000)));
    let memory = "fanin_tenant_memory_bytes{tenant=\"user ann\"}";
    let found = wait(&cluster, |found| found.get(memory).is_some_and(|bytes| *bytes >= 500_000.0));
    let guesses =
        |(name, count): (&String, &f64)| name.starts_with("fanin_tenant_failed_logins_total{") && *count == 1.0;
    assert!(found.iter().any(guesses), "{found:?}");
    drop(large);
    wait(&cluster, |found| found.get(memory).is_none_or(|bytes| *bytes == 0.0));
}
