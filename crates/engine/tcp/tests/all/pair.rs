//! Two endpoints over a network that loses, delays, reorders, repeats and marks packets: with all settings, every byte is
//! delivered once and in order, both ends finish, and neither sends beyond the peer's window.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use crate::network::{Case, Faults, run};
use fanin_laws::sender::gentle_slow_start::GentleSlowStart;
use fanin_laws::sender::max_cwnd::MaxCwnd;
use fanin_laws::sender::{Kind, Law, Settings, swift};
use fanin_tcp::{Echo, Ect, NewReno, Params, RtoFloor, RttVariance};
use fanin_units::{Share, Time};
use proptest::prelude::*;

const MSS: u32 = 500;

/// Congestion control number `n`, with or without gentle slow start. Adjacent numbers are unrelated.
fn law(n: u32, params: &Params) -> Law {
    let scattered = (n.wrapping_mul(2_654_435_761) >> 8) as usize;
    // Timeouts make round trips of half a second here, a thousand of which separate packets at Swift's smallest default window.
    let swift = swift::Params { min_window: Share::of(1, 2), base_target: Time::from_millis(5), ..Default::default() };
    Law {
        mss: params.mss,
        base: Kind::ALL[scattered / 2 % Kind::ALL.len()].start(&Settings { swift, ..Default::default() }),
        slow_start: scattered.is_multiple_of(2).then(GentleSlowStart::default),
        cap: params.mcw_option.then(|| MaxCwnd::new(params.option_bytes() as u8)),
    }
}

/// Settings number `n`: each combination of the switches occurs, with various ACK and timer settings of Linux.
fn settings(mut n: u32) -> Params {
    let scattered = n.wrapping_mul(2_654_435_761) >> 8;
    let mut pick = |choices: u32| {
        let choice = n % choices;
        n /= choices;
        choice
    };
    Params {
        sack: pick(2) == 1,
        rack: pick(2) == 1,
        tail_loss_probe: pick(2) == 1,
        newreno: if pick(2) == 1 { NewReno::Pipe } else { NewReno::Inflate },
        limited_transmit: pick(2) == 1,
        timestamps: pick(2) == 1,
        delayed_ack: 1 + pick(3),
        ect: [None, Some(Ect::Data), Some(Ect::All)][pick(3) as usize],
        echo: if pick(2) == 1 { Echo::Exact } else { Echo::Latched },
        mcw_option: pick(2) == 1,
        ack_cwr: pick(2) == 1,
        max_retransmissions: None,
        karn_backoff: pick(2) == 1,
        quick_acks: 4 * pick(2) as u8,
        idle_restart: pick(2) == 1,
        window_validation: pick(2) == 1,
        packet_window: scattered % 5 < 2,
        undo: scattered % 7 < 4,
        frto: false,
        hystart: scattered % 6 < 3,
        cut_window: pick(2) == 1,
        byte_counting: pick(2) == 1,
        mss: MSS,
        initial_cwnd: 4 * MSS,
        rto_min: Time::from_millis(10),
        rto_floor: RtoFloor::Timeout,
        rtt_variance: if scattered.is_multiple_of(3) { RttVariance::Linux } else { RttVariance::Rfc6298 },
        max_ack_delay: Time::from_millis(2),
        timer_margin: Time::ZERO,
        // The network has no ticks: waits are rounded all the same.
        tick: Time::from_millis(u64::from(pick(2))),
        acks_wait_for_reader: false,
        pingpong: scattered % 5 < 2,
        ack_compression: scattered % 11 < 5,
        rto_max: Time::from_millis(640),
        rto_initial: Time::from_millis(50),
        rto_clock: Time::from_micros(100),
        syn_timeout: Time::from_millis(50),
        delayed_ack_timeout: Time::from_millis(2),
        receive_window: 20 * MSS,
    }
}

/// Number of combinations of the switches; each occurs once.
const COMBINATIONS: u32 = 2 * 2 * 2 * 2 * 2 * 2 * 2 * 3 * 3 * 2 * 2 * 2 * 2 * 2 * 2 * 2 * 2;

/// Run a case; a failure says how to run it again.
fn check(case: &Case, replay: &str) -> Result<(), String> {
    let result = catch_unwind(AssertUnwindSafe(|| run(case)));
    let why = match result {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(why)) => why,
        Err(panic) => match panic.downcast_ref::<String>() {
            Some(text) => format!("panicked: {text}"),
            None => format!("panicked: {:?}", panic.downcast_ref::<&str>()),
        },
    };
    Err(format!("{why}\nreplay: {replay}\n{case:#?}"))
}

fn case(n: u32, seed: u64, faults: Faults, bytes: [u64; 2], receive_window: u32) -> Case {
    let params = Params { receive_window, ..settings(n) };
    Case { params, law: law(n, &params), seed, faults, bytes, writes: 3 }
}

/// `make test` tries every 37th combination. 37 is prime to the numbers of choices, so any few switches still meet in each of their
/// combinations, hundreds of times.
const STRIDE: u32 = 37;

#[test]
fn combinations_deliver_once() {
    deliver_once(STRIDE);
}

#[test]
#[ignore = "294,912 combinations take minutes: make check-long"]
fn every_combination_delivers_once() {
    deliver_once(1);
}

fn deliver_once(stride: u32) {
    let faults = Faults { loss: 40, delay: 30, repeat: 5, mark: 100, lossy_packets: 400 };
    let every = |first: u32| {
        for n in (first * stride..COMBINATIONS).step_by(2 * stride as usize) {
            let seed = u64::from(n) * 7919 + 1;
            let replay = format!("case({n}, {seed}, {faults:?}, [40_000, 3_000], 20 * MSS)");
            if let Err(why) = check(&case(n, seed, faults, [40_000, 3_000], 20 * MSS), &replay) {
                panic!("{why}");
            }
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| every(0));
        every(1);
    });
}

proptest! {
    #![proptest_config(fanin_testing::cases(1000))]

    #[test]
    fn any_network_delivers_everything_once(
        n in 0..COMBINATIONS,
        seed in any::<u64>(),
        loss in 0..300u32,
        delay in 0..400u32,
        repeat in 0..100u32,
        mark in 0..1000u32,
        sizes in (0..80_000u64, 0..80_000u64),
        segments in 2..60u32,
    ) {
        let faults = Faults { loss, delay, repeat, mark, lossy_packets: 600 };
        let case = case(n, seed, faults, [sizes.0, sizes.1], segments * MSS);
        check(&case, "the values above").map_err(TestCaseError::fail)?;
    }
}
