//! Causes of stalls: which timer ended one, and how the packet that it repeats was lost.

use fanin_driver::Owner;
use fanin_fabric::HostId;
use fanin_tables::Cause;
use fanin_transport::{Phase, Timer, Transport};
use fanin_units::Time;

use crate::net::{Lost, Net};
use crate::packet::InFlight;
use crate::probe::Probe;
use crate::socket::{Socket, Sockets};
use crate::stalls::{FiredTimer, Stall, Stalls};

/// Cause that a fired timer stands for; a sender that keeps to its rate is no stall's cause.
pub(crate) fn cause_of(timer: Timer) -> Option<Cause> {
    match timer {
        Timer::Handshake => Some(Cause::Syn),
        Timer::Timeout => Some(Cause::Rto),
        Timer::Probe => Some(Cause::Tlp),
        Timer::Reordering => Some(Cause::Reordering),
        Timer::DelayedAck => Some(Cause::DelayedAck),
        Timer::Pace | Timer::Window => None,
    }
}

/// State of a run from which causes of stalls follow.
pub(crate) struct Evidence<'a, P: Probe, T> {
    pub now: Time,
    pub net: &'a Net<P>,
    pub sockets: &'a Sockets<P::Places, T>,
    pub stalls: &'a Stalls,
}

impl<P: Probe, T: Transport> Evidence<'_, P, T> {
    /// The stall of a client that a packet ends.
    pub fn ended_by(&self, client: HostId, from: Time, by: &InFlight) -> Stall {
        let cause = self.cause(client, from, Some(by));
        let sender = Some(self.net.host_of(by.to.peer()));
        Stall { client, from, to: self.now, cause, by: sender }
    }

    /// All stalls so far, including those in progress.
    pub fn all(&self) -> Vec<Stall> {
        let open = self.stalls.waits.open(self.now);
        let open = open.map(|(client, from)| Stall {
            client,
            from,
            to: self.now,
            cause: self.cause(client, from, None),
            by: None,
        });
        self.stalls.ended.iter().copied().chain(open).collect()
    }

    /// Cause of a stall, from the timers since it began and the packet that ended it, if any: the last timer of that packet's
    /// connection, and how the packet that it repeats was lost; else its sender's faults; else a timer behind the sender, which may
    /// be a hub.
    fn cause(&self, client: HostId, from: Time, by: Option<&InFlight>) -> Cause {
        let repairs = |clue: &FiredTimer| clue.cause != Cause::DelayedAck;
        let Some(by) = by else { return self.cause_so_far(client, from) };
        let connection = self.sockets.ends.seen_at(by.to).id.connection();
        let sender = self.net.host_of(by.to.peer());
        let own = self.stalls.last_clue(from, |clue| clue.end.connection() == connection);
        match own {
            Some(clue) if repairs(&clue) => return self.cause_of_clue(&clue),
            _ if self.net.was_in_trouble(sender, from) => return Cause::Host,
            Some(clue) => return clue.cause,
            None => {}
        }
        // A server that is a client, too, has timers of its own requests.
        let hub = self.stalls.waits.counts(false);
        let behind = |clue: &FiredTimer| hub && repairs(clue) && clue.hosts.contains(&sender);
        match self.stalls.last_clue(from, behind) {
            Some(clue) => self.cause_of_clue(&clue),
            // Unrequested data is no response, although it arrives.
            None if by.to.is_opener() && self.stalls.application_acted(from, by.sent) => Cause::Application,
            // Something else arrived first.
            None => self.timer_that_runs(client, from),
        }
    }

    /// Cause of a stall in progress: a host that is down, the last timer, or the pending one.
    fn cause_so_far(&self, client: HostId, from: Time) -> Cause {
        if (0..self.net.fabric.hosts()).any(|host| self.net.is_down(HostId(host))) {
            return Cause::Host;
        }
        let repairs = |clue: &FiredTimer| clue.cause != Cause::DelayedAck;
        // Another client's timers are no cause, but those behind its servers may be.
        let own = |clue: &FiredTimer| repairs(clue) && self.is_of(client, clue);
        if let Some(clue) = self.stalls.last_clue(from, own).or_else(|| self.stalls.last_clue(from, repairs)) {
            return self.cause_of_clue(&clue);
        }
        self.timer_that_runs(client, from)
    }

    /// Whether a timer is of a connection over which a client receives responses.
    fn is_of(&self, client: HostId, clue: &FiredTimer) -> bool {
        let [opener, answerer] = clue.hosts;
        opener == client || answerer == client && self.stalls.waits.counts(false)
    }

    /// The next timer of the client's connections with unacknowledged data: it has not fired, and nothing was sent for most of
    /// the stall.
    fn timer_that_runs(&self, client: HostId, from: Time) -> Cause {
        let most = Time(from.0.midpoint(self.now.0));
        let is_at_client = |end: &Socket<T>| self.net.fabric.link(end.uplink).from == client.node();
        let is_own = |[opener, answerer]: &[&Socket<T>; 2]| {
            is_at_client(opener) || is_at_client(answerer) && self.stalls.waits.counts(false)
        };
        let own = self.sockets.connections().filter(is_own);
        let own =
            own.filter(|[end, _]| end.owner() == Owner::WORKLOAD).flat_map(|[one, other]| [(one, other), (other, one)]);
        let missing = |(end, peer): &(&Socket<T>, &Socket<T>)| {
            end.endpoint.phase() == Phase::Opening || end.endpoint.written().sent > peer.endpoint.delivered()
        };
        let waits =
            own.filter(missing).filter_map(|(end, _)| Some((end.endpoint.deadline(), end.endpoint.waits_since(most)?)));
        let next = waits.min_by_key(|(deadline, _)| *deadline);
        next.and_then(|(_, timer)| cause_of(timer)).unwrap_or(Cause::Unknown)
    }

    /// Cause that a fired timer indicates.
    fn cause_of_clue(&self, clue: &FiredTimer) -> Cause {
        match self.net.last_lost(clue.end.connection()) {
            Some(Lost::OnPurpose) => Cause::LinkFault,
            Some(Lost::WithHost) => Cause::Host,
            _ => clue.cause,
        }
    }
}
