//! Invariants of senders: bounds of windows and shares.

use fanin_laws::Settings;
use fanin_laws::port::HeaderOption;
use fanin_laws::sender::d2tcp::D2tcp;
use fanin_laws::sender::dctcp::{self, Dctcp};
use fanin_laws::sender::gentle_slow_start::GentleSlowStart;
use fanin_laws::sender::l2dct::L2dct;
use fanin_laws::sender::max_cwnd::MaxCwnd;
use fanin_laws::sender::swift::{self, Swift};
use fanin_laws::sender::{Ack, Base, Cause, Congestion, Control, Kind, Law, Window, newreno};
use fanin_units::{Share, Time};
use proptest::prelude::*;

use crate::settings;

#[derive(Clone, Copy, Debug)]
enum Step {
    /// An ACK: bytes acknowledged, time since the last ACK; the round trip in microseconds.
    Ack {
        acked: u32,
        wait_us: u64,
        ece: bool,
        rtt_us: Option<u64>,
        outstanding: u32,
    },
    Cut {
        cause: Cause,
        flight: u32,
    },
    Allot(u32),
    /// Bytes to send, and their deadline in microseconds.
    Begin {
        bytes: u64,
        within_us: Option<u64>,
    },
}

/// Every congestion control with random settings, with random parts.
fn laws() -> impl Strategy<Value = (Law, Kind, Settings)> {
    let kind = prop::sample::select(Kind::ALL);
    let parts = (any::<bool>(), prop::option::of(0..40u8));
    (64..9000u32, kind, settings(), parts).prop_map(|(mss, kind, set, (gss, option))| {
        let slow_start = gss.then(GentleSlowStart::default);
        let law = Law { mss, base: kind.start(&set.senders), slow_start, cap: option.map(MaxCwnd::new) };
        (law, kind, set)
    })
}

fn sizes() -> impl Strategy<Value = u32> {
    prop_oneof![0..100_000u32, any::<u32>(), Just(u32::MAX)]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let rtt = prop::option::of(prop_oneof![0..1000u64, 0..10_000_000u64]);
    let wait = prop_oneof![0..1000u64, 0..1_000_000_000u64];
    let ack = (sizes(), wait, any::<bool>(), rtt, sizes())
        .prop_map(|(acked, wait_us, ece, rtt_us, outstanding)| Step::Ack { acked, wait_us, ece, rtt_us, outstanding });
    let cause = prop_oneof![Just(Cause::Loss), Just(Cause::Timeout), Just(Cause::Ecn)];
    let cut = (cause, sizes()).prop_map(|(cause, flight)| Step::Cut { cause, flight });
    let begin = (any::<u64>(), prop::option::of(0..10_000_000u64));
    let begin = begin.prop_map(|(bytes, within_us)| Step::Begin { bytes, within_us });
    prop::collection::vec(prop_oneof![6 => ack, 2 => cut, 1 => begin, 1 => sizes().prop_map(Step::Allot)], 1..60)
}

/// The largest window after an ACK: one MSS more, or twice the window if gentle slow start ends a window. CUBIC's target is
/// 1.5 times the window per window acknowledged, and Reno's grows by some MSS a window, depending on the share that remains
/// after a loss.
fn most((law, kind, set): (&Law, Kind, &Settings), window: &Window, acked: u32) -> u64 {
    let mss = u64::from(law.mss);
    let cwnd = u64::from(window.cwnd);
    let slow_start = window.cwnd < window.ssthresh;
    match kind {
        _ if slow_start && law.slow_start.is_some() => cwnd + cwnd.max(mss) + cwnd / 1000 + 1,
        // Under a cap, Reno's window has kept growing.
        Kind::Cubic if !slow_start && law.cap.is_some() => u64::MAX,
        Kind::Cubic if !slow_start => {
            let beta_q10 = u64::from(set.senders.cubic.beta.in_q(10));
            let alpha_q10 = (3 * 1024 * (1024 - beta_q10) / (1024 + beta_q10)).max(1024);
            // Linux counts a partial segment as a whole one, and grows once more for those counted before.
            let half = (u64::from(acked) + mss) / 2 + mss;
            cwnd + half + alpha_q10 * mss * u64::from(acked) / cwnd / 1024 + 1
        }
        // Linux counts the acknowledged bytes of an ACK, and grows once more for those counted before.
        Kind::NewReno if !slow_start && set.senders.newreno.variant == newreno::Variant::Linux => {
            cwnd + mss * (u64::from(acked.div_ceil(law.mss)) / (cwnd / mss).max(1) + 2)
        }
        // Swift's own window replaces the one that the endpoint reduced.
        Kind::Swift => cwnd.max(u64::from(set.senders.swift.max_window) * mss),
        _ => cwnd + mss,
    }
}

