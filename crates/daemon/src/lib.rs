//! The data plane: `fanin front`, a memcached proxy that asks for multigets by the very request laws that the simulator runs.
//!
//! Every thread has an event loop (`thread`), clients and connections to all servers of its own, so that nothing on the way of a
//! request is shared. In a turn of the loop (`front`) clients' requests are taken (`taking`), servers asked (`asking`) and their
//! answers given to whom they belong (`answering`), and what has gathered is written once to each server and client (`flushing`).
//! Parsing is `fanin_memcache`'s, the order in which a multiget's servers are asked `fanin_fanout`'s. A front end itself has neither
//! sockets nor a clock (`net`); `routing`, `schedule` and `pace` are pure. What is asked for is logged where that is wanted (`log`),
//! and a plan is carried out (`carrying`).

mod answering;
mod asking;
mod bounding;
mod bytes;
mod carrying;
mod client;
mod clock;
mod counters;
mod flushing;
mod front;
mod joining;
pub mod log;
mod memory;
mod multiget;
mod net;
mod pace;
mod pool;
pub mod routing;
mod running;
pub mod schedule;
mod server;
pub mod settings;
mod shared;
mod sockets;
mod stats;
mod table;
mod taking;
mod thread;

/// A front end without sockets and clock, for tests that drive it through every order of events.
#[doc(hidden)]
pub mod machine {
    pub use crate::carrying::Stage;
    pub use crate::carrying::keeper::{Kept, begin};
    pub use crate::front::{Front, tokens};
    pub use crate::memory::charged;
    pub use crate::net::{Net, Outgoing};
    pub use crate::shared::Shared;
    pub use fanin_ring::Event;
}

pub use running::{Running, start};
pub use settings::{Problem, Settings};
