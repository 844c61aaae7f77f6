//! Networks as data: nodes, one-way links, and the next hop of every packet.
//!
//! Hosts are numbered from zero, switches follow them. Links are numbered by the node that receives from them, then by
//! the node that sends, so that a link's number is a rule of the model: simulators order events of one instant by it.

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
