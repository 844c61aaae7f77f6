//! Tests over sockets, with the event loop of the module above.

use super::{EVENT_LOOP, cluster};

#[path = "agents.rs"]
mod agents;
#[path = "agents_plans.rs"]
mod agents_plans;
#[path = "agents_replicas.rs"]
mod agents_replicas;
#[path = "agents_speeds.rs"]
mod agents_speeds;
#[path = "attacks.rs"]
mod attacks;
#[path = "commands.rs"]
mod commands;
#[path = "failovers.rs"]
mod failovers;
#[path = "faults.rs"]
mod faults;
#[path = "hand_overs.rs"]
mod hand_overs;
#[path = "incast.rs"]
mod incast;
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
