//! Roles in the simulator: guarantees of front ends, hubs and data servers.

use crate::common::{but, placement, planned, run, spec, with_plan};
use fanin_units::Time;

#[test]
fn hub_finds_all_its_own_objects() {
    let scenario = "schemes = [\"sicc\"]\n[workload]\nkind = \"key_value\"\nqueries = 2\nduration = \"10 s\"\n\
                    [key_value]\nobjects = 100\nper_request = 80\nreplicas = 1\nlookups = 1\ntries = 1\n\
                    [fabric]\nkind = \"leaf-spine\"\nracks = 2\nhosts_per_rack = 2\nspines = 1\n";
    // One server per rack, so that each is a hub and stores the requested objects itself.
    for row in run(&spec(scenario, 2, 1)).requests {
        assert_eq!((row.answered, row.failed), (80, 0));
    }
}

/// Eleven servers in two racks, requests of 40 objects.
const PLAIN: &str = "schemes = [\"one-all\"]\n[workload]\nkind = \"key_value\"\nqueries = 200\nduration = \"1000 s\"\n\
                     [key_value]\nobjects = 1000\nper_request = 40\n\
                     [fabric]\nkind = \"leaf-spine\"\nracks = 2\nhosts_per_rack = 6\nspines = 1\n";

/// 200 requests within this time.
fn within(all: &str, more: &str) -> String {
    format!("{PLAIN}{more}").replace("[key_value]", &format!("[key_value]\nwithin = \"{all}\""))
}

#[test]
fn open_loop_requests_begin_at_random() {
    let text = within("200 ms", "[link]\nrate = \"100 Mbit/s\"\n[host]\nservice_time = \"3 ms\"\n");
    let requests = run(&spec(&text, 11, 1)).requests;
    assert_eq!(requests.len(), 200);
    assert!(requests.iter().all(|row| row.answered == 40 && row.latency_ps.is_some()));
    let mut starts: Vec<u64> = requests.iter().map(|row| row.start_ps).collect();
    starts.sort_unstable();
    // Exponential gaps of 1 ms: the mean of 200 deviates by 7 %, and a share of 1/e is above the mean.
    let gaps: Vec<u64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let mean = starts[199] / 200;
    assert!((790_000_000..1_210_000_000).contains(&mean), "{mean} ps");
    let long = gaps.iter().filter(|&&gap| gap > 1_000_000_000).count();
    assert!((50..98).contains(&long), "{long} of 199 gaps are above the mean");
    // Each takes 3 ms or more, so several overlap.
    let ends = |row: &&fanin_tables::RequestRow| row.start_ps + row.latency_ps.unwrap_or(0);
    let beside = |at: u64| requests.iter().filter(|row| row.start_ps < at && at < ends(row)).count();
    assert!(starts.iter().map(|&at| beside(at)).max() >= Some(5));
}

#[test]
fn separate_requests_equal_sequential_ones() {
    let alone = run(&spec(PLAIN, 11, 1)).requests;
    let apart = run(&spec(&within("200 s", ""), 11, 1)).requests;
    // Both draw the same objects; packet jitter differs.
    let mean = |rows: &[fanin_tables::RequestRow]| rows.iter().filter_map(|row| row.latency_ps).sum::<u64>() / 200;
    assert!(mean(&alone).abs_diff(mean(&apart)) < mean(&alone) / 50, "{} and {}", mean(&alone), mean(&apart));
}

#[test]
fn warm_up_excludes_early_requests() {
    for warm_up in ["20 rounds", "30 ms", "300 rounds"] {
        let text = within("200 ms", "").replace("queries", &format!("warm_up = \"{warm_up}\"\nqueries"));
        for hosts in [1, 3] {
            let spec = but(&spec(&text, 11, 1), |s| s.key_value.front_ends = hosts);
            let requests = run(&spec).requests;
            for host in 0..hosts {
                let of_host = requests.iter().filter(|row| row.from_host == host);
                assert_eq!(of_host.filter(|row| row.latency_ps.is_some()).count(), 200, "{warm_up}, host {host}");
            }
        }
    }
}

#[test]
fn returned_front_end_makes_all_requests() {
    let text = within("200 ms", "[faults]\nhosts = [\"50 ms client crashes\", \"90 ms client returns\"]\n");
    let requests = run(&spec(&text, 11, 1)).requests;
    let ms = Time::from_millis(1).0;
    assert!(requests.iter().all(|row| !(50 * ms..90 * ms).contains(&row.start_ps)));
    assert_eq!(requests.iter().filter(|row| row.latency_ps.is_some()).count(), 200);
}

