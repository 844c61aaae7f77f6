//! One short story a law, told as a table that a person can review in a diff: `trajectories/*.txt`.
//!
//! `UPDATE=1 cargo test -p fanin-laws --test trajectories` writes the tables anew; review what changed.

#[path = "trajectories/flow.rs"]
mod flow;
#[path = "trajectories/queue.rs"]
mod queue;
#[path = "trajectories/table.rs"]
mod table;

use fanin_laws::port::Discipline;
use fanin_laws::port::codel::{self, CoDel};
use fanin_laws::port::many_to_one::{Form, ManyToOne};
use fanin_laws::port::red::{self, Red, Thresholds};
use fanin_laws::sender::cubic::{self, Cubic};
use fanin_laws::sender::d2tcp::D2tcp;
use fanin_laws::sender::dctcp::{self, Dctcp};
use fanin_laws::sender::gentle_slow_start::GentleSlowStart;
use fanin_laws::sender::l2dct::L2dct;
use fanin_laws::sender::max_cwnd::MaxCwnd;
use fanin_laws::sender::{Base, Cause, Law, Variant};
use fanin_units::{QueueSize, Rate, Time};

use flow::{Flow, MSS};
use queue::Port;
use table::check;

fn on(base: Base) -> Law {
    Law { mss: MSS, base, slow_start: None, cap: None }
}

#[test]
fn newreno_tells_its_story() {
    let says = "slow start from 2, a loss at 16, congestion avoidance, a mark, a timeout, slow start to half";
    let mut flow = Flow::new("newreno", says, on(Base::NewReno), 2, 100);
    flow.rounds(3);
    flow.cut(Cause::Loss);
    flow.rounds(5);
    flow.cut(Cause::Ecn);
    flow.rounds(3);
    flow.cut(Cause::Timeout);
    flow.rounds(6);
    check(flow.table());
}

#[test]
fn cubic_tells_its_story() {
    let says = "a loss at 200: K = cbrt(60 / 0.4) = 5.3 s; a loss after W_max, one before it (fast convergence: W_max 155); a timeout";
    let params = cubic::Params { beta_q10: 717, c_q10: 410, fast_convergence: true };
    let mut flow = Flow::new("cubic", says, on(Base::Cubic(Cubic::new(params))), 200, 100_000);
    flow.cut(Cause::Loss);
    flow.rounds_by(80, 5);
    flow.cut(Cause::Loss);
    flow.rounds_by(15, 5);
    flow.cut(Cause::Loss);
    flow.rounds_by(40, 5);
    flow.cut(Cause::Timeout);
    flow.rounds_by(20, 2);
    check(flow.table());
}

#[test]
fn dctcp_tells_its_story() {
    let says = "g = 1/16, alpha from 1: a window of marks cuts by nearly half; clean windows let alpha decay; fewer marks cut less; a timeout";
    let params = dctcp::Params { g_q16: 4096, initial_alpha_q16: 65_536 };
    let mut flow = Flow::new("dctcp", says, on(Base::Dctcp(Dctcp::new(&params), Variant::Plain)), 10, 100);
    flow.show_alpha = true;
    flow.rounds(2);
    flow.marked_round(40);
    flow.rounds(5);
    for share in [10, 10, 4, 4, 1, 1] {
        flow.marked_round(share);
    }
    flow.rounds(3);
    flow.cut(Cause::Timeout);
    flow.rounds(4);
    check(flow.table());
}

const DCTCP: dctcp::Params = dctcp::Params { g_q16: 4096, initial_alpha_q16: 32_768 };

#[test]
fn d2tcp_tells_its_story() {
    let says = "alpha from 1/2, RTT 100 us, a mark each: no deadline (d = 1), one far off (1/2), one that is just right, \
                one too near (2), one gone by (2)";
    let mut flow = Flow::new("d2tcp", says, on(Base::Dctcp(Dctcp::new(&DCTCP), Variant::D2tcp(D2tcp::NEW))), 20, 100);
    flow.show_alpha = true;
    for (bytes, ms) in
        [(100_000, None), (100_000, Some(100)), (100_000, Some(1)), (1_000_000, Some(1)), (9000, Some(0))]
    {
        flow.begin_flow(bytes, ms);
        flow.marked_round(1);
        flow.rounds(1);
    }
    flow.cut(Cause::Loss);
    check(flow.table());
}

#[test]
fn l2dct_tells_its_story() {
    let says = "alpha from 1/2: a flow grows by a segment a window and gives way little; past 200 KB less and more; the \
                next answer is a new flow";
    let mut flow = Flow::new("l2dct", says, on(Base::Dctcp(Dctcp::new(&DCTCP), Variant::L2dct(L2dct::NEW))), 20, 100);
    flow.show_alpha = true;
    flow.begin_flow(2_000_000, None);
    flow.marked_round(1);
    for _ in 0..5 {
        flow.rounds_by(16, 8);
        flow.marked_round(8);
    }
    flow.begin_flow(2_000_000, None);
    flow.marked_round(8);
    flow.rounds(4);
    check(flow.table());
}

