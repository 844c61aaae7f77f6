//! Hub tables of watched runs: each object's path, waiting, and hubs' rates.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use crate::common::{but, run, spec};
use fanin_simulate::watch;
use fanin_spec::{RunSpec, Watch};
use fanin_tables::{HubRow, RunTables};
use fanin_units::Time;

/// Four racks of three hosts: the front end and 11 servers. Only one hub at a time may send to the front end.
const TREE: &str = r#"
    schemes = ["sicc"]
    [fabric]
    kind = "leaf-spine"
    racks = 4
    hosts_per_rack = 3
    spines = 1
    oversubscription = 1
    [link]
    rate = "1 Gbit/s"
    delay = "5 us"
    framing = "0 B"
    [host]
    service_time = "20 us"
    packet_jitter = "none"
    [workload]
    kind = "key_value"
    queries = 3
    [key_value]
    per_request = 60
    objects = 60
    least = "1000 B"
    most = "1000 B"
    [sicc]
    bound = "fixed"
    hubs = 1
"#;

fn watched(spec: &RunSpec, step: Time) -> RunTables {
    let all = Watch { step, from: Time::ZERO, to: Time::NEVER, servers: Vec::new() };
    watch(spec, all, &AtomicBool::new(false)).unwrap_or_else(|failure| panic!("{failure:?}"))
}

fn seen(spec: &RunSpec) -> RunTables {
    watched(spec, Time::from_micros(100))
}

/// The rows of a request, the front end's separately.
fn of(tables: &RunTables, request: u32) -> (&HubRow, Vec<&HubRow>) {
    let rows: Vec<_> = tables.hubs.iter().filter(|row| row.request == request).collect();
    (rows[0], rows[1..].to_vec())
}

fn tree(tables: &RunTables, request: u32) -> String {
    let us = |ps: Option<u64>| ps.map_or("-".into(), |ps| (ps / 1_000_000).to_string());
    let host = |host: Option<u64>| host.map_or("-".into(), |host| host.to_string());
    let rows = tables.hubs.iter().filter(|row| row.request == request);
    let line = |r: &HubRow| {
        let times = [r.told_ps, r.asked_ps, r.own_ps, r.last_ps].map(us).join(" ");
        format!(
            "{} > {}: {} of {} servers, {} in all; {times}, of {}; {} {}\n",
            r.hub_host,
            host(r.parent_host),
            r.own_objects,
            r.servers,
            r.objects,
            host(r.last_host),
            us(r.left_ps),
            us(r.end_ps)
        )
    };
    rows.map(line).collect()
}

/// One object, in the front end's own rack: its server is its own hub.
fn alone() -> RunSpec {
    let text = TREE.replace("racks = 4\n    hosts_per_rack = 3", "racks = 2\n    hosts_per_rack = 2");
    spec(&text.replace("= 60\n", "= 1\n").replace("[key_value]", "[key_value]\n    replicas = 1"), 3, 1)
}

#[test]
fn path_of_one_object_matches_hand_calculation() {
    let tables = seen(&alone());
    let (front, hubs) = of(&tables, 0);
    // Two links of 5 us at 1 Gbit/s. The announcement (40 B) and the request for an object (40 B) share a packet with 40 B of headers.
    let announced = 2 * (5_000_000 + 120 * 8_000);
    let found = announced + 20_000_000;
    // The object, with 20 B of message header and 40 B of packet headers, leaves at once, as the only one.
    let there = found + 2 * (5_000_000 + 1060 * 8_000);
    let hub = HubRow {
        request: 0,
        hub_host: 1,
        parent_host: Some(0),
        rack: 0,
        servers: 1,
        own_objects: 1,
        own_bytes: 1000,
        objects: 1,
        payload_bytes: 1000,
        told_ps: Some(announced),
        asked_ps: Some(announced),
        own_ps: Some(found),
        last_ps: Some(found),
        last_host: Some(1),
        left_ps: Some(found),
        end_ps: Some(there),
    };
    assert_eq!(hubs, [&hub]);
    let all = HubRow {
        hub_host: 0,
        objects: 1,
        payload_bytes: 1000,
        told_ps: Some(0),
        asked_ps: Some(0),
        last_ps: Some(there),
        ..HubRow::default()
    };
    assert_eq!(*front, HubRow { last_host: Some(1), ..all });
    assert_eq!(tables.requests[0].latency_ps, Some(there));
}

