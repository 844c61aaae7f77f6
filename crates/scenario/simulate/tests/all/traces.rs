//! Traces: computations and messages that wait for one another, and an all-reduce beside the built-in one.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::common::{checked, run, spec};
use fanin_spec::{FilePath, Kind, Optional, PacketJitter, RunSpec, Scenario, Scheme, Settings, Trace, Watch};
use fanin_tables::{FlowKind, RunTables};
use fanin_testing::chakra;
use fanin_units::{QueueSize, Rate, Time};

/// A run of a trace in GOAL's text form.
fn trace(text: &str) -> RunSpec {
    spec_of(Trace::parse("a.goal", text).unwrap())
}

/// A run of a trace of Chakra's over the network of [`built_in`].
fn chakra(ranks: &[Vec<Vec<u8>>], algorithm: &str) -> RunSpec {
    let last = ranks.len() - 1;
    let scenario = format!("{NETWORK}kind = \"trace\"\nfile = \"{{0..{last}}}.et\"\nalgorithm = \"{algorithm}\"\n");
    let read = |path: &str| {
        let rank: usize = path.trim_end_matches(".et").parse().unwrap();
        Ok((path.to_string(), chakra::file(&ranks[rank])))
    };
    let mut scenario = Scenario::parse("test.toml", &scenario).unwrap();
    scenario.assign("--fan-in", &format!("sweep.fan_in=[{last}]")).unwrap();
    scenario.variants_with(&read).unwrap()[0].run(last as u32, 1).unwrap()
}

/// A run over a star of 10 Gbit/s and 1 us a link.
fn spec_of(trace: Trace) -> RunSpec {
    let mut s = Settings::default();
    (s.link.rate, s.link.delay) = (Rate(10_000_000_000), Time::from_micros(1));
    s.host.packet_jitter = PacketJitter::None;
    s.switch.buffer = QueueSize::Bytes(1_000_000);
    s.workload.kind = Kind::Trace;
    s.workload.file = Optional(Some(FilePath("a.goal".into())));
    let servers = trace.ranks().len().max(2) as u32 - 1;
    s.inputs.trace = Some(Arc::new(trace));
    checked(Scheme::parse("dctcp").unwrap(), s, servers, 1)
}

/// When a trace ended, in ps.
fn took(text: &str) -> u64 {
    run(&trace(text)).queries[0].qct_ps.expect("it ends")
}

#[test]
fn computations_of_a_processor_take_turns() {
    let calc = |second: &str| took(&format!("num_ranks 1\nrank 0 {{\ncalc 3000\ncalc 2000 cpu {second}\n}}\n"));
    assert_eq!((calc("0"), calc("1")), (5_000_000, 3_000_000));
    // One that waits for a start begins with it, one that waits for an end after it.
    let second =
        |waits: &str| took(&format!("num_ranks 1\nrank 0 {{\na: calc 3000\nb: calc 2000 cpu 1\nb {waits} a\n}}\n"));
    assert_eq!((second("irequires"), second("requires")), (3_000_000, 5_000_000));
}

#[test]
fn receive_waits_for_its_message_and_its_turn() {
    let ping = |calc: &str| {
        took(&format!(
            "num_ranks 2\nrank 0 {{\nsend 1000b to 1\n}}\nrank 1 {{\nb: calc {calc}\na: recv 1000b from 0\na requires b\nc: calc 1000\n\
             c requires a\n}}\n"
        ))
    };
    // A handshake and a packet of 1,000 B take 3 one-way trips of 2 us and their transmission.
    let early = ping("0");
    assert!((7_000_000..11_000_000).contains(&early), "{early} ps");
    // The message is there before the receive.
    assert_eq!(ping("50000"), 51_000_000);
}

#[test]
fn ring_takes_as_long_as_the_built_in_one() {
    let (ranks, part) = (4, 250_000);
    let mut text = format!("num_ranks {ranks}\n");
    for rank in 0..ranks {
        text += &format!("rank {rank} {{\n");
        for step in 0..2 * (ranks - 1) {
            let (next, before) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
            text += &format!(
                "s{step}: send {part}b to {next} tag {step}\nr{step}: recv {part}b from {before} tag {step}\n"
            );
            if step > 0 {
                text += &format!("s{step} requires r{}\n", step - 1);
            }
        }
        text += "}\n";
    }
    let tables = run(&trace(&text));
    assert!(tables.flows.iter().all(|flow| flow.class == FlowKind::Message && flow.fct_ps.is_some()));
    let [ours, theirs] = [tables, built_in("ring")].map(|tables| end(&tables) as f64);
    assert!((ours / theirs - 1.0).abs() < 1e-3, "{ours} ps, built in {theirs} ps");
}

