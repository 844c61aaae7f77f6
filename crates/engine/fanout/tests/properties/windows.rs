//! Invariants of concurrency limits, and of kinds.

use fanin_fanout::{Kind, rows};
use fanin_units::{Rate, Time};
use proptest::prelude::*;

use crate::settings;

fn numbers() -> impl Strategy<Value = u64> {
    prop_oneof![0..1_000_000u64, any::<u64>(), Just(u64::MAX)]
}

proptest! {
    #![proptest_config(fanin_testing::cases(256))]

    #[test]
    fn window_stays_within_bounds(
        kind in prop::sample::select(Kind::ALL),
        set in settings(),
        capacity in numbers(),
        steps in prop::collection::vec((any::<bool>(), numbers(), numbers(), numbers()), 1..300),
    ) {
        let Some(mut window) = kind.window(&set, Rate(capacity)) else {
            prop_assert!(kind.parts(&set.sicc).is_some(), "{kind:?} asks neither servers nor hubs");
            return Ok(());
        };
        let least = if kind == Kind::IctcpWindow { 2 } else { 1 };
        let (step, mut now) = (set.sliding_window.step, Time::ZERO);
        for (lost, wait, bytes, took) in steps {
            now = now.saturating_add(Time(wait));
            let before = window.window();
            match lost {
                true => window.lost(now),
                false => window.answered(now, bytes, Time(took)),
            }
            let most = match kind {
                Kind::SlidingWindow if lost => before,
                Kind::SlidingWindow => before.saturating_add(step),
                _ => before.saturating_mul(2),
            };
            prop_assert!((least..=most).contains(&window.window()), "{before} became {}", window.window());
        }
    }

    #[test]
    fn window_never_exceeds_its_maximum(
        kind in prop::sample::select(&[Kind::SlidingWindow, Kind::IctcpWindow][..]),
        (initial, most) in (2..100u32, 2..100u32),
        answers in prop::collection::vec(1..1000u64, 1..300),
    ) {
        let mut set = fanin_fanout::Settings::default();
        (set.sliding_window.initial, set.sliding_window.most) = (initial, most);
        (set.ictcp_window.initial, set.ictcp_window.most) = (initial, most);
        let mut window = kind.window(&set, Rate(100_000_000_000)).expect("it has one");
        prop_assert_eq!(window.window(), initial.min(most));
        let mut now = Time::ZERO;
        for took in answers {
            now = now.saturating_add(Time(took));
            window.answered(now, 1000, Time(took));
            prop_assert!(window.window() <= most);
        }
    }

    #[test]
    fn concurrent_losses_halve_window_once(
        lates in prop::collection::vec(0..5000u64, 1..50),
    ) {
        let mut window = Kind::SlidingWindow.window(&Default::default(), Rate(1)).expect("it has one");
        let mut lates = lates;
        lates.sort_unstable();
        for late in lates {
            window.lost(Time::from_micros(late));
        }
        prop_assert_eq!(window.window(), 5);
    }
}

#[test]
fn every_kind_uses_servers_or_hubs() {
    let set = Default::default();
    for kind in Kind::ALL {
        let asks_servers = kind.window(&set, Rate(1_000_000_000)).is_some();
        assert_ne!(asks_servers, kind.parts(&set.sicc).is_some(), "{kind:?}");
    }
}

#[test]
fn row_lists_algorithms_of_its_parts() {
    let set = fanin_fanout::Settings::default();
    for (kind, row) in Kind::ALL.iter().zip(rows()) {
        let Some(parts) = kind.parts(&set.sicc) else { continue };
        let laws = [
            (true, "swarm"),
            (parts.tree, "tree"),
            (parts.speed, "speed"),
            (parts.packing, "packing"),
            (parts.redirect, "redirect"),
            (parts.balanced, "balance"),
        ];
        let followed: Vec<&str> = laws.iter().filter(|(on, _)| *on).map(|(_, law)| *law).collect();
        let named: Vec<&str> = row.laws.iter().map(|file| file.law).collect();
        assert_eq!(named, followed, "{}", row.word);
    }
}
