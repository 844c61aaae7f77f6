//! The data plane as a process: `fanin front`, a memcached proxy that schedules multigets with the simulator's request algorithms, and
//! `fanin agent`. It starts threads and stops them, listens, takes control commands, carries out plans, predicts incast, and hands over
//! to a new process.
//!
//! Every thread has its own event loop (`running/thread.rs`), clients and connections to all servers, so requests share nothing between
//! threads. The event loops are in `fanin_proxy_front` and `fanin_proxy_agent`, which have no sockets and no clock: `fanin_proxy_net` has
//! connections, their events and times. `exposition` has the metrics of both for Prometheus.

mod exposition;
mod running;

pub use fanin_proxy_config as settings;
pub use fanin_proxy_observe::{log, messages};
pub use fanin_proxy_routing as routing;
pub use fanin_proxy_state::incast;

/// A front end and an agent without sockets and clock, for tests that control the order of events.
#[doc(hidden)]
pub mod machine {
    pub use crate::running::coordinator::{PoolMigration, begin};
    pub use fanin_proxy_agent::{Agent, AgentCounters};
    pub use fanin_proxy_core::memory::charged;
    pub use fanin_proxy_front::Front;
    pub use fanin_proxy_front::Schedule;
    pub use fanin_proxy_migration::Stage;
    pub use fanin_proxy_net::secure::Secure;
    pub use fanin_proxy_net::{Address, Entry, Net, Outgoing, Received, Target, Token};
    pub use fanin_proxy_observe::metrics::{Counters, Figure, Metric, MetricKind, Subject, Value};
    pub use fanin_proxy_state::shared::Shared;
    pub use fanin_ring::Event;
}

pub use fanin_proxy_config::{AgentSettings, ConfigText, Problem, Settings, diff};
pub use fanin_proxy_migration::Stage;
pub use fanin_proxy_migration::rollout::{Rollout, Status};
pub use running::agent::{RunningAgent, start as start_agent};
pub use running::coordinator::check_plans;
pub use running::take_over::Predecessor;
pub use running::{Running, control, start, warnings};
