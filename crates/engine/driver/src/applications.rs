//! The applications of a run: its workload and the background applications that start with it.

use std::ops::Range;

use fanin_fabric::{HostId, HostState};
use fanin_tables::{CollectiveRow, FlowKind};
use fanin_units::Time;

use crate::application::{Application, Driver, Record, View};
use crate::ids::{EndpointId, Owner};
use crate::message::Meaning;

/// The applications of a run.
pub struct Applications {
    workload: Box<dyn Application>,
    /// Background applications, which start when the workload begins.
    background: Vec<Box<dyn Application>>,
    begun: bool,
    /// Time from which background applications measure.
    measured_from: Time,
    /// Hosts that send long-lived flows to the client from the workload's start on.
    long_flows: Range<u32>,
}

impl Applications {
    /// A workload alone.
    pub fn new(workload: Box<dyn Application>) -> Applications {
        Applications { workload, background: Vec::new(), begun: false, measured_from: Time::ZERO, long_flows: 0..0 }
    }

    /// The same with applications and hosts' long-lived flows to the client in the background.
    pub fn beside(self, background: Vec<Box<dyn Application>>, long_flows: Range<u32>) -> Applications {
        Applications { background, long_flows, ..self }
    }

    /// The workload alone, for a driver that knows that nothing else runs.
    pub fn workload(&mut self) -> &mut dyn Application {
        self.workload.as_mut()
    }

    /// Collective operations of the workload that have ended so far, in the order of their ends.
    pub fn ended_collectives(&self) -> &[CollectiveRow] {
        self.workload.ended_collectives()
    }

    /// Starts the workload.
    pub fn start(&mut self, driver: &mut dyn Driver) {
        self.call(driver, Owner::WORKLOAD, |app, driver| app.start(driver));
    }

    /// A handshake is done at this end.
    pub fn established(&mut self, driver: &mut dyn Driver, at: EndpointId) {
        self.call(driver, at.connection().owner(), |app, driver| app.established(driver, at));
    }

    /// The last byte of a message has arrived at this end.
    pub fn received(&mut self, driver: &mut dyn Driver, at: EndpointId, message: Meaning) {
        self.call(driver, at.connection().owner(), |app, driver| app.received(driver, at, message));
    }

    /// The peer of this end has closed its side.
    pub fn closed(&mut self, driver: &mut dyn Driver, at: EndpointId) {
        self.call(driver, at.connection().owner(), |app, driver| app.closed(driver, at));
    }

    /// The peer's host has lost the connection.
    pub fn broken(&mut self, driver: &mut dyn Driver, at: EndpointId) {
        self.call(driver, at.connection().owner(), |app, driver| app.broken(driver, at));
    }

    /// A retransmission timer has fired at this end.
    pub fn on_timeout(&mut self, driver: &mut dyn Driver, at: EndpointId) {
        self.call(driver, at.connection().owner(), |app, _| app.on_timeout(at));
    }

    /// A host has crashed or returned: every application that has begun learns of it.
    pub fn on_host_fault(&mut self, driver: &mut dyn Driver, host: HostId, to: HostState) {
        let background = if self.begun { self.background.len() as u8 } else { 0 };
        for owner in [Owner::WORKLOAD].into_iter().chain((0..background).map(Owner::background)) {
            match to {
                HostState::Crashed => self.call(driver, owner, |app, driver| app.crashed(driver, host)),
                HostState::Returned => self.call(driver, owner, |app, driver| app.returned(driver, host)),
                HostState::Slowed(_) => {}
            }
        }
    }

    /// A timer of [`Driver::after`] is due.
    pub fn due(&mut self, driver: &mut dyn Driver, owner: Owner, timer: Meaning) {
        self.call(driver, owner, |app, driver| app.due(driver, timer));
    }

    /// The measurements of all applications.
    pub fn record(&self, view: &dyn View) -> Record {
        let mut record = Record::default();
        for app in [&self.workload].into_iter().chain(&self.background) {
            app.record(view, &mut record);
        }
        record
    }

    /// Calls an application, then starts background applications if the workload has begun, and tells it if figures start anew.
    fn call(&mut self, driver: &mut dyn Driver, owner: Owner, act: impl FnOnce(&mut dyn Application, &mut dyn Driver)) {
        driver.act_for(owner);
        match owner {
            Owner::WORKLOAD => act(self.workload.as_mut(), driver),
            // Nothing waits for long-lived flows.
            Owner::LONG_FLOWS => {}
            _ => act(self.background[owner.place()].as_mut(), driver),
        }
        if !self.begun && driver.has_begun() {
            self.begun = true;
            self.start_background(driver);
        }
        if driver.excluded_until() > self.measured_from {
            self.measured_from = driver.excluded_until();
            self.background.iter_mut().for_each(|app| app.measure(driver));
        }
    }

    fn start_background(&mut self, driver: &mut dyn Driver) {
        driver.act_for(Owner::LONG_FLOWS);
        for host in self.long_flows.clone().map(HostId) {
            let connection = driver.connect(host, HostId::CLIENT, FlowKind::Long);
            driver.send_endlessly(connection.opener());
        }
        for (app, number) in self.background.iter_mut().zip(0..) {
            driver.act_for(Owner::background(number));
            app.start(driver);
        }
    }
}
