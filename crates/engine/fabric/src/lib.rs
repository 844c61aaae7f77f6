//! Networks as data: nodes, one-way links, and the next hop of every packet.
//!
//! Hosts are numbered from zero, then switches. Links are numbered by receiving node, then by sending node; simulators order simultaneous
//! events by this number, so it is part of the model.
//!
//! ```
//! use fanin_fabric::{HostId, Star, star};
//! use fanin_units::{Rate, Time};
//!
//! let rate = Rate(10_000_000_000);
//! let fabric = star(&Star { servers: 8, rate, client_rate: rate, delay: Time::from_micros(1) });
//! let path: Vec<_> = fabric.path(HostId::server(0), HostId::CLIENT).collect();
//! assert_eq!((fabric.hosts(), path.len()), (9, 2));
//! ```

mod changes;
mod edges;
mod error;
mod fabric;
mod framing;
mod ids;
mod max_flow;
mod routes;
mod star;
mod tree;

pub use changes::{Change, HostFault, HostState, State};
pub use edges::Edge;
pub use error::Error;
pub use fabric::{Fabric, TIERS, edges, star, tree};
pub use framing::Framing;
pub use ids::{HostId, Link, LinkId, NodeId};
pub use star::Star;
pub use tree::{Placement, Tree};