#[test]
fn listed_requests_begin_on_time() {
    let times = [0, 1, 3, 3, 10, 40].map(Time::from_millis);
    let mut list = fanin_spec::Requests::new(vec![500; 2], vec![1, 2]);
    times.iter().for_each(|&time| list.push(time, [0, 1]));
    let list = std::sync::Arc::new(list);
    let text = "schemes = [\"one-all\"]\n[workload]\nkind = \"key_value\"\nqueries = 6\n[key_value]\nobjects = 2\n\
                per_request = 1\nreplicas = 1\nwithin = \"40 ms\"\n";
    for faults in [&[][..], &["4 ms client crashes", "20 ms client returns"]] {
        let spec = but(&spec(text, 2, 1), |s| {
            s.inputs.requests = Some(list.clone());
            s.faults.hosts = faults.iter().map(|text| text.to_string()).collect();
        });
        let rows = run(&spec).requests;
        // Requests due while the front end is down start when it returns.
        let expected = times.map(|time| {
            if faults.is_empty() || time.0 != 10 * Time::from_millis(1).0 {
                time.0
            } else {
                20 * Time::from_millis(1).0
            }
        });
        let zero = rows[0].start_ps;
        assert_eq!(rows.iter().map(|row| row.start_ps - zero).collect::<Vec<_>>(), expected, "{faults:?}");
    }
}

#[test]
fn given_up_connections_retry_elsewhere() {
    // A port of ten packets and a thousand one-packet responses at once: many are lost repeatedly.
    let text = format!("{PLAIN}[switch]\nbuffer = \"10 packets\"\n[tcp]\nrto_min = \"1 ms\"\nrto_initial = \"1 ms\"\n")
        .replace(
            "objects = 1000\nper_request = 40",
            "objects = 5000\nper_request = 1000\nleast = \"1 KB\"\ntimeout = \"200 ms\"\ntries = 3",
        )
        .replace("queries = 200", "queries = 5");
    let patient = spec(&text, 11, 1);
    let giving_up = but(&patient, |s| s.tcp.max_retransmissions.0 = Some(1));
    let (all, some) = (run(&patient), run(&giving_up));
    assert!(all.requests.iter().all(|row| row.answered == 1_000 && row.failed == 0));
    assert!(all.totals.timeouts > 20, "{} timeouts", all.totals.timeouts);
    assert_eq!(some.requests.len(), 5);
    for row in &some.requests {
        assert!(row.latency_ps.is_some() && row.answered + row.failed == 1_000, "{row:?}");
    }
    assert_ne!(some.totals, all.totals);
}

#[test]
fn unreachable_server_falls_back_to_replica() {
    let text =
        format!("{PLAIN}changes = [\"1 ps leaf1 server3 down\"]\n[tcp]\nrto_min = \"1 ms\"\nrto_initial = \"1 ms\"\n")
            .replace("queries = 200", "queries = 1")
            .replace("per_request = 40", "per_request = 40\ndeadline = \"1 s\"");
    let patient = spec(&text, 11, 1);
    let rows = run(&patient).requests;
    assert!(rows[0].failed > 0 && rows[0].latency_ps == Some(Time::from_secs(1).0), "{rows:?}");
    let rows = run(&but(&patient, |s| s.tcp.max_retransmissions.0 = Some(2))).requests;
    assert_eq!((rows[0].answered, rows[0].failed), (40, 0));
    // The first timeout is a little over 1 ms, the second and the third twice and four times that.
    let took_us = rows[0].latency_ps.expect("it ends") / 1_000_000;
    assert!((7_000..9_000).contains(&took_us), "{took_us} us");
}

/// One object of 1,000 B per request, or two on the one server: 20 us of service each.
fn one_server(per_request: u32, server: &str) -> u64 {
    let text = format!(
        "schemes = [\"one-all\"]\n[workload]\nkind = \"key_value\"\nqueries = 1\n[key_value]\nobjects = 10\nreplicas = 1\n\
         per_request = {per_request}\nleast = \"1000 B\"\nmost = \"1000 B\"\nserver = \"{server}\"\n\
         [host]\nservice_time = \"20 us\"\npacket_jitter = \"none\"\n[link]\nrate = \"1 Gbit/s\"\ndelay = \"5 us\"\nframing = \"0 B\"\n"
    );
    run(&spec(&text, 1, 1)).requests[0].latency_ps.expect("it ends")
}

#[test]
fn fifo_server_sends_sequentially() {
    // Request: two links of 5 us at 1 Gbit/s, 40 B of headers and 36 B per object; response: 40 B and 1,020 B per object.
    let way = |bytes: u64| 2 * (5_000_000 + bytes * 8_000);
    assert_eq!(one_server(1, "parallel"), way(76) + 20_000_000 + way(1_060));
    assert_eq!(one_server(1, "fifo"), one_server(1, "parallel"));
    // The second object leaves after the 1,020 B of the first and their header.
    assert_eq!(one_server(2, "fifo"), way(112) + 20_000_000 + 1_060 * 8_000 + way(1_060));
}

