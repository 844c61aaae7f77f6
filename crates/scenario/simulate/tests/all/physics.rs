//! Closed forms and the papers' settings, compared with runs.

use crate::common::{run, spec};
use fanin_units::Time;

const FIXED_FRAGMENT: &str = r#"
    [link]
    rate = "1 Gbit/s"
    framing = "2 B"
    [host]
    service_time = "20 us"
    service_jitter = "50 us"
    [tcp]
    mss = "576 B"
    initial_window = 1
    sack = false
    limited_transmit = false
    delayed_ack = 1
    [workload]
    fragment = "256 KiB"
    duration = "2 s"
"#;

fn fixed_fragment(scheme: &str, fan_in: u32) -> fanin_tables::RunTables {
    run(&spec(&format!("schemes = [\"{scheme}\"]\n{FIXED_FRAGMENT}"), fan_in, 1))
}

#[test]
fn newreno_collapses_as_in_the_papers() {
    let few = fixed_fragment("newreno", 2).goodput_mbps();
    let many = fixed_fragment("newreno", 32);
    assert!(many.goodput_mbps() < 400.0, "{} Mbit/s with 32 servers, {few} with 2", many.goodput_mbps());
    assert!(many.totals.timeouts > 0);
}

#[test]
fn assigned_windows_never_overflow_the_switch() {
    for fan_in in [2, 8, 32, 64, 100] {
        let tables = fixed_fragment("newreno+m21", fan_in);
        assert_eq!((tables.totals.drops, tables.totals.timeouts), (0, 0), "with {fan_in} servers");
        assert!(tables.goodput_mbps() > 850.0, "{} Mbit/s with {fan_in} servers", tables.goodput_mbps());
    }
}

#[test]
fn window_below_one_segment_makes_progress() {
    let tables = fixed_fragment("newreno+m21", 128);
    assert!(tables.goodput_mbps() > 700.0, "{} Mbit/s", tables.goodput_mbps());
}

#[test]
fn dctcp_queue_stays_near_threshold() {
    // Alizadeh et al., SIGCOMM 2010, section 3.3: with long flows the queue peaks at K + N packets. The senders' own links are faster, so
    // the queue builds up at the switch. Slow start's overshoot, up to a window that doubles within a round trip, adds to it: 2 (C RTT + K)
    // packets in all, with C RTT of 83.
    let scenario = r#"
        schemes = ["dctcp"]
        [link]
        rate = "40 Gbit/s"
        client_rate = "10 Gbit/s"
        [switch]
        buffer = "2000 packets"
        [tcp]
        initial_window = 2
        delayed_ack = 1
        [workload]
        kind = "long"
        start_jitter = "50 ms"
        duration = "200 ms"
        [ecn_threshold]
        k = "65 packets"
    "#;
    let frame = 1518;
    for n in [1, 2, 4] {
        let tables = run(&spec(scenario, n, 1));
        let queue = tables.totals.queue_max_bytes / frame;
        assert!(queue > 65, "a queue of {queue} packets with {n} flows");
        assert!(queue < 2 * (83 + 65) + u64::from(n), "a queue of {queue} packets with {n} flows");
        assert_eq!(tables.totals.drops, 0);
    }
}

#[test]
fn queue_overflows_at_calculated_fan_in() {
    // N senders with w segments each fill the wire and the buffer at N* = (C RTT + B) / (w MSS): with new connections at once, 10 segments
    // of 1,518 B, and 250 packets, between 25 and 32 senders.
    let scenario = r#"
        schemes = ["newreno"]
        [link]
        rate = "10 Gbit/s"
        [switch]
        buffer = "250 packets"
        [workload]
        kind = "one-shot"
        fragment = "14600 B"
        duration = "60 s"
    "#;
    assert_eq!(run(&spec(scenario, 25, 1)).totals.drops, 0);
    assert!(run(&spec(scenario, 32, 1)).totals.drops > 0);
}

#[test]
fn single_flow_takes_the_calculated_time() {
    // One segment of 1,000 B after a handshake: SYN, SYN-ACK, then the segment with its FIN, at 1 Gbit/s and 25 us per link. SYN and
    // SYN-ACK are packets of 52 B; the handshake's ACK of 40 B leaves just before the segment. Ethernet adds 38 B, and 44 B to the ACK,
    // whose frame is padded to 64 B; framing of 2 B adds exactly that.
    for (framing, syn, ack, data) in [("", 90, 84, 1_078), ("framing = \"2 B\"", 54, 42, 1_042)] {
        let scenario = format!(
            "schemes = [\"newreno\"]\n[link]\n{framing}\n[host]\npacket_jitter = \"none\"\n\
             [workload]\nkind = \"one-shot\"\nfragment = \"1000 B\"\n"
        );
        let tables = run(&spec(&scenario, 1, 1));
        let ways = 3 * 2 * Time::from_micros(25).0;
        assert_eq!(tables.flows[0].fct_ps, Some(ways + (2 * 2 * syn + ack + 2 * data) * 8_000), "{framing}");
    }
}

