//! Prediction of incast: when it is made, its figures beside the observed ones, and its limit.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use fanin_daemon::Settings;
use fanin_daemon::incast::{Prediction, Predictor, Workload};
use fanin_daemon::settings::Pool;
use fanin_units::Time;

use super::cluster;
use crate::support::{Cluster, EVENT_LOOP, wait_until};

const INCAST: &str = "incast = { buffer = \"64 KiB\", rto_min = \"200 ms\", keys = 10, value = \"1 KiB\" }\n";

/// Limits values above 500 B, and records its workloads.
#[derive(Default)]
struct Script(Arc<Mutex<Vec<Workload>>>);

impl Predictor for Script {
    fn predict(&self, pool: &Pool, workload: &Workload, stop: &AtomicBool) -> Result<Prediction, String> {
        assert!(pool.incast.is_some() && !stop.load(Ordering::Relaxed));
        self.0.lock().unwrap().push(*workload);
        let is_large = workload.value > 500;
        Ok(Prediction {
            collapse: is_large.then_some(2),
            limit: is_large.then_some(1),
            unlimited: Time::from_millis(200),
            expected: Time::from_micros(1500),
            sustains: true,
        })
    }
}

/// Figures of `stats`.
fn stats(cluster: &Cluster) -> BTreeMap<String, String> {
    let mut client = cluster.client();
    client.send("stats\r\n");
    let lines = std::iter::repeat_with(|| client.line()).take_while(|line| line != "END");
    let words =
        lines.filter_map(|line| line.strip_prefix("STAT ")?.split_once(' ').map(|(a, b)| (a.to_owned(), b.to_owned())));
    words.collect()
}

#[test]
fn prediction_follows_observed_multigets_and_stands_beside_them() {
    let mut cluster = cluster(3, "", INCAST);
    let workloads = Arc::new(Mutex::new(Vec::new()));
    cluster.front.predict_with(Box::new(Script(workloads.clone()))).unwrap();
    let figure = |name: &str| stats(&cluster).get(&format!("pool0.{name}")).cloned();
    wait_until("the assumed prediction", || figure("incast_basis").as_deref() == Some("assumed"));
    assert_eq!(*workloads.lock().unwrap(), [Workload { keys: 10, servers: 3, value: 1049 }]);
    let figures =
        ["incast_collapse_servers", "incast_limit", "incast_unlimited_us", "incast_expected_us", "incast_multigets"];
    assert_eq!(figures.map(|name| figure(name).unwrap()), ["2", "1", "200000", "1500", "0"]);
    // Small values: no limit.
    let keys = cluster.filled(30);
    let mut client = cluster.client();
    (0..100).for_each(|_| assert_eq!(client.get(&keys).0.len(), 30));
    wait_until("the observed prediction", || figure("incast_basis").as_deref() == Some("observed"));
    assert_eq!(workloads.lock().unwrap().len(), 2);
    // `VALUE 10-key 0 100`, the value, and the ends of both lines.
    let figures = [
        "incast_keys",
        "incast_servers",
        "incast_value_bytes",
        "incast_collapse_servers",
        "incast_limit",
        "incast_multigets",
    ];
    assert_eq!(figures.map(|name| figure(name).unwrap()), ["30", "3", "122", "0", "0", "100"]);
    assert!(figure("incast_observed_us").unwrap().parse::<u64>().unwrap() > 0);
    assert!(figure("incast_slow").is_some() && figure("incast_retransmits").is_some());
    assert_eq!(cluster.front.observed()["pool0"], Workload { keys: 30, servers: 3, value: 122 });
    cluster.front.stop();
    cluster.front.wait().unwrap();
}

/// Sum of the limits of multigets, and the prediction's limit.
fn limits(cluster: &Cluster) -> [Option<f64>; 2] {
    let metrics = super::metrics::get(cluster.front.metrics_at().unwrap(), "/metrics", "");
    let value = |name: &str| {
        let line = metrics.lines().find(|line| line.starts_with(&format!("{name} ")))?;
        line.rsplit_once(' ')?.1.parse::<f64>().ok()
    };
    ["fanin_multiget_limit_sum{pool=\"pool0\"}", "fanin_incast_limit{pool=\"pool0\"}"].map(value)
}

#[test]
fn multigets_are_limited_by_the_prediction() {
    // On a busy machine no response is late, which would halve the limit.
    let of_pool = format!("{INCAST}late = \"60 s\"\ntimeout = \"60 s\"\n");
    let mut cluster = cluster(3, "[metrics]\nlisten = \"127.0.0.1:0\"\n", &of_pool);
    let keys = cluster.filled(30);
    let mut client = cluster.client();
    client.get(&keys);
    // The limit has grown from ten to one more per server.
    wait_until("a multiget's limit", || limits(&cluster)[0] == Some(13.0));
    assert_eq!(limits(&cluster)[1], None);
    cluster.front.predict_with(Box::new(Script::default())).unwrap();
    wait_until("the prediction", || limits(&cluster)[1] == Some(1.0));
    client.get(&keys);
    wait_until("its limit", || limits(&cluster)[0] == Some(14.0));
    let metrics = super::metrics::get(cluster.front.metrics_at().unwrap(), "/metrics", "");
    for line in [
        "fanin_incast_collapse_servers{pool=\"pool0\"} 2",
        "fanin_incast_observed{pool=\"pool0\"} 0",
        "fanin_incast_predicted_seconds{pool=\"pool0\",limit=\"pool\"} 0.0015",
        "fanin_incast_predicted_seconds{pool=\"pool0\",limit=\"none\"} 0.2",
        "fanin_incast_multigets_total{pool=\"pool0\"} 2",
        "fanin_incast_slow_total{pool=\"pool0\"} ",
        "fanin_incast_retransmits_total{pool=\"pool0\"} 0",
        "# HELP fanin_incast_slow_total Multigets that took over ten round trips longer",
    ] {
        assert!(metrics.contains(line), "{line}\n{metrics}");
    }
}

#[test]
fn reload_predicts_changed_pools_again() {
    let mut cluster = cluster(2, "", "");
    let script = Script::default();
    let workloads = script.0.clone();
    cluster.front.predict_with(Box::new(script)).unwrap();
    assert!(!stats(&cluster).keys().any(|name| name.contains("incast")));
    let servers: Vec<String> = cluster.servers.iter().map(|server| server.address.to_string()).collect();
    for (number, keys) in [10, 10, 20].into_iter().enumerate() {
        let incast = INCAST.replace("10", &keys.to_string());
        let text =
            format!("threads = 2\n{EVENT_LOOP}\n[[pool]]\nlisten = \"127.0.0.1:0\"\nservers = {servers:?}\n{incast}");
        cluster.front.reload(&Settings::of_file("test.toml", &text).unwrap()).unwrap();
        // An unchanged pool keeps its prediction.
        let expected: &[u32] = if number < 2 { &[10] } else { &[10, 20] };
        wait_until("a prediction", || {
            workloads.lock().unwrap().iter().map(|workload| workload.keys).collect::<Vec<_>>() == expected
        });
        wait_until("its limit", || stats(&cluster).get("pool0.incast_limit").is_some_and(|limit| limit == "1"));
    }
}
