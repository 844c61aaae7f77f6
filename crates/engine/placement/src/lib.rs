//! Object placement, so that few servers answer a query (PICC, Wang and Shen, INFOCOM 2018, section III).
//!
//! No I/O: input is a log and a cluster, output a plan. Objects and servers are indexes of a catalogue and a cluster.
//!
//! A client that wants objects with several replicas asks as few servers as it can:
//!
//! ```
//! use fanin_placement::{Cover, Object, Placement, Server};
//!
//! let homes = [0, 1, 1, 2, 1, 3].map(Server).to_vec();
//! let placement = Placement::new(2, homes);
//! let mut servers = Vec::new();
//! Cover::new(4, 512).ask(&[Object(0), Object(1), Object(2)], &placement, &mut servers);
//! assert_eq!(servers, [Server(1); 3]);
//! ```

extern crate alloc;

pub mod closeness;
mod cluster;
mod co_location;
mod cover;
pub mod cut_clusters;
mod effect;
pub mod fan_out;

pub mod groups;
mod hash_placement;
mod hypergraph;
mod kind;
mod levels;
mod loads;
mod moves;
pub mod picc;
mod placement;
mod plan;
mod request_log;

pub mod send_queue;
mod settle;

use fanin_laws::settings::sections;

pub use closeness::Edge;
pub use cluster::{Cluster, Resources, Server};
pub use co_location::TooLarge;
pub use cover::Cover;
pub use effect::ask;
pub use groups::plan_groups;
pub use hash_placement::place_by_hash;
pub use kind::{Kind, rows};
pub use moves::{Gathering, Plan, PlanError};
pub use placement::{Move, Object, Placement, Reason};
pub use plan::plan;
pub use request_log::RequestLog;
pub use send_queue::{EXPONENT_MAX, SendQueue};

sections! {
    /// The settings of placements.
    picc: picc::Params,
    groups: groups::Params,
}
