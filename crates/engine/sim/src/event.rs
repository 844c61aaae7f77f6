//! Events and their order at the same instant.

use fanin_driver::{EndpointId, Meaning, Owner};
use fanin_fabric::{HostId, LinkId};

use crate::slot::Slot;

/// An event other than the most frequent one, the arrival of a link's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A link fails, heals or changes its rate.
    Change(u32),
    /// A host crashes, returns or changes its speed.
    Fault(u32),
    /// The first queued packet leaves a port.
    Departure(LinkId),
    /// A pause or its end arrives at the sending end of a link.
    Pause(LinkId, PauseFrame),
    /// A delayed packet arrives that crossed a link earlier.
    Late(LinkId),
    /// A network card has drained the first packet that came by a link.
    Drained(LinkId),
    /// The timer of the endpoint in a slot may be due, if the endpoint is still there.
    Endpoint(EndpointId, Slot),
    /// An end at a host has its turn.
    Turn(HostId),
    /// A host may have to grant windows without an arrival.
    Grants(HostId),
    /// An application's timer is due.
    App(Timer),
}

/// Request of a link's receiving end to its sending end: stop a class of service, or resume it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseFrame {
    /// The class of service, 0 to 7.
    pub class: u8,
    /// Whether to stop sending packets of the class, or to send them again.
    pub on: bool,
}

/// An application's timer: its owner and its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timer {
    pub owner: Owner,
    pub what: Meaning,
}

/// A time and an event, packed so that one comparison orders both: time above, rank below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key(u128);

/// Arrival time of a packet, and its order among those of the same instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ArrivalOrder {
    pub at: u64,
    /// How long its link had been sending without a pause at departure, in steps: the shortest comes first. Below the class of arrivals, so
    /// that it is the upper half of a key's rank.
    pub rank: u32,
}

/// Set for host faults; clear for link changes, which therefore come first.
const FAULT: u64 = 1 << 31;
const DEPARTURE: u64 = 1 << 32;
const LATE: u64 = 1 << 33;
const PAUSE: u64 = 1 << 34;
const PAUSE_CLASS: u32 = 35;
const PAUSE_ON: u64 = 1 << 38;
const DRAINED: u64 = 1 << 39;
const ARRIVAL: u64 = 1 << 62;
const ENDPOINT: u64 = 2 << 62;
const APP: u64 = 3 << 62;
/// Of an application's timers no owner's number reaches them.
const TURN: u64 = APP | 1 << 61;
const GRANTS: u64 = APP | 1 << 60;
const CLASS: u64 = 3 << 62;

/// Bits of an endpoint's slot beside its number.
const SLOT_BITS: u32 = 30;

/// Busy times are compared in steps of about 4 ns, up to about 4 s.
const BUSY_STEP_BITS: u32 = 12;
const BUSY_MAX: u64 = (1 << 30) - 1;

impl ArrivalOrder {
    #[inline]
    pub fn new(at: u64, busy: u64) -> ArrivalOrder {
        ArrivalOrder { at, rank: (ARRIVAL >> 32 | (busy >> BUSY_STEP_BITS).min(BUSY_MAX)) as u32 }
    }
}

impl Key {
    /// After all other keys.
    pub const NEVER: Key = Key(u128::MAX);

    /// A key of any rank, for tests of the queue.
    #[inline]
    pub fn new(time: u64, rank: u64) -> Key {
        Key((time as u128) << 64 | rank as u128)
    }

    /// Link changes come first at an instant, by number.
    pub fn change(at: u64, number: u32) -> Key {
        Key::new(at, number.into())
    }

    /// Host faults come next, by number.
    pub fn fault(at: u64, number: u32) -> Key {
        Key::new(at, FAULT | u64::from(number))
    }

    /// Departures precede all other events of packets and endpoints.
    pub fn departure(at: u64, link: LinkId) -> Key {
        Key::new(at, DEPARTURE | u64::from(link.0))
    }

