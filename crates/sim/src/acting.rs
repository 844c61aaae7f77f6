//! An application at work in the world: what it sees and does is the world's to give.

use fanin_fabric::HostId;
use fanin_spec::FlowKind;
use fanin_units::{Rate, Time};

use crate::app::{Driver, View};
use crate::ids::{ConnectionId, EndpointId, Owner};
use crate::message::{Meaning, Message};
use crate::probe::Probe;
use crate::world::World;

/// The world as one application has it, whose the connections and timers are.
pub(crate) struct Acting<'a, P> {
    pub world: &'a mut World<P>,
    pub owner: Owner,
}

impl<P: Probe> View for World<P> {
    fn now(&self) -> Time {
        self.now
    }

    fn measured_from(&self) -> Time {
        self.begun.unwrap_or(Time::ZERO).max(self.since.at)
    }

    fn delivered(&self, at: EndpointId) -> u64 {
        self.sockets.get(at).map_or(0, |socket| socket.endpoint.delivered())
    }

    fn timeouts(&self) -> u64 {
        self.timeouts
    }

    fn ideal(&self, from: HostId, to: HostId, bytes: u64) -> Time {
        self.ideal_time(from, to, bytes)
    }

    fn rate(&self, host: HostId) -> Rate {
        let fabric = &self.net.fabric;
        fabric.link(fabric.uplink(host)).rate
    }

    fn at_work(&self, host: HostId, span: Time) -> Time {
        self.net.at_work(host, span)
    }

    fn share_a_rack(&self, one: HostId, other: HostId) -> bool {
        let fabric = &self.net.fabric;
        let switch = |host| fabric.link(fabric.uplink(host)).to;
        switch(one) == switch(other)
    }
}

impl<P: Probe> View for Acting<'_, P> {
    fn now(&self) -> Time {
        self.world.now()
    }

    fn measured_from(&self) -> Time {
        self.world.measured_from()
    }

    fn delivered(&self, at: EndpointId) -> u64 {
        self.world.delivered(at)
    }

    fn timeouts(&self) -> u64 {
        self.world.timeouts()
    }

    fn ideal(&self, from: HostId, to: HostId, bytes: u64) -> Time {
        self.world.ideal(from, to, bytes)
    }

    fn rate(&self, host: HostId) -> Rate {
        self.world.rate(host)
    }

    fn at_work(&self, host: HostId, span: Time) -> Time {
        self.world.at_work(host, span)
    }

    fn share_a_rack(&self, one: HostId, other: HostId) -> bool {
        self.world.share_a_rack(one, other)
    }
}

impl<P: Probe> Driver for Acting<'_, P> {
    fn connect(&mut self, from: HostId, to: HostId, kind: FlowKind) -> ConnectionId {
        self.world.connect(self.owner, from, to, kind)
    }

    fn send(&mut self, from: EndpointId, message: Message) -> u64 {
        self.world.send(from, message)
    }

    fn pour(&mut self, from: EndpointId) {
        self.world.pour(from);
    }

    fn close(&mut self, at: EndpointId) {
        self.world.close(at);
    }

    fn after(&mut self, span: Time, timer: Meaning) {
        self.world.after(span, self.owner, timer);
    }

    fn begin(&mut self) {
        self.world.begin();
    }

    fn await_answers(&mut self) {
        self.world.await_answers();
    }

    fn clock_starts(&mut self) {
        self.world.clock_starts();
    }

    fn measure_from_here(&mut self, payload: u64) {
        self.world.measure_from_here(payload);
    }

    fn round_ended(&mut self, round: u32) {
        self.world.round_ended(round);
    }

    fn finish(&mut self) {
        self.world.done = true;
    }
}
