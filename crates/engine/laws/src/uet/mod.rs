//! Congestion control of Ultra Ethernet's transport and its ancestors, which run over ports that trim packets instead of dropping them.
//!
//! Either the sender has a window ([`nscc`]), or the receiver grants credit, in turn with the other senders to its host
//! ([`rccc`], [`eqds`], [`ndp`]). The endpoint keeps packets, acknowledgements and timers.

pub mod eqds;
pub mod ndp;
pub mod nscc;
pub mod paths;
mod place;
pub mod rccc;
pub mod transport;
mod turn;

pub use place::Place;
pub use turn::Turn;

use crate::port::trimming;
use crate::row::{File, Offer, Row, file};
use crate::settings::sections;

sections! {
    /// Settings of congestion controls over trimming ports, and of their transport.
    nscc: nscc::Params,
    rccc: rccc::Params,
    eqds: eqds::Params,
    ndp: ndp::Params,
    uet: transport::Params,
}

const NSCC: File = file!(nscc);
const RCCC: File = file!(rccc);
const EQDS: File = file!(eqds);
const NDP: File = file!(ndp);
/// All of them run over trimming ports, and only a sender's window needs their marks.
const TRIMMING: File = trimming::FILE;
const TRIMS: &[&str] = &["trimming"];
const MARKS: &[&str] = &["trimming", "ecn"];

crate::row::kinds! {
    /// Kind of congestion control over trimming ports.
    /// Ultra Ethernet's sender-based one.
    Nscc in nscc from nscc {
        laws: &[NSCC, TRIMMING],
        sections: &["nscc", "uet", "trimming"],
        brings: MARKS,
        offers: &[Offer {
            name: "nscc",
            aliases: &["uec", "ultra-ethernet"],
            says: "Ultra Ethernet over ports that trim: a sender's window by delay and marks",
        }],
    }
    /// Ultra Ethernet's receiver-based one.
    Rccc in rccc from rccc {
        laws: &[RCCC, EQDS, TRIMMING],
        sections: &["rccc", "uet", "trimming"],
        brings: TRIMS,
        offers: &[Offer { name: "rccc", aliases: &[], says: "Ultra Ethernet over ports that trim: receivers grant credit at their link's rate" }],
    }
    /// Olteanu et al.
    Eqds in eqds from eqds {
        laws: &[EQDS, TRIMMING],
        sections: &["eqds", "uet", "trimming"],
        brings: TRIMS,
        offers: &[Offer { name: "eqds", aliases: &[], says: "EQDS over ports that trim: receivers grant a packet's credit at a time" }],
    }
    /// Handley et al.
    Ndp in ndp from ndp {
        laws: &[NDP, TRIMMING],
        sections: &["ndp", "uet", "trimming"],
        brings: TRIMS,
        offers: &[Offer { name: "ndp", aliases: &[], says: "NDP over ports that trim: receivers pull a packet for each one that came, whole or trimmed" }],
    }
}

impl Kind {
    /// Payload of a full packet, bytes.
    pub fn payload(self, settings: &Settings) -> u32 {
        match self {
            Kind::Ndp => settings.ndp.payload.0 as u32,
            Kind::Nscc | Kind::Rccc | Kind::Eqds => settings.uet.payload.0 as u32,
        }
    }

    /// The states of the two halves of a new end.
    pub fn start(self, settings: &Settings, place: &Place) -> (Sender, Receiver) {
        let credit = |granting: eqds::Granting| {
            (Sender::Granted(eqds::Sender::new(granting.window)), Receiver::Grants(eqds::Receiver::new(granting)))
        };
        match self {
            Kind::Nscc => (Sender::Windowed(nscc::Nscc::start(&settings.nscc, place)), Receiver::Passive),
            Kind::Rccc => credit(settings.rccc.granting(place)),
            Kind::Eqds => credit(settings.eqds.granting(place)),
            Kind::Ndp => (Sender::Pulled(ndp::Sender::new(&settings.ndp)), Receiver::Pulls(ndp::Receiver::new(place))),
        }
    }
}

/// State of a sender's algorithm.
#[derive(Clone, Debug)]
pub enum Sender {
    /// A window of its own.
    Windowed(nscc::Nscc),
    /// Credit in bytes from the receiver.
    Granted(eqds::Sender),
    /// Packets that the receiver pulls.
    Pulled(ndp::Sender),
}

/// State of a receiver's algorithm.
#[derive(Clone, Debug)]
pub enum Receiver {
    /// It only acknowledges.
    Passive,
    /// It grants credit in bytes.
    Grants(eqds::Receiver),
    /// It pulls packets.
    Pulls(ndp::Receiver),
}