    /// Pauses come after departures: what leaves at that instant has left.
    pub fn pause(at: u64, link: LinkId, PauseFrame { class, on }: PauseFrame) -> Key {
        let on = if on { PAUSE_ON } else { 0 };
        Key::new(at, PAUSE | on | u64::from(class) << PAUSE_CLASS | u64::from(link.0))
    }

    /// A delayed packet has overtaken none: it is the first arrival.
    pub fn late(at: u64, link: LinkId) -> Key {
        Key::new(at, LATE | u64::from(link.0))
    }

    /// Packets that a card has drained precede those that arrive at it.
    pub fn drained(at: u64, link: LinkId) -> Key {
        Key::new(at, DRAINED | u64::from(link.0))
    }

    /// Arrivals of the same instant: the packet whose link had been sending for the shortest time without a pause comes
    /// first, then by the link's number. (`docs/decisions/order-of-events.md` says why.)
    #[inline]
    pub fn arrival(due: ArrivalOrder, link: LinkId) -> Key {
        Key::new(due.at, u64::from(due.rank) << 32 | u64::from(link.0))
    }

    /// Endpoints' timers come after packets, by the endpoint's number.
    #[inline]
    pub fn endpoint(at: u64, endpoint: EndpointId, slot: Slot) -> Key {
        Key::new(at, ENDPOINT | u64::from(endpoint.number()) << SLOT_BITS | u64::from(slot.0))
    }

    /// Applications' timers come last: the workload's first, each application's in the order of their meanings.
    pub fn app(at: u64, Timer { owner, what }: Timer) -> Key {
        Key::new(at, APP | u64::from(owner.number()) << 40 | u64::from(what.kind) << 32 | u64::from(what.number))
    }

    /// Turns of a host's ends come after all else at an instant.
    pub fn turn(at: u64, host: HostId) -> Key {
        Key::new(at, TURN | u64::from(host.0))
    }

    /// Timers of hosts that grant windows come just before.
    pub fn grants(at: u64, host: HostId) -> Key {
        Key::new(at, GRANTS | u64::from(host.0))
    }

    /// The time, unless it is `NEVER`.
    #[inline(always)]
    pub fn there(self) -> Option<Key> {
        (self != Key::NEVER).then_some(self)
    }

    #[inline]
    pub fn time(self) -> u64 {
        (self.0 >> 64) as u64
    }

    /// The link whose head arrives, if this is an arrival: the common case.
    #[inline(always)]
    pub fn arrives(self) -> Option<LinkId> {
        (self.0 as u64 & CLASS == ARRIVAL).then_some(LinkId(self.0 as u32))
    }

    /// Any other event. Out of line, so that arrivals keep their registers.
    #[inline(never)]
    pub fn event(self) -> Event {
        let (rank, number) = (self.0 as u64, self.0 as u32);
        match rank & CLASS {
            ENDPOINT => {
                let slot = Slot(number & ((1 << SLOT_BITS) - 1));
                Event::Endpoint(EndpointId::new((rank >> SLOT_BITS) as u32), slot)
            }
            APP if rank & TURN == TURN => Event::Turn(HostId(number)),
            APP if rank & GRANTS == GRANTS => Event::Grants(HostId(number)),
            APP => {
                let what = Meaning { kind: (rank >> 32) as u8, number };
                Event::App(Timer { owner: Owner::new((rank >> 40) as u8), what })
            }
            _ if rank & DRAINED != 0 => Event::Drained(LinkId(number)),
            _ if rank & PAUSE != 0 => {
                let class = (rank >> PAUSE_CLASS) as u8 & 7;
                Event::Pause(LinkId(number), PauseFrame { class, on: rank & PAUSE_ON != 0 })
            }
            _ if rank & LATE != 0 => Event::Late(LinkId(number)),
            _ if rank & DEPARTURE != 0 => Event::Departure(LinkId(number)),
            _ if rank & FAULT != 0 => Event::Fault(number & !(FAULT as u32)),
            _ => Event::Change(number),
        }
    }
}
