//! The packet-level simulator: [`run`] takes a [`RunSpec`] and gives [`RunTables`].
//!
//! Time is in integer picoseconds. Events are ordered by time, then by a rule of the model (departures before arrivals,
//! arrivals by their link's number, then endpoints' timers, then the application's), never by the order in which they
//! were made: a faster engine must not change a result. A link keeps its packets in a FIFO of its own, and only its head
//! is in the event queue.

mod app;
mod build;
mod calendar;
mod event;
mod heap;
mod link;
mod net;
mod ring;
mod streams;
mod world;

use std::sync::atomic::AtomicBool;

use fanin_spec::{RunSpec, RunTables};

pub use link::Departures;
pub use net::Packet;

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
    let mut world = build::world(spec, departures);
    let mut app = app::new(spec);
    world.run(app.as_mut(), stop)?;
    let tables = app::tables(&world, app.as_ref());
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
