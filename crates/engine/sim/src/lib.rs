//! The packet-level simulator. A [`Builder`] takes a network, a transport and applications; a [`Simulation`] runs them, in one go or in
//! steps, and gives [`RunTables`].
//!
//! Time is in integer picoseconds. Events are ordered by time, then by a rule of the model (departures; arrivals, those
//! first whose link had been busy for the shortest time; endpoints' timers; the application's), never by creation order:
//! a faster engine must not change a result. A link keeps its packets in a FIFO of its own; only its head is in the event queue.

#[cfg(doctest)]
#[doc = include_str!("../../../../docs/library.md")]
struct Library;

mod applications;
mod builder;
mod by_rate;
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
mod net;
mod network;
mod occupancy;
mod pace;
mod packet;
mod parts;
mod pauses;
mod places;
mod pools;
mod ports;
mod probe;
mod receivers;
mod refusals;
mod ring;
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

pub use builder::{Builder, HOST_BYTES};
pub use engine::Reached;
pub use event::PauseFrame;
pub use fanin_driver::{
    Application, Applications, ConnectionId, Driver, EndpointId, Meaning, Message, Owner, Record, View, Watch, meanings,
};
pub use fanin_laws::scheduler::{CLASSES, Scheduling};
pub use fanin_tables::{FlowKind, FlowRow, QueryRow, RunError, RunTables, Totals};
pub use flow_control::FlowControl;
pub use link::{Departures, Queued};
pub use network::{Card, Classes, Clients, HostTicks, PacketFaults, Ports, ReceiveWindows, Receiving, Switches};
pub use packet::{CapturedPacket, InFlight};
pub use parts::{Team, one_core};
pub use pauses::Pauses;
pub use simulation::Simulation;
pub use tap::TapPoint;
