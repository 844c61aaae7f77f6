//! Invariants of ports: limits, marks, counts.

use std::collections::BTreeSet;

use fanin_laws::Settings;
use fanin_laws::port::codel::{self, CoDel, Resume};
use fanin_laws::port::many_to_one::{Form, ManyToOne};
use fanin_laws::port::red::{self, Red};
use fanin_laws::port::{
    Departure, Discipline, Drop, Header, HeaderOption, Kind, Law, Leaving, Manage, Place, Queue, Verdict,
};
use fanin_units::{Bytes, QueueSize, Rate, Share, Time};
use proptest::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use crate::settings;

fn size() -> impl Strategy<Value = QueueSize> {
    prop_oneof![(1..100_000u64).prop_map(QueueSize::Bytes), (1..100u32).prop_map(QueueSize::Packets)]
}

/// A gigabit port that marks or drops early.
fn place(ecn: bool) -> Place {
    let buffer = QueueSize::Bytes(1_000_000);
    Place { rate: Rate(1_000_000_000), buffer, full_packet: 1500, ecn }
}

/// Every discipline with random settings.
fn discipline() -> impl Strategy<Value = (Kind, Settings, Discipline)> {
    let kind = prop::sample::select(Kind::ALL);
    (kind, settings(), any::<bool>()).prop_map(|(kind, set, ecn)| {
        let discipline = kind.start(&set.ports, &place(ecn));
        (kind, set, discipline)
    })
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Packet { bytes: u32, ect: bool, flow: u32, opens: bool, closes: bool },
    Depart,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let packet = (40..9000u32, any::<bool>(), 0..8u32, any::<[bool; 2]>())
        .prop_map(|(bytes, ect, flow, [opens, closes])| Step::Packet { bytes, ect, flow, opens, closes });
    prop::collection::vec(prop_oneof![3 => packet, 2 => Just(Step::Depart)], 1..300)
}

/// The verdicts on a sequence of packets, with the queue before each.
fn run(law: &Law, steps: &[Step], seed: u64) -> Vec<(Queue, Header, Verdict)> {
    let (mut law, mut rng) = (law.clone(), Xoshiro256PlusPlus::seed_from_u64(seed));
    let (mut waiting, mut verdicts) = (Vec::new(), Vec::new());
    let mut queue = Queue { bytes: 0, packets: 0, idle_since: Some(Time::ZERO) };
    for (index, step) in (1..).zip(steps) {
        let now = Time::from_micros(10 * index);
        match *step {
            Step::Packet { bytes, ect, flow, opens, closes } => {
                let header = Header { bytes, ect, flow, opens, closes };
                let verdict = law.enqueue(now, &queue, &header, None, &mut rng);
                verdicts.push((queue, header, verdict));
                if matches!(verdict, Verdict::Admit { .. }) {
                    waiting.push(bytes);
                    queue =
                        Queue { bytes: queue.bytes + u64::from(bytes), packets: queue.packets + 1, idle_since: None };
                }
            }
            Step::Depart if !waiting.is_empty() => {
                queue.bytes -= u64::from(waiting.remove(0));
                queue.packets -= 1;
                queue.idle_since = (queue.packets == 0).then_some(now);
            }
            Step::Depart => {}
        }
    }
    verdicts
}

proptest! {
    #![proptest_config(fanin_testing::cases(1000))]

    #[test]
    fn ports_respect_limits_and_mark_only_ect(
        limit in prop::option::of(size()),
        discipline in discipline(),
        steps in steps(),
        seed in any::<u64>(),
    ) {
        let (kind, set, discipline) = discipline;
        let law = Law { limit, discipline, ..Law::UNLIMITED };
        for (queue, header, verdict) in run(&law, &steps, seed) {
            let bytes = queue.bytes + u64::from(header.bytes);
            let fits = match limit {
                None => true,
                Some(QueueSize::Bytes(limit)) => bytes <= limit,
                Some(QueueSize::Packets(limit)) => queue.packets < limit,
            };
            match verdict {
                Verdict::Admit { mark } => {
                    prop_assert!(fits, "admitted into {queue:?}");
                    prop_assert!(!mark || header.ect, "marked what is not ECN-capable");
                }
                Verdict::Drop(Drop::Full) => prop_assert!(!fits, "dropped from {queue:?}"),
                Verdict::Drop(Drop::NotEct) => prop_assert!(!header.ect),
                Verdict::Drop(Drop::Early) => prop_assert!(kind == Kind::Red),
            }
            if let (Kind::EcnThreshold, Some(k)) = (kind, set.ports.ecn_threshold.k) {
                let above = match k {
                    QueueSize::Bytes(k) => queue.bytes > k,
                    QueueSize::Packets(k) => queue.packets > k,
                };
                let marked = matches!(verdict, Verdict::Admit { mark: true });
                prop_assert_eq!(marked, above && header.ect && fits);
                prop_assert_eq!(verdict == Verdict::Drop(Drop::NotEct), above && !header.ect);
            }
            if kind == Kind::DropTail {
                prop_assert_eq!(matches!(verdict, Verdict::Admit { .. }), fits);
            }
        }
    }

    #[test]
    fn ports_are_deterministic_per_seed(
        discipline in discipline(),
        steps in steps(),
        seed in any::<u64>(),
    ) {
        let (_, _, discipline) = discipline;
        let law = Law { limit: Some(QueueSize::Packets(50)), discipline, many_to_one: Some(ManyToOne::new(Form::Window, 65_536)), ..Law::UNLIMITED };
        let verdicts = |law| run(law, &steps, seed).into_iter().map(|(_, _, verdict)| verdict).collect::<Vec<_>>();
        prop_assert_eq!(verdicts(&law), verdicts(&law));
    }

    #[test]
    fn red_average_stays_within_seen_queues(
        weight_q32 in any::<u32>(),
        lengths in prop::collection::vec((0..1000u32, any::<bool>()), 1..200),
    ) {
        let (min_th, max_th) = (QueueSize::Packets(2000), QueueSize::Packets(3000));
        let weight = Share::of(weight_q32, u32::MAX);
        let params = red::Params { min_th, max_th, weight, gentle: false, ..Default::default() };
        let mut red = Red::start(&params, &place(false)).expect("its thresholds are given");
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut most = 0;
        for (index, (packets, idle)) in (0..).zip(lengths) {
            let idle_since = (idle && packets == 0).then_some(Time::from_micros(index));
            let queue = Queue { bytes: u64::from(packets) * 1500, packets, idle_since };
            let header = Header { bytes: 1500, ect: false, flow: 0, opens: false, closes: false };
            red.enqueue(Time::from_micros(2 * index), &queue, &header, &mut rng);
            most = most.max(u64::from(packets) << 16);
            prop_assert!(red.shown().is_some_and(|avg| avg.value <= most));
        }
    }

    #[test]
    fn many_to_one_counts_open_flows(buffer in 0..10_000_000u64, steps in steps()) {
        let (mut law, mut open) = (ManyToOne::new(Form::Window, buffer), BTreeSet::new());
        for step in steps {
            let Step::Packet { bytes, ect, flow, opens, closes } = step else { continue };
            let mut note = HeaderOption::BLANK;
            law.enqueue(&Header { bytes, ect, flow, opens, closes }, Some(&mut note));
            let offer = note.mcw;
            if closes {
                open.remove(&flow);
            } else if opens {
                open.insert(flow);
            }
            // Equation 1, saturating at zero.
            let n = open.len() as u64;
            let wanted = (n > 0).then(|| buffer.saturating_sub(42 * n) / n);
            prop_assert_eq!(u64::from(offer), wanted.unwrap_or(u32::MAX.into()));
            prop_assert!(n == 0 || n * u64::from(offer) + 42 * n <= buffer.max(42 * n), "the windows overflow the buffer");
        }
    }
}

