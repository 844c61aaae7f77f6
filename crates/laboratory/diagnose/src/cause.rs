//! Causes of stalls: from the evidence of each to a signature with its probability.

use crate::diagnosis::{Cause, Place, Signature};
use crate::episode::{Evidence, Stall};
use crate::faults::Faults;
use crate::host::Host;
use crate::observation::Observation;
use crate::words::seconds;

/// A server acknowledges a request alone if it has no response for this long, or a little less.
const DELAYED_ACK: u64 = 10_000_000;
/// Linux holds an ACK back for 40 ms and a clock tick, however many segments it covers, if the application does not read them.
const LONGEST_DELAYED_ACK: u64 = 48_000_000;
/// Linux delays ACKs by at least 40 ms.
const DELAYED_AT_SERVER: u64 = 35_000_000;

/// Whether a stall is a round trip: at a server, the client's queue delays ACKs, and the connection is not idle. `usual`: the usual delay there.
pub(crate) fn is_round_trip(stall: &Stall, usual: u64) -> bool {
    let longest = match stall.evidence {
        Evidence::LateAck { .. } | Evidence::Needless => DELAYED_AT_SERVER.max(2 * usual),
        Evidence::Shut => 2 * usual,
        _ => 0,
    };
    stall.place == Some(Place::Server) && stall.took() < longest
}
/// Linux's default of the minimum retransmission timeout.
const USUAL_RTO: u64 = 200_000_000;

/// Facts about all stalls of a client.
pub(crate) struct Grounds<'a> {
    pub hosts: &'a [Host],
    pub faults: &'a Faults<'a>,
    /// The least retransmission timeout, if there were timeouts.
    pub rto: Option<u64>,
    /// Round trip through a full queue.
    pub loaded: u64,
    /// Payload of a full segment.
    pub segment: u64,
}

/// A stall's signature, the cause that it is a sign of, and why.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Finding {
    pub signature: Signature,
    pub cause: Cause,
    pub sure: f64,
    pub why: Observation,
}

/// A cause less likely than this is unknown.
const LEAST: f64 = 0.55;
/// A link that lost a packet with this probability, and no queue, is its cause.
const CERTAIN: f64 = 0.7;

