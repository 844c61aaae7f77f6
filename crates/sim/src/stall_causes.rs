//! Causes of stalls: which timer ended one, and how the packet that it repeats was lost.

use fanin_apps::Owner;
use fanin_fabric::HostId;
use fanin_tables::Cause;
use fanin_transport::{Phase, Timer, Transport};
use fanin_units::Time;

use crate::net::Lost;
use crate::packet::InFlight;
use crate::probe::Probe;
use crate::socket::Socket;
use crate::stalls::{FiredTimer, Stall};
use crate::world::World;

/// Cause that a fired timer stands for; a sender that keeps to its rate is no stall's cause.
pub(crate) fn cause_of(timer: Timer) -> Option<Cause> {
    match timer {
        Timer::Handshake => Some(Cause::Syn),
        Timer::Timeout => Some(Cause::Rto),
        Timer::Probe => Some(Cause::Tlp),
        Timer::Reordering => Some(Cause::Reordering),
        Timer::DelayedAck => Some(Cause::DelayedAck),
        Timer::Pace => None,
    }
}

/// A packet ends a client's stall.
#[cold]
pub(crate) fn stall_ends<P: Probe, T: Transport>(world: &mut World<P, T>, client: HostId, from: Time, by: &InFlight) {
    let cause = cause(world, client, from, Some(by));
    let sender = Some(world.net.host_of(by.to.peer()));
    world.stalls.ended.push(Stall { client, from, to: world.now, cause, by: sender });
}

/// All stalls so far, including those in progress.
pub(crate) fn stalls<P: Probe, T: Transport>(world: &World<P, T>) -> Vec<Stall> {
    let open = world.stalls.open(world.now);
    let open = open.map(|(client, from)| Stall {
        client,
        from,
        to: world.now,
        cause: cause(world, client, from, None),
        by: None,
    });
    world.stalls.ended.iter().copied().chain(open).collect()
}

/// Cause of a stall, from the timers since it began and the packet that ended it, if any: the last timer of that packet's
/// connection, and how the packet that it repeats was lost; else its sender's faults; else a timer behind the sender, which may
/// be a hub.
fn cause<P: Probe, T: Transport>(world: &World<P, T>, client: HostId, from: Time, by: Option<&InFlight>) -> Cause {
    let repairs = |clue: &FiredTimer| clue.cause != Cause::DelayedAck;
    let Some(by) = by else { return cause_so_far(world, client, from) };
    let connection = world.sockets.ends.seen_at(by.to).id.connection();
    let sender = world.net.host_of(by.to.peer());
    let own = world.stalls.last_clue(from, |clue| clue.connection == connection);
    match own {
        Some(clue) if repairs(&clue) => return cause_of_clue(world, &clue),
        _ if world.net.was_in_trouble(sender, from) => return Cause::Host,
        Some(clue) => return clue.cause,
        None => {}
    }
    let behind = |clue: &FiredTimer| repairs(clue) && clue.hosts.contains(&sender);
    match world.stalls.last_clue(from, behind) {
        Some(clue) => cause_of_clue(world, &clue),
        // Unrequested data is no response, although it arrives.
        None if by.to.is_opener() && world.stalls.application_acted(from, by.sent) => Cause::Application,
        // Something else arrived first.
        None => timer_that_runs(world, client, from),
    }
}

/// Cause of a stall in progress: a host that is down, the last timer, or the pending one.
fn cause_so_far<P: Probe, T: Transport>(world: &World<P, T>, client: HostId, from: Time) -> Cause {
    if (0..world.net.fabric.hosts()).any(|host| world.net.is_down(HostId(host))) {
        return Cause::Host;
    }
    if let Some(clue) = world.stalls.last_clue(from, |clue| clue.cause != Cause::DelayedAck) {
        return cause_of_clue(world, &clue);
    }
    timer_that_runs(world, client, from)
}

/// The next timer of the client's connections with unacknowledged data: it has not fired, and nothing was sent for most of
/// the stall.
fn timer_that_runs<P: Probe, T: Transport>(world: &World<P, T>, client: HostId, from: Time) -> Cause {
    let (uplink, most) = (world.net.fabric.uplink(client), Time(from.0.midpoint(world.now.0)));
    let own = world.sockets.connections().filter(|ends| ends.iter().any(|end| end.uplink == uplink));
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
fn cause_of_clue<P: Probe, T: Transport>(world: &World<P, T>, clue: &FiredTimer) -> Cause {
    match world.net.last_lost(clue.connection) {
        Some(Lost::OnPurpose) => Cause::LinkFault,
        Some(Lost::WithHost) => Cause::Host,
        _ => clue.cause,
    }
}
