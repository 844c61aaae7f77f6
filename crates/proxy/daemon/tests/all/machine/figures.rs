//! Figures can be written in another format than memcached's `stats`.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fanin_daemon::Settings;
use fanin_daemon::machine::{Figure, Front, MetricKind, Shared, Subject, Value};

use super::world::{Scripted, World};

/// The text format of Prometheus.
fn exposition(figures: &[Figure<'_>]) -> String {
    let (mut out, mut described) = (String::new(), BTreeSet::new());
    for Figure { metric, subject, value } in figures {
        let name = format!("fanin_{}", metric.name);
        if described.insert(metric.name) {
            let kind = if metric.kind == MetricKind::Counter { "counter" } else { "gauge" };
            writeln!(out, "# HELP {name} {}\n# TYPE {name} {kind}", metric.help).unwrap();
        }
        let mut labels = match subject {
            Subject::All => Vec::new(),
            Subject::Multigets(keys) => vec![format!("keys=\"{keys}\"")],
            Subject::Pool(pool) => vec![format!("pool=\"{pool}\"")],
            Subject::Requests { pool, kind, percentile } => {
                vec![format!("pool=\"{pool}\""), format!("kind=\"{kind}\""), format!("percentile=\"{percentile}\"")]
            }
            Subject::Server(server) => vec![format!("server=\"{server}\"")],
        };
        let number = match value {
            Value::Number(number) => *number,
            Value::Micros(micros) => micros / 1_000_000,
            Value::Text(text) => {
                labels.push(format!("text=\"{text}\""));
                1
            }
        };
        writeln!(out, "{name}{{{}}} {number}", labels.join(",")).unwrap();
    }
    out
}

#[test]
fn second_formatter_has_every_figure() {
    let text = "threads = 1\n[[pool]]\nlisten = \"127.0.0.1:0\"\nservers = [\"10.0.0.1:11211\"]\n";
    let settings = Settings::of_file("case.toml", text).unwrap();
    let world = Rc::new(RefCell::new(World::new(&[settings.pools[0].servers[0].target.address.ip().unwrap()])));
    let shared = Arc::new(Shared::new(&settings, 10));
    let stop = Arc::new(AtomicBool::new(false));
    let mut front = Front::new(Scripted(world.clone()), shared, 0, stop, [1; 32], None);
    let client = world.borrow_mut().client(1 << 20);
    world.borrow_mut().connections[client].send(b"mn\r\nget a b c d e\r\nget a\r\n");
    for turn in 1..5 {
        let events = world.borrow_mut().events(|| true);
        front.turn(turn, events.into_iter());
    }
    world.borrow_mut().connections[client].outbox.clear();
    let written = exposition(&front.figures());
    for line in [
        "# HELP fanin_get_keys Keys of classic gets.\n# TYPE fanin_get_keys counter\nfanin_get_keys{} 6\n",
        "# TYPE fanin_curr_connections gauge\nfanin_curr_connections{} 1\n",
        "fanin_event_loop{text=\"memory\"} 1\n",
        "fanin_multigets{keys=\"4\"} 1\n",
        "fanin_us{pool=\"pool0\",kind=\"get\",percentile=\"p99\"} ",
        "fanin_state{server=\"10.0.0.1:11211\",text=\"opening\"} 1\n",
    ] {
        assert!(written.contains(line), "{line}{written}");
    }
    assert_eq!(written.matches("# TYPE fanin_us ").count(), 1);
    let samples = written.lines().filter(|line| !line.starts_with('#')).count();
    assert_eq!(samples, front.figures().len());
}