/// The smallest window after an ACK: only a cap and delay-based congestion controls reduce it.
fn smallest(kind: Kind, before: Window, mss: u32) -> Window {
    let Window { cwnd, ssthresh } = before;
    match kind {
        Kind::Swift => Window { cwnd: cwnd.min(mss), ssthresh },
        _ if kind.row().is_delay_based => Window { cwnd: cwnd.min(2 * mss), ssthresh: ssthresh.min(2 * mss) },
        _ => before,
    }
}

/// The minimum segments after a window reduction.
fn least(marked: bool, set: &Settings) -> u32 {
    if marked { set.senders.dctcp.min_window } else { 2 }
}

proptest! {
    #![proptest_config(fanin_testing::cases(2000))]

    #[test]
    fn windows_and_shares_stay_bounded(
        law in laws(),
        cwnd in sizes(),
        ssthresh in sizes(),
        steps in steps(),
    ) {
        let (mut law, kind, set) = law;
        let mss = law.mss;
        let mut window = Window { cwnd: cwnd.max(mss), ssthresh: ssthresh.max(2 * mss) };
        let (mut now, mut una, mut srtt, mut handed_out) = (Time::ZERO, 1, Time::ZERO, u32::MAX);
        for step in steps {
            match step {
                Step::Ack { acked, wait_us, ece, rtt_us, outstanding } => {
                    now += Time::from_micros(wait_us);
                    una += u64::from(acked);
                    let rtt = rtt_us.map(Time::from_micros);
                    srtt = rtt.unwrap_or(srtt);
                    let ack = Ack { now, acked, una, nxt: una + u64::from(outstanding), ece, rtt, srtt };
                    law.observe(&ack);
                    let before = window;
                    law.grow(&ack, &mut window);
                    prop_assert!(u64::from(window.cwnd) <= most((&law, kind, &set), &before, acked), "{before:?} grew to {window:?}");
                    let least = smallest(kind, before, mss);
                    prop_assert!(law.cap.is_some() || window.cwnd >= least.cwnd, "{before:?} shrank to {window:?}");
                    let ssthresh = least.ssthresh..=before.ssthresh;
                    prop_assert!(ssthresh.contains(&window.ssthresh), "{before:?} became {window:?}");
                }
                Step::Cut { cause, flight } => {
                    let at = Congestion { now, flight, una, srtt };
                    let cut = law.cut(cause, &at, &window);
                    let by_share = kind.row().brings("ecn");
                    prop_assert!(cut >= least(by_share && cause == Cause::Ecn, &set) * mss, "{cut} of {mss}");
                    let most = match cause {
                        Cause::Ecn if by_share => {
                            prop_assert!(cut >= window.cwnd / 2, "under half of {}", window.cwnd);
                            window.cwnd
                        }
                        _ if by_share || kind == Kind::NewReno => flight / 2,
                        _ => flight,
                    };
                    prop_assert!(cut <= most.max(2 * mss), "{cut} left of {flight} in flight, {window:?}");
                    window.ssthresh = cut;
                    window.cwnd = if cause == Cause::Timeout { mss } else { cut };
                }
                Step::Allot(mcw) => {
                    law.allot(&HeaderOption { mcw });
                    handed_out = if mcw == u32::MAX { handed_out } else { mcw };
                }
                Step::Begin { bytes, within_us } => {
                    let deadline = within_us.map_or(Time::NEVER, |us| now + Time::from_micros(us));
                    law.begin(una, una.saturating_add(bytes), deadline);
                }
            }
            prop_assert!(window.cwnd >= mss, "under one segment: {window:?}");
            let usable = law.usable(&window);
            prop_assert!(usable >= mss.min(64) && usable <= window.cwnd, "{usable} of {window:?} are usable");
            if law.cap.is_some() {
                prop_assert!(usable <= handed_out.max(64), "{usable} usable of {handed_out} handed out");
                // The cap leaves whole segments while one fits.
                prop_assert!(usable == window.cwnd || usable < mss || usable.is_multiple_of(mss));
            }
            if let Some(alpha) = law.shown().filter(|shown| shown.name == "alpha") {
                prop_assert!(alpha.value <= 65_536 && alpha.bits == 16);
            }
        }
    }

    #[test]
    fn slow_start_at_most_doubles_the_window(
        mss in 64..9000u32,
        segments in 1..500u32,
        rtts in prop::collection::vec(1..1000u64, 1..500),
        gentle in any::<bool>(),
    ) {
        // Every segment of a window is acknowledged and each ACK releases new ones: one round trip.
        let slow_start = gentle.then(GentleSlowStart::default);
        let base = Kind::NewReno.start(&Default::default());
        let mut law = Law { mss, base, slow_start, cap: None };
        let mut window = Window { cwnd: segments * mss, ssthresh: u32::MAX };
        let (mut una, mut nxt) = (1u64, 1 + u64::from(segments * mss));
        let mut rtts = rtts.into_iter().cycle();
        for _ in 0..4 {
            let (before, end) = (window.cwnd, nxt);
            while una < end {
                una += u64::from(mss);
                let rtt = rtts.next().map(Time::from_micros);
                let ack = Ack { now: Time::ZERO, acked: mss, una, nxt, ece: false, rtt, srtt: Time::ZERO };
                law.observe(&ack);
                law.grow(&ack, &mut window);
                while nxt + u64::from(mss) <= una + u64::from(window.cwnd) {
                    nxt += u64::from(mss);
                }
            }
            let (grown, whole) = (window.cwnd - before, u64::from(before));
            // The fixed-point power is up to two parts in ten thousand low or high.
            prop_assert!(u64::from(grown) <= whole + whole / 5000 + 1, "{grown} more than {before}");
            prop_assert!(grown >= mss - mss / 5000 - 1, "{grown} more than {before}: under one segment");
        }
    }

    #[test]
    fn dctcp_alpha_stays_within_seen_shares(
        g_q16 in 1..=65_536u32,
        initial in 0..=65_536u32,
        shares in prop::collection::vec(0..=10u32, 1..50),
    ) {
        let share = |q16| Share::of(q16, 65_536);
        let mut dctcp = Dctcp::start(&dctcp::Params { g: share(g_q16), initial_alpha: share(initial), ..Default::default() });
        let (mut una, mut least, mut most) = (1, initial, initial);
        for share in shares {
            for part in 0..10 {
                una += 1000;
                // The window ends with its last ACK.
                let nxt = if part == 9 { una + 9999 } else { una };
                let now = Time::ZERO;
                dctcp.observe(&Ack { now, acked: 1000, una, nxt, ece: part < share, rtt: None, srtt: now });
            }
            // The first ACK of all is a window of its own.
            let seen = if una == 10_001 { [0, 65_536] } else { [share * 65_536 / 10, share * 65_536 / 10] };
            (least, most) = (least.min(seen[0]), most.max(seen[1]));
            prop_assert!((least.saturating_sub(1)..=most).contains(&dctcp.alpha_q16()));
        }
    }
}

