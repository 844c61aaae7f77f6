//! The finder on bins that the sensor recorded: 32 servers that respond at once, 20 times, on a machine whose processors were busy
//! with other programs, so that responses pause for up to 10 ms. The time of the test does not matter.

use fanin_kernel::watch::burst::{Bin, Burst, Finder};

/// Half of the bytes of 1 Gbit/s in a bin of 1 ms.
const LIMIT: u64 = 62_500;
const LONGEST_PAUSE: u64 = 10;

fn bins() -> Vec<Bin> {
    let lines = include_str!("bins.csv").lines().skip(1);
    let bin = |line: &str| {
        let numbers: Vec<u64> = line.split(',').map(|number| number.parse().expect("a number")).collect();
        let [id, bytes, packets, marks, resent, connections, joined, fresh] = numbers[..] else { panic!("{line}") };
        Bin { id, bytes, packets, marks, resent, connections, joined, fresh, ..Bin::default() }
    };
    lines.map(bin).collect()
}

fn bursts(bins: &[Bin], longest_pause: u64) -> Vec<Burst> {
    let mut finder = Finder::new(LIMIT, longest_pause);
    let mut bursts: Vec<Burst> = bins.iter().flat_map(|bin| finder.push(bin)).collect();
    bursts.extend(finder.finish());
    bursts
}

#[test]
fn recorded_bursts_are_whole() {
    let found = bursts(&bins(), LONGEST_PAUSE);
    let fan_ins: Vec<u64> = found.iter().map(|burst| burst.fan_in).collect();
    assert_eq!(fan_ins, [32; 20]);
}

#[test]
fn recorded_bursts_fall_apart_without_pauses() {
    assert!(bursts(&bins(), 0).len() > 20, "the recording has pauses of more than two bins");
}

#[test]
fn passing_time_ends_bursts_as_later_bins_do() {
    let bins = bins();
    let mut finder = Finder::new(LIMIT, LONGEST_PAUSE);
    let mut found = Vec::new();
    for (bin, next) in bins.iter().zip(bins.iter().skip(1).map(|bin| bin.id).chain([u64::MAX])) {
        found.extend(finder.push(bin));
        // The program looks at the clock between bins.
        for now in [bin.id + 1, bin.id + 5, bin.id + 100] {
            found.extend(finder.pass(now.min(next)));
        }
    }
    assert_eq!(found, bursts(&bins, LONGEST_PAUSE));
}
