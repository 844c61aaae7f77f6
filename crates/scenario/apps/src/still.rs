//! Test driver in which nothing ever arrives: records connections and crashed hosts.

use std::collections::BTreeSet;

use fanin_driver::{ConnectionId, Driver, EndpointId, Meaning, Message, Owner, View};
use fanin_fabric::HostId;
use fanin_tables::FlowKind;
use fanin_units::{Rate, Time};

/// The hosts, and the connections that the workload opened.
pub(crate) struct Still {
    hosts: u32,
    opened: Vec<(HostId, HostId)>,
    crashed: BTreeSet<HostId>,
}

impl Still {
    pub fn new(hosts: u32) -> Still {
        Still { hosts, opened: Vec::new(), crashed: BTreeSet::new() }
    }

    pub fn crash(&mut self, host: HostId) {
        self.crashed.insert(host);
    }
}

impl View for Still {
    fn now(&self) -> Time {
        Time::ZERO
    }

    fn measured_from(&self) -> Time {
        Time::ZERO
    }

    fn delivered(&self, _at: EndpointId) -> u64 {
        0
    }

    fn rate(&self, _host: HostId) -> Rate {
        Rate(1_000_000_000)
    }

    fn at_work(&self, _host: HostId, span: Time) -> Time {
        span
    }

    fn share_a_rack(&self, _one: HostId, _other: HostId) -> bool {
        true
    }

    fn hosts(&self) -> u32 {
        self.hosts
    }

    fn rack(&self, _host: HostId) -> u32 {
        0
    }

    fn pod(&self, _host: HostId) -> u32 {
        0
    }

    fn rate_into_rack(&self, host: HostId) -> Rate {
        self.rate(host)
    }

    fn carries(&self, at: EndpointId) -> bool {
        let (from, to) = self.opened[at.connection().place() as usize];
        !self.crashed.contains(&from) && !self.crashed.contains(&to)
    }
}

impl Driver for Still {
    fn act_for(&mut self, _owner: Owner) {}

    fn connect(&mut self, from: HostId, to: HostId, _kind: FlowKind) -> ConnectionId {
        self.opened.push((from, to));
        ConnectionId::new(Owner::WORKLOAD, self.opened.len() as u32 - 1)
    }

    fn stand(&mut self, from: HostId, to: HostId, kind: FlowKind) -> ConnectionId {
        self.connect(from, to, kind)
    }

    fn send(&mut self, _from: EndpointId, _message: Message) -> u64 {
        0
    }

    fn reads(&mut self, _at: EndpointId, _reads: bool) {}
    fn send_endlessly(&mut self, _from: EndpointId) {}
    fn stop(&mut self, _at: EndpointId) {}
    fn close(&mut self, _at: EndpointId) {}
    fn after(&mut self, _span: Time, _timer: Meaning) {}
    fn begin(&mut self) {}
    fn await_responses(&mut self, _clients: &[HostId], _work: Time) {}
    fn rest(&mut self, _client: HostId, _span: Time) {}
    fn clock_starts(&mut self) {}
    fn has_begun(&self) -> bool {
        false
    }

    fn excluded_until(&self) -> Time {
        Time::ZERO
    }

    fn measure_from_here(&mut self, _payload: u64) {}
    fn round_ended(&mut self, _round: u32) {}
    fn finish(&mut self) {}
}