impl Grounds<'_> {
    /// The cause of a stall. `lossy`: packets of its episode were certainly lost.
    pub fn finding(&self, stall: &Stall, lossy: bool) -> Finding {
        let (signature, sure, why) = self.signature(stall, lossy);
        let cause = if sure < LEAST { Cause::Unknown } else { signature.cause() };
        Finding { signature, cause, sure, why }
    }

    fn signature(&self, stall: &Stall, lossy: bool) -> (Signature, f64, Observation) {
        let (idle_s, timer_s) = (seconds(stall.took()), seconds(stall.timer));
        let (signature, sure, why) = match stall.evidence {
            Evidence::Shut => return (Signature::ZeroWindow, 0.97, Observation::NoRoom { idle_s }),
            Evidence::LateAck { held, after, bytes } => {
                let (signature, sure, why) = self.late_ack(stall, held, bytes);
                (
                    signature,
                    sure,
                    why.unwrap_or(Observation::AckHeld { held_s: seconds(held), after_s: seconds(after) }),
                )
            }
            Evidence::Needless => return (Signature::DelayedAck, 0.95, Observation::Needless { timer_s }),
            Evidence::Fresh { first, burst } => self.fresh(stall, first, burst, lossy),
            Evidence::Unfinished => return (Signature::None, 0.0, Observation::Unfinished { idle_s }),
            Evidence::Handshake => (Signature::Syn, 0.95, Observation::SynAgain { idle_s }),
            Evidence::Request => (Signature::Rto, 0.9, Observation::RequestAgain { idle_s }),
            Evidence::Tail => (Signature::Tlp, 0.95, Observation::TailAgain { timer_s }),
            Evidence::Oldest | Evidence::Resent => self.sent_again(stall),
        };
        if signature.cause() != Cause::Incast {
            return (signature, sure, why);
        }
        if stall.needless == Some(true) {
            // No queue of the client's port is in the path of its ACKs.
            return (Signature::LinkFault, 0.8, Observation::AcksLost { timer_s });
        }
        let link = self.faults.link(stall.host, stall.entered);
        match link {
            CERTAIN.. => {
                (Signature::LinkFault, sure * link, self.faults.why(true, stall.host, stall.entered).unwrap_or(why))
            }
            ..0.3 => (signature, sure * (1.0 - link), self.faults.why(false, stall.host, stall.entered).unwrap_or(why)),
            _ => (signature, sure * (1.0 - link), why),
        }
    }

    /// Data after a late ACK: after a loss, a window of one segment waits for each; a receiver may hold back ACKs of less than two full
    /// segments only (RFC 5681, 4.2).
    fn late_ack(&self, stall: &Stall, held: u64, bytes: u64) -> (Signature, f64, Option<Observation>) {
        let idle_s = seconds(stall.took());
        if stall.lost > 0 {
            return (Signature::Recovery, 0.8, Some(Observation::SmallWindow { lost: stall.lost, idle_s }));
        }
        if bytes >= 2 * self.segment && held > LONGEST_DELAYED_ACK {
            let why = Observation::Unacknowledged { bytes, held_s: seconds(held) };
            return (Signature::ClientStopped, 0.9, Some(why));
        }
        (Signature::DelayedAck, 0.95, None)
    }

    /// Missing segments that were sent again: by a timeout, or sooner.
    fn sent_again(&self, stall: &Stall) -> (Signature, f64, Observation) {
        let (timer_s, least_s) = (seconds(self.idle(stall)), seconds(self.rto.unwrap_or(USUAL_RTO)));
        match self.is_timeout(stall) {
            true => (Signature::Rto, 0.95, Observation::AfterTimeout { timer_s, least_s }),
            false if timer_s < least_s => (Signature::Recovery, 0.95, Observation::BeforeTimeout { timer_s, least_s }),
            false => (Signature::Recovery, 0.95, Observation::Again { timer_s }),
        }
    }

    /// New data: a loss if packets before it did not pass, or if only a timer explains the time; else the server's.
    fn fresh(&self, stall: &Stall, first: bool, burst: Option<bool>, lossy: bool) -> (Signature, f64, Observation) {
        let server = if first { Signature::SlowServer } else { Signature::ApplicationPause };
        let loss = if self.is_timeout(stall) { Signature::Rto } else { Signature::Recovery };
        let numbered = self.hosts.get(stall.host as usize).is_some_and(|host| host.numbering.is_by_connection());
        let (idle_s, timer_s) = (seconds(stall.took()), seconds(stall.timer));
        let least_s = seconds(self.rto.unwrap_or(USUAL_RTO));
        let at_timeout = Observation::AtTimeout { timer_s, least_s };
        match stall.skipped.filter(|_| numbered) {
            _ if stall.needless == Some(true) => (loss, 0.9, Observation::AcksLost { timer_s }),
            _ if stall.place == Some(Place::Server) => (server, 0.95, Observation::SentNothing { idle_s }),
            Some(0) => (server, 0.95, Observation::NoneMissing { idle_s }),
            _ if first && stall.bare_ack >= DELAYED_ACK => {
                (server, 0.95, Observation::Acknowledged { after_s: seconds(stall.bare_ack), idle_s })
            }
            Some(packets) => (loss, 0.9, Observation::Missing { packets }),
            None if burst == Some(true) => (server, 0.9, Observation::Burst { idle_s }),
            // A server that pauses does so anywhere in its response; a loss probe sends its last segment.
            None if !first && lossy && stall.left.is_some_and(|left| left <= self.segment) => {
                let tail = if self.is_timeout(stall) { Signature::Rto } else { Signature::Tlp };
                (tail, 0.75, Observation::LastSegment { timer_s })
            }
            None if self.is_near_timeout(stall) && lossy => (loss, 0.75, at_timeout),
            None if self.is_near_timeout(stall) => (loss, 0.55, at_timeout),
            None => (server, 0.8, Observation::NotAtTimeout { timer_s, least_s }),
        }
    }

    /// Whether a stall ended when a timer expires: after the least timeout and a round trip, or after it was doubled once or twice.
    fn is_near_timeout(&self, stall: &Stall) -> bool {
        let least = self.rto.unwrap_or(USUAL_RTO);
        // A round trip is added to the least timeout.
        [1, 3, 7].iter().any(|sum| (sum * least / 20 * 19..sum * (least / 5 * 6 + self.loaded)).contains(&stall.timer))
    }

    /// How long a timer at the server had been running when a stall ended, unless an ACK restarted it.
    fn idle(&self, stall: &Stall) -> u64 {
        stall.timer.max(stall.took()).min(stall.unheard.max(stall.took()))
    }

    /// Whether a timer can have ended a stall: its connection had been idle for the least timeout, in which no ACK came to the server.
    fn is_timeout(&self, stall: &Stall) -> bool {
        let idle = self.idle(stall);
        idle * 10 >= self.rto.unwrap_or(USUAL_RTO) * 8 && idle > 2 * self.loaded
    }
}