/// A star of 10 Gbit/s and 1 us a link, up to the workload's keys.
const NETWORK: &str = "schemes = [\"dctcp\"]\n[link]\nrate = \"10 Gbit/s\"\ndelay = \"1 us\"\n[switch]\nbuffer = \"1000000 B\"\n\
                       [host]\npacket_jitter = \"none\"\n[workload]\n";

/// The built-in all-reduce of 1 MB over four hosts.
fn built_in(algorithm: &str) -> RunTables {
    let workload = "kind = \"all-reduce\"\nfragment = \"1000000 B\"\nqueries = 1\n";
    run(&spec(&format!("{NETWORK}{workload}algorithm = \"{algorithm}\"\n"), 3, 1))
}

/// When the operation of a run ended, in ps.
fn end(tables: &RunTables) -> u64 {
    tables.queries[0].qct_ps.expect("it ends")
}

/// A collective of a kind and a size.
fn collective(id: u64, after: &[u64], kind: i64, bytes: i64, group: Option<&str>) -> Vec<u8> {
    chakra::node(id, chakra::COLLECTIVE, after, 0, &[("comm_type", kind), ("comm_size", bytes)], group)
}

/// A computation of an accelerator.
fn compute(id: u64, after: &[u64], micros: u64) -> Vec<u8> {
    chakra::node(id, chakra::COMPUTE, after, micros, &[("is_cpu_op", 0)], None)
}

const ALL_REDUCE: i64 = 0;
const ALL_GATHER: i64 = 2;
const ALL_TO_ALL: i64 = 6;
const REDUCE: i64 = 1;
const GATHER: i64 = 3;
const SCATTER: i64 = 4;
const BROADCAST: i64 = 5;
const REDUCE_SCATTER: i64 = 7;

#[test]
fn all_reduces_of_chakra_take_as_long_as_the_built_in_ones() {
    for algorithm in ["ring", "tree", "halving-doubling"] {
        let ranks = vec![vec![collective(1, &[], ALL_REDUCE, 1_000_000, None)]; 4];
        let [ours, theirs] = [run(&chakra(&ranks, algorithm)), built_in(algorithm)].map(|tables| end(&tables) as f64);
        assert!((ours / theirs - 1.0).abs() < 1e-3, "{algorithm}: {ours} ps, built in {theirs} ps");
    }
}

#[test]
fn a_reduce_scatter_and_an_all_gather_send_what_an_all_reduce_does() {
    let sent = |ranks: &[Vec<Vec<u8>>]| {
        let tables = run(&chakra(ranks, "ring"));
        assert!(tables.flows.iter().all(|flow| flow.class == FlowKind::Part && flow.fct_ps.is_some()));
        tables.flows.iter().filter_map(|flow| flow.payload_bytes).sum::<u64>()
    };
    let halves = [collective(1, &[], REDUCE_SCATTER, 1_000_000, None), collective(2, &[1], ALL_GATHER, 250_000, None)];
    assert_eq!(sent(&vec![halves.to_vec(); 4]), 6 * 1_000_000);
    // Each of four ranks sends a quarter to each other one.
    assert_eq!(sent(&vec![vec![collective(1, &[], ALL_TO_ALL, 1_000_000, None)]; 4]), 3 * 1_000_000);
}

#[test]
fn rooted_collectives_take_their_closed_forms() {
    // 10 Gbit/s: a megabyte takes 0.8 ms, with headers 2 to 10 % more. A gather and a scatter share the root's link; a broadcast and a
    // reduce go along three links in two chunks of half a megabyte, so that four of these follow one another.
    let took =
        |kind: i64| end(&run(&chakra(&vec![vec![collective(1, &[], kind, 1_000_000, None)]; 4], "ring"))) as f64 / 1e9;
    let of = |kind: i64, ms: f64| {
        let took = took(kind);
        assert!((1.02 * ms..1.15 * ms).contains(&took), "kind {kind}: {took} ms, {ms} without headers");
    };
    of(GATHER, 3.0 * 0.8);
    of(SCATTER, 3.0 / 4.0 * 0.8);
    of(BROADCAST, 4.0 * 0.4);
    of(REDUCE, 4.0 * 0.4);
}

#[test]
fn collectives_overlap_computations_and_wait_for_their_last_rank() {
    let alone = end(&run(&chakra(&vec![vec![collective(1, &[], ALL_REDUCE, 1_000_000, None)]; 4], "ring")));
    // Rank 2 joins after 5 ms; a computation of 4 ms on each rank does not delay the others.
    let of = |rank: u64| match rank {
        2 => vec![compute(1, &[], 5_000), collective(2, &[1], ALL_REDUCE, 1_000_000, None)],
        _ => vec![compute(1, &[], 4_000), collective(2, &[], ALL_REDUCE, 1_000_000, None)],
    };
    let ranks: Vec<_> = (0..4).map(of).collect();
    let late = end(&run(&chakra(&ranks, "ring")));
    // The first parts have travelled before; the last rank still takes all steps of the ring.
    assert!((5_000_000_000..5_000_000_000 + alone * 101 / 100).contains(&late), "{late} ps, alone {alone} ps");
}

