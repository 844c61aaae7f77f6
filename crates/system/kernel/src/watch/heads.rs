//! Headers of the latest packets, which the sensor keeps in the kernel.

use libbpf_rs::{MapCore, MapFlags, Object};

use crate::load;
use crate::trouble::Trouble;

/// Packets whose headers are kept. Must be a power of two.
pub const COUNT: u32 = 1 << 17;
/// Headers that are read at once.
const BATCH: u32 = 1 << 12;
/// Bytes of a record before the headers.
const FIXED: usize = 24;

/// A packet's headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// From 1, in the order of arrivals and departures.
    pub number: u64,
    /// CLOCK_MONOTONIC, ns.
    pub at: u64,
    /// Bytes of the packet.
    pub length: u32,
    /// Its headers.
    pub bytes: Vec<u8>,
}

impl Head {
    /// A record of bpf/watch.bpf.c; `None` if there is no packet, or the kernel is writing it.
    fn read(record: &[u8]) -> Option<Head> {
        let (fixed, bytes) = record.split_at_checked(FIXED)?;
        let word = |place: usize| Some(u64::from_ne_bytes(*fixed.get(place..)?.first_chunk()?));
        let half = |place: usize| Some(u32::from_ne_bytes(*fixed.get(place..)?.first_chunk()?));
        let (number, kept) = (word(0)?, half(20)?);
        let bytes = bytes.get(..kept as usize).filter(|_| number > 0)?;
        Some(Head { number, at: word(8)?, length: half(16)?, bytes: bytes.to_vec() })
    }
}

/// Headers of the packets between two times of CLOCK_MONOTONIC, in the order of time.
///
/// # Errors
/// The kernel refuses to show them.
pub fn between(object: &Object, from: u64, to: u64) -> Result<Vec<Head>, Trouble> {
    let heads = load::map(object, "heads")?;
    let batches = heads.lookup_batch(BATCH, MapFlags::ANY, MapFlags::ANY);
    let batches = batches.map_err(|error| load::refused("read headers", &error))?;
    let within = |head: &Head| (from..to).contains(&head.at);
    let mut found: Vec<Head> = batches.filter_map(|(_, record)| Head::read(&record).filter(within)).collect();
    // Processors number packets in another order than they read the clock.
    found.sort_by_key(|head| (head.at, head.number));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_is_read() {
        let mut record = [7_u64.to_ne_bytes(), 99_u64.to_ne_bytes()].concat();
        record.extend([1500_u32.to_ne_bytes(), 3_u32.to_ne_bytes()].concat());
        record.extend([1, 2, 3, 0, 0]);
        assert_eq!(Head::read(&record), Some(Head { number: 7, at: 99, length: 1500, bytes: vec![1, 2, 3] }));
        assert_eq!(Head::read(&record[..20]), None);
        assert_eq!(Head::read(&record[..26]), None);
        record[0] = 0;
        assert_eq!(Head::read(&record), None);
    }
}