#[test]
fn ethernet_overhead_differs_on_wire() {
    // Eight segments of 1,500 B from each of four hosts, which open the connections with a SYN of 52 B and an ACK of 40 B. On the wire,
    // each has 38 B more, and the ACK takes 84 B.
    let scenario = r#"
        schemes = ["newreno"]
        [switch]
        buffer = "100 packets"
        [workload]
        kind = "one-shot"
        fragment = "11680 B"
    "#;
    let tables = run(&spec(scenario, 4, 1));
    let port = tables.ports.iter().find(|port| port.port == "switch>client").expect("all cross it");
    assert_eq!((port.packets, port.drops()), (4 * (8 + 2), 0));
    assert_eq!(port.wire_bytes, 4 * (8 * 1_538 + 90 + 84));
    // Four packets arrive at once and one of them is on the wire: the queue holds full frames of 1,518 B and ACKs of 64 B.
    assert!((1..=3 * 8).any(|full| (0..4).any(|acks| port.queue_max_bytes == full * 1_518 + acks * 64)));
}

#[test]
fn barrier_stalls_until_timeout() {
    let tables = fixed_fragment("newreno", 64);
    let slow = tables.queries.iter().filter_map(|q| q.qct_ps).filter(|&qct| qct > Time::from_millis(200).0).count();
    assert!(slow * 2 > tables.totals.rounds as usize, "{slow} of {} rounds waited", tables.totals.rounds);
}

/// Long flows through a deep buffer: goodput in Mbit/s, the longest queue in bytes, drops, marks.
fn deep(scheme: &str, more: &str) -> (f64, u64, u64, u64) {
    let scenario = format!(
        r#"
        schemes = ["{scheme}"]
        [switch]
        buffer = "2000 packets"
        [workload]
        kind = "long"
        duration = "3 s"
        {more}
    "#
    );
    let tables = run(&spec(&scenario, 4, 1));
    let totals = &tables.totals;
    (tables.goodput_mbps(), totals.queue_max_bytes, totals.drops, totals.marks)
}

#[test]
fn codel_keeps_a_short_busy_queue() {
    let codel = "[codel]\ntarget = \"800 us\"\ninterval = \"1500 us\"";
    let (plain, long, ..) = deep("newreno", codel);
    for (scheme, by_drops) in [("newreno+codel", true), ("newreno+codel+ecn", false), ("dctcp+codel", false)] {
        let (goodput, longest, drops, marks) = deep(scheme, codel);
        assert!(goodput > 0.85 * plain, "{scheme}: {goodput} of {plain} Mbit/s");
        assert!(longest < long / 2, "{scheme}: {longest} of {long} B");
        assert_eq!((drops > 0, marks > 0), (by_drops, !by_drops), "{scheme}: {drops} drops, {marks} marks");
    }
}

#[test]
fn red_delay_thresholds_follow_link_rate() {
    let red = |delay: &str| format!("[red]\ninstantaneous = true\ntarget_delay = \"{delay}\"");
    let (_, long, ..) = deep("newreno+red+ecn", &red("4 ms"));
    let (_, short, _, marks) = deep("newreno+red+ecn", &red("500 us"));
    assert!(short < long && marks > 0, "{short} and {long} B, {marks} marks");
    // 8 ms at 1 Gbit/s end at 3,000 packets, which no queue of 2,000 reaches.
    assert_eq!(deep("newreno+red+ecn", &red("8 ms")).3, 0);
}

#[test]
fn ports_count_data_packets_separately() {
    let text = "schemes = [\"newreno\"]\n[workload]\nkind = \"one-shot\"\nfragment = \"14600 B\"\n";
    let tables = run(&spec(text, 4, 1));
    let port = |name: &str| tables.ports.iter().find(|port| port.port == name).unwrap();
    let (down, up) = (port("switch>client"), port("client>switch"));
    assert_eq!(tables.totals.drops, 0);
    assert_eq!(down.data_packets, 4 * 10, "ten segments a server");
    assert!(down.packets > down.data_packets, "with handshakes and closing");
    assert_eq!(up.data_packets, 0);
    assert!(up.packets > 4 * 5, "an ACK for every other segment: {}", up.packets);
}

#[test]
fn gss_doubles_without_handshake_samples() {
    let takes = |scheme: &str, gss: &str| {
        let text = format!(
            "schemes = [\"{scheme}\"]\n[link]\nrate = \"10 Gbit/s\"\ndelay = \"25 us\"\n[switch]\nbuffer = \"4 MB\"\n\
             [host]\npacket_jitter = \"none\"\n[tcp]\ninitial_window = 2\ndelayed_ack = 1\n\
             [workload]\nkind = \"one-shot\"\nfragment = \"4 MiB\"\n{gss}"
        );
        run(&spec(&text, 1, 1)).queries[0].qct_ps.expect("it ends")
    };
    let newreno = takes("newreno", "");
    assert_eq!(takes("newreno+gss", ""), newreno);
    // The handshake's packets are small: every later window takes longer than they do, so each grows by one.
    assert!(takes("newreno+gss", "[gss]\nhandshake = true\n") > newreno * 3 / 2);
}
