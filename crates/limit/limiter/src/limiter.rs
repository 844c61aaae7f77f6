//! The limiter: admission of requests, and learning from responses.

use alloc::collections::VecDeque;

use fanin_fanout::Window;
use fanin_fanout::mean::{MeanSize, SIZE_MAX};
use fanin_units::Time;

use crate::queue::Queue;
use crate::settings::Settings;
use crate::slots::{Slots, State, Ticket};

/// Age at which the algorithm's clock starts anew: 106 days, half of the range of picoseconds in 64 bits.
const CLOCK_MAX_NS: u64 = (1 << 63) / 1000;
/// Entries of finished requests that a queue may hold before it is tidied, beyond as many as are live.
const STALE_MAX: usize = 64;

/// A limit of the bytes on their way into this host. Every time is in nanoseconds since any moment that the caller chooses; a time before
/// an earlier call's counts as that one.
#[derive(Clone, Debug)]
pub struct Limiter {
    settings: Settings,
    law: Window,
    /// Time of the algorithm's zero.
    epoch: u64,
    now: u64,
    slots: Slots,
    queue: Queue,
    /// Admitted requests by age, for an algorithm that hears of late ones; some may have ended.
    by_age: VecDeque<Ticket>,
    in_flight: u64,
    /// Of responses; before the first one of stated sizes.
    mean: MeanSize,
    figures: Figures,
}

/// Counters since the start, and the state now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Bytes that are expected and have not arrived.
    pub in_flight: u64,
    /// Requests without their complete response.
    pub outstanding: u32,
    /// Requests that wait for admission.
    pub waiting: u32,
    /// Maximum number of bytes in flight, now.
    pub limit: u64,
    /// The algorithm's window, in mean responses.
    pub window: u32,
    /// Mean size of a response.
    pub mean: u64,
    /// Requests that were admitted.
    pub admitted: u64,
    /// Of these, requests that had to wait.
    pub waited: u64,
    /// Their waits, in nanoseconds.
    pub waited_ns: u64,
    /// Their expected bytes: without the limit these would have been in flight beyond it, and at most as many would have been lost.
    pub waited_bytes: u64,
    /// Complete responses.
    pub responses: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Requests that failed, or that were cancelled before or after admission.
    pub cancelled: u64,
    /// Admitted requests whose response was late, if the algorithm hears of it.
    pub late: u64,
}

impl Limiter {
    /// A limiter without requests.
    pub fn new(settings: Settings) -> Limiter {
        let law = settings.window(None);
        Limiter {
            settings,
            law,
            epoch: 0,
            now: 0,
            slots: Slots::default(),
            queue: Queue::default(),
            by_age: VecDeque::new(),
            in_flight: 0,
            mean: MeanSize::default(),
            figures: Figures::default(),
        }
    }

    /// Records a request of a caller for a response of this size, if the request states one, and returns its ticket. The request may be
    /// sent if it is [admitted](Limiter::is_admitted), else when [`admit_next`](Limiter::admit_next) returns its ticket.
    ///
    /// Callers with waiting requests are served in proportion to bytes, and the requests of one caller in order.
    pub fn request(&mut self, now: u64, caller: u64, expected: Option<u64>) -> Ticket {
        self.advance(now);
        let charge = self.charge_of(expected);
        let ticket = self.slots.take(charge, self.now);
        let is_first = self.slots.waiting() == 1;
        if is_first && self.fits(charge) {
            self.admit(ticket);
            return ticket;
        }
        if is_first {
            self.queue.restart();
        }
        self.queue.push(ticket, caller, charge);
        ticket
    }

    /// Records a request that would not have to wait, and returns its ticket; else nothing.
    pub fn try_request(&mut self, now: u64, expected: Option<u64>) -> Option<Ticket> {
        self.advance(now);
        let mean = self.mean;
        let charge = self.charge_of(expected);
        if self.slots.waiting() > 0 || !self.fits(charge) {
            self.mean = mean;
            return None;
        }
        let ticket = self.slots.take(charge, self.now);
        self.admit(ticket);
        Some(ticket)
    }

