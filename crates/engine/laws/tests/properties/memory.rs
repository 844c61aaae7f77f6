//! Shared memory: vectors, fixed points, and no more bytes assigned than exist.

use std::fs;
use std::str::FromStr;

use fanin_laws::dynamic_threshold::{DynamicThreshold, Memory};
use fanin_units::{Bytes, Ratio};
use proptest::prelude::*;
use serde_json::Value;

fn read<T: FromStr>(case: &Value, key: &str) -> Option<T> {
    case[key].as_str().map(|text| text.parse().ok().expect("it is a value"))
}

#[test]
fn memory_matches_its_vectors() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../vectors/dynamic_threshold.json");
    let file: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let mut checked = 0;
    for case in file["cases"].as_array().unwrap() {
        let (name, set) = (&case["name"], &case["settings"]);
        assert!(case["source"].is_string(), "{name} has no source");
        let memory = Memory {
            bytes: read(set, "bytes").expect("a size"),
            headroom: read(set, "headroom").unwrap_or(Bytes(0)),
            reserved: read(set, "reserved").unwrap_or(Bytes(0)),
            alpha: read(set, "alpha").expect("a number"),
        };
        let law = DynamicThreshold::new(&memory, set["ports"].as_u64().unwrap() as u32).expect("there is room");
        for step in case["steps"].as_array().unwrap() {
            let [queue, used, expect] = ["queue", "used", "expect"].map(|key| step[key].as_u64().unwrap());
            assert_eq!(law.limit(law.taken(queue), used), expect, "{name}: {step}");
            let alone = step["expect_alone"].as_u64().unwrap_or(law.alone());
            assert_eq!(law.alone(), alone, "{name}: {step}");
            checked += 1;
        }
    }
    assert!(checked >= 10, "only {checked} steps were checked");
}

#[test]
fn fully_reserved_memory_is_none() {
    let memory = Memory { bytes: Bytes(1_000), headroom: Bytes(100), reserved: Bytes(100), alpha: Ratio::of(1, 1) };
    assert_eq!(DynamicThreshold::new(&memory, 8).map(|law| law.shared()), Some(100));
    assert_eq!(DynamicThreshold::new(&memory, 9), None);
    assert_eq!(DynamicThreshold::new(&Memory { reserved: Bytes(u64::MAX), ..memory }, 2), None);
}

fn memory() -> impl Strategy<Value = (Memory, u32)> {
    let alpha = prop_oneof![(1u32..128).prop_map(|n| Ratio::of(1, n)), (1u32..32).prop_map(|n| Ratio::of(n, 1))];
    (100_000u64..20_000_000, 0u64..10_000, 0u64..500, alpha, 1u32..65).prop_map(
        |(bytes, headroom, reserved, alpha, ports)| {
            (Memory { bytes: Bytes(bytes), headroom: Bytes(headroom), reserved: Bytes(reserved), alpha }, ports)
        },
    )
}

proptest! {
    #![proptest_config(fanin_testing::cases(256))]

    /// Send packets of one size to `k` ports in turn until none takes one.
    #[test]
    fn equally_congested_ports_share_evenly(
        (memory, ports) in memory(), k in 1u32..65, packet in 64u64..1_600,
    ) {
        let (law, k) = (DynamicThreshold::new(&memory, ports).unwrap(), k.min(ports) as usize);
        let mut queues = vec![0u64; k];
        loop {
            let mut taken = 0;
            for port in 0..k {
                let used: u64 = queues.iter().map(|&queue| law.taken(queue)).sum();
                prop_assert!(used <= law.shared());
                if queues[port] + packet <= law.limit(law.taken(queues[port]), used) {
                    queues[port] += packet;
                    taken += 1;
                }
            }
            if taken == 0 {
                break;
            }
        }
        let alpha = memory.alpha.in_q16() as f64 / 65_536.0;
        let each = memory.reserved.0 as f64 + law.shared() as f64 * alpha / (1.0 + k as f64 * alpha);
        let (least, most) = (*queues.iter().min().unwrap() as f64, *queues.iter().max().unwrap() as f64);
        prop_assert!(most <= each + packet as f64 + 1.0, "{most} of {each}");
        prop_assert!(least >= each - packet as f64 - 2.0, "{least} of {each}");
    }

    #[test]
    fn queue_limit_is_monotonic(
        (memory, ports) in memory(), taken: u64, used: [u64; 2], more in 0u64..1_000_000, times in 1u32..5,
    ) {
        let law = DynamicThreshold::new(&memory, ports).unwrap();
        let [one, other] = used.map(|used| used % (law.shared() + 1));
        let (less, much) = (one.min(other), one.max(other));
        let taken = taken % (less + 1);
        prop_assert!(law.limit(taken, much) <= law.limit(taken, less));
        prop_assert!(law.taken(law.limit(taken, much)) <= taken + law.shared() - much, "more than there is");
        let larger = DynamicThreshold::new(&Memory { bytes: Bytes(memory.bytes.0 + more), ..memory }, ports).unwrap();
        prop_assert!(larger.limit(taken, much) >= law.limit(taken, much));
        let alpha: Ratio = format!("{}/65536", memory.alpha.in_q16() * u64::from(times)).parse().unwrap();
        let bolder = DynamicThreshold::new(&Memory { alpha, ..memory }, ports).unwrap();
        prop_assert!(bolder.limit(taken, much) >= law.limit(taken, much));
    }
}
