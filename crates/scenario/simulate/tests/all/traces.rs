//! Traces: computations and messages that wait for one another, and an all-reduce beside the built-in one.

use std::sync::Arc;

use crate::common::{checked, run, spec};
use fanin_spec::{FilePath, Kind, Optional, PacketJitter, RunSpec, Scheme, Settings, Trace};
use fanin_tables::FlowKind;
use fanin_units::{QueueSize, Rate, Time};

/// A run of a trace over a star of 10 Gbit/s and 1 us a link.
fn trace(text: &str) -> RunSpec {
    let mut s = Settings::default();
    (s.link.rate, s.link.delay) = (Rate(10_000_000_000), Time::from_micros(1));
    s.host.packet_jitter = PacketJitter::None;
    s.switch.buffer = QueueSize::Bytes(1_000_000);
    s.workload.kind = Kind::Trace;
    s.workload.file = Optional(Some(FilePath("a.goal".into())));
    let trace = Trace::parse("a.goal", text).unwrap();
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
    let built_in = spec(
        "schemes = [\"dctcp\"]\n[link]\nrate = \"10 Gbit/s\"\ndelay = \"1 us\"\n[switch]\nbuffer = \"1000000 B\"\n\
         [host]\npacket_jitter = \"none\"\n[workload]\nkind = \"all-reduce\"\nfragment = \"1000000 B\"\nqueries = 1\n",
        3,
        1,
    );
    let [ours, theirs] = [tables, run(&built_in)].map(|tables| tables.queries[0].qct_ps.expect("it ends") as f64);
    assert!((ours / theirs - 1.0).abs() < 1e-3, "{ours} ps, built in {theirs} ps");
}
