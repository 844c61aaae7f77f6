//! Event loop of a simulation run.

use fanin_driver::{Applications, EndpointId, Meaning, Owner};
use fanin_fabric::{HostFault, HostId, HostState, LinkId};
use fanin_tables::{CollectiveRow, RunTables, Totals};
use fanin_transport::{Progress, Transport};
use fanin_units::Time;

use crate::conserved::{self, Imbalance};
use crate::event::{Event, Key, Timer};
use crate::packet::{CapturedPacket, InFlight};
use crate::probe::Probe;
use crate::since::Sums;
use crate::slot::Slot;
use crate::socket::Socket;
use crate::tables;
use crate::world::World;

/// How far a run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reached {
    /// Simulated time.
    pub now: Time,
    /// Data packets sent so far, those of the warm-up too.
    pub data_packets: u64,
}

/// A run in progress, independent of its probe.
pub(crate) trait Steps {
    /// Serve events up to and including a time, or some of them; whether that was all.
    fn serve(&mut self, until: Time) -> bool;
    /// Has the workload's timer of this meaning due at the current time.
    fn wake(&mut self, timer: Meaning);
    /// Current time of the run.
    fn now(&self) -> Time;
    /// Whether the run has ended.
    fn is_done(&self) -> bool;
    /// The totals so far.
    fn totals(&self) -> Totals;
    /// Its time and packets so far.
    fn reached(&self) -> Reached;
    /// Collective operations that have ended so far.
    fn ended_collectives(&self) -> &[CollectiveRow];
    /// The packets captured since the last call.
    fn caught(&mut self) -> Vec<CapturedPacket>;
    /// The tables so far, or the conservation error.
    fn finish(self: Box<Self>) -> Result<RunTables, Imbalance>;
}

/// Receives events of a world.
pub(crate) trait Observer<P: Probe, T: Transport> {
    /// Report progress at an endpoint to its application.
    fn report(&mut self, world: &mut World<P, T>, slot: Slot, progress: Progress);
    /// A retransmission timer has fired.
    fn on_timeout(&mut self, world: &mut World<P, T>, at: EndpointId);
    /// A host has crashed or returned.
    fn on_host_fault(&mut self, world: &mut World<P, T>, host: HostId, to: HostState);
    /// A timer is due.
    fn due(&mut self, world: &mut World<P, T>, timer: Timer);
    /// Whether to serve this event, the next one; serving ends otherwise.
    #[inline(always)]
    fn takes(&mut self, _world: &World<P, T>, _key: Key) -> bool {
        true
    }
}

/// A world and its observer.
pub(crate) struct Running<P: Probe, T: Transport, O> {
    pub world: World<P, T>,
    pub observer: O,
}

/// Maximum events served before checking for a stop flag.
const AT_ONCE: u64 = 1 << 14;

/// Begins a run.
pub(crate) fn begin<P: Probe, T: Transport>(
    mut world: World<P, T>,
    mut applications: Applications,
) -> Running<P, T, Applications> {
    world.net.await_changes();
    world.net.await_faults();
    applications.start(&mut world);
    world.report_starts();
    discard_if_done(&mut world);
    Running { world, observer: applications }
}

/// Discards the remaining events if an application has finished the run.
pub(crate) fn discard_if_done<P: Probe, T: Transport>(world: &mut World<P, T>) {
    if world.done {
        world.net.events.clear();
    }
}

impl<P: Probe, T: Transport> Observer<P, T> for Applications {
    #[cold]
    fn report(&mut self, world: &mut World<P, T>, slot: Slot, progress: Progress) {
        let at = world.sockets.at(slot).id;
        if progress.any(Progress::ESTABLISHED) {
            self.established(world, at);
        }
        if progress.any(Progress::AWAKE) {
            while let Some(message) = world.next_message(slot) {
                self.received(world, at, message);
            }
        }
        if progress.any(Progress::CLOSED) {
            world.sockets.book.closes(at);
            self.closed(world, at);
        }
        if progress.any(Progress::BROKEN) {
            self.broken(world, at);
        }
        discard_if_done(world);
    }

    fn on_timeout(&mut self, world: &mut World<P, T>, at: EndpointId) {
        Applications::on_timeout(self, world, at);
        discard_if_done(world);
    }

    fn on_host_fault(&mut self, world: &mut World<P, T>, host: HostId, to: HostState) {
        Applications::on_host_fault(self, world, host, to);
        discard_if_done(world);
    }

    #[cold]
    fn due(&mut self, world: &mut World<P, T>, Timer { owner, what }: Timer) {
        if owner == Owner::WORKLOAD {
            world.stalls.application_acts(world.now);
        }
        Applications::due(self, world, owner, what);
        discard_if_done(world);
    }
}

impl<P: Probe, T: Transport, O: Observer<P, T>> Running<P, T, O> {
    #[inline(always)]
    fn arrive(&mut self, link: LinkId) {
        let (net, now) = (&mut self.world.net, self.world.now.0);
        let packet = net.take_off(now, link);
        if net.comes_out(now, link, &packet) {
            if self.world.net.probe.is_large() {
                self.world.fetch_behind(link);
            }
            self.receive(link, &packet);
        } else if self.world.net.probe.is_large() {
            self.world.fetch(link, packet.to);
        }
    }

    #[inline(always)]
    fn receive(&mut self, link: LinkId, packet: &InFlight) {
        let progress = self.world.receive(link, packet);
        if progress != Progress::NONE {
            self.observer.report(&mut self.world, packet.to, progress);
        }
    }