#[test]
fn reports_assigned_and_actual_hub_speed() {
    let tables = watched(&alone(), Time::from_micros(50));
    let of_first = tables.hub_speeds.iter().filter(|row| row.request == 0);
    let rows: Vec<_> = of_first.map(|r| (r.time_ps, r.hub_host, r.came_bytes, r.assigned_bps)).collect();
    // The request assigns it the full line rate; its object, a message of 1020 B, arrives 58.88 us later.
    assert_eq!(rows, [(0, 1, 0, Some(1_000_000_000)), (50_000_000, 1, 1020, Some(1_000_000_000))]);
}

#[test]
fn reports_waiting_in_a_small_tree() {
    let tables = seen(&spec(TREE, 11, 1));
    // Host > receiver: objects of its own; in us: announced, last request, own objects complete, all complete; left, arrived.
    let expected = "\
        0 > -: 0 of 0 servers, 60 in all; 0 0 - 668, of 8; - -\n\
        1 > 4: 8 of 2 servers, 8 in all; 16 16 100 100, of 2; 108 206\n\
        4 > 8: 15 of 3 servers, 23 in all; 37 37 180 206, of 1; 430 537\n\
        8 > 0: 19 of 3 servers, 60 in all; 46 46 244 537, of 4; 566 668\n\
        9 > 8: 18 of 3 servers, 18 in all; 52 52 203 203, of 11; 360 493\n";
    assert_eq!(tree(&tables, 0), expected);
}

/// Properties of every watched request: bytes add up, and no hub sends before its objects are complete.
fn holds(tables: &RunTables) {
    assert!(!tables.hubs.is_empty());
    for request in &tables.requests {
        let (front, hubs) = of(tables, request.request);
        let flows = tables.flows.iter().filter(|flow| flow.round == Some(request.request.into()));
        let payload: u64 = flows.map(|flow| flow.delivered_bytes).sum();
        let of_hubs: u64 = hubs.iter().map(|hub| hub.own_bytes).sum();
        assert_eq!((front.payload_bytes, front.own_bytes + of_hubs), (payload, payload), "{front:?}");
        assert_eq!(front.objects, request.answered + request.missed);
        assert_eq!((front.parent_host, u64::from(front.hub_host)), (None, request.from_host.into()));
        let by_host: BTreeMap<u64, &HubRow> = hubs.iter().map(|hub| (u64::from(hub.hub_host), *hub)).collect();
        for hub in &hubs {
            let steps = [hub.told_ps, hub.last_ps, hub.left_ps, hub.end_ps, front.last_ps];
            assert!(steps.iter().flatten().is_sorted(), "{hub:?}");
            assert!(hub.own_ps <= hub.last_ps);
            // It sends to the front end, or to a hub that was complete no earlier than this one's last object.
            let parent = by_host.get(&hub.parent_host.expect("a hub sends to someone")).copied().unwrap_or(front);
            assert!(hub.objects == 0 || hub.end_ps <= parent.last_ps, "{hub:?} below {parent:?}");
        }
        waited_for(front, &by_host);
    }
}

/// Follows the wait from the front end down to a server: each host's last object comes from the next one.
fn waited_for(front: &HubRow, hubs: &BTreeMap<u64, &HubRow>) {
    let mut at = front;
    while let Some(next) = at.last_host.filter(|&host| host != u64::from(at.hub_host)).and_then(|host| hubs.get(&host))
    {
        assert_eq!(next.end_ps, at.last_ps, "{at:?} waited for {next:?}");
        at = next;
    }
    assert!(at.own_ps == at.last_ps, "{at:?}");
}

#[test]
fn hub_rows_are_consistent() {
    for hubs in [1, 2, 4] {
        let tree = TREE.replace("hubs = 1", &format!("hubs = {hubs}"));
        for seed in 1..4 {
            let tables = seen(&spec(&tree, 11, seed));
            holds(&tables);
            assert_eq!(of(&tables, 0).1.iter().filter(|hub| hub.parent_host == Some(0)).count(), hubs);
        }
    }
}

#[test]
fn objects_around_dead_hub_count_by_path() {
    let crash = TREE.replace("[workload]", "[faults]\n    hosts = [\"60 us server8 crashes\"]\n    [workload]");
    let tables = seen(&spec(&crash, 11, 1));
    holds(&tables);
    let (_, hubs) = of(&tables, 0);
    assert_eq!(hubs.iter().find(|hub| hub.hub_host == 8).map(|hub| (hub.objects, hub.last_ps)), Some((0, None)));
}

