//! The sender's rate: congestion control of transports that pace each packet, such as RDMA over Converged Ethernet.
//!
//! The endpoint passes every ACK to the algorithm ([`Control::acknowledge`]), serves its timers, and sends a packet's time at
//! [`Control::rate`] after the last one. A [windowed](Kind::is_windowed) one also
//! limits the bytes in flight, to a round trip at its rate.

mod control;
pub mod dcqcn;
pub mod hpcc;
pub mod rdma;
pub mod rdma_dctcp;
pub mod timely;

use alloc::boxed::Box;

use fanin_units::{Rate, Time};

pub use control::{Ack, Control, Hop, Place};

use crate::pfc;
use crate::row::{File, Offer, Row, Shown, file};
use crate::settings::sections;

sections! {
    /// Settings of rate-based congestion controls, of their transport and their switches.
    dcqcn: dcqcn::Params,
    hpcc: hpcc::Params,
    timely: timely::Params,
    rdma_dctcp: rdma_dctcp::Params,
    rdma: rdma::Params,
    pfc: pfc::Params,
}

const DCQCN: File = file!(dcqcn);
const HPCC: File = file!(hpcc);
const TIMELY: File = file!(timely);
const RDMA_DCTCP: File = file!(rdma_dctcp);
/// All of them run over lossless ports.
const PFC: File = File { law: "pfc", text: include_str!("../pfc.rs") };

/// Ports mark departing packets, and receivers echo marks.
const MARKS: &[&str] = &["ecn_ramp", "ecn"];

crate::row::kinds! {
    /// Kind of rate-based congestion control.
    /// Zhu et al., as network cards run it.
    Dcqcn in dcqcn from dcqcn {
        laws: &[DCQCN, PFC],
        sections: &["dcqcn", "rdma", "pfc"],
        brings: MARKS,
        offers: &[Offer {
            name: "dcqcn",
            aliases: &["roce"],
            says: "RDMA over lossless ports: rates fall by congestion notifications, as network cards run DCQCN",
        }],
    }
    /// The same with a window.
    DcqcnWindow in dcqcn from dcqcn {
        word: "dcqcn-window",
        laws: &[DCQCN, PFC],
        sections: &["dcqcn", "rdma", "pfc"],
        brings: MARKS,
        offers: &[Offer { name: "dcqcn-window", aliases: &[], says: "DCQCN with a round trip at its rate in flight at most" }],
    }
    /// Li et al.
    Hpcc in hpcc from hpcc {
        laws: &[HPCC, PFC],
        sections: &["hpcc", "rdma", "pfc"],
        offers: &[Offer {
            name: "hpcc",
            aliases: &[],
            says: "RDMA over lossless ports that report their load in every packet, which senders keep at a target",
        }],
    }
    /// Mittal et al.
    Timely in timely from timely {
        laws: &[TIMELY, PFC],
        sections: &["timely", "rdma", "pfc"],
        offers: &[Offer { name: "timely", aliases: &[], says: "RDMA over lossless ports: rates follow the gradient of round-trip times" }],
    }
    /// DCTCP as a rate.
    RdmaDctcp in rdma_dctcp from rdma_dctcp {
        word: "rdma-dctcp",
        laws: &[RDMA_DCTCP, PFC],
        sections: &["rdma_dctcp", "rdma", "pfc"],
        brings: MARKS,
        offers: &[Offer { name: "rdma-dctcp", aliases: &[], says: "RDMA over lossless ports: DCTCP as a rate with a window" }],
    }
}

impl Kind {
    /// Whether the bytes in flight are limited.
    pub fn is_windowed(self) -> bool {
        !matches!(self, Kind::Dcqcn | Kind::Timely)
    }

    /// Whether a change of the rate also moves a packet that waits for its time: HPCC's, and in network cards, whose least rate is so low
    /// that a packet would wait for milliseconds after the rate has risen. The simulator of HPCC's authors moves only HPCC's.
    pub fn retimes(self, settings: &Settings) -> bool {
        match self {
            Kind::Hpcc => true,
            Kind::Dcqcn | Kind::DcqcnWindow => settings.dcqcn.profile == dcqcn::Profile::ConnectX,
            Kind::Timely | Kind::RdmaDctcp => false,
        }
    }

    /// Whether ports write telemetry into its packets.
    pub fn has_telemetry(self) -> bool {
        self == Kind::Hpcc
    }

    /// Least time between two congestion notifications of a connection: DCQCN's receivers limit them, DCTCP's return each mark.
    pub fn cnp_interval(self, settings: &Settings) -> Time {
        match self {
            Kind::Dcqcn | Kind::DcqcnWindow => settings.dcqcn.cnp_interval,
            Kind::Hpcc | Kind::Timely | Kind::RdmaDctcp => Time::ZERO,
        }
    }

    /// Bytes of its packets and ACKs beyond those of all: telemetry of five ports, or a timestamp.
    pub fn header_bytes(self) -> u32 {
        match self {
            Kind::Hpcc => 42,
            Kind::Timely => 8,
            Kind::Dcqcn | Kind::DcqcnWindow | Kind::RdmaDctcp => 0,
        }
    }

    /// The state of a new connection.
    pub fn start(self, settings: &Settings, place: &Place) -> Law {
        match self {
            Kind::Dcqcn | Kind::DcqcnWindow => Law::Dcqcn(dcqcn::Dcqcn::start(&settings.dcqcn, place)),
            Kind::Hpcc => Law::Hpcc(Box::new(hpcc::Hpcc::start(&settings.hpcc, place))),
            Kind::Timely => Law::Timely(timely::Timely::start(&settings.timely, place)),
            Kind::RdmaDctcp => Law::RdmaDctcp(rdma_dctcp::RdmaDctcp::start(&settings.rdma_dctcp, place)),
        }
    }
}

/// State of a sender's algorithm.
#[derive(Clone, Debug)]
pub enum Law {
    /// DCQCN.
    Dcqcn(dcqcn::Dcqcn),
    /// HPCC.
    Hpcc(Box<hpcc::Hpcc>),
    /// TIMELY.
    Timely(timely::Timely),
    /// DCTCP for RDMA.
    RdmaDctcp(rdma_dctcp::RdmaDctcp),
}

/// Calls the algorithm.
macro_rules! of_law {
    ($law:ident, $of:expr => $call:expr) => {
        match $of {
            Law::Dcqcn($law) => $call,
            Law::Hpcc($law) => $call,
            Law::Timely($law) => $call,
            Law::RdmaDctcp($law) => $call,
        }
    };
}

impl Control for Law {
    #[inline]
    fn acknowledge(&mut self, ack: &Ack<'_>) {
        of_law!(law, self => law.acknowledge(ack));
    }

    #[inline]
    fn sent(&mut self, now: Time, bytes: u32) {
        of_law!(law, self => law.sent(now, bytes));
    }

    #[inline]
    fn deadline(&self) -> Time {
        of_law!(law, self => law.deadline())
    }

    #[inline]
    fn rises_at(&self) -> Time {
        of_law!(law, self => law.rises_at())
    }

    #[inline]
    fn expire(&mut self, now: Time) {
        of_law!(law, self => law.expire(now));
    }

    #[inline]
    fn rate(&self) -> Rate {
        of_law!(law, self => law.rate())
    }

    fn shown(&self) -> Option<Shown> {
        of_law!(law, self => law.shown())
    }
}
