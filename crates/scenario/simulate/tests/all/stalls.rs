//! Causes of stalls: the timer that ended each, and the fate of the packet that it retransmitted.

use fanin_tables::{Cause, RunTables};

use crate::common::{run, spec};

/// The number of stalls with this cause, and of all stalls of a run.
fn share(tables: &RunTables, cause: Cause) -> (usize, usize) {
    let of = tables.stalls.iter().filter(|stall| stall.cause == cause).count();
    assert_eq!(tables.stalls.len() as u64, tables.totals.stalls);
    assert_eq!(tables.stalls.iter().map(|stall| stall.took_ps).sum::<u64>(), tables.totals.stalled_ps);
    (of, tables.stalls.len())
}

/// Checks that there are stalls, and that those with one cause take most of their time; beside losses, a segment may wait for a delayed
/// ACK.
fn mostly(text: &str, fan_in: u32, cause: Cause) -> RunTables {
    let tables = run(&spec(text, fan_in, 1));
    let of: u64 = tables.stalls.iter().filter(|stall| stall.cause == cause).map(|stall| stall.took_ps).sum();
    assert!(2 * of > tables.totals.stalled_ps, "{:?}", tables.stalls);
    tables
}

const READS: &str =
    "schemes = [\"newreno\"]\n[link]\ndelay = \"5 us\"\n[workload]\nfragment = \"64 KiB\"\nduration = \"1 s\"\n";

#[test]
fn lost_window_stalls_until_timeout() {
    let tables = mostly(&format!("{READS}[switch]\nbuffer = \"64 KiB\"\n"), 32, Cause::Rto);
    // The minimum timeout, less the time of the other servers' remaining data.
    let stall = tables.stalls.iter().max_by_key(|stall| stall.took_ps).unwrap();
    assert!((150_000_000_000..210_000_000_000).contains(&stall.took_ps) && stall.cause == Cause::Rto, "{stall:?}");
    assert!(stall.from_host.is_some_and(|host| (1..=32).contains(&host)) && stall.client_host == 0, "{stall:?}");
}

#[test]
fn clients_that_serve_others_wait_for_their_own_responses() {
    // Each client's requests reach the others while it waits.
    let beside = "clients = 9\nservers = \"others\"\n[switch]\nbuffer = \"32 KiB\"\n";
    let tables = run(&spec(&format!("{READS}{beside}"), 8, 1));
    let slow = |client: u32| {
        let own = tables.queries.iter().filter(move |query| query.client_host == client);
        own.filter_map(|query| query.qct_ps.or(query.waited_ps)).filter(|took| *took > 200_000_000_000)
    };
    let mut waits = 0;
    for client in 0..9 {
        let idle: u64 =
            tables.stalls.iter().filter(|stall| stall.client_host == client).map(|stall| stall.took_ps).sum();
        let of_rounds: u64 = slow(client).sum();
        assert!(2 * idle >= of_rounds, "client {client} is idle for {idle} of {of_rounds} ps: {:?}", tables.stalls);
        waits += slow(client).count();
    }
    assert!(waits >= 9, "{waits} rounds with timeouts");
    assert!(2 * share(&tables, Cause::Rto).0 > tables.stalls.len(), "{:?}", tables.stalls);
}

#[test]
fn lost_tail_stalls_until_probe() {
    let text =
        format!("{READS}[switch]\nbuffer = \"64 KiB\"\n[tcp]\nprofile = \"linux\"\n").replace("newreno", "cubic");
    let by_seed = (1..=6).map(|seed| share(&run(&spec(&text, 16, seed)), Cause::Tlp).0);
    let by_seed: Vec<usize> = by_seed.collect();
    assert!(by_seed.iter().filter(|stalls| **stalls > 0).count() >= 2, "{by_seed:?}");
}

#[test]
fn lone_segment_stalls_on_delayed_ack() {
    let text = "schemes = [\"newreno\"]\n[link]\ndelay = \"5 us\"\n[tcp]\ninitial_window = 1\n\
                [workload]\nkind = \"web-search\"\nfragment = \"6000 B\"\nqueries = 20\n";
    assert!(mostly(text, 4, Cause::DelayedAck).stalls.len() >= 20);
}

#[test]
fn dropped_handshake_stalls_until_syn() {
    let text = "schemes = [\"newreno\"]\n[link]\ndelay = \"5 us\"\n[host]\npacket_jitter = \"none\"\n[switch]\nbuffer = \"8 packets\"\n\
                [workload]\nkind = \"one-shot\"\nfragment = \"100 B\"\n";
    let tables = run(&spec(text, 40, 1));
    let (of, all) = share(&tables, Cause::Syn);
    assert!(of > 1 && of + share(&tables, Cause::Rto).0 == all, "{:?}", tables.stalls);
    // A query that waits for it has its timeouts, each of a second.
    assert!(
        tables.queries[0].timeouts > Some(0) && tables.queries[0].waited_ps > Some(1_000_000_000_000),
        "{:?}",
        tables.queries
    );
}

#[test]
fn distinguishes_faults_from_drops() {
    let text = format!("{READS}[switch]\nbuffer = \"1 MiB\"\n[faults]\nloss = \"1 %\"\n");
    let tables = mostly(&text, 2, Cause::LinkFault);
    assert_eq!(tables.totals.drops, 0);
}

#[test]
fn crashed_and_slow_hosts_cause_stalls() {
    let fault = |what: &str| format!("{READS}[switch]\nbuffer = \"8 MiB\"\n[faults]\nhosts = [\"{what}\"]\n");
    let crashed = mostly(&fault("20 ms server3 crashes"), 8, Cause::Host);
    // Only the end of the run ends it.
    let last = crashed.stalls.last().unwrap();
    assert!(last.from_host.is_none() && last.took_ps > 900_000_000_000, "{last:?}");
    let slow =
        fault("20 ms server3 slows to 0.001").replace("[workload]", "[host]\nservice_time = \"50 us\"\n[workload]");
    let slow = mostly(&slow, 8, Cause::Host);
    assert!(slow.stalls.iter().all(|stall| stall.from_host.is_none_or(|host| host == 3)), "{:?}", slow.stalls);
}

#[test]
fn busy_servers_cause_application_stalls() {
    let text = "schemes = [\"one-all\"]\n[link]\nrate = \"100 Mbit/s\"\ndelay = \"5 us\"\n[switch]\nbuffer = \"8 MiB\"\n\
                [tcp]\ninitial_window = 100\n[workload]\nkind = \"key_value\"\nqueries = 20\n\
                [key_value]\nobjects = 100\nreplicas = 1\nper_request = 1\nfront_ends = 6\nserver = \"fifo\"\n\
                least = \"60 KB\"\nmost = \"60 KB\"\n";
    let tables = run(&spec(text, 6, 1));
    let (of, all) = share(&tables, Cause::Application);
    // Front ends are servers, too: some wait while their own responses are in flight.
    assert!(2 * of > all, "{of} of {all}: {:?}", tables.stalls);
}

#[test]
fn stalls_cover_every_client_and_burst() {
    let text = format!("{READS}clients = 3\nservers = \"own\"\n[switch]\nbuffer = \"32 KiB\"\n");
    let tables = mostly(&text, 32, Cause::Rto);
    let mut clients: Vec<u32> = tables.stalls.iter().map(|stall| stall.client_host).collect();
    clients.sort_unstable();
    clients.dedup();
    assert_eq!(clients, [0, 33, 66]);
}
