//! Causes of stalls: from the evidence of each to a signature with its probability.

use crate::diagnosis::{Cause, Place, Signature};
use crate::episode::{Evidence, Stall};
use crate::faults::Faults;
use crate::host::Host;

/// A server acknowledges a request alone if it has no response for this long, or a little less.
const DELAYED_ACK: u64 = 10_000_000;
/// Linux delays ACKs by at least 40 ms.
const DELAYED_AT_SERVER: u64 = 35_000_000;

/// Whether a stall is a round trip: at a server, the client's queue delays ACKs, and the connection is not idle. `usual`: the usual delay there.
pub(crate) fn is_round_trip(stall: &Stall, usual: u64) -> bool {
    let longest = match stall.evidence {
        Evidence::LateAck => DELAYED_AT_SERVER.max(2 * usual),
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
}

/// A stall's signature, the cause that it is a sign of, and why.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Finding {
    pub signature: Signature,
    pub cause: Cause,
    pub sure: f64,
    pub why: &'static str,
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

    fn signature(&self, stall: &Stall, lossy: bool) -> (Signature, f64, &'static str) {
        let (signature, sure, why) = match stall.evidence {
            Evidence::Shut => return (Signature::ZeroWindow, 0.97, "the client's window was closed before"),
            // After a loss, a window of one segment waits for each ACK.
            Evidence::LateAck if stall.lossy => {
                (Signature::Recovery, 0.8, "a window that losses had closed waited for ACKs")
            }
            Evidence::LateAck => return (Signature::DelayedAck, 0.95, "an ACK that came late let the server go on"),
            Evidence::Fresh { first, burst } => self.fresh(stall, first, burst, lossy),
            Evidence::Unfinished => return (Signature::None, 0.0, "the capture ends within the stall"),
            Evidence::Handshake => (Signature::Syn, 0.95, "the SYN was sent again"),
            Evidence::Request => (Signature::Rto, 0.9, "the request was sent again"),
            Evidence::Tail => (Signature::Tlp, 0.95, "the last segment was sent again"),
            Evidence::Oldest | Evidence::Resent if self.is_timeout(stall) => {
                (Signature::Rto, 0.95, "missing segments were sent again after a timeout")
            }
            Evidence::Oldest | Evidence::Resent => (Signature::Recovery, 0.95, "missing segments were sent again"),
        };
        if signature.cause() != Cause::Incast {
            return (signature, sure, why);
        }
        if stall.needless == Some(true) {
            // No queue of the client's port is in the path of its ACKs.
            return (Signature::LinkFault, 0.8, "the client's ACKs were lost: what it had acknowledged was sent again");
        }
        let link = self.faults.link(stall.host, stall.entered);
        match link {
            CERTAIN.. => (Signature::LinkFault, sure * link, self.faults.why(true)),
            ..0.3 => (signature, sure * (1.0 - link), self.faults.why(false)),
            _ => (signature, sure * (1.0 - link), why),
        }
    }

    /// New data: a loss if packets before it did not pass, or if only a timer explains the time; else the server's.
    fn fresh(&self, stall: &Stall, first: bool, burst: Option<bool>, lossy: bool) -> (Signature, f64, &'static str) {
        let server = if first { Signature::SlowServer } else { Signature::ApplicationPause };
        let loss = if self.is_timeout(stall) { Signature::Rto } else { Signature::Recovery };
        let numbered = self.hosts.get(stall.host as usize).is_some_and(|host| host.numbering.is_by_connection());
        match stall.skipped.filter(|_| numbered) {
            _ if stall.needless == Some(true) => (loss, 0.9, ""),
            _ if stall.place == Some(Place::Server) => {
                (server, 0.95, "the server, where this was captured, sent nothing")
            }
            Some(0) => (server, 0.95, "the server sent nothing in between, by its packets' numbers"),
            _ if first && stall.bare_ack >= DELAYED_ACK => {
                (server, 0.95, "the server had acknowledged the request, and had no response")
            }
            Some(_) => (loss, 0.9, "packets before it did not arrive, by the server's numbers"),
            None if burst == Some(true) => (server, 0.9, "the data came at once, as no timer sends it"),
            None if self.is_near_timeout(stall) && lossy => {
                (loss, 0.75, "a single segment came as late as timeouts do")
            }
            None if self.is_near_timeout(stall) => (loss, 0.55, "a single segment came as late as timeouts do"),
            None => (server, 0.8, "the data came at another time than timeouts do"),
        }
    }

    /// Whether a stall ended when a timer expires: after the least timeout and a round trip, or after it was doubled once or twice.
    fn is_near_timeout(&self, stall: &Stall) -> bool {
        let least = self.rto.unwrap_or(USUAL_RTO);
        // A round trip is added to the least timeout.
        [1, 3, 7].iter().any(|sum| (sum * least / 20 * 19..sum * (least / 5 * 6 + self.loaded)).contains(&stall.timer))
    }

    /// Whether a timer can have ended a stall: its connection had been idle for the least timeout, in which no ACK came to the server.
    fn is_timeout(&self, stall: &Stall) -> bool {
        let idle = stall.timer.max(stall.took()).min(stall.unheard.max(stall.took()));
        idle * 10 >= self.rto.unwrap_or(USUAL_RTO) * 8 && idle > 2 * self.loaded
    }
}
