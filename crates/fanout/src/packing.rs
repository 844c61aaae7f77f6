//! Packing: several objects in one packet.
//! Sources: Wang, Shen and Liu, "Swarm-based Incast Congestion Control" (SPAA 2017), section 3.3.1.
//! Law:     a packet takes the objects that wait, in their order, until the next one finds no room in it; it leaves when it is
//!          full, when nothing more will come, and at the latest when its oldest object has waited for `linger`.
//! Units:   bytes, an object with whatever it brings into a packet; times in picoseconds.
//! Owns:    nothing.
//! Departs: the paper says nothing of how long a packet that is not full waits. An object that is larger than a packet goes
//!          alone, and the transport cuts it.
//! Checked: vectors/packing.json; tests/trajectories/packing.txt.

use fanin_units::Time;

/// How many of the waiting objects the next packet takes, and their bytes: none where none waits.
pub fn fill(room: u32, waiting: impl Iterator<Item = u32>) -> (usize, u32) {
    let (mut count, mut bytes) = (0, 0u32);
    for size in waiting {
        match bytes.checked_add(size).filter(|sum| *sum <= room || count == 0) {
            Some(sum) => (count, bytes) = (count + 1, sum),
            None => break,
        }
    }
    (count, bytes)
}

/// When a packet is due whose oldest object has waited since `oldest`; `last`: nothing more will come.
pub fn due(now: Time, full: bool, last: bool, oldest: Time, linger: Time) -> Time {
    if full || last { now } else { oldest.saturating_add(linger).max(now) }
}
