//! Fan-outs: algorithms by which a client requests data from many servers.
//!
//! The client requests from servers directly, limited by a [`Window`] over a [`ServerQueue`], or, as in SICC, from one server per rack, a hub. The hub collects
//! its rack's responses ([`swarm`]); hubs forward them along a tree ([`tree`]) at speeds that the client assigns ([`speed`]), packed
//! ([`packing`]); and objects of slow hubs are requested elsewhere ([`redirect`], [`balance`]).
//!
//! Each algorithm is one file without I/O, in integer arithmetic, like those of packets: time, randomness and settings are arguments, it
//! returns decisions, and its driver acts.
//!
//! A client that may have eight servers outstanding asks the next one when one has answered:
//!
//! ```
//! use fanin_fanout::{Kind, ServerQueue, Settings};
//! use fanin_units::Rate;
//!
//! let settings = Settings::default();
//! let limit = Kind::SlidingWindow.window(&settings, Rate(10_000_000_000)).expect("a limit of direct requests");
//! let mut servers = ServerQueue::new(100);
//! while servers.take_next(&limit, 0).is_some() {}
//! assert_eq!(servers.busy(), limit.window());
//! ```
#![no_std]

extern crate alloc;

pub mod balance;
pub mod ictcp_window;
pub mod mean;
pub mod one_all;
pub mod packing;
pub mod redirect;
mod server_queue;
pub mod sicc;
pub mod sliding_window;
pub mod speed;
pub mod swarm;
pub mod tree;
mod window;

use fanin_laws::row::{File, Offer, Row, file, kinds};
use fanin_laws::settings::sections;
use fanin_units::Rate;

pub use server_queue::ServerQueue;
use sicc::{Ablated, Parts, Swarms};
pub use window::Window;

sections! {
    /// The settings of fan-outs.
    sliding_window: sliding_window::Params,
    ictcp_window: ictcp_window::Params,
    sicc: sicc::Params,
}

const SWARM: File = file!(swarm);
const TREE: File = file!(tree);
const SPEED: File = file!(speed);
const PACKING: File = file!(packing);
const REDIRECT: File = file!(redirect);
const BALANCE: File = file!(balance);

kinds! {
    /// Fan-out algorithm.
    /// Every server at once.
    OneAll in one_all {
        word: "one-all",
        offers: &[Offer { name: "one-all", aliases: &["baseline"], says: "requests to every server at once, which causes incast collapse" }],
    }
    /// Concurrency limit, by loss.
    SlidingWindow in sliding_window from sliding_window {
        word: "sw",
        offers: &[Offer {
            name: "sw",
            aliases: &["tsw", "sliding-window"],
            says: "a concurrency limit over servers that grows until responses are late, and then halves",
        }],
    }
    /// Concurrency limit, by used bandwidth.
    IctcpWindow in ictcp_window from ictcp_window {
        word: "ictcp-window",
        offers: &[Offer {
            name: "ictcp-window",
            aliases: &[],
            says: "a concurrency limit over servers by used bandwidth, as SICC and PICC describe ICTCP",
        }],
    }
    /// All of SICC.
    Sicc in sicc from sicc {
        word: "sicc",
        laws: &[SWARM, TREE, SPEED, PACKING, REDIRECT],
        offers: &[Offer {
            name: "sicc",
            aliases: &[],
            says: "a hub per rack collects responses and forwards them, packed, at an assigned speed; slow hubs lose queries to others",
        }],
    }
    /// SICC without its enhancements.
    SiccBase in sicc from sicc {
        word: "sicc-base",
        laws: &[SWARM, TREE, SPEED],
        offers: &[Offer {
            name: "sicc-base",
            aliases: &[],
            says: "SICC without its enhancements: neither packing nor redirection",
        }],
    }
    /// SICC without proximity.
    SiccNps in sicc from sicc {
        word: "sicc-nps",
        laws: &[SWARM, TREE, SPEED],
        offers: &[Offer { name: "sicc-nps", aliases: &[], says: "SICC whose swarms are drawn from all racks" }],
    }
    /// SICC without a tree.
    SiccNmt in sicc from sicc {
        word: "sicc-nmt",
        laws: &[SWARM, SPEED],
        offers: &[Offer { name: "sicc-nmt", aliases: &[], says: "SICC without the tree: all hubs send to the client itself" }],
    }
    /// SICC without control of speeds.
    SiccNssc in sicc from sicc {
        word: "sicc-nssc",
        laws: &[SWARM, TREE],
        offers: &[Offer { name: "sicc-nssc", aliases: &[], says: "SICC without control of hubs' speeds" }],
    }
    /// SICC without redirection.
    SiccNqr in sicc from sicc {
        word: "sicc-nqr",
        laws: &[SWARM, TREE, SPEED, PACKING],
        offers: &[Offer { name: "sicc-nqr", aliases: &[], says: "SICC without redirection of queries" }],
    }
    /// SICC without packing.
    SiccNopack in sicc from sicc {
        word: "sicc-nopack",
        laws: &[SWARM, TREE, SPEED, REDIRECT],
        offers: &[Offer { name: "sicc-nopack", aliases: &[], says: "SICC with one object per packet" }],
    }
    /// SICC with replicas chosen.
    SiccBalanced in sicc from sicc {
        word: "sicc-balanced",
        laws: &[SWARM, TREE, SPEED, PACKING, REDIRECT, BALANCE],
        offers: &[Offer {
            name: "sicc-balanced",
            aliases: &[],
            says: "SICC with replicas chosen so that hubs finish together: an improvement on the paper",
        }],
    }
}