#[test]
fn small_objects_overtake_large_ones() {
    let text = PLAIN
        .replace("per_request = 40", "per_request = 400\nmost = \"20 KB\"")
        .replace("queries = 200", "queries = 20");
    // The servers' own links are the bottleneck.
    let text = text + "[link]\nclient_rate = \"10 Gbit/s\"\n[switch]\nbuffer = \"10 MB\"\n";
    let fifo = but(&spec(&text, 7, 1), |s| s.key_value.server = fanin_spec::ServerOrder::Fifo);
    let reordered = but(&fifo, |s| s.key_value.server = fanin_spec::ServerOrder::Reordered);
    let mean = |spec: &fanin_spec::RunSpec| {
        let flows = run(spec).flows;
        flows.iter().filter_map(|row| row.fct_ps).sum::<u64>() / flows.len() as u64
    };
    let whole = but(&reordered, |s| s.key_value.sub_queue = 1_000);
    // About 57 objects per server, of evenly distributed sizes. Within a sub-queue of ten, a third of it on average precedes an object
    // instead of half, which saves about 6 % of all that precedes it. A sub-queue that holds all objects saves a third.
    let saved = |spec| 1.0 - mean(spec) as f64 / mean(&fifo) as f64;
    let (ten, all) = (saved(&reordered), saved(&whole));
    assert!((0.03..0.09).contains(&ten) && (0.2..0.4).contains(&all), "{ten} and {all} of an object's time are saved");
}

/// One object on one of two servers: 20 us of service.
const ONE: &str = "schemes = [\"one-all\"]\n[workload]\nkind = \"key_value\"\nqueries = 1\n[key_value]\nobjects = 1\nreplicas = 1\n\
                   per_request = 1\nleast = \"1000 B\"\nmost = \"1000 B\"\n[host]\nservice_time = \"20 us\"\npacket_jitter = \"none\"\n\
                   [link]\nrate = \"1 Gbit/s\"\ndelay = \"5 us\"\nframing = \"0 B\"\n";

#[test]
fn moved_object_latency_matches_route() {
    let way = |bytes: u64| 2 * (5_000_000 + bytes * 8_000);
    let took = |spec: &fanin_spec::RunSpec| run(spec).requests[0].latency_ps.expect("it ends");
    let straight = way(76) + 20_000_000 + way(1_060);
    let put = spec(ONE, 2, 1);
    assert_eq!(took(&put), straight);
    let moved = planned(&put, |_, homes| vec![(homes[0], 3 - homes[0])]);
    // The server looks up the link and forwards the request: 40 B of headers, 20 B of a message, client, hops and key.
    assert_eq!(took(&moved), straight + 20_000_000 + way(81));
    assert_eq!(took(&but(&moved, |s| s.key_value.route = fanin_spec::Route::Direct)), straight);
    assert_eq!(run(&moved).flows[0].from_host, 3 - run(&put).flows[0].from_host);
    // It moves there and back again, over a link from the server that it left.
    let back = planned(&put, |_, homes| vec![(homes[0], 3 - homes[0]), (3 - homes[0], homes[0])]);
    assert_eq!(took(&back), straight);
}

#[test]
fn empty_plan_changes_nothing() {
    let put = spec(&PLAIN.replace("queries = 200", "queries = 5"), 11, 1);
    let plain = |spec| fanin_tables::RunTables { engine: Default::default(), ..run(spec) };
    assert_eq!(plain(&planned(&put, |_, _| Vec::new())), plain(&put));
    // With another seed, objects stay where the first seed places them.
    let other = spec(&PLAIN.replace("queries = 200", "queries = 5"), 11, 2);
    let first = placement(&planned(&other, |_, _| Vec::new()));
    assert_eq!(first, placement(&put));
    assert_ne!(first, placement(&other));
}

#[test]
fn full_placement_equals_moves() {
    let put = spec(&PLAIN.replace("queries = 200", "queries = 5"), 11, 1);
    let moved = but(&gathered(&put), |s| s.key_value.route = fanin_spec::Route::Direct);
    let placement = placement(&put);
    let server = |home: &fanin_placement::Server| home.0;
    let mut table = "key,server,was\n".to_string();
    for object in placement.all() {
        let mut homes: Vec<u32> = placement.homes(object).iter().map(server).collect();
        if homes.iter().all(|home| *home > 5) {
            homes[0] = 1;
        }
        homes.iter().for_each(|home| table += &format!("key {},{home},\n", object.0));
    }
    let placed = but(&with_plan(&put, &table), |s| s.key_value.route = fanin_spec::Route::Direct);
    assert_ne!(run(&moved), run(&put));
    assert_eq!(run(&placed).requests, run(&moved).requests);
    assert_eq!(run(&placed).flows, run(&moved).flows);
}