#[test]
fn hub_bytes_and_speeds_add_up() {
    let tables = seen(&but(&spec(TREE, 11, 1), |s| s.fan_outs.sicc.hubs = 2));
    let mut assigned: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    for row in &tables.hub_speeds {
        let hub = tables.hubs.iter().find(|hub| (hub.request, hub.hub_host) == (row.request, row.hub_host));
        if hub.is_some_and(|hub| hub.parent_host == Some(0)) {
            assigned.insert((row.request, row.hub_host), row.assigned_bps.expect("the front end sets speeds"));
            let sum: u64 =
                assigned.iter().filter(|((request, _), _)| *request == row.request).map(|(_, bps)| bps).sum();
            assert!(sum <= 1_000_000_000, "{sum} at {}", row.time_ps);
        }
    }
    for hub in tables.hubs.iter().filter(|hub| hub.parent_host.is_some()) {
        let own = tables.hub_speeds.iter().filter(|row| (row.request, row.hub_host) == (hub.request, hub.hub_host));
        // Each object is a message with a header of 20 B.
        assert_eq!(own.map(|row| row.came_bytes).sum::<u64>(), hub.payload_bytes + 20 * hub.objects);
    }
}

#[test]
fn only_watched_runs_have_hub_tables() {
    let spec = spec(TREE, 11, 1);
    let (plain, seen) = (run(&spec), seen(&spec));
    assert!(plain.hubs.is_empty() && plain.hub_speeds.is_empty() && !seen.hub_speeds.is_empty());
    assert_eq!((plain.totals, plain.flows, plain.ports), (seen.totals, seen.flows, seen.ports));
    assert_eq!((plain.queries, plain.requests), (seen.queries, seen.requests));
}

#[test]
fn unwatched_requests_have_no_rows() {
    let warm = spec(&TREE.replace("queries = 3", "queries = 3\n    warm_up = \"1 rounds\""), 11, 1);
    let all = seen(&warm);
    assert_eq!((all.hubs[0].told_ps, all.requests.len()), (Some(0), 3));
    holds(&all);
    let second = Time(all.requests[1].start_ps);
    let watch_second = Watch { step: second, from: second, to: Time(second.0 + 1), servers: Vec::new() };
    let part = watch(&warm, watch_second, &AtomicBool::new(false)).expect("a run");
    assert_eq!(part.hubs, all.hubs.iter().filter(|row| row.request == 1).cloned().collect::<Vec<_>>());
}

#[test]
fn cut_off_request_reports_its_objects() {
    let cut = spec(&TREE.replace("queries = 3", "queries = 3\n    duration = \"300 us\""), 11, 1);
    let tables = seen(&cut);
    let (front, hubs) = of(&tables, 0);
    assert_eq!(tables.requests[0].latency_ps, None);
    assert!(front.objects < 60 && hubs.len() == 4);
    holds(&tables);
}

#[test]
fn no_hub_rows_without_hubs() {
    let tables = seen(&spec(&TREE.replace("\"sicc\"", "\"one-all\"").replace("[sicc]", "[sicc]\n    # "), 11, 1));
    assert!(tables.hubs.is_empty() && tables.hub_speeds.is_empty());
}

#[test]
fn busy_servers_are_not_chosen_as_hubs() {
    // Two front ends in the first rack request all objects, the second while the first waits.
    let text = TREE
        .replace("queries = 3", "queries = 1")
        .replace("[key_value]", "[key_value]\n    front_ends = 2\n    within = \"100 us\"");
    let hubs = |policy: &str| {
        let tables = seen(&spec(&text.replace("[sicc]", &format!("[sicc]\n    hub = \"{policy}\"")), 11, 1));
        let of =
            |request| of(&tables, request).1.iter().map(|row| (row.rack, row.hub_host)).collect::<BTreeMap<_, _>>();
        [of(0), of(1)]
    };
    let [first, second] = hubs("spare-io");
    // With equal loads, the first request chooses each rack's lowest server with an object; the second finds it busy.
    assert!(first.iter().all(|(rack, hub)| *hub == (3 * rack).max(1)), "{first:?}");
    assert!(second.iter().all(|(rack, hub)| first[rack] != *hub), "{first:?} {second:?}");
    assert!(hubs("most-objects")[0] != first);
}