#[test]
fn groups_are_the_ranks_that_use_their_names() {
    let of = |rank: u64| {
        let group = if rank.is_multiple_of(2) { "even" } else { "odd" };
        vec![collective(1, &[], ALL_REDUCE, 1_000_000, Some(group))]
    };
    let ranks: Vec<_> = (0..4).map(of).collect();
    let tables = run(&chakra(&ranks, "ring"));
    assert_eq!(tables.flows.len(), 2 * 2 * 2);
    assert!(tables.flows.iter().all(|flow| flow.from_host % 2 == flow.to_host % 2), "{:?}", tables.flows);
    end(&tables);
}

#[test]
fn messages_of_chakra_wait_for_their_computations() {
    let send = [("comm_size", 1_000), ("comm_dst", 1), ("comm_tag", 3)];
    let receive = [("comm_size", 1_000), ("comm_src", 0), ("comm_tag", 3)];
    let ranks = [
        vec![compute(7, &[], 30), chakra::node(9, chakra::SEND, &[7], 0, &send, None)],
        vec![chakra::node(4, chakra::RECEIVE, &[], 0, &receive, None), compute(2, &[4], 20)],
    ];
    let took = end(&run(&chakra(&ranks, "ring")));
    // Both computations, a handshake and a packet: 3 one-way trips of 2 us.
    assert!((57_000_000..61_000_000).contains(&took), "{took} ps");
}

#[test]
fn ranks_account_for_their_time() {
    let tables = run(&trace(
        "num_ranks 2\nrank 0 {\na: calc 3000\nb: send 1000b to 1\nb requires a\n}\nrank 1 {\nrecv 1000b from 0\ncalc 1000\n}\n",
    ));
    let [sender, receiver] = &tables.ranks[..] else { panic!("{:?}", tables.ranks) };
    let took = tables.queries[0].qct_ps.unwrap();
    // The receive waits 3 us for the send, the first of them during a computation.
    assert_eq!((sender.compute_ps, sender.network_ps, sender.delays_ps), (3_000_000, took - 3_000_000, 3_000_000));
    assert_eq!((receiver.compute_ps, receiver.waiting_ps), (1_000_000, 2_000_000));
    assert_eq!((receiver.network_ps, receiver.end_ps), (took - 3_000_000, Some(took)));
    assert_eq!((sender.waiting_ps, sender.hidden_ps, receiver.delays_ps), (0, 0, 0));
    // A computation hides a message that is on its way before its receive.
    let tables = run(&trace(
        "num_ranks 2\nrank 0 {\nsend 1000b to 1\n}\nrank 1 {\na: calc 1000\nb: recv 1000b from 0\nb requires a\ncalc 50000\n}\n",
    ));
    let [sender, receiver] = &tables.ranks[..] else { panic!("{:?}", tables.ranks) };
    assert_eq!(receiver.compute_ps, 51_000_000);
    assert_eq!((receiver.hidden_ps, receiver.network_ps), (sender.network_ps - 1_000_000, 0));
}

#[test]
fn collectives_have_rows_with_the_rank_that_was_late() {
    let ms = 1_000_000_000;
    let all_reduce = || collective(1, &[], ALL_REDUCE, 1_000_000, None);
    let alone = run(&chakra(&vec![vec![all_reduce()]; 4], "ring"));
    let row = &alone.collectives[0];
    let took = end(&alone);
    assert_eq!((row.kind.as_str(), row.ranks, row.payload_bytes), ("all-reduce", 4, 1_000_000));
    assert_eq!((row.start_ps, row.late_ps, row.took_ps), (0, Some(0), Some(took)));
    let bps = 8_000_000 * 1_000 * ms / took;
    assert_eq!(row.algorithm_bps, Some(bps));
    // 2 * 3 / 4 of it.
    assert_eq!(row.bus_bps.unwrap() / 2, 6_000_000 * 1_000 * ms / took);
    // Rank 2 computes for 5 ms first.
    let late = vec![compute(1, &[], 5_000), collective(2, &[1], ALL_REDUCE, 1_000_000, None)];
    let mut ranks = vec![vec![all_reduce()]; 4];
    ranks[2] = late;
    let tables = run(&chakra(&ranks, "ring"));
    let row = &tables.collectives[0];
    assert_eq!((row.late_ps, row.late_host, row.took_ps), (Some(5 * ms), 2, Some(end(&tables))));
    assert_eq!(tables.ranks.iter().map(|rank| rank.delays_ps).collect::<Vec<_>>(), [0, 0, 15 * ms, 0]);
    assert_eq!(tables.ranks[0].waiting_ps, 5 * ms);
    assert_eq!(tables.ranks[2].compute_ps, 5 * ms);
}

