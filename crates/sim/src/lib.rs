//! The packet-level simulator: [`run`] takes a [`RunSpec`] and gives [`RunTables`]; a [`Simulation`] does so in steps.
//!
//! Time is in integer picoseconds. Events are ordered by time, then by a rule of the model (departures; arrivals, those
//! first whose link had been busy for the shortest time; endpoints' timers; the application's), never by creation order:
//! a faster engine must not change a result. A link keeps its packets in a FIFO of its own; only its head is in the event queue.

mod applications;
mod build;
mod calendar;
mod conserved;
mod engine;
mod event;
mod fetch;
mod flow_control;
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
mod pace;
mod packet;
mod parts;
mod pauses;
mod places;
mod pools;
mod probe;
mod receivers;
mod refusals;
mod ring;
mod setup;
mod simulation;
mod since;
mod slot;
mod socket;
mod stall_causes;
mod stalls;
mod tables;
mod tap;
mod ticks;
mod turns;
mod world;

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use fanin_fabric::HostId;
use fanin_spec::{RunSpec, Watch};
use fanin_tables::{RunError, RunTables};

pub use event::PauseFrame;
pub use fanin_apps::{ConnectionId, EndpointId, Owner};
pub use flow_control::FlowControl;
pub use link::{Departures, Queued};
pub use need::need;
pub use packet::{CapturedPacket, InFlight};
pub use parts::{Team, one_core};
pub use setup::{Setup, Switches};
pub use simulation::Simulation;
use simulation::is_large;
pub use tap::TapPoint;

/// The engine's name: another engine's tables may differ.
pub const ENGINE: &str = env!("FANIN_ENGINE");

/// Run one spec; checks `stop` from time to time.
///
/// # Errors
/// [`RunError`]; never because of the spec, which the scenario reader validates.
pub fn run(spec: &RunSpec, stop: &AtomicBool) -> Result<RunTables, RunError> {
    run_with(spec, Departures::Eager, stop)
}

/// Run one spec in this many parts, which a team serves in parallel, or in one piece for the reasons of [`one_core`]: the tables are
/// the same.
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
        None if parts > NonZeroUsize::MIN && is_large(spec) => {
            parts::run::<_, true>(spec, Setup::tcp(spec), (parts, team), stop)
        }
        None if parts > NonZeroUsize::MIN => parts::run::<_, false>(spec, Setup::tcp(spec), (parts, team), stop),
        _ => run(spec, stop),
    }
}

/// Run one spec with eager or lazy departures: both give the same tables.
///
/// # Errors
/// As [`run`].
pub fn run_with(spec: &RunSpec, departures: Departures, stop: &AtomicBool) -> Result<RunTables, RunError> {
    let mut simulation = Simulation::with(spec, departures);
    simulation.run(stop)?;
    simulation.finish()
}

/// Run one spec and also return the series and events selected by `watch`; the tables are the same.
///
/// # Errors
/// As [`run`].
pub fn watch(spec: &RunSpec, watch: Watch, stop: &AtomicBool) -> Result<RunTables, RunError> {
    let mut simulation = Simulation::watched(spec, watch);
    simulation.run(stop)?;
    simulation.finish()
}

/// Run one spec and return every packet that crosses the links at a point.
///
/// # Errors
/// As [`run`]; `Ok(None)` if the fabric has no such point.
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

/// The names of the hosts and ports of a spec's network, for taps.
pub fn tap_points(spec: &RunSpec) -> (Vec<String>, Vec<String>) {
    let fabric = build::fabric(spec);
    let hosts = (0..fabric.hosts()).map(|host| fabric.name(HostId(host).node())).collect();
    (hosts, fabric.link_ids().map(|link| fabric.link_name(link)).collect())
}
