//! The packet-level simulator: [`run`] takes a [`RunSpec`] and gives [`RunTables`]; a [`Simulation`] does so in steps.
//!
//! Time is in integer picoseconds. Events are ordered by time, then by a rule of the model (departures; arrivals, those
//! first whose link had been busy for the shortest time; endpoints' timers; the application's), never by the order in
//! which they were made: a faster engine must not change a result. A link keeps its packets in a FIFO of its own, and
//! only its head is in the event queue.

mod application_driver;
mod build;
mod calendar;
mod conserved;
mod engine;
mod event;
mod fetch;
mod gauge;
mod heap;
mod histogram;
mod ideal;
mod incasts;
mod jitter;
mod latency;
mod link;
mod need;
mod net;
mod occupancy;
mod packet;
mod parts;
mod places;
mod pools;
mod probe;
mod receivers;
mod refusals;
mod ring;
mod simulation;
mod since;
mod slot;
mod socket;
mod stalls;
mod tables;
mod tap;
mod ticks;
mod world;

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use fanin_fabric::HostId;
use fanin_placement::Placement;
use fanin_spec::{RunError, RunSpec, RunTables, Watch};

pub use fanin_apps::{ConnectionId, EndpointId, Owner};
pub use link::Departures;
pub use need::need;
pub use packet::{CapturedPacket, Packet};
pub use parts::{Team, one_core};
pub use simulation::Simulation;
use simulation::is_large;
pub use tap::TapPoint;

/// The engine's name: another engine's tables may differ.
pub const ENGINE: &str = env!("FANIN_ENGINE");

/// Runs one spec; `stop` is looked at from time to time.
///
/// # Errors
/// [`RunError`]; never on account of the spec, which is checked where scenarios are read.
pub fn run(spec: &RunSpec, stop: &AtomicBool) -> Result<RunTables, RunError> {
    run_with(spec, Departures::Eager, stop)
}

/// Runs one spec in so many parts, which a team serves side by side, or in one piece where [`one_core`] says why: the tables are the
/// same.
///
/// # Errors
/// As [`run`].
pub fn run_in_parts(
    spec: &RunSpec,
    parts: NonZeroUsize,
    team: &impl Team,
    stop: &AtomicBool,
) -> Result<RunTables, RunError> {
    match one_core(spec) {
        None if parts > NonZeroUsize::MIN && is_large(spec) => parts::run::<true>(spec, (parts, team), stop),
        None if parts > NonZeroUsize::MIN => parts::run::<false>(spec, (parts, team), stop),
        _ => run(spec, stop),
    }
}

/// Runs one spec with departures worked out one way or the other: both give the same tables.
///
/// # Errors
/// As [`run`].
pub fn run_with(spec: &RunSpec, departures: Departures, stop: &AtomicBool) -> Result<RunTables, RunError> {
    let mut simulation = Simulation::with(spec, departures);
    simulation.run(stop)?;
    simulation.finish()
}

/// Runs one spec and keeps the series and events that `watch` asks for beside the tables, which are the same.
///
/// # Errors
/// As [`run`].
pub fn watch(spec: &RunSpec, watch: Watch, stop: &AtomicBool) -> Result<RunTables, RunError> {
    let mut simulation = Simulation::watched(spec, watch);
    simulation.run(stop)?;
    simulation.finish()
}

/// Runs one spec and keeps every packet that crosses the links at a point.
///
/// # Errors
/// As [`run`]; `Ok(None)` where the fabric has no such point.
pub fn tap(
    spec: &RunSpec,
    point: &TapPoint,
    stop: &AtomicBool,
) -> Result<Option<(RunTables, Vec<CapturedPacket>)>, RunError> {
    let Some(mut simulation) = Simulation::tapped(spec, point) else { return Ok(None) };
    simulation.run(stop)?;
    let caught = simulation.caught();
    Ok(Some((simulation.finish()?, caught)))
}

/// Where a key_value run's objects are put, before any plan: servers are hosts.
pub fn placement(spec: &RunSpec) -> Placement {
    fanin_apps::drawn(spec, &racks(spec))
}

/// The rack of each host of a spec's network.
pub fn racks(spec: &RunSpec) -> Vec<u32> {
    fanin_apps::racks(spec)
}

/// The names of the hosts and of the ports of a spec's network: where it can be tapped.
pub fn tap_points(spec: &RunSpec) -> (Vec<String>, Vec<String>) {
    let fabric = build::fabric(spec);
    let hosts = (0..fabric.hosts()).map(|host| fabric.name(HostId(host).node())).collect();
    (hosts, fabric.link_ids().map(|link| fabric.link_name(link)).collect())
}
