//! Networks as data: nodes, one-way links, and the next hop of every packet.
//!
//! Hosts are numbered from zero, then switches. Links are numbered by receiving node, then by sending node; simulators order simultaneous
//! events by this number, so it is part of the model.

mod edges;
mod fabric;
mod ids;
mod routes;
mod star;
mod tree;

pub use edges::Edge;
pub use fabric::{Fabric, TIERS, edges, star, tree};
pub use ids::{HostId, Link, LinkId, NodeId};
pub use star::Star;
pub use tree::{Placement, Tree};