    /// The next waiting request that may be sent now. Call this until it returns nothing after each call that gives bytes back.
    pub fn admit_next(&mut self, now: u64) -> Option<Ticket> {
        self.advance(now);
        loop {
            let ticket = self.queue.first()?;
            match self.slots.get(ticket).filter(|slot| slot.state == State::Waiting) {
                Some(slot) if !self.fits(slot.charge) => return None,
                Some(slot) => {
                    self.queue.serve();
                    self.figures.waited += 1;
                    self.figures.waited_ns += self.now - slot.since;
                    self.figures.waited_bytes = self.figures.waited_bytes.saturating_add(slot.charge);
                    self.admit(ticket);
                    return Some(ticket);
                }
                // It was cancelled.
                None => self.queue.drop_first(),
            }
        }
    }

    /// Whether a request was admitted and has not ended.
    pub fn is_admitted(&self, ticket: Ticket) -> bool {
        self.slots.get(ticket).is_some_and(|slot| slot.state == State::Admitted)
    }

    /// Corrects the expected size of a request's response, such as by its header.
    pub fn expect(&mut self, ticket: Ticket, bytes: u64) {
        let Some(slot) = self.slots.get(ticket) else { return };
        self.charge(ticket, bytes.saturating_sub(slot.received));
    }

    /// Records a part of a response: its bytes are no longer on their way.
    pub fn received(&mut self, ticket: Ticket, bytes: u64) {
        let Some(slot) = self.slots.get_mut(ticket).filter(|slot| slot.state == State::Admitted) else { return };
        slot.received = slot.received.saturating_add(bytes);
        let rest = slot.charge.saturating_sub(bytes);
        self.charge(ticket, rest);
    }

    /// Records a complete response. `bytes` is its size, or fewer if all were [recorded](Limiter::received) as they arrived.
    pub fn finish(&mut self, now: u64, ticket: Ticket, bytes: u64) {
        self.advance(now);
        let Some(slot) = self.slots.get(ticket).filter(|slot| slot.state == State::Admitted) else { return };
        let (bytes, took) = (bytes.max(slot.received), self.now - slot.since);
        self.give_back(ticket);
        if self.figures.responses == 0 {
            self.mean = MeanSize::default();
        }
        self.mean.learn(bytes);
        self.figures.responses += 1;
        self.figures.bytes = self.figures.bytes.saturating_add(bytes);
        self.law.answered(self.law_time(self.now), bytes.min(SIZE_MAX), picoseconds(took));
    }

    /// Ends a request whose response will not come: it failed, or its caller gave up. Ending one twice has no effect.
    pub fn cancel(&mut self, now: u64, ticket: Ticket) {
        self.advance(now);
        if self.slots.get(ticket).is_some() {
            self.figures.cancelled += 1;
            self.give_back(ticket);
        }
    }

    /// Replaces the budget; with a budget of zero, nothing is admitted.
    pub fn set_budget(&mut self, bytes: u64) {
        self.settings.budget = Some(bytes);
    }

    /// Maximum number of bytes on their way. A response larger than this is admitted alone.
    pub fn limit(&self) -> u64 {
        self.permitted().min(self.budget())
    }

    /// Bytes that are expected and have not arrived.
    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Requests that wait for admission.
    pub fn waiting(&self) -> u32 {
        self.slots.waiting()
    }

    /// Mean size of responses; before the first one that of stated sizes, or the assumed size.
    pub fn mean(&self) -> u64 {
        self.mean.get().unwrap_or(self.settings.expected)
    }

    /// Counters and state.
    pub fn figures(&self) -> Figures {
        Figures {
            in_flight: self.in_flight,
            outstanding: self.slots.admitted(),
            waiting: self.slots.waiting(),
            limit: self.limit(),
            window: self.law.window(),
            mean: self.mean(),
            ..self.figures
        }
    }