/// Every row.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    Kind::ALL.iter().map(|kind| kind.row())
}

/// Request method of a client.
#[derive(Clone, Copy, Debug)]
pub enum Asks {
    /// Servers directly, with a concurrency limit for this link rate.
    Servers(fn(&Settings, Rate) -> Window),
    /// Hubs.
    Hubs(Parts),
}

impl Kind {
    /// Its method. Each kind must be listed here.
    pub fn asks(self, sicc: &sicc::Params) -> Asks {
        const FULL: Parts =
            Parts { swarms: Swarms::ByRack, tree: true, speed: true, packing: true, redirect: true, balanced: false };
        const BASE: Parts = Parts { packing: false, redirect: false, ..FULL };
        let whole = match sicc.ablate {
            Ablated::Base => BASE,
            Ablated::Full => FULL,
        };
        match self {
            Kind::OneAll => Asks::Servers(|_, _| Window::OneAll(one_all::OneAll)),
            Kind::SlidingWindow => {
                Asks::Servers(|s, _| Window::Sliding(sliding_window::SlidingWindow::start(&s.sliding_window)))
            }
            Kind::IctcpWindow => {
                Asks::Servers(|s, capacity| Window::Ictcp(ictcp_window::IctcpWindow::start(&s.ictcp_window, capacity)))
            }
            Kind::Sicc => Asks::Hubs(FULL),
            Kind::SiccBase => Asks::Hubs(BASE),
            Kind::SiccNps => Asks::Hubs(Parts { swarms: Swarms::AtRandom, ..whole }),
            Kind::SiccNmt => Asks::Hubs(Parts { tree: false, ..whole }),
            Kind::SiccNssc => Asks::Hubs(Parts { speed: false, ..whole }),
            Kind::SiccNqr => Asks::Hubs(Parts { redirect: false, ..FULL }),
            Kind::SiccNopack => Asks::Hubs(Parts { packing: false, ..FULL }),
            Kind::SiccBalanced => Asks::Hubs(Parts { balanced: true, ..FULL }),
        }
    }

    /// Parts of SICC; none for direct requests.
    pub fn parts(self, sicc: &sicc::Params) -> Option<Parts> {
        match self.asks(sicc) {
            Asks::Servers(_) => None,
            Asks::Hubs(parts) => Some(parts),
        }
    }

    /// Concurrency limit for a link of `capacity`; none for hubs.
    pub fn window(self, settings: &Settings, capacity: Rate) -> Option<Window> {
        match self.asks(&settings.sicc) {
            Asks::Servers(window) => Some(window(settings, capacity)),
            Asks::Hubs(_) => None,
        }
    }
}