proptest! {
    #![proptest_config(fanin_testing::cases(256))]

    #[test]
    fn nearer_deadlines_never_reduce_more(
        alpha_q16 in 0..=65_536u32,
        cwnd in 1..1000u32,
        bytes in 1..10_000_000u64,
        srtt_us in 1..10_000u64,
        mut waits in prop::collection::vec(0..1_000_000u64, 2..10),
    ) {
        let params = dctcp::Params { initial_alpha: Share::of(alpha_q16, 65_536), ..Default::default() };
        let window = Window { cwnd: cwnd * 1000, ssthresh: u32::MAX };
        let at = Congestion { now: Time::ZERO, flight: window.cwnd, una: 1, srtt: Time::from_micros(srtt_us) };
        waits.sort_unstable();
        let cuts: Vec<u32> = waits.into_iter().map(|us| {
            let mut d2tcp = D2tcp::start(&params);
            d2tcp.begin(1, 1 + bytes, Time::from_micros(us));
            d2tcp.cut(Cause::Ecn, &at, 1000, &window)
        }).collect();
        prop_assert!(cuts.is_sorted_by(|near, far| near >= far), "{cuts:?}");
    }

    #[test]
    fn swift_never_keeps_more_after_a_longer_delay(
        cwnd in 1..1_000_000u32,
        additive in 1..=10_000u32,
        mut delays in prop::collection::vec(1..2_000u64, 2..20),
    ) {
        let params = swift::Params { additive: Share::of(additive, 10_000), ..Default::default() };
        delays.sort_unstable();
        let windows: Vec<u64> = delays.into_iter().map(|us| {
            let mut swift = Swift::start(&params);
            let mut window = Window { cwnd, ssthresh: u32::MAX };
            let rtt = Time::from_micros(us);
            let ack = Ack { now: rtt, acked: 1000, una: 1001, nxt: 2001, ece: false, rtt: Some(rtt), srtt: rtt };
            swift.observe(&ack);
            swift.congestion_avoidance(&ack, 1000, &mut window);
            swift.shown().map_or(0, |shown| shown.value)
        }).collect();
        prop_assert!(windows.is_sorted_by(|shorter, longer| shorter >= longer), "{windows:?}");
        prop_assert!(windows.iter().all(|&window| (16_777..=1_000 << 24).contains(&window)), "{windows:?}");
    }

    #[test]
    fn weight_falls_with_sent_bytes(mut sent in prop::collection::vec(0..3_000_000u64, 2..20)) {
        let mut l2dct = L2dct::start(&dctcp::Params::default());
        l2dct.begin(1, u64::MAX, Time::NEVER);
        sent.sort_unstable();
        let weights: Vec<u64> = sent.into_iter().map(|bytes| l2dct.weight_q16(1 + bytes)).collect();
        prop_assert!(weights.is_sorted_by(|little, much| little >= much), "{weights:?}");
        prop_assert!(weights.iter().all(|weight| (8192..=163_840).contains(weight)), "{weights:?}");
    }
}