    #[cold]
    fn look_at_timer(&mut self, id: EndpointId, slot: Slot) {
        let before = self.world.timeouts;
        let progress = self.world.look_at_timer(id, slot);
        if self.world.timeouts > before {
            self.observer.on_timeout(&mut self.world, id);
        }
        if progress.any(Progress::BROKEN) {
            self.observer.report(&mut self.world, slot, progress);
        }
    }

    /// A delayed packet arrives.
    #[cold]
    fn come_late(&mut self, link: LinkId) {
        if let Some(packet) = self.world.net.come_late(self.world.now.0, link) {
            self.receive(link, &packet);
        }
    }

    /// A card has drained a packet.
    #[inline(never)]
    fn drained(&mut self, link: LinkId) {
        if let Some(packet) = self.world.net.drained(link) {
            self.receive(link, &packet);
        }
    }

    /// A host crashes, returns or changes its speed.
    #[cold]
    fn apply_host_fault(&mut self, number: u32) {
        let HostFault { host, to, .. } = self.world.net.apply_host_fault(self.world.now.0, number);
        if to == HostState::Crashed {
            self.world.crash(host);
        }
        self.observer.on_host_fault(&mut self.world, host, to);
    }

    /// Rare events, out of line so that arrivals keep their registers.
    #[inline(never)]
    fn happen(&mut self, event: Event) {
        let now = self.world.now.0;
        match event {
            Event::Departure(link) => self.world.net.depart(now, link),
            Event::Pause(link, frame) => self.world.net.pause(now, link, frame),
            Event::Change(number) => self.world.change(number),
            Event::Fault(number) => self.apply_host_fault(number),
            Event::Late(link) => self.come_late(link),
            Event::Drained(link) => self.drained(link),
            Event::Endpoint(id, slot) => self.look_at_timer(id, slot),
            Event::Turn(host) => self.world.take_turn(host),
            Event::Grants(host) => self.world.grant_at(host),
            Event::App(timer) => self.observer.due(&mut self.world, timer),
        }
    }

    /// Serve events up to and including a time, or some of them; whether none remain.
    ///
    /// A separate function with its state in fields, so that the surrounding code takes none of its registers.
    #[inline(never)]
    pub fn go(&mut self, until: Time) -> bool {
        self.world.net.events.serve(until);
        let mut left = AT_ONCE;
        while left > 0
            && let Some(key) = self.world.net.events.pop()
            && self.observer.takes(&self.world, key)
        {
            left -= 1;
            self.happens(key);
        }
        self.world.events += AT_ONCE - left;
        left > 0
    }

    /// Serve this event.
    #[inline(always)]
    fn happens(&mut self, key: Key) {
        self.world.now = Time(key.time());
        match key.arrives() {
            Some(link) => self.arrive(link),
            None => self.happen(key.event()),
        }
        if T::REPORTS_STARTS && !self.world.net.started.is_empty() {
            self.world.report_starts();
        }
    }
}

impl<P: Probe, T: Transport> Running<P, T, Applications> {
    /// No events remain up to the limit.
    #[cold]
    fn pause(&mut self, until: Time) -> bool {
        if self.world.net.events.is_empty() {
            self.world.done = true;
        } else {
            self.world.now = self.world.now.max(until);
        }
        true
    }

    /// Serve the next event, whenever it is.
    pub fn step(&mut self) {
        self.world.net.events.serve(Time::NEVER);
        match self.world.net.events.pop() {
            Some(key) => {
                self.world.events += 1;
                self.happens(key);
            }
            None => self.world.done = true,
        }
    }

    /// The tables so far, or the conservation error.
    pub fn end(mut self) -> Result<RunTables, Imbalance> {
        let net = &mut self.world.net;
        net.probe.run_ends(self.world.now);
        let (samples, events) = net.probe.rows(&net.fabric, &net.hosts);
        let tables = tables::tables(&self.world, self.observer.record(&self.world));
        let sockets = &self.world.sockets;
        let accounts = sockets.connections().map(|ends| ends.map(Socket::account));
        let under_way = sockets.connections().flatten().map(|end| end.awaited() as u64).sum();
        let messages = [self.world.messages_sent, self.world.messages_told, under_way];
        conserved::check(&tables, sockets.broken(), accounts, messages)?;
        if let Some(what) = self.world.net.broken() {
            return Err(Imbalance::of_ports(what));
        }
        Ok(RunTables { samples, events, ..tables })
    }
}

impl<P: Probe, T: Transport> Steps for Running<P, T, Applications> {
    fn serve(&mut self, until: Time) -> bool {
        self.go(until) && self.pause(until)
    }

    fn wake(&mut self, timer: Meaning) {
        self.world.done = false;
        self.world.after(Time::ZERO, Owner::WORKLOAD, timer);
    }

    fn now(&self) -> Time {
        self.world.now
    }

    fn is_done(&self) -> bool {
        self.world.done
    }

    fn totals(&self) -> Totals {
        tables::totals(&self.world, &self.observer.record(&self.world))
    }

    fn reached(&self) -> Reached {
        Reached { now: self.world.now, data_packets: Sums::data_packets(self.world.sockets.sums()) }
    }

    fn ended_collectives(&self) -> &[CollectiveRow] {
        self.observer.ended_collectives()
    }

    fn caught(&mut self) -> Vec<CapturedPacket> {
        let net = &mut self.world.net;
        net.probe.caught(&net.fabric, &net.hosts)
    }

    fn finish(self: Box<Self>) -> Result<RunTables, Imbalance> {
        self.end()
    }
}
