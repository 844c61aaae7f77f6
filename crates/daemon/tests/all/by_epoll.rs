//! Socket tests with epoll.

use crate::support::Cluster;

#[path = "attacks.rs"]
mod attacks;
#[path = "commands.rs"]
mod commands;
#[path = "faults.rs"]
mod faults;
#[path = "metrics.rs"]
mod metrics;
#[path = "reloads.rs"]
mod reloads;
#[path = "waits.rs"]
mod waits;

/// Setting of the event loop.
const EVENT_LOOP: &str = "event_loop = \"epoll\"\n";

fn cluster(servers: usize, more: &str, of_pool: &str) -> Cluster {
    Cluster::with(servers, &format!("{EVENT_LOOP}{more}"), of_pool)
}
