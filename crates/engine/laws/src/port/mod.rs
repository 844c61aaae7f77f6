//! Verdicts on packets that arrive at a queue.
//!
//! A driver calls [`Law::enqueue`] and acts on the verdict. A port has a limit ([`drop_tail`]). It may drop or mark earlier
//! ([`red`], [`ecn_threshold`]) or as packets leave ([`codel`]: [`Law::dequeue`]), and may assign windows ([`many_to_one`]) as well.

pub mod codel;
pub mod drop_tail;
pub mod ecn_ramp;
pub mod ecn_threshold;
mod manage;
pub mod many_to_one;
pub mod red;
pub mod trimming;

use fanin_units::{QueueSize, Time};
use rand_core::Rng;

use manage::Congested;
pub use manage::{Drop, Header, HeaderOption, Leaving, Manage, NO_OFFER, Place, Queue};
use many_to_one::ManyToOne;
use trimming::Trim;

use crate::row::{Offer, Row, Shown};
use crate::settings::sections;

/// Verdict on an arriving packet.
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

/// Verdict on a packet about to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// It is dropped; the next packet is up.
    Drop(Drop),
    /// It leaves.
    Pass {
        /// Set CE.
        mark: bool,
    },
}

sections! {
    /// Settings of disciplines.
    ecn_threshold: ecn_threshold::Params,
    red: red::Params,
    codel: codel::Params,
    ecn_ramp: ecn_ramp::Params,
    trimming: trimming::Params,
}

/// Declares the disciplines, one row each: the type in its file, the section of its settings (`from`), and its [`Row`].
macro_rules! disciplines {
    ($($(#[doc = $doc:literal])* $Law:ident in $file:ident $(from $section:ident)? { $($row:tt)* })*) => {
        crate::row::kinds! {
            /// Kind of discipline.
            $($(#[doc = $doc])* $Law in $file $(from $section)? { $($row)* })*
        }

        impl Kind {
            /// The state of an empty port; drop tail if the discipline has no effect at this place.
            pub fn start(self, settings: &Settings, place: &Place) -> Discipline {
                let started = match self {
                    $(Kind::$Law => $file::$Law::start($(&settings.$section,)? place).map(Discipline::$Law),)*
                };
                started.unwrap_or(Discipline::DropTail(drop_tail::DropTail))
            }
        }

        /// State of a discipline.
        #[derive(Clone, Copy, Debug)]
        #[repr(u8)]
        pub enum Discipline { $($(#[doc = $doc])* $Law($file::$Law),)* }

        impl Discipline {
            #[inline(always)]
            fn enqueue(&mut self, now: Time, queue: &Queue, header: &Header, rng: &mut impl Rng) -> Congested {
                match self { $(Discipline::$Law(law) => law.enqueue(now, queue, header, rng),)* }
            }

            fn dequeue(&mut self, now: Time, leaving: &Leaving, rng: &mut impl Rng) -> Congested {
                match self { $(Discipline::$Law(law) => law.dequeue(now, leaving, rng),)* }
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
    /// Controlled delay: drops or marks packets that waited too long, as they leave.
    CoDel in codel from codel {
        offers: &[
            Offer {
                name: "newreno+codel",
                aliases: &["codel"],
                says: "NewReno over ports that drop packets that waited too long",
            },
            Offer { name: "newreno+codel+ecn", aliases: &[], says: "NewReno over ports that mark packets that waited too long" },
        ],
    }
    /// Queues packets that fit.
    DropTail in drop_tail {
        refuses: &[("ecn", "ECN needs a discipline that marks; use red, codel or ecn_threshold, such as newreno+red+ecn")],
    }
    /// Marks above a threshold of the instantaneous queue.
    EcnThreshold in ecn_threshold from ecn_threshold {}
    /// Marks departing packets with a probability that rises with the queue.
    EcnRamp in ecn_ramp from ecn_ramp {}
    /// Trims packets that do not fit, and marks departing ones with a probability that rises with the queue.
    Trimming in trimming from trimming {}
}

/// Complete algorithm of one port.
#[derive(Clone, Debug)]
pub struct Law {
    /// Capacity of the queue; `None` is unlimited.
    pub limit: Option<QueueSize>,
    /// Early drops and marks.
    pub discipline: Discipline,
    /// Window assignment.
    pub many_to_one: Option<ManyToOne>,
    /// Trimming of packets that do not fit; `None` drops them.
    pub trim: Option<Trim>,
    /// Packets of higher classes are served first.
    pub by_class: bool,
}

impl Law {
    /// A queue that never fills.
    pub const UNLIMITED: Law = Law {
        limit: None,
        discipline: Discipline::DropTail(drop_tail::DropTail),
        many_to_one: None,
        trim: None,
        by_class: false,
    };

    /// Whether the queue's length never affects any packet.
    pub fn admits_everything(&self) -> bool {
        self.limit.is_none()
            && matches!(self.discipline, Discipline::DropTail(_))
            && self.many_to_one.is_none()
            && !self.by_class
    }

    /// Verdict on a packet; the port may write to its header option. Only RED draws from `rng`.
    ///
    /// The early verdict precedes the test for space, as with a queue discipline above a device queue: a packet that is both
    /// early and does not fit counts as early.
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

    /// Whether departures depend on later arrivals or on the time of departure: they cannot be computed in advance then.
    pub fn decides_departures(&self) -> bool {
        self.by_class || self.trim.is_some() || self.needs_dequeue()
    }

    /// Whether the discipline inspects departing packets.
    pub fn needs_dequeue(&self) -> bool {
        self.discipline.looks_at_departures()
    }

    /// Verdict on the first packet in the queue as it is about to leave. Marking with a probability draws from `rng`.
    pub fn dequeue(&mut self, now: Time, leaving: &Leaving, rng: &mut impl Rng) -> Departure {
        match self.discipline.dequeue(now, leaving, rng).fate(leaving.ect) {
            Ok(mark) => Departure::Pass { mark },
            Err(cause) => Departure::Drop(cause),
        }
    }

    /// State to display.
    pub fn shown(&self) -> Option<Shown> {
        self.discipline.shown()
    }
}
