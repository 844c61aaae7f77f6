//! Packing of several objects into one packet.
//! Sources: Wang, Shen and Liu, "Swarm-based Incast Congestion Control" (SPAA 2017), section 3.3.1.
//! Law:     a packet takes waiting objects in order until the next one does not fit; it leaves when it is full, when no more objects
//!          will come, or when its oldest object has waited for `linger`.
//! Units:   bytes, an object with its overhead in a packet; times in picoseconds.
//! Owns:    nothing.
//! Departs: the paper does not say how long a partial packet waits. An object larger than a packet goes alone, and the transport
//!          segments it.
//! Checked: vectors/packing.json; tests/trajectories/packing.txt.

use fanin_units::Time;

/// Number of waiting objects in the next packet, and their bytes.
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

/// Due time of a packet with its oldest object from `oldest`; `last`: no more objects will come.
pub fn due(now: Time, full: bool, last: bool, oldest: Time, linger: Time) -> Time {
    if full || last { now } else { oldest.saturating_add(linger).max(now) }
}
