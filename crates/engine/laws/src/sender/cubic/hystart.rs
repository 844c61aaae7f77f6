//! HyStart, which ends CUBIC's slow start before a loss, as in Linux.
//! Sources: Linux 6.12, net/ipv4/tcp_cubic.c (bictcp_hystart_reset, hystart_update, hystart_ack_delay, cubictcp_acked), the same in 6.1;
//!          tcp_input.c (tcp_update_pacing_rate). RFC 9406 is another variant.
//! Law:     from a window of 16 segments on, ssthresh <- cwnd if a round's ACKs, at most 2 ms apart, have come for more than half of the
//!          least round trip and of the time that four of the largest bursts take at the pacing rate (at most 1 ms); or if none of a
//!          round's samples, nine at least, is within an eighth (4 to 16 ms) of the least round trip. A round ends when the data that was
//!          sent before its first ACK is acknowledged.
//! Units:   times in us; windows in bytes.
//! Owns:    the round, its train of ACKs. linux.rs owns the least round trip and the slow start.
//! Departs: the pacing rate has the present smoothed round trip instead of the one before the ACK, and the window instead of the packets
//!          outstanding, if there are more; no search goes on a second after a stage of congestion avoidance began.
//! Checked: vectors/cubic.json.

use fanin_units::Time;

use super::super::control::{Ack, Window};
use super::curve::micros;
use super::stage::Stage;

/// The smallest window of a search, in segments (hystart_low_window).
const LOW_WINDOW: u32 = 16;
/// The largest pause in a train of ACKs (hystart_ack_delta_us).
const TRAIN_GAP: u32 = 2_000;
/// Four of a device's largest bursts, in bytes (sk_gso_max_size), and the longest time that they add.
const BURSTS: u64 = 4 * 65_215;
const BURSTS_MOST: u64 = 1_000;
/// A rise of the round trip, at least and at most (HYSTART_DELAY_MIN, HYSTART_DELAY_MAX).
const RISE: (u32, u32) = (4_000, 16_000);
/// Samples of a round before a rise counts (HYSTART_MIN_SAMPLES).
const SAMPLES: u8 = 8;
/// Instead of a number of samples: one of them was low; and the round's end is the next byte to send at the next ACK.
const LOW: u8 = SAMPLES + 1;
const OPEN: u8 = SAMPLES + 2;

/// Part of the state that is not a stage's.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    /// It has ended a slow start since the last timeout.
    found: bool,
    /// Samples in this round.
    samples: u8,
}

/// State of a search, which fits a [`Stage`]'s words.
#[derive(Clone, Copy, Debug)]
pub(super) struct HyStart {
    /// When the round began, and its end in the stream.
    began: u32,
    end: u32,
    /// The last ACK of its train.
    last: u32,
}

impl HyStart {
    /// A search whose first round begins with the next ACK, beyond `una`.
    pub fn before(una: u64) -> HyStart {
        HyStart { began: 0, end: una as u32, last: 0 }
    }

    /// A timeout forgets everything, and begins a round.
    pub fn after_timeout(now: Time, progress: &mut Progress) -> HyStart {
        *progress = Progress { found: false, samples: OPEN };
        let now = micros(now);
        HyStart { began: now, end: 0, last: now }
    }

    /// From the words of a stage that has not begun.
    pub fn of(stage: Stage) -> HyStart {
        let Stage { k: _, origin: began, w_est: end, acked: last } = stage;
        HyStart { began, end, last }
    }

    /// To the words of a stage that has not begun.
    pub fn kept(self) -> Stage {
        Stage { k: 0, origin: self.began, w_est: self.end, acked: self.last }
    }

    /// Note an ACK before the window grows; `least`: the least round trip.
    pub fn note(&mut self, progress: &mut Progress, least: u32, ack: &Ack, mss: u32, window: &mut Window) {
        let Some(rtt) = ack.rtt else { return };
        let (now, rtt) = (micros(ack.now), micros(rtt).max(1));
        if progress.found || window.cwnd >= window.ssthresh {
            return;
        }
        if progress.samples == OPEN {
            (self.end, progress.samples) = (ack.nxt as u32, 0);
        }
        if (ack.una as u32).wrapping_sub(self.end).cast_signed() > 0 {
            (self.began, self.last, self.end, progress.samples) = (now, now, ack.nxt as u32, 0);
        }
        if window.cwnd / mss >= LOW_WINDOW
            && (self.train_is_long(now, least, ack, window) | Self::has_risen(rtt, least, progress))
        {
            progress.found = true;
            window.ssthresh = window.cwnd;
        }
    }

    /// Whether the round's train of ACKs takes too long.
    fn train_is_long(&mut self, now: u32, least: u32, ack: &Ack, window: &Window) -> bool {
        if now.wrapping_sub(self.last) > TRAIN_GAP {
            return false;
        }
        self.last = now;
        // Slow start is paced at twice the window per smoothed round trip, its end at 1.2 times.
        let fifths = if window.cwnd < window.ssthresh / 2 { 10 } else { 6 };
        let bursts = 5 * BURSTS * u64::from(micros(ack.srtt)) / (fifths * u64::from(window.cwnd));
        now.wrapping_sub(self.began) > least.saturating_add(bursts.min(BURSTS_MOST) as u32) / 2
    }

    /// Whether all of the round's samples are high, this one included.
    fn has_risen(rtt: u32, least: u32, progress: &mut Progress) -> bool {
        let rise = (least / 8).clamp(RISE.0, RISE.1);
        if progress.samples == LOW || rtt <= least.saturating_add(rise) {
            progress.samples = LOW;
            return false;
        }
        let enough = progress.samples == SAMPLES;
        progress.samples += u8::from(!enough);
        enough
    }
}
