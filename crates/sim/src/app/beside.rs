//! A workload with Poisson flows beside it: they begin as it begins, and go on until it ends.

use super::poisson::Poisson;
use super::{App, Record};
use crate::probe::Probe;
use crate::world::World;

pub(crate) struct Beside<P> {
    workload: Box<dyn App<P>>,
    poisson: Poisson,
    begun: bool,
}

impl<P: Probe> Beside<P> {
    pub fn new(workload: Box<dyn App<P>>, poisson: Poisson) -> Beside<P> {
        Beside { workload, poisson, begun: false }
    }

    /// Passes something on to the workload, and begins where it has begun.
    fn pass(&mut self, world: &mut World<P>, tell: impl FnOnce(&mut dyn App<P>, &mut World<P>)) {
        tell(self.workload.as_mut(), world);
        if !self.begun && world.begun.is_some() {
            self.begun = true;
            self.poisson.start(world);
        }
    }
}

impl<P: Probe> App<P> for Beside<P> {
    fn start(&mut self, world: &mut World<P>) {
        self.pass(world, |workload, world| workload.start(world));
    }

    fn established(&mut self, world: &mut World<P>, endpoint: u32) {
        if !self.poisson.transfers.own(endpoint) {
            self.pass(world, |workload, world| workload.established(world, endpoint));
        }
    }

    fn awake(&mut self, world: &mut World<P>, endpoint: u32) {
        match self.poisson.transfers.own(endpoint) {
            true => drop(self.poisson.transfers.end(world, endpoint)),
            false => self.pass(world, |workload, world| workload.awake(world, endpoint)),
        }
    }

    fn closed(&mut self, world: &mut World<P>, endpoint: u32) {
        match self.poisson.transfers.own(endpoint) {
            true => world.close(endpoint),
            false => self.pass(world, |workload, world| workload.closed(world, endpoint)),
        }
    }

    fn due(&mut self, world: &mut World<P>, token: u32) {
        match Poisson::own(token) {
            true => self.poisson.due(world, token),
            false => self.pass(world, |workload, world| workload.due(world, token)),
        }
    }

    fn record(&self, world: &World<P>) -> Record {
        let mut record = self.workload.record(world);
        let begun = world.begun.map_or(0, |begun| begun.0);
        record.flows.extend(self.poisson.transfers.rows(begun));
        record
    }
}
