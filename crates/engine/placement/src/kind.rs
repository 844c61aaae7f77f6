//! Table of the placements: the kinds, with their rows.

use fanin_laws::row::{File, Offer, Row, file, kinds};

const CLOSENESS: File = file!(closeness);
const CUT_CLUSTERS: File = file!(cut_clusters);
const COVER: File = file!(cover);
const FAN_OUT: File = file!(fan_out);
const CO_LOCATION: File = file!(co_location);
const GROUPS: File = file!(groups);
const LEVELS: File = file!(levels);
const PLAN: File = file!(plan);
const SEND_QUEUE: File = file!(send_queue);
const SETTLE: File = file!(settle);

kinds! {
    /// Co-location of objects on few servers.
    /// Popular objects, and objects requested together.
    Picc in picc from picc {
        word: "picc",
        laws: &[PLAN, CO_LOCATION, CLOSENESS, CUT_CLUSTERS, SETTLE, SEND_QUEUE],
        offers: &[Offer {
            name: "picc",
            aliases: &[],
            says: "popular objects, and those requested together, move to few servers, which send small ones first",
        }, Offer {
            name: "picc+sicc",
            aliases: &[],
            says: "PICC's servers behind SICC's hubs, a combination in neither paper",
        }],
    }
    /// Only popular objects.
    PiccNoCorrelation in picc from picc {
        word: "picc-no-correlation",
        laws: &[PLAN, CO_LOCATION, SEND_QUEUE],
        offers: &[Offer {
            name: "picc-no-correlation",
            aliases: &[],
            says: "PICC that co-locates only popular objects, not those requested together",
        }],
    }
    /// Objects requested together, on groups of servers.
    Groups in groups from groups {
        word: "groups",
        laws: &[GROUPS, LEVELS, FAN_OUT, COVER],
        sections: &["groups", "picc"],
        offers: &[Offer {
            name: "groups",
            aliases: &[],
            says: "objects requested together move to groups of servers, by local search on the probabilistic fan-out",
        }],
    }
}

impl Kind {
    /// Whether it co-locates objects that are requested together.
    pub fn correlates(self) -> bool {
        self == Kind::Picc
    }
}

/// Every row.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    Kind::ALL.iter().map(|kind| kind.row())
}
