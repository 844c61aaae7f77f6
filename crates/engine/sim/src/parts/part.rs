//! One part of a split network, with its hosts' applications.

use std::collections::VecDeque;

use fanin_driver::{EndpointId, Meaning, Share};
use fanin_fabric::{HostId, HostState};
use fanin_transport::{Progress, Transport};
use fanin_units::Time;

use crate::engine::{Observer, Running};
use crate::event::{Key, Timer};
use crate::parts::border::{Batch, Border};
use crate::slot::Slot;
use crate::socket::ExpectedMessage;
use crate::world::World;

/// An endpoint's action when one of the workload's timers is due.
#[derive(Clone, Copy)]
pub(crate) enum Order {
    /// Open its connection.
    Open(Slot),
    /// Send bytes, due by a deadline.
    Write(Slot, u64, Time),
    /// Expect a message.
    Expect(ExpectedMessage),
    /// Close its side.
    Close(Slot),
}

/// A received message.
pub(crate) struct ReceivedMessage {
    pub at: Time,
    pub by: EndpointId,
    pub what: Meaning,
}

/// A part's stand-in for the workload: its share, or its orders; counts messages and closes connections that the other end closes.
#[derive(Default)]
pub(crate) struct Ledger {
    /// The workload's share, if it has any.
    pub share: Option<Box<dyn Share>>,
    /// In timer order.
    orders: VecDeque<(Key, Order)>,
    pub heard: Vec<ReceivedMessage>,
    /// Messages not yet received.
    pub missing: u64,
    /// The current event; after the last message, the event that delivered it.
    now: Option<Key>,
    /// Whether the part waits once no message is missing, and up to which time it was served then.
    pub waits: bool,
    /// Whether the part stops before a packet that may end its client's stall.
    pub looks_out: bool,
    /// Before which one it has stopped.
    pub stall: Option<Key>,
    /// The first event that was not served, if the part has stopped before one.
    pub next: Option<Key>,
    /// Limit of events to serve.
    pub end: Option<Key>,
    /// Timers with orders.
    pub timers: u64,
}

impl Ledger {
    /// Take the workload's share of the part.
    pub fn take(&mut self, share: Box<dyn Share>) {
        self.missing = share.missing();
        self.share = Some(share);
    }

    /// The event that delivered the last message.
    pub fn last(&self) -> Option<Key> {
        self.now.filter(|_| self.missing == 0)
    }
}

impl<T: Transport> Observer<Border, T> for Ledger {
    #[inline(always)]
    fn takes(&mut self, world: &World<Border, T>, key: Key) -> bool {
        if self.waits && self.missing == 0 || self.end.is_some_and(|end| key >= end) {
            self.next = Some(key);
            return false;
        }
        if self.looks_out && world.may_end_stall(key) {
            (self.next, self.stall) = (Some(key), Some(key));
            return false;
        }
        self.now = Some(key);
        true
    }

    #[cold]
    fn report(&mut self, world: &mut World<Border, T>, slot: Slot, progress: Progress) {
        let by = world.sockets.at(slot).id;
        if progress.any(Progress::AWAKE) {
            while let Some(what) = world.next_message(slot) {
                match &mut self.share {
                    Some(share) => {
                        share.received(world, by, what);
                        self.missing = share.missing();
                    }
                    None => {
                        self.heard.push(ReceivedMessage { at: world.now, by, what });
                        self.missing -= 1;
                    }
                }
            }
        }
        if progress.any(Progress::CLOSED) {
            world.sockets.book.closes(by);
            world.close_slot(slot);
        }
    }

    fn on_timeout(&mut self, _world: &mut World<Border, T>, _at: EndpointId) {}

    fn on_host_fault(&mut self, _world: &mut World<Border, T>, _host: HostId, _to: HostState) {
        unreachable!("where hosts fail, a run is not simulated in parts");
    }

    #[cold]
    fn due(&mut self, world: &mut World<Border, T>, timer: Timer) {
        if let Some(share) = &mut self.share {
            return share.due(world, timer.what);
        }
        let now = Key::app(world.now.0, timer);
        self.timers += 1;
        while let Some((_, order)) = self.orders.pop_front_if(|(at, _)| *at == now) {
            match order {
                Order::Open(slot) => world.open(slot),
                Order::Write(slot, bytes, deadline) => world.write(slot, bytes, deadline),
                Order::Expect(message) => world.expect(message),
                Order::Close(slot) => world.close_slot(slot),
            }
        }
    }
}

/// A part of a run.
pub(crate) struct Part<T: Transport> {
    pub running: Running<Border, T, Ledger>,
}

impl<T: Transport> Part<T> {
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
        let deferred = self.running.observer.next.map_or(Time::NEVER, |key| Time(key.time()));
        self.running.world.net.events.first().min(deferred)
    }

    /// Accept a batch from another part.
    pub fn accept(&mut self, batch: &mut Batch) {
        let world = &mut self.running.world;
        batch.packets.drain(..).for_each(|packet| world.net.take_over(&packet));
        batch.pauses.drain(..).for_each(|pause| world.net.await_pause(pause));
        batch.messages.drain(..).for_each(|message| world.expect(message));
        batch.first = Time::NEVER;
    }

    /// Return the deferred event to the queue.
    pub fn resume(&mut self) {
        if let Some(key) = self.running.observer.next.take() {
            self.running.world.net.events.push_far(key);
        }
    }

    /// Serve events up to a time.
    pub fn go(&mut self, until: Time) {
        self.resume();
        while !self.running.go(until) {}
    }
}
