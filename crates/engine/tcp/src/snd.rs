//! State of the sending half, with round trips and the retransmission timer.

use std::num::NonZeroU64;

use fanin_laws::sender::Window;
use fanin_units::Time;

use crate::call::Call;
use crate::params::Params;
use crate::prr::Prr;
use crate::rtt::Rtt;
use crate::segment::{Segment, Wire, microseconds};

/// The sending half.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sender {
    /// The first byte not acknowledged.
    pub una: u64,
    /// The next byte to send: below `high` during retransmission.
    pub nxt: u64,
    /// One past the highest byte sent.
    pub high: u64,
    /// One past the last byte that the application wrote.
    pub end: u64,
    /// The application closed: a FIN follows at `end`.
    pub fin: bool,
    pub window: Window,
    /// The peer's receive window.
    pub rwnd: u32,
    /// Recovery ends when this is acknowledged.
    pub recover: u64,
    /// The last mark reduced the window; the next one counts when an ACK is above this.
    pub cwr_high: u64,
    /// The reduction under way: by counts after a mark, until an ACK is above `cwr_high`; by time after a loss, too.
    pub cwr: Option<Prr>,
    /// Set CWR on the next data segment.
    pub send_cwr: bool,
    /// A segment may wait for its turn at the sender's rate.
    pub paced: bool,
    pub rtt: Rtt,
    /// The segment whose round trip is measured: the number after its last byte, and its send time.
    pub timed: Option<(NonZeroU64, Time)>,
    /// `una` when the retransmission timer last fired.
    pub timed_out: u64,
    /// When the retransmission timer fires.
    pub rto_at: Time,
    pub last_sent: Time,
}

impl Sender {
    /// State before the handshake.
    pub fn new(params: &Params) -> Sender {
        Sender {
            una: 0,
            nxt: 0,
            high: 0,
            end: 1,
            fin: false,
            window: Window { cwnd: params.initial_cwnd, ssthresh: u32::MAX },
            rwnd: params.mss,
            recover: 0,
            cwr_high: 0,
            cwr: None,
            send_cwr: false,
            paced: false,
            rtt: Rtt::new(params),
            timed: None,
            timed_out: u64::MAX,
            rto_at: Time::NEVER,
            last_sent: Time::ZERO,
        }
    }

    /// Take a round-trip sample if this ACK gives one: from the timestamp (RFC 7323, section 4), or of the one timed
    /// segment, unless it was retransmitted (Karn; RFC 6298, section 3).
    #[inline]
    pub fn measure(&mut self, call: &Call<'_, impl Wire>, segment: &Segment, ack: u64) -> Option<Time> {
        let sample = if call.params.timestamps {
            let micros = microseconds(call.now).wrapping_sub(segment.ts_ecr);
            Some(Time::from_micros(u64::from(micros).max(1)))
        } else {
            match self.timed {
                Some((end, sent)) if ack >= end.get() => {
                    self.timed = None;
                    Some(call.now.since(sent))
                }
                _ => None,
            }
        };
        if let Some(r) = sample {
            self.rtt.sample(call.params, r);
        }
        sample
    }

    /// RFC 6298, 5.2 and 5.3.
    #[inline]
    pub fn rearm(&mut self, call: &Call<'_, impl Wire>) {
        self.rto_at =
            if self.una == self.high { Time::NEVER } else { call.now.saturating_add(self.rtt.timeout(call.params)) };
    }

    /// RFC 5681, section 4.1.
    #[cold]
    pub fn restart_after_idle(&mut self, call: &Call<'_, impl Wire>) {
        if call.now.since(self.last_sent) > self.rtt.timeout(call.params) {
            self.window.cwnd = self.window.cwnd.min(call.params.initial_cwnd);
        }
    }
}
