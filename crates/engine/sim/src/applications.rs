//! The world as its applications see and use it.

use fanin_driver::{ConnectionId, Driver, EndpointId, Meaning, Message, Owner, View, Watch};
use fanin_fabric::{HostId, LinkId};
use fanin_tables::FlowKind;
use fanin_transport::{Phase, Transport};
use fanin_units::{Rate, Time};

use crate::probe::Probe;
use crate::world::World;

impl<P: Probe, T: Transport> View for World<P, T> {
    fn now(&self) -> Time {
        self.now
    }

    fn measured_from(&self) -> Time {
        self.begun.unwrap_or(Time::ZERO).max(self.since.at)
    }

    fn delivered(&self, at: EndpointId) -> u64 {
        self.sockets.get(at).map_or(0, |socket| socket.endpoint.delivered())
    }

    fn timeouts(&self) -> Option<u64> {
        Some(self.timeouts)
    }

    fn ideal(&self, from: HostId, to: HostId, bytes: u64) -> Option<Time> {
        Some(self.ideal_time(from, to, bytes))
    }

    fn rate(&self, host: HostId) -> Rate {
        self.net.fabric.host_rate(host)
    }

    fn at_work(&self, host: HostId, span: Time) -> Time {
        self.net.at_work(host, span)
    }

    fn share_a_rack(&self, one: HostId, other: HostId) -> bool {
        let fabric = &self.net.fabric;
        let switch = |host| fabric.link(fabric.uplink(host)).to;
        switch(one) == switch(other)
    }

    fn hosts(&self) -> u32 {
        self.net.fabric.hosts()
    }

    fn rack(&self, host: HostId) -> u32 {
        self.net.fabric.rack(host)
    }

    fn pod(&self, host: HostId) -> u32 {
        self.net.fabric.pod(host)
    }

    fn queue_into_rack(&self, host: HostId) -> Option<(u64, u64)> {
        let of = &self.config().ports;
        let mut ports = self.net.fabric.into_rack(host);
        let queue = |link: LinkId| self.net.links[link.index()].queue_at(self.now);
        let buffer = |link: LinkId| of.buffer(self.net.fabric.link(link).rate);
        ports.try_fold((0, 0), |(queued, room), link| Some((queued + queue(link), room + buffer(link)?)))
    }

    fn rate_into_rack(&self, host: HostId) -> Rate {
        let fabric = &self.net.fabric;
        Rate(fabric.into_rack(host).map(|link| fabric.link(link).rate.0).sum())
    }

    fn srtt(&self, at: EndpointId) -> Option<Time> {
        self.sockets.get(at).map(|socket| socket.endpoint.srtt())
    }

    fn watch(&self) -> Option<&Watch> {
        self.net.probe.watch()
    }

    fn carries(&self, at: EndpointId) -> bool {
        self.sockets.get(at).is_some_and(|socket| socket.endpoint.phase() != Phase::Reset)
    }
}

impl<P: Probe, T: Transport> Driver for World<P, T> {
    fn act_for(&mut self, owner: Owner) {
        self.owner = owner;
    }

    fn connect(&mut self, from: HostId, to: HostId, kind: FlowKind) -> ConnectionId {
        self.connect(self.owner, from, to, kind)
    }

    fn prepare(&mut self, from: HostId, to: HostId, kind: FlowKind) -> ConnectionId {
        self.prepare(self.owner, from, to, kind)
    }

    fn stand(&mut self, from: HostId, to: HostId, kind: FlowKind) -> ConnectionId {
        self.stand(self.owner, from, to, kind)
    }

    fn send(&mut self, from: EndpointId, message: Message) -> u64 {
        self.send(from, message)
    }

    fn reads(&mut self, at: EndpointId, reads: bool) {
        self.reads(at, reads);
    }

    fn send_endlessly(&mut self, from: EndpointId) {
        self.send_endlessly(from);
    }

    fn stop(&mut self, at: EndpointId) {
        self.stop(at);
    }

    fn close(&mut self, at: EndpointId) {
        self.close(at);
    }

    fn after(&mut self, span: Time, timer: Meaning) {
        self.after(span, self.owner, timer);
    }

    fn begin(&mut self) {
        self.begin();
    }

    fn has_begun(&self) -> bool {
        self.begun.is_some()
    }

    fn await_responses(&mut self, clients: &[HostId], work: Time) {
        self.await_responses(clients, work);
    }

    fn rest(&mut self, client: HostId, span: Time) {
        self.stalls.waits.rest(self.now, client, span);
    }

    fn clock_starts(&mut self) {
        self.clock_starts();
    }

    fn measure_from_here(&mut self, payload: u64) {
        self.measure_from_here(payload);
    }

    fn excluded_until(&self) -> Time {
        self.since.at
    }

    fn round_ended(&mut self, round: u32) {
        self.round_ended(round);
    }

    fn finish(&mut self) {
        self.done = true;
    }
}
