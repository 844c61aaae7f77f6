//! The news of one acknowledgement (the flags of Linux 6.12, tcp_ack() and struct tcp_sacktag_state).

use fanin_units::Time;

/// Effects of one acknowledgement; shares of the congestion window are bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct News {
    /// `una` before it.
    pub una: u64,
    /// Unacknowledged data before it.
    pub flight: u64,
    /// The cumulative acknowledgement moved.
    pub advanced: bool,
    /// It echoes a mark.
    pub ece: bool,
    /// It has data, widens the window, or acknowledges data: no duplicate (FLAG_NOT_DUP).
    pub not_duplicate: bool,
    /// It acknowledges segments, and SACKs some.
    pub acked: bool,
    pub sacked: bool,
    /// It acknowledges or SACKs data that was sent before the phase began and never again (FLAG_ORIG_SACK_ACKED).
    pub original: bool,
    /// It acknowledges data that was retransmitted.
    pub resent_acked: bool,
    /// It reports a duplicate; that of the probe.
    pub duplicate: bool,
    pub probe_duplicate: bool,
    /// Lowest sequence number that arrived after higher ones, sent once.
    pub reordered: u64,
    /// When the first and the last segment were sent that it acknowledges, and that it SACKs, if sent once.
    pub acked_at: Option<(Time, Time)>,
    pub sacked_at: Option<(Time, Time)>,
    /// Delivered data.
    pub delivered: u64,
    /// Segments newly considered lost.
    pub lost: u32,
    /// Among them retransmissions.
    pub lost_again: bool,
    /// The retransmission timer, or the probe's, restarts.
    pub restarts_timer: bool,
    /// When the segment was sent that was sent last of those delivered.
    pub newest_at: Time,
}

impl News {
    pub fn new(una: u64, high: u64, flight: u64) -> News {
        News {
            una,
            flight,
            advanced: false,
            ece: false,
            not_duplicate: false,
            acked: false,
            sacked: false,
            original: false,
            resent_acked: false,
            duplicate: false,
            probe_duplicate: false,
            reordered: high,
            acked_at: None,
            sacked_at: None,
            delivered: 0,
            lost: 0,
            lost_again: false,
            restarts_timer: false,
            newest_at: Time::ZERO,
        }
    }

    /// Whether it is more than the next acknowledgement in order (tcp_ack_is_dubious).
    pub fn is_dubious(&self) -> bool {
        !self.not_duplicate || self.sacked || self.ece || self.duplicate
    }

    /// Whether it repeats the last one: the data that triggered it arrived out of order, or twice.
    pub fn repeats(&self) -> bool {
        !self.advanced && !self.not_duplicate && !self.duplicate
    }
}

/// Extend a range of times by a later one.
pub(super) fn extend(range: &mut Option<(Time, Time)>, at: Time) {
    *range = Some((range.map_or(at, |(first, _)| first), at));
}
