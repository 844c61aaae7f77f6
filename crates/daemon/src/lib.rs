//! The data plane: `fanin front`, a memcached proxy that schedules multigets with the simulator's request algorithms.
//!
//! Every thread has its own event loop (`thread`), clients and connections to all servers, so requests share nothing between threads. An
//! iteration of the loop (`front`) reads clients' requests (`client_requests`), sends them to servers (`server_requests`), delivers
//! responses (`responses`), and writes once to each server and client (`flushing`). `fanin_memcache` parses; `fanin_fanout` decides the
//! order of a multiget's servers. A front end has no sockets and no clock itself (`net`); `routing`, `schedule` and `pace` do no I/O.
//! `log` records requested keys, and `migration` executes a placement plan.

mod bytes;
mod client;
mod client_requests;
mod clock;
mod coalescing;
mod counters;
mod flushing;
mod front;
pub mod log;
mod memory;
mod memory_limit;
mod migration;
mod multiget;
mod net;
mod pace;
mod pool;
mod responses;
pub mod routing;
mod running;
pub mod schedule;
mod server;
mod server_requests;
pub mod settings;
mod shared;
mod sockets;
mod stats;
mod table;
mod thread;

/// A front end without sockets and clock, for tests that control the order of events.
#[doc(hidden)]
pub mod machine {
    pub use crate::front::{Front, tokens};
    pub use crate::memory::charged;
    pub use crate::migration::Stage;
    pub use crate::migration::coordinator::{PoolMigration, begin};
    pub use crate::net::{Net, Outgoing};
    pub use crate::shared::Shared;
    pub use fanin_ring::Event;
}

pub use running::{Running, start};
pub use settings::{Problem, Settings};
