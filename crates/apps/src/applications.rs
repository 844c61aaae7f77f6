//! The applications of a run: its workload and the background applications that start with it.

use std::ops::Range;

use fanin_fabric::HostId;
use fanin_spec::{HostState, RunSpec, Watch};
use fanin_tables::FlowKind;
use fanin_units::{Rate, Time};

use crate::application::{App, Driver, Record, View};
use crate::ids::{ConnectionId, EndpointId, Owner};
use crate::message::{Meaning, Message};

/// The operations of a driver, on behalf of the application that owns the connections and timers. Each is that of the same name in
/// [`Driver`].
pub trait Network: View {
    /// Opens a connection of `owner`.
    fn connect(&mut self, owner: Owner, from: HostId, to: HostId, kind: FlowKind) -> ConnectionId;
    /// Establishes a persistent connection of `owner`.
    fn stand(&mut self, owner: Owner, from: HostId, to: HostId, kind: FlowKind) -> ConnectionId;
    /// Sends a message.
    fn send(&mut self, from: EndpointId, message: Message) -> u64;
    /// Sets whether an end's application reads.
    fn reads(&mut self, at: EndpointId, reads: bool);
    /// Sends a long-lived flow.
    fn send_endlessly(&mut self, from: EndpointId);
    /// Stops a long-lived flow.
    fn stop(&mut self, at: EndpointId);
    /// Closes an end's sending side after its data.
    fn close(&mut self, at: EndpointId);
    /// Sets a timer of `owner`.
    fn after(&mut self, span: Time, owner: Owner, timer: Meaning);
    /// Starts the workload.
    fn begin(&mut self);
    /// Whether the workload has started.
    fn has_begun(&self) -> bool;
    /// These clients wait for responses.
    fn await_responses(&mut self, clients: &[HostId], work: Time);
    /// A client waits for nothing.
    fn rest(&mut self, client: HostId, span: Time);
    /// The first round begins.
    fn clock_starts(&mut self);
    /// Excludes everything so far from all figures.
    fn measure_from_here(&mut self, payload: u64);
    /// Time of the last [`Network::measure_from_here`]; zero before.
    fn excluded_until(&self) -> Time;
    /// A round or query has ended.
    fn round_ended(&mut self, round: u32);
    /// Ends the run.
    fn finish(&mut self);
}

/// The applications of a run.
pub struct Applications {
    workload: Box<dyn App>,
    /// Background applications, which start when the workload begins.
    background: Vec<Box<dyn App>>,
    begun: bool,
    /// Time from which background applications measure.
    measured_from: Time,
    /// Hosts that send long-lived flows to the client from the workload's start on.
    long_flows: Range<u32>,
}

impl Applications {
    /// The applications of a spec.
    pub fn new(spec: &RunSpec) -> Applications {
        let (workload, background) = (crate::workload(spec), crate::background(spec));
        let first = spec.settings.hosts();
        let long_flows = first..first + spec.settings.workload.background;
        Applications { workload, background, begun: false, measured_from: Time::ZERO, long_flows }
    }

    /// The workload alone, for a driver that knows that nothing else runs.
    pub fn workload(&mut self) -> &mut dyn App {
        self.workload.as_mut()
    }

    /// Starts the workload.
    pub fn start<N: Network>(&mut self, network: &mut N) {
        self.call(network, Owner::WORKLOAD, |app, driver| app.start(driver));
    }

    /// A handshake is done at this end.
    pub fn established<N: Network>(&mut self, network: &mut N, at: EndpointId) {
        self.call(network, at.connection().owner(), |app, driver| app.established(driver, at));
    }

    /// The last byte of a message has arrived at this end.
    pub fn received<N: Network>(&mut self, network: &mut N, at: EndpointId, message: Meaning) {
        self.call(network, at.connection().owner(), |app, driver| app.received(driver, at, message));
    }

    /// The peer of this end has closed its side.
    pub fn closed<N: Network>(&mut self, network: &mut N, at: EndpointId) {
        self.call(network, at.connection().owner(), |app, driver| app.closed(driver, at));
    }

    /// The peer's host has lost the connection.
    pub fn broken<N: Network>(&mut self, network: &mut N, at: EndpointId) {
        self.call(network, at.connection().owner(), |app, driver| app.broken(driver, at));
    }

    /// A retransmission timer has fired at this end.
    pub fn on_timeout<N: Network>(&mut self, network: &mut N, at: EndpointId) {
        self.call(network, at.connection().owner(), |app, _| app.on_timeout(at));
    }

    /// A host has crashed or returned: every application that has begun learns of it.
    pub fn on_host_fault<N: Network>(&mut self, network: &mut N, host: HostId, to: HostState) {
        let background = if self.begun { self.background.len() as u8 } else { 0 };
        for owner in [Owner::WORKLOAD].into_iter().chain((0..background).map(Owner::background)) {
            match to {
                HostState::Crashed => self.call(network, owner, |app, driver| app.crashed(driver, host)),
                HostState::Returned => self.call(network, owner, |app, driver| app.returned(driver, host)),
                HostState::Slowed(_) => {}
            }
        }
    }

    /// A timer of [`Driver::after`] is due.
    pub fn due<N: Network>(&mut self, network: &mut N, owner: Owner, timer: Meaning) {
        self.call(network, owner, |app, driver| app.due(driver, timer));
    }

