//! A collective operation at some of the hosts.

use std::sync::Arc;

use fanin_driver::{ConnectionId, Driver, EndpointId, Meaning, Message, Share, View, meanings};
use fanin_fabric::HostId;
use fanin_tables::FlowKind;
use fanin_units::Time;

use super::schedule::{Schedule, Transfer};

meanings! {
    pub(super) enum Timer {
        /// A host has its data.
        Start(host),
        /// The run ends.
        End,
    }
}

meanings! {
    /// Contents of an operation's connections.
    pub(super) enum Carried {
        /// A transfer, by its number in the schedule.
        Part(number),
    }
}

/// A transfer that has started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sent {
    /// `NEVER` before it starts.
    pub at: Time,
    /// Bytes sent before it over its connection.
    pub before: u64,
    /// When its last byte arrived; `NEVER` before.
    pub arrived: Time,
}

impl Sent {
    pub const NOT: Sent = Sent { at: Time::NEVER, before: 0, arrived: Time::NEVER };

    /// Both together: one share has a transfer's source, the other one its destination.
    fn and(self, other: Sent) -> Sent {
        Sent {
            at: self.at.min(other.at),
            before: self.before.max(other.before),
            arrived: self.arrived.min(other.arrived),
        }
    }
}

/// One host in an operation.
#[derive(Clone, Default)]
struct Host {
    /// It has its data.
    started: bool,
    /// Transfers that wait for nothing else.
    ready: Vec<u32>,
}

/// Connections of the transfers of a schedule, by their numbers.
#[derive(Clone)]
pub(super) enum Connections {
    /// All transfers between two hosts share one.
    Standing(Arc<[ConnectionId]>),
    /// Each opens one, and closes it.
    New(Vec<Option<ConnectionId>>),
}

/// An operation at some hosts, or at all.
#[derive(Clone)]
pub(super) struct Operation {
    schedule: Arc<Schedule>,
    connections: Connections,
    hosts: Vec<Host>,
    /// How many others each transfer still waits for.
    waits: Vec<u32>,
    /// Transfers to these hosts that have not arrived.
    pub missing: u64,
    pub sent: Vec<Sent>,
}

impl Operation {
    /// The operation of a schedule at all hosts, before any has its data.
    pub fn new(schedule: Arc<Schedule>, connections: Connections, hosts: usize) -> Operation {
        let (waits, transfers) = (schedule.waits(), schedule.transfers.len());
        let mut operation = Operation {
            schedule,
            connections,
            hosts: vec![Host::default(); hosts],
            waits,
            missing: transfers as u64,
            sent: vec![Sent::NOT; transfers],
        };
        for (number, transfer) in (0..).zip(&operation.schedule.transfers) {
            if operation.waits[number as usize] == 0 {
                operation.hosts[transfer.from as usize].ready.push(number);
            }
        }
        operation
    }

    /// Its transfers.
    pub fn transfers(&self) -> &[Transfer] {
        &self.schedule.transfers
    }

    /// The connection of a transfer that has started.
    fn connection(&self, number: usize) -> Option<ConnectionId> {
        match &self.connections {
            Connections::Standing(all) => Some(all[number]),
            Connections::New(opened) => opened[number],
        }
    }

    /// Bytes of a transfer that have been delivered.
    pub fn delivered(&self, view: &dyn View, number: usize) -> u64 {
        let (sent, whole) = (&self.sent[number], self.schedule.transfers[number].bytes);
        match self.connection(number) {
            _ if sent.arrived != Time::NEVER => whole,
            Some(connection) if sent.at != Time::NEVER => {
                view.delivered(connection.answerer()).saturating_sub(sent.before).min(whole)
            }
            _ => 0,
        }
    }

    /// A host has its data.
    pub fn start_host(&mut self, driver: &mut dyn Driver, host: u32) {
        let host = &mut self.hosts[host as usize];
        host.started = true;
        for number in std::mem::take(&mut host.ready) {
            self.send(driver, number);
        }
    }

    /// A transfer waits for no other: it starts, unless its source has no data yet.
    fn is_ready(&mut self, driver: &mut dyn Driver, number: u32) {
        let source = &mut self.hosts[self.schedule.transfers[number as usize].from as usize];
        match source.started {
            true => self.send(driver, number),
            false => source.ready.push(number),
        }
    }

    fn send(&mut self, driver: &mut dyn Driver, number: u32) {
        let (at, place) = (driver.now(), number as usize);
        let Transfer { from, to, bytes } = self.schedule.transfers[place];
        let sender = match &mut self.connections {
            Connections::Standing(all) => all[place].opener(),
            Connections::New(opened) => {
                opened[place].insert(driver.connect(HostId(from), HostId(to), FlowKind::Part)).opener()
            }
        };
        let before = driver.send(sender, Message::new(bytes, Carried::Part(number)));
        if let Connections::New(_) = self.connections {
            driver.close(sender);
        }
        self.sent[place] = Sent { at, before, ..Sent::NOT };
    }

    /// A transfer has arrived: those that its destination sends next wait for one less.
    pub fn arrived(&mut self, driver: &mut dyn Driver, message: Meaning) {
        let Carried::Part(number) = Carried::from(message);
        self.missing -= 1;
        self.sent[number as usize].arrived = driver.now();
        let schedule = self.schedule.clone();
        for later in schedule.followers(number) {
            self.waits[later as usize] -= 1;
            if self.waits[later as usize] == 0 {
                self.is_ready(driver, later);
            }
        }
    }

    /// The shares of the parts of all hosts; `None` if hosts would open connections, or send because of arrivals at others.
    pub fn divide(&self, parts: usize, part_of: impl Fn(u32) -> usize) -> Option<Vec<Operation>> {
        if matches!(self.connections, Connections::New(_)) || !self.schedule.is_local() {
            return None;
        }
        let mut shares: Vec<Operation> = (0..parts).map(|_| Operation { missing: 0, ..self.clone() }).collect();
        for (transfer, sent) in self.schedule.transfers.iter().zip(&self.sent) {
            shares[part_of(transfer.to)].missing += u64::from(sent.arrived == Time::NEVER);
        }
        Some(shares)
    }

    /// The operation at all hosts, from shares and the hosts' parts.
    pub fn unite(shares: &[Operation], part_of: impl Fn(u32) -> usize) -> Option<Operation> {
        let mut all = shares.first()?.clone();
        for share in &shares[1..] {
            all.missing += share.missing;
            all.sent.iter_mut().zip(&share.sent).for_each(|(sent, other)| *sent = sent.and(*other));
        }
        for (host, place) in all.hosts.iter_mut().zip(0..) {
            host.clone_from(&shares[part_of(place)].hosts[place as usize]);
        }
        // A host sends the transfers that wait for those to it.
        for (number, transfer) in all.schedule.transfers.iter().enumerate() {
            all.waits[number] = shares[part_of(transfer.from)].waits[number];
        }
        Some(all)
    }
}

impl Share for Operation {
    fn received(&mut self, driver: &mut dyn Driver, _at: EndpointId, message: Meaning) {
        self.arrived(driver, message);
    }

    fn due(&mut self, driver: &mut dyn Driver, timer: Meaning) {
        if let Timer::Start(host) = Timer::from(timer) {
            self.start_host(driver, host);
        }
    }

    fn missing(&self) -> u64 {
        self.missing
    }
}