    /// Whether `charge` more bytes may be on their way. One response may always be. The budget is exact; the algorithm's limit is
    /// rounded to the nearest response, or sizes just above the mean would get a place less than it permits.
    fn fits(&self, charge: u64) -> bool {
        let sum = |part: u64| self.in_flight.checked_add(part);
        self.in_flight == 0 && self.budget() > 0
            || sum(charge).is_some_and(|sum| sum <= self.budget())
                && sum(charge.div_ceil(2)).is_some_and(|sum| sum <= self.permitted())
    }

    fn budget(&self) -> u64 {
        self.settings.budget.unwrap_or(u64::MAX)
    }

    /// Bytes that the algorithm permits.
    fn permitted(&self) -> u64 {
        match self.law.window() {
            u32::MAX => u64::MAX,
            window => u64::from(window).saturating_mul(self.mean().max(1)),
        }
    }

    fn admit(&mut self, ticket: Ticket) {
        let charge = self.slots.admit(ticket, self.now);
        self.in_flight = self.in_flight.saturating_add(charge);
        self.figures.admitted += 1;
        if self.law.late().is_some() {
            if self.by_age.len() > STALE_MAX + 2 * self.slots.admitted() as usize {
                self.by_age.retain(|ticket| self.slots.get(*ticket).is_some());
            }
            self.by_age.push_back(ticket);
        }
    }

    /// Changes a request's charge. An outstanding one has at least one byte, so that nothing in flight means that nothing is outstanding.
    fn charge(&mut self, ticket: Ticket, bytes: u64) {
        let Some(slot) = self.slots.get_mut(ticket) else { return };
        if slot.state == State::Waiting {
            slot.charge = bytes.max(1);
            return;
        }
        let others = self.in_flight - slot.charge;
        slot.charge = bytes.clamp(1, u64::MAX - others);
        self.in_flight = others + slot.charge;
    }

    fn give_back(&mut self, ticket: Ticket) {
        let Some(slot) = self.slots.free(ticket) else { return };
        match slot.state {
            State::Admitted => self.in_flight -= slot.charge,
            State::Waiting => {
                let slots = &self.slots;
                let is_live = |ticket: Ticket| slots.get(ticket).is_some_and(|slot| slot.state == State::Waiting);
                self.queue.tidy(slots.waiting() as usize, STALE_MAX, is_live);
            }
        }
    }

    /// Bytes that a new request counts as. Until the first response, stated sizes make the mean.
    fn charge_of(&mut self, expected: Option<u64>) -> u64 {
        if let (Some(bytes), 0) = (expected, self.figures.responses) {
            self.mean.learn(bytes);
        }
        expected.unwrap_or_else(|| self.mean()).max(1)
    }

    fn advance(&mut self, now: u64) {
        self.now = self.now.max(now);
        if self.now - self.epoch > CLOCK_MAX_NS {
            self.epoch = self.now;
            self.law = self.settings.window(Some(self.law.window()));
        }
        self.report_late();
    }

    /// Reports late requests to the algorithm, each once, at the times at which they became late.
    fn report_late(&mut self) {
        let Some(late) = self.law.late() else { return };
        let late_ns = late.0 / 1000;
        while let Some(ticket) = self.by_age.front() {
            if let Some(slot) = self.slots.get(*ticket) {
                let due = slot.since.saturating_add(late_ns);
                if due > self.now {
                    return;
                }
                self.figures.late += 1;
                self.law.lost(self.law_time(due));
            }
            self.by_age.pop_front();
        }
    }

    fn law_time(&self, at: u64) -> Time {
        picoseconds(at.saturating_sub(self.epoch))
    }
}

fn picoseconds(ns: u64) -> Time {
    Time(ns.saturating_mul(1000))
}