#[test]
fn a_collective_of_one_rank_ends_at_once() {
    let tables = run(&chakra(&[vec![collective(1, &[], ALL_REDUCE, 10, Some("a"))], vec![compute(1, &[], 1)]], "ring"));
    let row = &tables.collectives[0];
    assert_eq!((row.took_ps, row.last_host, row.bus_bps), (Some(0), Some(0), None));
    assert_eq!(tables.ranks[0].end_ps, Some(0));
}

#[test]
fn collectives_survive_a_link_that_fails_within_them() {
    let took = |[scheme, spraying]: [&str; 2], changes: &str| {
        let scenario = format!(
            "schemes = [\"{scheme}\"]\n[uet]\nspraying = \"{spraying}\"\n[fabric]\nkind = \"leaf-spine\"\nracks = 2\nhosts_per_rack = 2\nspines = 2\nchanges = [{changes}]\n\
             [link]\nrate = \"10 Gbit/s\"\ndelay = \"1 us\"\n[switch]\nbuffer = \"1000000 B\"\n[host]\npacket_jitter = \"none\"\n\
             [workload]\nkind = \"trace\"\nfile = \"{{0..3}}.et\"\n"
        );
        let read =
            |path: &str| Ok((path.to_string(), chakra::file(&[collective(1, &[], ALL_TO_ALL, 8_000_000, None)])));
        let mut scenario = Scenario::parse("test.toml", &scenario).unwrap();
        scenario.assign("--fan-in", "sweep.fan_in=[3]").unwrap();
        let tables = run(&scenario.variants_with(&read).unwrap()[0].run(3, 1).unwrap());
        assert!(tables.flows.iter().all(|flow| flow.fct_ps.is_some()), "{scheme}");
        tables.collectives[0].took_ps.expect("it ends")
    };
    for of in [["dctcp", "random"], ["nscc", "random"], ["nscc", "reps"], ["nscc", "bitmap"], ["nscc", "adaptive"]] {
        let whole = took(of, "");
        let failed = took(of, "\"1 ms leaf1 spine1 down\"");
        let back = took(of, "\"1 ms leaf1 spine1 down\", \"2 ms leaf1 spine1 up\"");
        // Flows of TCP keep the paths of their hashes, and may have better ones after a failure.
        assert!(whole < failed && back < failed, "{of:?}: {whole}, {back}, {failed}");
    }
}

#[test]
fn watched_ranks_have_series_that_add_up_to_their_rows() {
    let (compute, gather) = (compute(1, &[], 70), collective(2, &[1], ALL_REDUCE, 1_000_000, None));
    let mut ranks = vec![vec![compute.clone(), gather]; 4];
    let late = chakra::node(3, chakra::COMPUTE, &[1], 150, &[], None);
    ranks[2] = vec![compute, late, collective(2, &[3], ALL_REDUCE, 1_000_000, None)];
    let spec = chakra(&ranks, "ring");
    let whole = Watch { step: Time::from_micros(40), from: Time::ZERO, to: Time::NEVER, servers: Vec::new() };
    let seen = fanin_simulate::watch(&spec, whole, &AtomicBool::new(false)).unwrap();
    assert!(run(&spec).rank_series.is_empty());
    for rank in &seen.ranks {
        let own = || seen.rank_series.iter().filter(|part| part.host == rank.host);
        let sums =
            own().fold([0; 3], |[a, b, c], part| [a + part.compute_ps, b + part.network_ps, c + part.waiting_ps]);
        assert_eq!(sums, [rank.compute_ps, rank.network_ps, rank.waiting_ps], "{}", rank.host);
        assert!(own().all(|part| part.time_ps % 40_000_000 == 0 && part.span_ps % 40_000_000 == 0));
    }
    // One part of 40 us, and one of 30 us and 10 us of waiting.
    let first: Vec<_> = seen.rank_series.iter().take(2).map(|part| [part.compute_ps, part.waiting_ps]).collect();
    assert_eq!(first, [[40_000_000, 0], [30_000_000, 10_000_000]]);
}

#[test]
fn followed_collectives_are_those_of_the_table() {
    let spec = chakra(
        &vec![vec![collective(1, &[], ALL_REDUCE, 1_000_000, None), collective(2, &[1], ALL_TO_ALL, 9_000, None)]; 4],
        "ring",
    );
    let mut rows = Vec::new();
    let tables = fanin_simulate::follow(&spec, &AtomicBool::new(false), &mut |row| rows.push(row.clone())).unwrap();
    assert_eq!((tables.collectives.len(), &tables), (2, &run(&spec)));
    assert_eq!(rows, tables.collectives);
}
