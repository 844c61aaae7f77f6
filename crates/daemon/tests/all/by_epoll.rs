//! Socket tests with epoll.

use crate::support::Cluster;

#[path = "attacks.rs"]
mod attacks;
#[path = "commands.rs"]
mod commands;
#[path = "faults.rs"]
mod faults;
#[path = "logins.rs"]
mod logins;
#[path = "metrics.rs"]
mod metrics;
#[path = "proxies.rs"]
mod proxies;
#[path = "reloads.rs"]
mod reloads;
#[path = "tls.rs"]
mod tls;
#[path = "unix_sockets.rs"]
mod unix_sockets;
#[path = "waits.rs"]
mod waits;

/// Setting of the event loop.
const EVENT_LOOP: &str = "event_loop = \"epoll\"\n";

fn cluster(servers: usize, more: &str, of_pool: &str) -> Cluster {
    Cluster::with(servers, &format!("{EVENT_LOOP}{more}"), of_pool)
}