#[test]
fn largest_queues_do_not_overflow() {
    let queue = Queue { bytes: 1 << 46, packets: u32::MAX, idle_since: None };
    let idle = Queue { bytes: 0, packets: 0, idle_since: Some(Time::ZERO) };
    let header = Header { bytes: u32::MAX, ect: true, flow: u32::MAX, opens: true, closes: false };
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    for (min_th, max_th) in [
        (QueueSize::Bytes(0), QueueSize::Bytes(1 << 46)),
        (QueueSize::Packets(0), QueueSize::Packets(u32::MAX)),
        (QueueSize::Packets(1), QueueSize::Packets(1)),
    ] {
        for weight_q32 in [0, 1, u32::MAX] {
            let params = red::Params {
                min_th,
                max_th,
                max_p: Share::of(1, 1),
                weight: Share::of(weight_q32, u32::MAX),
                instantaneous: weight_q32 == 1,
                wait: weight_q32 == 1,
                byte_mode: weight_q32 > 0,
                mean_packet: Bytes(u64::from(weight_q32).clamp(1, 9_000)),
                ..Default::default()
            };
            let place = Place { rate: Rate(u64::MAX), buffer: QueueSize::Bytes(u64::MAX), ..place(true) };
            let mut law = Law {
                limit: Some(QueueSize::Bytes(u64::MAX)),
                discipline: Discipline::Red(Red::start(&params, &place).expect("its thresholds are given")),
                many_to_one: Some(ManyToOne::new(Form::Window, u64::MAX)),
                ..Law::UNLIMITED
            };
            for queue in [queue, idle, queue, idle] {
                law.enqueue(Time::NEVER, &queue, &header, Some(&mut HeaderOption::BLANK.clone()), &mut rng);
            }
        }
    }
}

proptest! {
    #![proptest_config(fanin_testing::cases(256))]

    #[test]
    fn codel_drops_only_late_packets(
        ecn in any::<bool>(),
        resume in prop_oneof![Just(Resume::Rfc8289), Just(Resume::Ns2)],
        target_us in 1..1000u64,
        more_us in 0..1000u64,
        leaves in prop::collection::vec((1..2000u64, 0..3000u64, 0..6000u64, any::<bool>()), 1..300),
    ) {
        let (target, interval) = (Time::from_micros(target_us), Time::from_micros(target_us + more_us));
        let codel = CoDel::start(&codel::Params { target, interval, resume }, &place(ecn)).expect("it acts anywhere");
        let mut law = Law { limit: None, discipline: Discipline::CoDel(codel), ..Law::UNLIMITED };
        let (mut now, mut late_since) = (Time::ZERO, None);
        for (gap, sojourn, behind, ect) in leaves {
            now += Time::from_micros(gap);
            let leaving = Leaving { sojourn: Time::from_micros(sojourn), behind, ect };
            let departure = law.dequeue(now, &leaving, &mut Xoshiro256PlusPlus::seed_from_u64(1));
            let late = sojourn >= target_us && behind > 1500;
            late_since = if late { late_since.or(Some(now)) } else { None };
            if departure != (Departure::Pass { mark: false }) {
                // ns-2 waits less if dropping restarts soon.
                let wait = if resume == Resume::Rfc8289 { interval } else { Time::ZERO };
                prop_assert!(late_since.is_some_and(|since| now.since(since) >= wait), "{departure:?} too early");
            }
            match departure {
                Departure::Pass { mark } => prop_assert!(!mark || (ecn && ect)),
                Departure::Drop(cause) => prop_assert_eq!(cause, if ecn { Drop::NotEct } else { Drop::Early }),
            }
        }
    }
}