#[test]
fn largest_windows_do_not_overflow() {
    let mut set = Settings::default();
    set.senders.dctcp.g = Share::of(1, 1);
    for (base, is_delay_based) in Kind::ALL.iter().map(|kind| (kind.start(&set.senders), kind.row().is_delay_based)) {
        for mss in [64, 1460, 9000] {
            for ssthresh in [2 * mss, u32::MAX] {
                let (slow_start, cap) = (Some(GentleSlowStart::default()), Some(MaxCwnd::new(8)));
                let mut law = Law { mss, base: base.clone(), slow_start, cap };
                let mut window = Window { cwnd: u32::MAX, ssthresh };
                for now in [0, 1, u64::MAX / 2, u64::MAX - 1] {
                    let ack = Ack {
                        now: Time(now),
                        acked: u32::MAX,
                        una: now,
                        nxt: now,
                        ece: true,
                        rtt: Some(Time(now)),
                        srtt: Time(now),
                    };
                    law.sample(Time(now));
                    law.observe(&ack);
                    law.grow(&ack, &mut window);
                    assert!(window.cwnd == u32::MAX || is_delay_based, "{base:?}, mss {mss}");
                    law.begin(0, u64::MAX, Time(now));
                    let at = Congestion { now: Time(now), flight: u32::MAX, una: now, srtt: Time(now) };
                    for cause in [Cause::Loss, Cause::Ecn] {
                        let own = matches!(base, Base::Swift(_));
                        assert!(law.cut(cause, &at, &window) >= u32::MAX / 2 || own, "{cause:?}, {base:?}");
                    }
                }
            }
        }
    }
}
