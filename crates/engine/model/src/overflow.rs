//! Buffer overflow, and the cost of a round with a timeout.
//! Sources: the sum of windows against pipe and queue (Alizadeh et al., SIGCOMM 2010, section 2.3.2); Phanishayee et al.,
//!          FAST 2008, section 4: a round with a timeout takes the transfer time plus the minimum timeout.
//! Forms:   N* = (C RTT + B) / (w MSS), the flows whose windows of w packets fill pipe and queue
//!          G = N S / (N S / (C h) + RTT + s RTO), goodput of barrier reads of S from each of N servers, where a share s of
//!          rounds waits for one timeout and a share h of the wire is payload
//! Units:   N* in flows, G in Mbit/s; N and w may be fractions, since they are averages.
//! Departs: nowhere.
//! Checked: M21's buffer and a round of 16 servers, by hand in its tests.

use fanin_units::{Bytes, Time};

use crate::Bottleneck;

/// The number of flows whose windows of `window` packets fill pipe and queue: N* = (C RTT + B) / (w MSS).
pub fn overflow_onset(window: f64, bottleneck: &Bottleneck) -> f64 {
    bottleneck.capacity_packets() / window
}

/// Goodput of barrier reads of `answer` from each of `flows` servers, where a share `stalled` of rounds waits for one timeout of `rto`;
/// `payload_share` of the wire is payload.
pub fn barrier_goodput_mbps(
    flows: f64,
    answer: Bytes,
    stalled: f64,
    rto: Time,
    payload_share: f64,
    bottleneck: &Bottleneck,
) -> f64 {
    let bits = flows * answer.0 as f64 * 8.0;
    let transfer = bits / (bottleneck.rate.0 as f64 * payload_share) + bottleneck.rtt.as_secs_f64();
    bits / (transfer + stalled * rto.as_secs_f64()) / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanin_units::{QueueSize, Rate};

    const M21: Bottleneck = Bottleneck {
        rate: Rate(1_000_000_000),
        buffer: QueueSize::Bytes(65_536),
        rtt: Time::from_micros(100),
        packet: Bytes(618),
    };

    #[test]
    fn two_segment_windows_overflow_at_63_flows() {
        // 12,500 + 65,536 bytes over 2 * 618.
        assert!((overflow_onset(2.0, &M21) - 63.14).abs() < 0.01);
    }

    #[test]
    fn timeout_per_round_leaves_few_per_cent() {
        let share = 576.0 / 618.0;
        let [clean, stalled] =
            [0.0, 1.0].map(|s| barrier_goodput_mbps(16.0, Bytes(65_536), s, Time::from_millis(200), share, &M21));
        // 8.39 Mbit: 9.0 ms on the wire and 0.1 ms of round trip; then 200 ms more.
        assert!((clean - 921.7).abs() < 0.5, "{clean}");
        assert!((stalled - 40.1).abs() < 0.1, "{stalled}");
    }
}
