//! The packet-level simulator: [`run`] takes a [`RunSpec`] and gives [`RunTables`].
//!
//! Time is in integer picoseconds. Events are ordered by time, then by a rule of the model (departures; arrivals, those
//! first whose link had been busy for the shortest time; endpoints' timers; the application's), never by the order in
//! which they were made: a faster engine must not change a result. A link keeps its packets in a FIFO of its own, and
//! only its head is in the event queue.

mod app;
mod build;
mod calendar;
mod event;
mod heap;
mod histogram;
mod ideal;
mod latency;
mod link;
mod need;
mod net;
mod occupancy;
mod probe;
mod ring;
mod since;
mod stalls;
mod streams;
mod tap;
mod world;

use std::sync::atomic::AtomicBool;

use fanin_spec::{RunSpec, RunTables, Watch};

pub use link::Departures;
pub use need::need;
pub use net::Packet;
pub use tap::{Caught, TapPoint};

use app::{App, CLIENT};
use net::Net;
use occupancy::Occupancy;
use probe::{Off, Probe, Recorder, Watchers};
use tap::Tap;
use world::World;

/// The engine's name: another engine's tables may differ.
pub const ENGINE: &str = env!("FANIN_ENGINE");

/// Why a run gave no tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It was asked to stop.
    Stopped,
    /// It broke an invariant: a fault of the simulator. The text says what, and what replays it.
    Broken(String),
}

/// Runs one spec; `stop` is looked at from time to time.
///
/// # Errors
/// [`Failure`]; never on account of the spec, which is checked where scenarios are read.
pub fn run(spec: &RunSpec, stop: &AtomicBool) -> Result<RunTables, Failure> {
    run_with(spec, Departures::Eager, stop)
}

/// Runs one spec with departures worked out one way or the other: both give the same tables.
///
/// # Errors
/// As [`run`].
pub fn run_with(spec: &RunSpec, departures: Departures, stop: &AtomicBool) -> Result<RunTables, Failure> {
    if spec.settings.measure.ports {
        return Ok(watched(spec, None, stop)?.0);
    }
    let (world, app) = simulate(spec, departures, Off, stop)?;
    finish(spec, app::tables(&world, app.as_ref()))
}

/// Runs one spec and keeps the series and events that `watch` asks for beside the tables, which are the same.
///
/// # Errors
/// As [`run`].
pub fn watch(spec: &RunSpec, watch: Watch, stop: &AtomicBool) -> Result<RunTables, Failure> {
    let (tables, net) = watched(spec, Some(Recorder::new(watch, CLIENT)), stop)?;
    let rows = net.probe.recorder.map(|recorder| recorder.rows(&net.fabric, &net.host_of));
    let (samples, events) = rows.unwrap_or_default();
    Ok(RunTables { samples, events, ..tables })
}

/// Runs one spec with a recorder, where there is one, and what the spec measures of ports.
fn watched(
    spec: &RunSpec,
    recorder: Option<Recorder>,
    stop: &AtomicBool,
) -> Result<(RunTables, Net<Watchers>), Failure> {
    let occupancy = spec.settings.measure.ports.then(Occupancy::default);
    // Departures are events of their own, so that a queue is seen to shrink as it does.
    let (world, app) = simulate(spec, Departures::Lazy, Watchers { occupancy, recorder }, stop)?;
    Ok((finish(spec, app::tables(&world, app.as_ref()))?, world.net))
}

/// Runs one spec and keeps every packet that crosses the links at a point.
///
/// # Errors
/// As [`run`]; `Ok(None)` where the fabric has no such point.
pub fn tap(spec: &RunSpec, point: &TapPoint, stop: &AtomicBool) -> Result<Option<(RunTables, Vec<Caught>)>, Failure> {
    let Some(tap) = Tap::new(point, &build::fabric(spec)) else { return Ok(None) };
    let (world, app) = simulate(spec, Departures::Eager, tap, stop)?;
    let tables = finish(spec, app::tables(&world, app.as_ref()))?;
    let net = world.net;
    Ok(Some((tables, net.probe.finish(&net.fabric, &net.host_of))))
}

/// The names of the hosts and of the ports of a spec's network: where it can be tapped.
pub fn tap_points(spec: &RunSpec) -> (Vec<String>, Vec<String>) {
    let fabric = build::fabric(spec);
    let hosts = (0..fabric.hosts()).map(|host| fabric.name(host)).collect();
    (hosts, (0..fabric.links().len() as u32).map(|link| fabric.link_name(link)).collect())
}

type Simulated<P> = (World<P>, Box<dyn App<P>>);

fn simulate<P: Probe + 'static>(
    spec: &RunSpec,
    departures: Departures,
    probe: P,
    stop: &AtomicBool,
) -> Result<Simulated<P>, Failure> {
    let mut world = build::world(spec, departures, probe);
    let mut app = app::new(spec);
    world.run(app.as_mut(), stop)?;
    world.stalls.heard(world.now);
    world.net.probe.run_ends(world.now);
    Ok((world, app))
}

fn finish(spec: &RunSpec, tables: RunTables) -> Result<RunTables, Failure> {
    match conserved(&tables) {
        true => Ok(tables),
        false => Err(Failure::Broken(broken(spec, &tables))),
    }
}

/// Whether every packet that was sent was delivered, dropped, or is under way.
fn conserved(tables: &RunTables) -> bool {
    let t = &tables.totals;
    t.injected_packets == t.delivered_packets + t.drops + t.in_flight_packets
}

fn broken(spec: &RunSpec, tables: &RunTables) -> String {
    let t = &tables.totals;
    format!(
        "packets are not conserved: {} sent, {} delivered, {} dropped, {} under way; replay: --schemes {} --fan-in {} --seeds 1 --first-seed {}",
        t.injected_packets, t.delivered_packets, t.drops, t.in_flight_packets, spec.label, spec.fan_in, spec.seed
    )
}
