//! Bounds that no simulation may exceed.
//! Sources: arithmetic; DCTCP's queue: Alizadeh et al., SIGCOMM 2010, section 3.3.
//! Forms:   T >= N S / C + one way, the end of the last of N responses of S: every byte crosses the bottleneck
//!          G <= C MSS / (MSS + MHS), goodput of full segments on a busy link, where MHS is the other bytes of each on the
//!          wire: 78 B with IP, TCP and Ethernet
//!          Q <= K + N, DCTCP's queue in steady state: each of N senders adds a packet before it receives a mark
//! Units:   T in picoseconds, G in Mbit/s, Q in packets.
//! Departs: nowhere.
//! Checked: M21's 932 Mbit/s and a mebibyte at 10 Gbit/s, by hand in its tests.

use fanin_units::{Bytes, Rate, Time};

/// Earliest end of the last of `flows` responses of `answer` bytes: every byte crosses the bottleneck, and the last one its propagation
/// delay: N S / C + one way.
pub fn last_answer_at_the_earliest(flows: u64, answer: Bytes, rate: Rate, one_way: Time) -> Time {
    rate.time_for(flows * answer.0).saturating_add(one_way)
}

/// Goodput of full segments on a busy link.
pub fn most_goodput_mbps(rate: Rate, segment: Bytes, header: Bytes) -> f64 {
    rate.0 as f64 / 1e6 * segment.0 as f64 / (segment.0 + header.0) as f64
}

/// DCTCP's longest queue in steady state: K + N, since each of N senders adds a packet before it receives a mark (Alizadeh et al.,
/// SIGCOMM 2010, section 3.3).
pub fn dctcp_queue_packets(threshold: u32, flows: u32) -> u64 {
    u64::from(threshold) + u64::from(flows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m21s_goodput_is_capped_at_932_mbits() {
        let most = most_goodput_mbps(Rate(1_000_000_000), Bytes(576), Bytes(42));
        assert!((most - 932.04).abs() < 0.01, "{most}");
    }

    #[test]
    fn mebibyte_takes_839_us_at_10_gbits() {
        let end = last_answer_at_the_earliest(16, Bytes(65_536), Rate(10_000_000_000), Time::from_micros(50));
        assert_eq!(end, Time(838_860_800 + 50_000_000));
    }
}