#[test]
fn gentle_slow_start_tells_its_story() {
    let says = "over newreno: empty queues double, half-full ones add the square root, full ones one segment; an idle time; \
                a timeout; from ssthresh on, newreno";
    let law = Law { slow_start: Some(GentleSlowStart::default()), ..on(Base::NewReno) };
    let mut flow = Flow::new("gentle_slow_start", says, law, 2, 100);
    flow.show_alpha = true;
    flow.rounds(3);
    for rtt_us in [150, 200, 150, 125, 100, 100] {
        flow.rtt_us = rtt_us;
        flow.rounds(1);
    }
    flow.idle();
    flow.rounds(2);
    flow.cut(Cause::Timeout);
    flow.rounds(8);
    check(flow.table());
}

#[test]
fn max_cwnd_tells_its_story() {
    let says = "over newreno, option of 8 B: alone, then 8, 64 and 200 flows in 64 KiB, then 8 again";
    let law = Law { cap: Some(MaxCwnd::new(8)), ..on(Base::NewReno) };
    let mut flow = Flow::new("max_cwnd", says, law, 2, 100);
    flow.show_usable = true;
    flow.rounds(3);
    for (mcw, rounds) in [(65_494, 2), (8150, 2), (982, 2), (285, 2), (0, 1), (8150, 4)] {
        flow.allot(mcw);
        flow.rounds(rounds);
    }
    check(flow.table());
}

#[test]
fn drop_tail_tells_its_story() {
    let says = "a queue of 6 packets: two come for one that leaves, then none come";
    let mut port = Port::new("drop_tail", says, Discipline::DropTail, Some(QueueSize::Packets(6)), None);
    port.fill_and_drain(8, 2, 8);
    check(port.table());
}

#[test]
fn ecn_threshold_tells_its_story() {
    let says =
        "K = 3 of 8 packets; every third packet is not ECN-capable; two come for one that leaves, then none come";
    let k = Discipline::EcnThreshold(QueueSize::Packets(3));
    let mut port = Port::new("ecn_threshold", says, k, Some(QueueSize::Packets(8)), None);
    port.not_ect_every = 3;
    port.fill_and_drain(8, 2, 6);
    check(port.table());
}

#[test]
fn red_tells_its_story() {
    let says =
        "min_th 5, max_th 15, max_p 0.1, w 0.25, ECN: two come for one that leaves, then none come, then a few again";
    let red = Red::new(red::Params {
        thresholds: Thresholds::new(QueueSize::Packets(5), QueueSize::Packets(15)),
        max_p_q16: 6554,
        weight_q32: 1 << 30,
        instantaneous: false,
        gentle: false,
        wait: false,
        byte_mode: None,
        ecn: true,
        rate: Rate(1_000_000_000),
    });
    let mut port = Port::new("red", says, Discipline::Red(red), Some(QueueSize::Packets(40)), None);
    port.not_ect_every = 7;
    port.fill_and_drain(20, 2, 30);
    port.fill_and_drain(3, 1, 0);
    check(port.table());
}

#[test]
fn codel_tells_its_story() {
    let says = "target 50 us, interval 200 us, ECN, every third packet not ECN-capable: two come for one that leaves, \
                then none come";
    let codel = CoDel::new(codel::Params {
        target: Time::from_micros(50),
        interval: Time::from_micros(200),
        max_packet: 1500,
        ecn: true,
        resume: codel::Resume::Rfc8289,
    });
    let mut port = Port::new("codel", says, Discipline::CoDel(codel), Some(QueueSize::Packets(60)), None);
    port.not_ect_every = 3;
    port.fill_and_drain(40, 2, 40);
    check(port.table());
}

#[test]
fn many_to_one_tells_its_story() {
    let says = "a port of 64 KiB: flows open, one twice, and close, one twice";
    let law = Some(ManyToOne::new(Form::Window, 65_536));
    let mut port = Port::new("many_to_one", says, Discipline::DropTail, Some(QueueSize::Bytes(65_536)), law);
    port.opens(1);
    port.data(1);
    port.opens(2);
    port.opens(2);
    port.data(1);
    for flow in 3..=8 {
        port.opens(flow);
    }
    port.data(1);
    port.closes(2);
    port.closes(2);
    port.data(1);
    for flow in [1, 3, 4, 5, 6, 7, 8] {
        port.closes(flow);
    }
    port.data(1);
    check(port.table());
}
