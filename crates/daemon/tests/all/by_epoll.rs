//! Socket tests with epoll.

use crate::support::Cluster;

#[path = "attacks.rs"]
mod attacks;
#[path = "commands.rs"]
mod commands;
#[path = "faults.rs"]
mod faults;
#[path = "waits.rs"]
mod waits;

fn cluster(servers: usize, more: &str, of_pool: &str) -> Cluster {
    Cluster::with(servers, &format!("event_loop = \"epoll\"\n{more}"), of_pool)
}
