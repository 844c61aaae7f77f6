//! One part of a split network, with its hosts' applications.

use std::collections::VecDeque;

use fanin_driver::{EndpointId, Meaning};
use fanin_fabric::{HostId, HostState};
use fanin_transport::{Progress, Transport};
use fanin_units::Time;

use crate::engine::{Observer, Running};
use crate::event::{Key, Timer};
use crate::parts::border::{Border, PacketBatch};
use crate::slot::Slot;
use crate::world::World;

/// An endpoint's action when one of the workload's timers is due.
#[derive(Clone, Copy)]
pub(crate) enum Order {
    /// Open its connection.
    Open(Slot),
    /// Send bytes, due by a deadline.
    Write(Slot, u64, Time),
    /// Expect a message that ends at this byte.
    Expect(Slot, u64, Meaning),
    /// Close its side.
    Close(Slot),
}

/// A received message.
pub(crate) struct ReceivedMessage {
    pub at: Time,
    pub by: EndpointId,
    pub what: Meaning,
}

/// A part's stand-in for the workload: its orders; counts messages and closes connections that the other end closes.
#[derive(Default)]
pub(crate) struct Ledger {
    /// In timer order.
    orders: VecDeque<(Key, Order)>,
    pub heard: Vec<ReceivedMessage>,
    /// Messages not yet received.
    pub missing: u64,
    /// The current event; after the last message, the event that delivered it.
    now: Option<Key>,
    /// Whether the part waits once no message is missing, and up to which time it was served then.
    pub waits: bool,
    next: Option<Key>,
    /// Limit of events to serve.
    pub end: Option<Key>,
    /// Timers with orders.
    pub timers: u64,
}

impl Ledger {
    /// The event that delivered the last message.
    pub fn last(&self) -> Option<Key> {
        self.now.filter(|_| self.missing == 0)
    }
}

impl<T: Transport, const LARGE: bool> Observer<Border<LARGE>, T> for Ledger {
    #[inline(always)]
    fn takes(&mut self, key: Key) -> bool {
        if self.waits && self.missing == 0 || self.end.is_some_and(|end| key >= end) {
            self.next = Some(key);
            return false;
        }
        self.now = Some(key);
        true
    }

    #[cold]
    fn report(&mut self, world: &mut World<Border<LARGE>, T>, slot: Slot, progress: Progress) {
        let by = world.sockets.at(slot).id;
        if progress.any(Progress::AWAKE) {
            while let Some(what) = world.next_message(slot) {
                self.heard.push(ReceivedMessage { at: world.now, by, what });
                self.missing -= 1;
            }
        }
        if progress.any(Progress::CLOSED) {
            world.sockets.book.closes(by);
            world.close_slot(slot);
        }
    }

    fn on_timeout(&mut self, _world: &mut World<Border<LARGE>, T>, _at: EndpointId) {}

    fn on_host_fault(&mut self, _world: &mut World<Border<LARGE>, T>, _host: HostId, _to: HostState) {
        unreachable!("where hosts fail, a run is not simulated in parts");
    }

    #[cold]
    fn due(&mut self, world: &mut World<Border<LARGE>, T>, timer: Timer) {
        let now = Key::app(world.now.0, timer);
        self.timers += 1;
        while let Some((_, order)) = self.orders.pop_front_if(|(at, _)| *at == now) {
            match order {
                Order::Open(slot) => world.open(slot),
                Order::Write(slot, bytes, deadline) => world.write(slot, bytes, deadline),
                Order::Expect(slot, until, meaning) => world.expect(slot, until, meaning),
                Order::Close(slot) => world.close_slot(slot),
            }
        }
    }
}

/// A part and its received packets.
pub(crate) struct Part<T: Transport, const LARGE: bool> {
    pub running: Running<Border<LARGE>, T, Ledger>,
    pub batches: Vec<PacketBatch>,
}

impl<T: Transport, const LARGE: bool> Part<T, LARGE> {
    /// Order an action for a timer's time.
    pub fn order(&mut self, at: Key, order: Order) {
        let Running { world, observer } = &mut self.running;
        if observer.orders.back().is_none_or(|(last, _)| *last != at) {
            world.net.events.push_far(at);
        }
        if let Order::Expect(..) = order {
            observer.missing += 1;
        }
        observer.orders.push_back((at, order));
    }

    /// Lower bound of the next event's time.
    pub fn first(&self) -> Time {
        let handed = self.batches.iter().map(|batch| batch.first).min().unwrap_or(Time::NEVER);
        self.running.world.net.events.first().min(handed)
    }

    /// Accept received packets, and deferred ones.
    pub fn accept(&mut self) {
        let Running { world, observer } = &mut self.running;
        for batch in self.batches.drain(..) {
            batch.handed.iter().for_each(|handed| world.net.take_over(handed));
        }
        if let Some(key) = observer.next.take() {
            world.net.events.push_far(key);
        }
    }

    /// Serve events up to a time.
    pub fn go(&mut self, until: Time) {
        self.accept();
        while !self.running.go(until) {}
    }
}
