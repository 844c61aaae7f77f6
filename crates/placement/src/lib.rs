//! Where objects live, so that few servers answer a query (PICC, Wang and Shen, INFOCOM 2018, section III).
//!
//! Pure: a log and a cluster in, a plan out. Objects and servers are numbers from zero, those of a catalogue and of a cluster.

mod cluster;
mod placement;
mod send_queue;

pub use cluster::{Cluster, Resources, Server};
pub use placement::{Move, Object, Placement, Reason};
pub use send_queue::{EXPONENT_MAX, SendQueue};
