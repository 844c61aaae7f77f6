//! Where objects live, so that few servers answer a query (PICC, Wang and Shen, INFOCOM 2018, section III).
//!
//! Pure: a log and a cluster in, a plan out. Objects and servers are numbers from zero, those of a catalogue and of a cluster.

extern crate alloc;

pub mod closeness;
mod cluster;
pub mod cut_clusters;
pub mod picc;
mod placement;
mod request_log;
pub mod send_queue;

use fanin_laws::row::{File, Offer, Row, file, kinds};
use fanin_laws::settings::sections;

pub use cluster::{Cluster, Resources, Server};
pub use placement::{Move, Object, Placement, Reason};
pub use request_log::RequestLog;
pub use send_queue::{EXPONENT_MAX, SendQueue};

sections! {
    /// The settings of placements.
    picc: picc::Params,
}

const CLOSENESS: File = file!(closeness);
const CUT_CLUSTERS: File = file!(cut_clusters);

kinds! {
    /// What is gathered on few servers.
    /// Popular objects, and what is asked for together.
    Picc in picc from picc {
        word: "picc",
        laws: &[CLOSENESS, CUT_CLUSTERS],
        offers: &[Offer {
            name: "picc",
            aliases: &[],
            says: "popular objects, and those asked for together, are moved to few servers, whose queues let small ones pass",
        }, Offer {
            name: "picc+sicc",
            aliases: &[],
            says: "PICC's servers asked through SICC's hubs, which neither paper tried",
        }],
    }
    /// Popular objects alone.
    PiccNoCorrelation in picc from picc {
        word: "picc-no-correlation",
        laws: &[],
        offers: &[Offer {
            name: "picc-no-correlation",
            aliases: &[],
            says: "PICC that gathers popular objects alone, not those asked for together",
        }],
    }
}

/// Every row.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    Kind::ALL.iter().map(|kind| kind.row())
}