    /// The measurements of all applications.
    pub fn record(&self, view: &dyn View) -> Record {
        let mut record = Record::default();
        for app in [&self.workload].into_iter().chain(&self.background) {
            app.record(view, &mut record);
        }
        record
    }

    /// Calls an application, then starts background applications if the workload has begun, and tells them if figures start anew.
    fn call<N: Network>(&mut self, network: &mut N, owner: Owner, act: impl FnOnce(&mut dyn App, &mut dyn Driver)) {
        let long_flows = &self.long_flows;
        match owner {
            Owner::WORKLOAD => act(self.workload.as_mut(), &mut OwnersDriver { network, owner, long_flows }),
            // Nothing waits for long-lived flows.
            Owner::LONG_FLOWS => {}
            _ => act(self.background[owner.place()].as_mut(), &mut OwnersDriver { network, owner, long_flows }),
        }
        if !self.begun && network.has_begun() {
            self.begun = true;
            for (app, number) in self.background.iter_mut().zip(0..) {
                app.start(&mut OwnersDriver { network, owner: Owner::background(number), long_flows });
            }
        }
        if network.excluded_until() > self.measured_from {
            self.measured_from = network.excluded_until();
            self.background.iter_mut().for_each(|app| app.measure(network));
        }
    }
}

/// A network, as one owner of connections and timers uses it.
struct OwnersDriver<'a, N> {
    network: &'a mut N,
    owner: Owner,
    long_flows: &'a Range<u32>,
}

impl<N: Network> View for OwnersDriver<'_, N> {
    fn now(&self) -> Time {
        self.network.now()
    }

    fn measured_from(&self) -> Time {
        self.network.measured_from()
    }

    fn delivered(&self, at: EndpointId) -> u64 {
        self.network.delivered(at)
    }

    fn timeouts(&self) -> Option<u64> {
        self.network.timeouts()
    }

    fn ideal(&self, from: HostId, to: HostId, bytes: u64) -> Option<Time> {
        self.network.ideal(from, to, bytes)
    }

    fn rate(&self, host: HostId) -> Rate {
        self.network.rate(host)
    }

    fn at_work(&self, host: HostId, span: Time) -> Time {
        self.network.at_work(host, span)
    }

    fn share_a_rack(&self, one: HostId, other: HostId) -> bool {
        self.network.share_a_rack(one, other)
    }

    fn hosts(&self) -> u32 {
        self.network.hosts()
    }

    fn rack(&self, host: HostId) -> u32 {
        self.network.rack(host)
    }

    fn pod(&self, host: HostId) -> u32 {
        self.network.pod(host)
    }

    fn queue_into_rack(&self, host: HostId) -> Option<(u64, u64)> {
        self.network.queue_into_rack(host)
    }

    fn rate_into_rack(&self, host: HostId) -> Rate {
        self.network.rate_into_rack(host)
    }

    fn srtt(&self, at: EndpointId) -> Option<Time> {
        self.network.srtt(at)
    }

    fn watch(&self) -> Option<&Watch> {
        self.network.watch()
    }

    fn carries(&self, at: EndpointId) -> bool {
        self.network.carries(at)
    }
}

impl<N: Network> Driver for OwnersDriver<'_, N> {
    fn connect(&mut self, from: HostId, to: HostId, kind: FlowKind) -> ConnectionId {
        self.network.connect(self.owner, from, to, kind)
    }

    fn stand(&mut self, from: HostId, to: HostId, kind: FlowKind) -> ConnectionId {
        self.network.stand(self.owner, from, to, kind)
    }

    fn send(&mut self, from: EndpointId, message: Message) -> u64 {
        self.network.send(from, message)
    }

    fn reads(&mut self, at: EndpointId, reads: bool) {
        self.network.reads(at, reads);
    }

    fn send_endlessly(&mut self, from: EndpointId) {
        self.network.send_endlessly(from);
    }

    fn stop(&mut self, at: EndpointId) {
        self.network.stop(at);
    }

    fn close(&mut self, at: EndpointId) {
        self.network.close(at);
    }

    fn after(&mut self, span: Time, timer: Meaning) {
        self.network.after(span, self.owner, timer);
    }

    fn begin(&mut self) {
        self.network.begin();
        for host in self.long_flows.clone().map(HostId) {
            let connection = self.network.connect(Owner::LONG_FLOWS, host, HostId::CLIENT, FlowKind::Long);
            self.network.send_endlessly(connection.opener());
        }
    }

    fn await_responses(&mut self, clients: &[HostId], work: Time) {
        self.network.await_responses(clients, work);
    }

    fn rest(&mut self, client: HostId, span: Time) {
        self.network.rest(client, span);
    }

    fn clock_starts(&mut self) {
        self.network.clock_starts();
    }

    fn measure_from_here(&mut self, payload: u64) {
        self.network.measure_from_here(payload);
    }

    fn round_ended(&mut self, round: u32) {
        self.network.round_ended(round);
    }

    fn finish(&mut self) {
        self.network.finish();
    }
}

/// Whether anything runs beside a spec's workload, besides long-lived flows.
pub fn has_background(spec: &RunSpec) -> bool {
    !crate::background(spec).is_empty()
}
