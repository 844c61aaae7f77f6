//! Scheduler of traffic classes: work conserving, strict classes first, shares by weight.

use fanin_laws::scheduler::{CLASSES, Heads, Scheduler, Scheduling};
use proptest::prelude::*;

const PACKET: u32 = 1_518;

fn scheduling() -> impl Strategy<Value = Option<Scheduling>> {
    prop_oneof![
        Just(None),
        Just(Some(Scheduling::Strict)),
        (1u32..100).prop_map(|weight| Some(Scheduling::Dwrr(weight)))
    ]
}

proptest! {
    #![proptest_config(fanin_testing::cases(256))]

    #[test]
    fn serves_a_class_with_a_packet_and_strict_ones_first(
        classes in prop::array::uniform8(scheduling()),
        steps in prop::collection::vec(prop::array::uniform8(prop::option::of(64..=PACKET)), 1..100),
    ) {
        let mut scheduler = Scheduler::new(&classes, PACKET);
        for step in steps {
            let heads: Heads = core::array::from_fn(|class| step[class].filter(|_| classes[class].is_some()));
            let next = scheduler.next(&heads);
            prop_assert_eq!(next.is_some(), heads.iter().any(Option::is_some), "work conserving");
            let is_strict = |class: &usize| classes[*class] == Some(Scheduling::Strict);
            let highest = (0..CLASSES).rev().find(|class| is_strict(class) && heads[*class].is_some());
            if let Some(class) = next {
                prop_assert!(heads[class].is_some());
                prop_assert!(highest.is_none_or(|highest| highest == class));
                scheduler.sent(class, heads[class].unwrap());
            }
        }
    }

    #[test]
    fn backlogged_classes_share_by_weight(weights in prop::collection::vec(1u32..20, 2..8), seed in any::<u32>()) {
        let classes: [Option<Scheduling>; CLASSES] = core::array::from_fn(|class| weights.get(class).copied().map(Scheduling::Dwrr));
        let mut scheduler = Scheduler::new(&classes, PACKET);
        let (mut sent, mut heads) = ([0u64; CLASSES], [None; CLASSES]);
        // Packets of any size, drawn by a small generator.
        let mut state = seed;
        let mut size = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            64 + state % (PACKET - 63)
        };
        (0..weights.len()).for_each(|class| heads[class] = Some(size()));
        for _ in 0..200_000 {
            let class = scheduler.next(&heads).expect("all have packets");
            let bytes = heads[class].expect("it has one");
            scheduler.sent(class, bytes);
            sent[class] += u64::from(bytes);
            heads[class] = Some(size());
        }
        let (all, sum): (u64, u32) = (sent.iter().sum(), weights.iter().sum());
        for (class, &weight) in weights.iter().enumerate() {
            let (share, due) = (sent[class] as f64 / all as f64, f64::from(weight) / f64::from(sum));
            prop_assert!((share / due - 1.0).abs() < 0.02, "{share} instead of {due}");
        }
    }
}
