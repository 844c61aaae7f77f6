//! A workload with others beside it: they begin as it begins, and go on until it ends.

use fanin_units::Time;

use super::application::{App, Record};
use crate::probe::Probe;
use crate::world::World;

/// What runs beside a workload, over connections and timers of its own.
pub(crate) trait Guest<P> {
    /// The workload begins.
    fn start(&mut self, world: &mut World<P>);
    /// Whether an endpoint is one of its own.
    fn owns_endpoint(&self, endpoint: u32) -> bool;
    /// Whether a timer is one of its own.
    fn owns_token(&self, token: u32) -> bool;
    /// As many bytes are delivered as was asked for.
    fn awake(&mut self, world: &mut World<P>, endpoint: u32);
    /// A timer is due.
    fn due(&mut self, world: &mut World<P>, token: u32);
    /// Adds what was measured of it since `begun_ps`.
    fn record(&self, world: &World<P>, begun_ps: u64, record: &mut Record);
}

pub(crate) struct Beside<P> {
    workload: Box<dyn App<P>>,
    guests: Vec<Box<dyn Guest<P>>>,
    begun: bool,
}

impl<P: Probe> Beside<P> {
    pub fn new(workload: Box<dyn App<P>>, guests: Vec<Box<dyn Guest<P>>>) -> Beside<P> {
        Beside { workload, guests, begun: false }
    }

    /// Passes something on to the workload, and begins where it has begun.
    fn pass(&mut self, world: &mut World<P>, tell: impl FnOnce(&mut dyn App<P>, &mut World<P>)) {
        tell(self.workload.as_mut(), world);
        if !self.begun && world.begun.is_some() {
            self.begun = true;
            for guest in &mut self.guests {
                guest.start(world);
            }
        }
    }

    fn owner(&mut self, endpoint: u32) -> Option<&mut Box<dyn Guest<P>>> {
        self.guests.iter_mut().find(|guest| guest.owns_endpoint(endpoint))
    }
}

impl<P: Probe> App<P> for Beside<P> {
    fn start(&mut self, world: &mut World<P>) {
        self.pass(world, |workload, world| workload.start(world));
    }

    fn established(&mut self, world: &mut World<P>, endpoint: u32) {
        if self.owner(endpoint).is_none() {
            self.pass(world, |workload, world| workload.established(world, endpoint));
        }
    }

    fn awake(&mut self, world: &mut World<P>, endpoint: u32) {
        match self.owner(endpoint) {
            Some(guest) => guest.awake(world, endpoint),
            None => self.pass(world, |workload, world| workload.awake(world, endpoint)),
        }
    }

    fn closed(&mut self, world: &mut World<P>, endpoint: u32) {
        match self.owner(endpoint) {
            Some(_) => world.close(endpoint),
            None => self.pass(world, |workload, world| workload.closed(world, endpoint)),
        }
    }

    fn due(&mut self, world: &mut World<P>, token: u32) {
        match self.guests.iter_mut().find(|guest| guest.owns_token(token)) {
            Some(guest) => guest.due(world, token),
            None => self.pass(world, |workload, world| workload.due(world, token)),
        }
    }

    fn record(&self, world: &World<P>) -> Record {
        let mut record = self.workload.record(world);
        let begun = world.begun.unwrap_or(Time::ZERO).max(world.since.at).0;
        for guest in &self.guests {
            guest.record(world, begun, &mut record);
        }
        record
    }
}
