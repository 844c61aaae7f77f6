//! Parts of a scheme that combine with any congestion control: rows and settings.

use crate::port::many_to_one;
use crate::receiver::{grants, ictcp};
use crate::row::{File, Offer, Row};
use crate::sender::gentle_slow_start;
use crate::settings::sections;

/// Gentle slow start, replacing the congestion control's own.
pub const GSS: Row = Row {
    word: "gss",
    laws: &[File { law: "gentle_slow_start", text: include_str!("sender/gentle_slow_start.rs") }],
    sections: &["gss"],
    offers: &[
        Offer { name: "newreno+gss", aliases: &["gss"], says: "NewReno with gentle slow start" },
        Offer { name: "cubic+gss", aliases: &[], says: "CUBIC with gentle slow start" },
        Offer { name: "dctcp+gss", aliases: &[], says: "DCTCP with gentle slow start" },
        Offer { name: "d2tcp+gss", aliases: &[], says: "D2TCP with gentle slow start" },
        Offer { name: "l2dct+gss", aliases: &[], says: "L2DCT with gentle slow start" },
    ],
    ..Row::PLAIN
};

/// A window assigned by the switch.
pub const M21: Row = Row {
    word: "m21",
    laws: &[
        File { law: "max_cwnd", text: include_str!("sender/max_cwnd.rs") },
        File { law: "many_to_one", text: include_str!("port/many_to_one.rs") },
    ],
    sections: &["m21"],
    offers: &[
        Offer { name: "newreno+m21", aliases: &["m21"], says: "NewReno under a window that the switch assigns" },
        Offer { name: "cubic+m21", aliases: &[], says: "CUBIC under a window that the switch assigns" },
        Offer { name: "dctcp+m21", aliases: &[], says: "DCTCP under a window that the switch assigns" },
    ],
    ..Row::PLAIN
};

/// Windows that a receiving host advertises.
pub const ICTCP: Row = Row {
    word: "ictcp",
    laws: &[File { law: "ictcp", text: include_str!("receiver/ictcp.rs") }],
    sections: &["ictcp"],
    offers: &[Offer {
        name: "newreno+ictcp",
        aliases: &["ictcp"],
        says: "NewReno under receive windows that each host sets from its link's free capacity",
    }],
    ..Row::PLAIN
};

/// Windows that a receiving host grants in turns.
pub const GRANTS: Row = Row {
    word: "grants",
    laws: &[File { law: "grants", text: include_str!("receiver/grants.rs") }],
    sections: &["grants"],
    refuses: &[("ictcp", "both set receive windows: keep one of them")],
    offers: &[
        Offer {
            name: "newreno+grants",
            aliases: &["grants"],
            says: "NewReno under receive windows that each host grants to the connections that receive, in turns where they are many",
        },
        Offer {
            name: "cubic+grants",
            aliases: &[],
            says: "CUBIC under receive windows that each host grants in turns",
        },
        Offer {
            name: "dctcp+grants",
            aliases: &[],
            says: "DCTCP under receive windows that each host grants in turns",
        },
    ],
    ..Row::PLAIN
};

/// All parts.
pub const PARTS: [&Row; 4] = [&GSS, &M21, &ICTCP, &GRANTS];

sections! {
    /// The parts' settings.
    gss: gentle_slow_start::Params,
    m21: many_to_one::Params,
    ictcp: ictcp::Params,
    grants: grants::Params,
}
