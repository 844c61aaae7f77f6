//! The port: what happens to a packet that comes to a queue.
//!
//! A driver asks [`Law::enqueue`] for a verdict and does as it says. A port has room for so much ([`drop_tail`]), may
//! drop or mark earlier ([`red`], [`ecn_threshold`]) or later, as packets leave ([`codel`]: [`Law::dequeue`]), and may hand out windows ([`many_to_one`]) beside either.

pub mod codel;
pub mod drop_tail;
pub mod ecn_threshold;
mod manage;
pub mod many_to_one;
pub mod red;

use fanin_units::{QueueSize, Time};
use rand_core::Rng;

use manage::Congested;
pub use manage::{Drop, Header, HeaderOption, Manage, Place, Queue};
use many_to_one::ManyToOne;

use crate::row::{Offer, Row, Shown};
use crate::settings::sections;

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is dropped.
    Drop(Drop),
    /// It is queued.
    Admit {
        /// Set CE.
        mark: bool,
    },
}

/// What becomes of a packet that would leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// It is dropped, and the next one would leave.
    Drop(Drop),
    /// It leaves.
    Pass {
        /// Set CE.
        mark: bool,
    },
}

sections! {
    /// The settings of disciplines.
    ecn_threshold: ecn_threshold::Params,
    red: red::Params,
    codel: codel::Params,
}

/// Declares the disciplines, a row each: the law's type in its file, whose settings it has (`from`), and its [`Row`].
macro_rules! disciplines {
    ($($(#[doc = $doc:literal])* $Law:ident in $file:ident $(from $section:ident)? { $($row:tt)* })*) => {
        crate::row::kinds! {
            /// Which discipline.
            $($(#[doc = $doc])* $Law in $file $(from $section)? { $($row)* })*
        }

        impl Kind {
            /// The state of an empty port; that of drop tail where nothing is left of the law at such a place.
            pub fn start(self, settings: &Settings, place: &Place) -> Discipline {
                let started = match self {
                    $(Kind::$Law => $file::$Law::start($(&settings.$section,)? place).map(Discipline::$Law),)*
                };
                started.unwrap_or(Discipline::DropTail(drop_tail::DropTail))
            }
        }

        /// What a port does beyond dropping what finds no room: its state.
        #[derive(Clone, Copy, Debug)]
        #[repr(u8)]
        pub enum Discipline { $($(#[doc = $doc])* $Law($file::$Law),)* }

        impl Discipline {
            #[inline(always)]
            fn enqueue(&mut self, now: Time, queue: &Queue, header: &Header, rng: &mut impl Rng) -> Congested {
                match self { $(Discipline::$Law(law) => law.enqueue(now, queue, header, rng),)* }
            }

            fn dequeue(&mut self, now: Time, sojourn: Time, behind: u64, ect: bool) -> Congested {
                match self { $(Discipline::$Law(law) => law.dequeue(now, sojourn, behind, ect),)* }
            }

            fn looks_at_departures(&self) -> bool {
                match self { $(Discipline::$Law(_) => $file::$Law::LOOKS_AT_DEPARTURES,)* }
            }

            fn shown(&self) -> Option<Shown> {
                match self { $(Discipline::$Law(law) => law.shown(),)* }
            }
        }
    };
}

disciplines! {
    /// Random early detection.
    Red in red from red {
        offers: &[
            Offer { name: "newreno+red", aliases: &["red"], says: "NewReno over ports that drop early at random" },
            Offer {
                name: "newreno+red+ecn",
                aliases: &["ecn", "ecntcp"],
                says: "NewReno over ports that mark early at random",
            },
        ],
    }
    /// Controlled delay: drops or marks what waited too long, as it leaves.
    CoDel in codel from codel {
        offers: &[
            Offer {
                name: "newreno+codel",
                aliases: &["codel"],
                says: "NewReno over ports that drop what waited too long",
            },
            Offer { name: "newreno+codel+ecn", aliases: &[], says: "NewReno over ports that mark what waited too long" },
        ],
    }
    /// Queues what there is room for.
    DropTail in drop_tail {
        refuses: &[("ecn", "ECN needs a port law that marks; write red, codel or ecn_threshold, such as newreno+red+ecn")],
    }
    /// Marks above a threshold of the instantaneous queue.
    EcnThreshold in ecn_threshold from ecn_threshold {}
}

/// One port's law.
#[derive(Clone, Debug)]
pub struct Law {
    /// What the queue holds; `None` holds everything.
    pub limit: Option<QueueSize>,
    /// What happens before it is full.
    pub discipline: Discipline,
    /// Hands out windows.
    pub many_to_one: Option<ManyToOne>,
}

impl Law {
    /// A queue that never fills.
    pub const UNLIMITED: Law =
        Law { limit: None, discipline: Discipline::DropTail(drop_tail::DropTail), many_to_one: None };

    /// Whether no queue, however long, makes a difference to any packet.
    pub fn admits_everything(&self) -> bool {
        self.limit.is_none() && matches!(self.discipline, Discipline::DropTail(_)) && self.many_to_one.is_none()
    }

    /// What becomes of a packet, on whose note the port may write. Only RED draws from `rng`.
    ///
    /// The early verdict comes before the test for room, as a queue discipline over a device queue has it: a packet
    /// that is both early and without room counts as early.
    #[inline(always)]
    pub fn enqueue(
        &mut self,
        now: Time,
        queue: &Queue,
        header: &Header,
        note: Option<&mut HeaderOption>,
        rng: &mut impl Rng,
    ) -> Verdict {
        let congested = self.discipline.enqueue(now, queue, header, rng);
        let mark = match congested.fate(header.ect) {
            Ok(mark) => mark,
            Err(cause) => return Verdict::Drop(cause),
        };
        if !drop_tail::has_room(self.limit, queue, header) {
            return Verdict::Drop(Drop::Full);
        }
        if let Some(many_to_one) = &mut self.many_to_one {
            many_to_one.enqueue(header, note);
        }
        Verdict::Admit { mark }
    }

    /// Whether the law looks at packets as they leave: then departures cannot be worked out before.
    pub fn needs_dequeue(&self) -> bool {
        self.discipline.looks_at_departures()
    }

    /// What becomes of the first packet in the queue as it would leave, after `sojourn` there, with `behind` bytes
    /// behind it.
    pub fn dequeue(&mut self, now: Time, sojourn: Time, behind: u64, ect: bool) -> Departure {
        match self.discipline.dequeue(now, sojourn, behind, ect).fate(ect) {
            Ok(mark) => Departure::Pass { mark },
            Err(cause) => Departure::Drop(cause),
        }
    }

    /// What of its state is worth a look.
    pub fn shown(&self) -> Option<Shown> {
        self.discipline.shown()
    }
}
