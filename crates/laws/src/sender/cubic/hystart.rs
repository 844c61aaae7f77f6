//! HyStart: slow start ends before a loss, once a round's ACKs come for long, or its round trips are longer.
//! Sources: Linux 6.12, net/ipv4/tcp_cubic.c (hystart_update, hystart_ack_delay, bictcp_hystart_reset).
//! Law:     from 16 segments on ssthresh <- cwnd, where ACKs that are at most 2 ms apart have come since the round's first for longer than
//!          (RTT_min + D) / 2, D being the time of 256 KiB at the pacing rate, at most 1 ms; or where the least of more than eight round
//!          trips of a round is above RTT_min by an eighth of it, at least 4 ms and at most 16 ms.
//! Units:   bytes; times in us, which wrap.
//! Owns:    the round, RTT_min, whether slow start was ended. The endpoint owns the window.
//! Departs: ACKs that find a window that is not filled are not looked at. The pacing rate is that of this ACK's SRTT.
//! Checked: vectors/cubic.json.

use fanin_units::Time;

use super::super::control::{Ack, Window};

/// Segments from which on it looks (hystart_low_window).
const LOW_WINDOW: u32 = 16;
/// ACKs that are further apart are no train (hystart_ack_delta_us).
const APART: u32 = 2_000;
/// Four times the largest packet of segmentation offload, at the pacing rate, count at most a millisecond (hystart_ack_delay).
const OFFLOAD: u64 = 4 * 65_536;
const MOST_DELAY: u64 = 1_000;
/// Round trips of a round before the least of them counts (HYSTART_MIN_SAMPLES).
const SAMPLES: u8 = 8;
/// By how much a round trip is longer (HYSTART_DELAY_THRESH).
const LONGER: core::ops::RangeInclusive<u32> = 4_000..=16_000;

/// One connection's state.
#[derive(Clone, Copy, Debug)]
pub struct HyStart {
    /// What was out as the round began ends here.
    end: u64,
    /// The ACK that was looked at last.
    looked_at: u64,
    began: u32,
    last_ack: u32,
    /// The least round trip of all, and of the round.
    least: u32,
    least_of_round: u32,
    samples: u8,
    found: bool,
}

impl HyStart {
    /// The state of a new connection, and after a timeout.
    pub const NEW: HyStart = HyStart {
        end: 0,
        looked_at: 0,
        began: 0,
        last_ack: 0,
        least: u32::MAX,
        least_of_round: u32::MAX,
        samples: 0,
        found: false,
    };

    /// Looks at an ACK in slow start, and ends that where it is time.
    pub fn look(&mut self, ack: &Ack, mss: u32, window: &mut Window) {
        let Some(rtt) = ack.rtt.filter(|_| ack.una != self.looked_at) else { return };
        let (now, rtt) = (us(ack.now), us(rtt).max(1));
        self.looked_at = ack.una;
        self.least = self.least.min(rtt);
        if self.found {
            return;
        }
        if ack.una > self.end {
            (self.began, self.last_ack, self.end) = (now, now, ack.nxt);
            (self.least_of_round, self.samples) = (u32::MAX, 0);
        }
        if window.cwnd >= LOW_WINDOW * mss && (self.is_long_train(now, ack, window) | self.is_longer(rtt)) {
            self.found = true;
            window.ssthresh = window.cwnd;
        }
    }

    fn is_long_train(&mut self, now: u32, ack: &Ack, window: &Window) -> bool {
        if now.wrapping_sub(self.last_ack) > APART {
            return false;
        }
        self.last_ack = now;
        // tcp_update_pacing_rate: twice the window a round trip in slow start, 1.2 times from half of ssthresh on.
        let percent = if window.cwnd < window.ssthresh / 2 { 200 } else { 120 };
        let delay = OFFLOAD * 100 * u64::from(us(ack.srtt)) / (percent * u64::from(window.cwnd));
        let most = (self.least + delay.min(MOST_DELAY) as u32) / 2;
        now.wrapping_sub(self.began) > most
    }

    fn is_longer(&mut self, rtt: u32) -> bool {
        self.least_of_round = self.least_of_round.min(rtt);
        if self.samples < SAMPLES {
            self.samples += 1;
            return false;
        }
        self.least_of_round > self.least + (self.least / 8).clamp(*LONGER.start(), *LONGER.end())
    }
}

fn us(time: Time) -> u32 {
    (time.0 / 1_000_000) as u32
}