/// Gives every object a replica at server 1, unless another replica is in its rack.
fn gathered(spec: &fanin_spec::RunSpec) -> fanin_spec::RunSpec {
    planned(spec, |_, homes| match homes.iter().any(|&home| home <= 5) {
        true => Vec::new(),
        false => vec![(homes[0], 1)],
    })
}

#[test]
fn colocation_reduces_servers() {
    let text = PLAIN.replace("queries = 200", "queries = 20\nconnections = \"new\"");
    let random = but(&gathered(&spec(&text, 11, 1)), |s| s.key_value.route = fanin_spec::Route::Direct);
    let together = but(&random, |s| s.key_value.replica = fanin_spec::Replica::Together);
    let (random, together) = (run(&random), run(&together));
    for tables in [&random, &together] {
        assert!(tables.requests.iter().all(|row| row.answered == 40));
    }
    // One connection each.
    assert!(together.totals.injected_packets < random.totals.injected_packets);
}

#[test]
fn dead_location_falls_back_to_replica() {
    let text =
        PLAIN.replace("queries = 200", "queries = 5").replace("objects = 1000", "objects = 1000\ntimeout = \"20 ms\"");
    let faults = |list: &str| format!("{text}[faults]\nhosts = [{list}]\n");
    // Server 1 stores the moved objects, and no request reaches it.
    let dead = gathered(&spec(&faults("\"1 ps server1 crashes\""), 11, 1));
    for row in run(&dead).requests {
        assert_eq!((row.answered, row.failed), (40, 0));
        assert!(row.latency_ps.is_some_and(|took| took < Time::from_millis(100).0), "{row:?}");
    }
    let all: Vec<String> =
        (2..=11).map(|n| format!("\"1 ps server{n} crashes\", \"2 ps server{n} returns\"")).collect();
    for row in run(&gathered(&spec(&faults(&all.join(", ")), 11, 1))).requests {
        assert_eq!((row.answered, row.missed, row.failed), (40, 0, 0));
    }
}

#[test]
fn non_servers_store_nothing() {
    let distinct = "objects = 1000\nreplicas = 2\nreplica_racks = \"distinct\"";
    let text =
        PLAIN.replace("one-all", "picc").replace("queries = 200", "queries = 5").replace("objects = 1000", distinct);
    let tables = run(&spec(&text, 8, 1));
    assert!(!tables.gathering.is_empty());
    assert!(tables.gathering.iter().all(|row| (1..=8).contains(&row.host)));
    assert!(tables.requests.iter().all(|row| row.answered == 40));
}

#[test]
fn hubs_collect_moved_objects() {
    let text = PLAIN.replace("one-all", "sicc").replace("queries = 200", "queries = 5");
    for row in run(&gathered(&spec(&text, 11, 1))).requests {
        assert_eq!((row.answered, row.missed, row.failed), (40, 0, 0));
    }
}

/// Tables of `picc` with 60 requests within 30 s, planned from the requests so far once per period.
fn planned_every(period: &str, more: &str) -> fanin_tables::RunTables {
    let text = within("30 s", "[picc]\ntheta = 400\nlearn = \"running\"\n")
        .replace("one-all", "picc")
        .replace("queries = 200", "queries = 60")
        .replace("[picc]", &format!("[picc]\nperiod = \"{period}\""))
        .replace("per_request = 40", "per_request = 40\npopularity = \"pages\"\npages = 5\npage = 40\nreplaced = 2\nreplicas = 2\nreplica_racks = \"distinct\"")
        .replace("racks = 2", "racks = 4");
    run(&spec(&text.replace("[key_value]", &format!("[key_value]\n{more}")), 23, 1))
}

#[test]
fn plans_follow_each_period() {
    let never = planned_every("1000 s", "");
    assert!(never.gathering.is_empty(), "the run is over before the first period");
    let often = planned_every("5 s", "replica = \"together\"\nroute = \"direct\"");
    assert!(!often.gathering.is_empty());
    for tables in [&never, &often] {
        assert!(tables.requests.iter().all(|row| (row.answered, row.failed) == (40, 0)));
    }
    let mean = |rows: &[fanin_tables::RequestRow]| {
        rows.iter().map(|row| row.answering_hosts as f64).sum::<f64>() / rows.len() as f64
    };
    let (first, last) = (mean(&often.requests[..8]), mean(&often.requests[40..]));
    assert!(last < first - 2.0, "{first} and then {last} servers answer");
}

#[test]
fn links_find_objects_after_every_plan() {
    for period in ["1 s", "2 s", "7 s"] {
        let tables = planned_every(period, "");
        assert!(tables.requests.iter().all(|row| (row.answered, row.missed, row.failed) == (40, 0, 0)), "{period}");
    }
}
