//! The Grafana dashboard: every query has a result from a real Prometheus that reads a running front end.
#![expect(clippy::disallowed_types, reason = "simple servers and clients")]

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use fanin_testing::{own_address, wait_for, wait_until};
use serde_json::Value;

use super::common::program;
use super::front::empty_server;
use super::support::{root, text};

/// A process that ends with the test.
pub struct Process(pub Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn dashboard() -> Value {
    serde_json::from_str(&fs::read_to_string(root().join("packaging/grafana.json")).unwrap()).unwrap()
}

/// Titles and queries of the panels.
fn queries(dashboard: &Value) -> Vec<(String, String)> {
    let panels = dashboard["panels"].as_array().unwrap().iter().filter(|panel| panel["type"] != "row");
    let targets = panels.flat_map(|panel| {
        let targets = panel["targets"].as_array().unwrap();
        targets.iter().map(|target| (text(&panel["title"]).to_owned(), text(&target["expr"]).to_owned()))
    });
    targets.collect()
}

#[test]
fn panels_are_complete_and_do_not_overlap() {
    let dashboard = dashboard();
    let (mut ids, mut cells) = (BTreeSet::new(), BTreeSet::new());
    for panel in dashboard["panels"].as_array().unwrap() {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{panel}");
        let place = |name: &str| panel["gridPos"][name].as_u64().unwrap();
        assert!(place("x") + place("w") <= 24, "{panel}");
        for x in place("x")..place("x") + place("w") {
            (place("y")..place("y") + place("h")).for_each(|y| assert!(cells.insert((x, y)), "{panel}"));
        }
        if panel["type"] != "row" {
            assert!(
                !text(&panel["description"]).is_empty() && !text(&panel["fieldConfig"]["defaults"]["unit"]).is_empty()
            );
            assert_eq!(panel["datasource"]["uid"], "${datasource}");
        }
    }
    assert!(queries(&dashboard).len() >= 25);
    let variables: Vec<&str> =
        dashboard["templating"]["list"].as_array().unwrap().iter().map(|variable| text(&variable["name"])).collect();
    assert_eq!(variables, ["datasource", "instance", "pool"]);
}

/// The body of a response, if there is one.
pub fn get(address: &str, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    // Without HTTP 1.1 the body comes in one piece.
    stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n").as_bytes()).ok()?;
    let mut response = String::new();
    stream.read_to_string(&mut response).ok()?;
    let (head, body) = response.split_once("\r\n\r\n")?;
    head.split(' ').nth(1).filter(|status| *status == "200").map(|_| body.to_owned())
}

/// Results of a query.
pub fn results(prometheus: &str, query: &str) -> Result<Vec<Value>, String> {
    let escaped: String = query.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let body = get(prometheus, &format!("/api/v1/query?query={escaped}")).ok_or("no valid query, or no Prometheus")?;
    let response: Value = serde_json::from_str(&body).map_err(|error| error.to_string())?;
    response["data"]["result"].as_array().cloned().ok_or_else(|| body.clone())
}

/// A Prometheus with the `prometheus.yml` of a folder, and its address.
pub fn prometheus(folder: &Path, feature: &str) -> (Process, String) {
    let address = own_address().to_string();
    let mut command = Command::new("prometheus");
    command.arg("--config.file=prometheus.yml").arg(format!("--web.listen-address={address}")).current_dir(folder);
    command.args(["--storage.tsdb.path=data", "--log.level=error"]);
    command.args((!feature.is_empty()).then(|| format!("--enable-feature={feature}")));
    (Process(command.stderr(Stdio::null()).spawn().unwrap()), address)
}

/// Sends requests until the front end ends.
fn request_until_closed(address: &str) {
    let mut client = TcpStream::connect(address).unwrap();
    let mut responses = BufReader::new(client.try_clone().unwrap()).lines();
    while client.write_all(b"get k1\r\nget k1 k2 k3 k4 k5 k6 k7 k8 k9\r\nget k1\r\n").is_ok() {
        for _ in 0..3 {
            let Some(Ok(_)) = responses.next() else { return };
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// A front end with two servers, which has requests until the test ends, and a Prometheus that reads it; or why there is none.
struct Observed {
    prometheus: String,
    _processes: [Process; 2],
    _folder: tempfile::TempDir,
}

impl Observed {
    fn start(feature: &str) -> Result<Observed, String> {
        let installs = Command::new("scripts/setup.sh").arg("prometheus").current_dir(root()).output().unwrap();
        if !installs.status.success() {
            return Err(String::from_utf8_lossy(&installs.stderr).into_owned());
        }
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (empty_server(Duration::ZERO), empty_server(Duration::from_millis(1)));
        let file = folder.path().join("front.toml");
        let settings = format!(
            "threads = 1\n[metrics]\nlisten = \"127.0.0.1:0\"\nhot_keys = 5\n[[pool]]\nname = \"a\"\nlisten = \"127.0.0.1:0\"\nservers = [\"{one}\", \"{two}\"]\n\
             incast = {{ buffer = \"64 KiB\", rto_min = \"200 ms\" }}\n"
        );
        fs::write(&file, settings).unwrap();
        let mut command = program();
        command.args(["front", "--config"]).arg(&file).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut front = Process(command.spawn().unwrap());
        let mut lines = BufReader::new(front.0.stdout.take().unwrap()).lines().map_while(Result::ok);
        let listens = lines.next().unwrap().split(' ').nth(3).unwrap().to_owned();
        let metrics = lines.next().unwrap();
        let metrics = metrics.trim_start_matches("metrics are at http://").trim_end_matches("/metrics");
        let configuration = format!(
            "global: {{ scrape_interval: 200ms, scrape_timeout: 200ms }}\nscrape_configs:\n- job_name: fanin\n  static_configs: [ {{ targets: [\"{metrics}\"] }} ]\n"
        );
        fs::write(folder.path().join("prometheus.yml"), configuration).unwrap();
        let (server, prometheus) = prometheus(folder.path(), feature);
        thread::spawn(move || request_until_closed(&listens));
        Ok(Observed { prometheus, _processes: [front, server], _folder: folder })
    }
}

#[test]
fn prometheus_resolves_every_query() {
    let observed = match Observed::start("") {
        Ok(observed) => observed,
        Err(why) => return println!("skipped: no Prometheus: {why}"),
    };
    let address = observed.prometheus.clone();
    let replaced = |query: &str| {
        query
            .replace("$__rate_interval", "5s")
            .replace("$instance", ".*")
            .replace("$pool", ".*")
            .replace("[1h]", "[5s]")
    };
    let mut left: Vec<(String, String)> = queries(&dashboard());
    wait_for("every query has a result", || {
        left.retain(|(_, query)| results(&address, &replaced(query)).unwrap_or_default().is_empty());
        if left.is_empty() { Ok(()) } else { Err(left.clone()) }
    });
    // Numbers, where requests are made all the time.
    for query in [
        "sum(rate(fanin_request_seconds_count{command=\"multiget\"}[5s]))",
        "histogram_quantile(0.99, sum by (le) (rate(fanin_request_seconds_bucket[5s])))",
        "histogram_quantile(0.5, sum by (le) (rate(fanin_multiget_keys_bucket[5s])))",
    ] {
        wait_for(query, || {
            let found = results(&address, query)?;
            let value: Option<f64> = found.first().map(|row| text(&row["value"][1]).parse().unwrap());
            if value.is_some_and(|value| value > 0.0 && value.is_finite()) { Ok(()) } else { Err(format!("{found:?}")) }
        });
    }
    assert_eq!(results(&address, "nonsense(").unwrap_err(), "no valid query, or no Prometheus");
    for query in
        ["count by (instance) (fanin_ready)", "count by (pool) (fanin_request_seconds_count{instance=~\".*\"})"]
    {
        wait_until(query, || results(&address, query).is_ok_and(|found| found.len() == 1));
    }
}

#[test]
fn prometheus_reads_native_histograms() {
    let observed = match Observed::start("native-histograms") {
        Ok(observed) => observed,
        Err(why) => return println!("skipped: no Prometheus: {why}"),
    };
    // Without `le`, these are native ones: eight buckets per doubling for requests, one for servers and keys.
    let quantile = |metric: &str| format!("histogram_quantile(0.5, sum(rate({metric}[5s])))");
    let queries =
        ["fanin_request_seconds{command=\"multiget\"}", "fanin_server_response_seconds", "fanin_multiget_keys"];
    let [request, server, keys] = wait_for("native histograms", || {
        let found = queries.map(|metric| results(&observed.prometheus, &quantile(metric)).unwrap_or_default());
        let number = |found: &Vec<Value>| text(&found.first()?["value"][1]).parse::<f64>().ok();
        match [0, 1, 2].map(|place| number(&found[place])) {
            [Some(request), Some(server), Some(keys)] if request.is_finite() => Ok([request, server, keys]),
            _ => Err(found),
        }
    });
    // A multiget waits for the server that takes a millisecond; half of its responses are at once.
    assert!(request >= 0.001 && server < request && (8.0..=16.0).contains(&keys), "{request}, {server}, {keys}");
    let counts = results(&observed.prometheus, "fanin_request_seconds_bucket").unwrap();
    assert!(counts.is_empty(), "classic buckets in place of native ones");
}
