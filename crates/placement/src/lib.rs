//! Where objects live, so that few servers answer a query (PICC, Wang and Shen, INFOCOM 2018, section III).
//!
//! Pure: a log and a cluster in, a plan out. Objects and servers are numbers from zero, those of a catalogue and of a cluster.

extern crate alloc;

pub mod closeness;
mod cluster;
pub mod cut_clusters;
mod gather;
mod loads;
pub mod picc;
mod placement;
mod plan;
mod request_log;
mod settle;

pub use cluster::{Cluster, Resources, Server};
pub use gather::TooLarge;
pub use placement::{Move, Object, Placement, Reason};
pub use plan::{Gathering, Plan, PlanError, plan};
pub use request_log::RequestLog;
