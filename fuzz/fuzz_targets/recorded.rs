//! Whatever a machine recorded, reading it ends in something that is said, or in why nothing can be.
#![no_main]

use fanin_diagnose::{Input, diagnose};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    match diagnose(vec![Input { name: "fuzz".into(), stream: Box::new(bytes) }]) {
        Ok(found) => {
            assert!(!found.verdict.says.is_empty());
            for episode in &found.episodes {
                assert!(episode.fan_in >= 2 && episode.took_s >= 0.0 && episode.stall_s >= 0.0, "{episode:?}");
                assert!((0.0..=1.0).contains(&episode.confidence), "{episode:?}");
            }
        }
        Err(why) => assert!(why.0.starts_with("fuzz: "), "{why}"),
    }
});
