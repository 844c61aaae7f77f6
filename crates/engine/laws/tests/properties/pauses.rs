//! Lossless memory: no more bytes held than exist, no loss within the headroom, and every pause ends.

use fanin_laws::pfc::{Held, Memory, Params};
use fanin_units::{Bytes, Share};
use proptest::prelude::*;

proptest! {
    #![proptest_config(fanin_testing::cases(256))]

    #[test]
    fn paused_links_fit_their_headroom_and_resume(
        memory in 100_000u64..2_000_000, links in 1usize..9, headroom in 3_000u64..9_000, reserved in 0u64..4_000,
        resume in 0u64..9_000, alpha in 1u32..65, packets in prop::collection::vec((0usize..9, 64u64..1_600, any::<bool>()), 1..2_000),
    ) {
        let params = Params { reserved: Bytes(reserved), resume: Bytes(resume), alpha: Share::of(alpha, 64), ..Params::default() };
        let mut memory = Memory::new(&params, memory, (0..links).map(|_| headroom)).unwrap();
        let mut held = vec![Held::new(&params, headroom, 1); links];
        let mut queue: Vec<(usize, u64)> = Vec::new();
        // A paused link still sends what fits its headroom.
        let mut since_pause = vec![0; links];
        for (link, bytes, leaves) in packets {
            let link = link % links;
            if leaves && !queue.is_empty() {
                let (of, bytes) = queue.remove(0);
                let was = held[of].is_paused();
                prop_assert_eq!(memory.left(&mut held[of], bytes), was && !held[of].is_paused());
                continue;
            }
            if held[link].is_paused() && since_pause[link] + bytes > headroom {
                continue;
            }
            since_pause[link] = if held[link].is_paused() { since_pause[link] + bytes } else { 0 };
            prop_assert!(memory.admits(&held[link], bytes), "{bytes} B do not fit {:?} of {memory:?}", held[link]);
            if memory.queued(&mut held[link], bytes) {
                // The packet that brings the pause may be in the headroom itself.
                since_pause[link] = bytes;
            }
            queue.push((link, bytes));
            let sum: u64 = queue.iter().map(|(_, bytes)| bytes).sum();
            prop_assert_eq!(held.iter().map(Held::bytes).sum::<u64>(), sum);
        }
        for (link, bytes) in queue {
            memory.left(&mut held[link], bytes);
        }
        prop_assert_eq!(memory.used(), 0);
        prop_assert!(held.iter().all(|held| held.bytes() == 0 && !held.is_paused()));
    }
}
