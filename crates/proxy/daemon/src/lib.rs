//! The data plane: `fanin front`, a memcached proxy that schedules multigets with the simulator's request algorithms.
//!
//! Every thread has its own event loop (`running/thread.rs`), clients and connections to all servers, so requests share nothing between
//! threads. A front end (`front`) has no sockets and no clock itself: `net` has connections, their events and times. `front/request.rs`
//! has the life of a request. `fanin_memcache` parses; `fanin_fanout` decides the order of a multiget's servers; `routing` places keys on
//! servers, without I/O. `log` records requested keys, `migration` executes a placement plan, `failover` decides which servers are in use,
//! `incast` limits multigets by the caller's prediction of incast, `metrics` has what a front end reports, and `exposition` serves it to
//! Prometheus. `tenants` shares limits among clients, `watchdog` reports loop iterations that take too long. `handover` passes sockets and clients to a new process.

mod agent;
mod clock;
mod exposition;
mod failover;
mod front;
mod handover;
pub mod incast;
pub mod log;
mod memory;
pub mod messages;
mod metrics;
mod migration;
mod net;
mod peers;
mod prediction;
mod pulse;
pub mod routing;
mod running;
mod server_error;
pub mod settings;
mod shared;
mod tenants;
mod token;
mod watchdog;
mod writes;

/// A front end and an agent without sockets and clock, for tests that control the order of events.
#[doc(hidden)]
pub mod machine {
    pub use crate::agent::{Agent, AgentCounters};
    pub use crate::front::Front;
    pub use crate::front::multigets::schedule::Schedule;
    pub use crate::memory::charged;
    pub use crate::metrics::{Counters, Figure, Metric, MetricKind, Subject, Value};
    pub use crate::migration::Stage;
    pub use crate::net::secure::Secure;
    pub use crate::net::{Address, Entry, Net, Outgoing, Received, Target, Token};
    pub use crate::running::coordinator::{PoolMigration, begin};
    pub use crate::shared::Shared;
    pub use fanin_ring::Event;
}

pub use migration::Stage;
pub use migration::rollout::{Rollout, Status};
pub use running::agent::{RunningAgent, start as start_agent};
pub use running::coordinator::check_plans;
pub use running::take_over::Predecessor;
pub use running::{Running, control, start};
pub use settings::{AgentSettings, ConfigText, Problem, Settings, diff};
