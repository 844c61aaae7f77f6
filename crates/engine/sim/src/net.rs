//! The network: links, packets on them, and the event queue.

mod card_effects;
mod cards;
mod fault_effects;
mod faults;
mod parts;

use std::collections::BTreeMap;
use std::hint::cold_path;
use std::marker::PhantomData;

use fanin_driver::{EndpointId, Owner};
use fanin_fabric::{Change, Fabric, Framing, HostId, LinkId, State};
use fanin_laws::port::Drop;
use fanin_laws::rate::Hop;
use fanin_transport::{Block, Metadata, Offer, Packet, Telemetry, Transport, Wire};
use fanin_units::Time;

use crate::calendar::Calendar;
use crate::event::{ArrivalOrder, Key, PauseFrame};
use crate::flow_control::FlowControl;
use crate::incasts::Incasts;
use crate::jitter::Jitter;
use crate::latency::stamp;
use crate::link::{Cleared, Departed, Left, Link, LinkAction, Queued, Why};
use crate::network::Config;
use crate::packet::{InFlight, PacketMetadata};
use crate::pauses::{ComingPause, PauseLog};
use crate::pools::Pools;
use crate::ports::PortSetup;
use crate::probe::{Dropped, Filled, LoggedEvent, LostPacket, Probe};
use crate::slot::Slot;

pub(crate) use cards::{CardCounts, Cards};
pub(crate) use faults::{ByLink, Faults, Lost};

/// Span of near events in times over a link, where senders pace their packets.
const PACED: u64 = 8;

/// Distance of prefetching in a queue, in packets.
pub(crate) const AHEAD: usize = 4;

/// The network's data about the endpoint in a slot.
#[derive(Clone, Copy)]
struct End {
    id: EndpointId,
    /// Packets for it that were dropped or lost, minus duplicated ones; wraps.
    lost: u32,
}

/// Optional behaviour of a network.
pub(crate) struct NetOptions {
    /// Flow control at switches, if any.
    pub flow_control: Option<Box<dyn FlowControl>>,
    /// Whether the transport wants to know when data packets leave their hosts.
    pub reports_starts: bool,
    /// If each packet takes a path of its own: the one that its sender chose.
    pub chosen_path: Option<ChosenPath>,
    /// Whether switches choose the shortest queue.
    pub adaptive: bool,
}

/// The path that a packet's sender chose; `None` for any.
type ChosenPath = fn(&Packet) -> Option<u32>;

/// The network.
pub(crate) struct Net<P> {
    pub fabric: Fabric,
    pub links: Vec<Link>,
    ports: PortSetup,
    /// Shared memories of the switches, if they have any.
    pools: Option<Box<Pools>>,
    /// The queue of all events.
    pub events: Calendar,
    /// The host of the endpoint in each slot, stored separately because every hop reads it.
    host_of: Vec<HostId>,
    ends: Vec<End>,
    /// The host of every endpoint ever created, for probes.
    pub hosts: BTreeMap<EndpointId, HostId>,
    /// Dropped packets of background traffic.
    pub beside_drops: u64,
    pub incasts: Incasts,
    metadata: PacketMetadata,
    pub framing: Framing,
    jitter: Jitter,
    faults: Option<Box<Faults>>,
    /// Receiving cards that drain slowly, if any.
    pub cards: Option<Box<Cards>>,
    /// Whether anything but ports affects packets: faults or cards.
    interferes: bool,
    /// Flow control at switches, if any.
    flow_control: Option<Box<dyn FlowControl>>,
    /// Whether switches trim, have classes, or control flow.
    extended: bool,
    /// Whether arrivals at switches change more than their link: because of that, or of `pools`.
    shared: bool,
    /// Seed that spreads flows, together with their number.
    flow_seed: u64,
    /// Pauses so far.
    pub pauses: PauseLog,
    /// Receivers and payload of data packets that have begun to leave their hosts, if the transport wants to know.
    pub started: Vec<(Slot, u16)>,
    reports_starts: bool,
    /// If each packet takes a path of its own: the one that its sender chose.
    chosen_path: Option<ChosenPath>,
    adaptive: bool,
    /// Memory of [`shortest`](Net::shortest).
    next_hops: Vec<LinkId>,
    pub probe: P,
    pub injected: u64,
    pub delivered: u64,
    pub hops: u64,
    /// In a large run, the link to which a switch last forwarded a packet.
    pub given_to: LinkId,
}

impl<P: Probe> Net<P> {
    /// A network whose links carry packets of mostly up to `packet` bytes.
    pub fn new(fabric: Fabric, ports: PortSetup, packet: u32, options: NetOptions, probe: P) -> Net<P> {
        let NetOptions { flow_control, reports_starts, chosen_path, adaptive } = options;
        let config = &ports.config;
        let (framing, flow_seed) = (config.framing, config.seed);
        let links: Vec<Link> = fabric.links().iter().map(|link| Link::new(link, framing.gap)).collect();
        // Twice the longest time over a link: no head of a FIFO arrives later. Senders that pace their packets set timers further ahead.
        let longest = links.iter().map(|link| link.head_span(packet)).max().unwrap_or(1);
        let span = if reports_starts { PACED } else { 2 } * (longest + config.jitter.0);
        let jitter = Jitter::new(config.jitter, &fabric, flow_seed);
        let faults = Faults::new(config, &fabric);
        let cards = Cards::new(config.card);
        let interferes = faults.is_some() || cards.is_some();
        let pools = Pools::new(config.ports.as_ref(), &fabric);
        let pauses =
            flow_control.as_ref().map_or(PauseLog::default(), |control| PauseLog::new(control.drains_within()));
        let extended = flow_control.is_some() || ports.extended();
        let shared = pools.is_some() || extended;
        let events = Calendar::new(span, 2 * links.len());
        Net {
            fabric,
            links,
            ports,
            pools,
            events,
            host_of: Vec::new(),
            ends: Vec::new(),
            hosts: BTreeMap::new(),
            beside_drops: 0,
            incasts: Incasts::NONE,
            metadata: PacketMetadata::default(),
            flow_control,
            extended,
            shared,
            framing,
            jitter,
            faults,
            cards,
            interferes,
            flow_seed,
            pauses,
            started: Vec::new(),
            reports_starts,
            chosen_path,
            adaptive,
            next_hops: Vec::new(),
            probe,
            injected: 0,
            delivered: 0,
            hops: 0,
            given_to: LinkId(0),
        }
    }

    /// Schedule link changes. Packets may then take any path, as sprayed ones may, so every port is set up.
    pub fn await_changes(&mut self) {
        if self.ports.config.changes.is_empty() && self.chosen_path.is_none() {
            return;
        }
        for (link, id) in self.links.iter_mut().zip(self.fabric.link_ids()) {
            self.ports.set_up(id, &self.fabric, link);
        }
        for (change, number) in self.ports.config.changes.iter().zip(0..) {
            self.events.push_far(Key::change(change.at.0, number));
        }
    }

    /// A link fails, heals or changes its rate.
    pub fn change(&mut self, now: u64, number: u32) {
        let Change { links, to, .. } = self.ports.config.changes[number as usize];
        for id in links {
            match to {
                State::Rate(rate) => self.set_rate(id, rate),
                State::Up => self.links[id.index()].heal(),
                State::Down => {
                    for Cleared { came_by, packet } in self.links[id.index()].fail() {
                        self.dropped(now, id, &packet, Why::Down);
                        self.lost_from_queue(now, id, came_by, &packet);
                    }
                    self.count(now, id);
                    self.probe.port(Time(now), id, &self.links[id.index()]);
                }
            }
            if !matches!(to, State::Rate(_)) {
                self.fabric.set_up(id, to == State::Up);
            }
        }
    }

    /// A packet has left a failed link's queue: flow control counts it no more, and its sender need not wait for its departure.
    fn lost_from_queue(&mut self, now: u64, link: LinkId, came_by: LinkId, packet: &InFlight) {
        let is_of_host = self.fabric.is_host(self.fabric.link(link).from);
        if is_of_host && self.reports_starts && packet.has_payload() {
            self.started.push((packet.to, packet.packet.payload));
        }
        if !is_of_host && self.flow_control.is_some() {
            let queued = Queued { came_by, class: packet.packet.class.number(), bytes: packet.bytes() };
            self.control(now, queued, link, |control| control.left(queued));
        }
    }

    /// Add an endpoint in a slot, at a host, that receives packets from another host; set up the ports on their path.
    pub fn add_endpoint(&mut self, slot: Slot, id: EndpointId, host: HostId, from: HostId) {
        self.know(slot, id, host);
        for link in self.fabric.way(from, host, self.flow_of(slot)) {
            self.ports.set_up(link, &self.fabric, &mut self.links[link.index()]);
        }
    }

    /// Set up the port of a link, unless done.
    pub fn set_up(&mut self, link: LinkId) {
        self.ports.set_up(link, &self.fabric, &mut self.links[link.index()]);
    }

    /// Register a new endpoint in a slot, at a host.
    pub fn know(&mut self, slot: Slot, id: EndpointId, host: HostId) {
        let end = End { id, lost: 0 };
        match self.ends.get_mut(slot.index()) {
            Some(place) => (*place, self.host_of[slot.index()]) = (end, host),
            None => {
                self.ends.push(end);
                self.host_of.push(host);
            }
        }
        if P::ON {
            self.hosts.insert(id, host);
        }
    }

    /// Register a persistent connection with the ports on the path of its packets to a slot, at a host.
    pub fn count_open(&mut self, slot: Slot, host: HostId, from: HostId) {
        for link in self.fabric.way(from, host, self.flow_of(slot)) {
            self.links[link.index()].count_open(slot);
        }
    }

    /// Packets to a slot that were dropped or lost, minus duplicated ones.
    pub fn lost(&self, slot: Slot) -> u32 {
        self.ends[slot.index()].lost
    }

    /// The link on which a host sends packets to an endpoint at another one.
    pub fn uplink_to(&self, from: HostId, to: HostId, endpoint: EndpointId) -> LinkId {
        self.fabric.uplink_to(from, to, || self.flow_seed ^ u64::from(endpoint.number()))
    }

    /// Time of a turn at a host. A transport grants at the rate of one link, and a host receives over all of its links.
    pub fn turn_of(&self, host: HostId, takes: Time) -> Time {
        if self.fabric.has_one_link_each() {
            return takes;
        }
        let fastest = self.fabric.downlinks(host).map(|link| self.fabric.link(link).rate.0).max().unwrap_or(1);
        let all = self.fabric.host_rate(host).0.max(1);
        Time((u128::from(takes.0) * u128::from(fastest) / u128::from(all)) as u64)
    }

    /// The link on which a host of several sends a packet that takes a path of its own; other packets of the flow leave by `link`.
    #[cold]
    #[inline(never)]
    fn sprayed(&self, link: LinkId, packet: &InFlight) -> LinkId {
        let from = HostId(self.fabric.link(link).from.0);
        self.fabric.uplink_to(from, self.host_of(packet.to), || self.path_of(packet))
    }

    /// The endpoint in a slot.
    pub fn id_of(&self, slot: Slot) -> EndpointId {
        self.ends[slot.index()].id
    }

    /// The host of the endpoint in a slot.
    pub fn host_of(&self, slot: Slot) -> HostId {
        self.host_of[slot.index()]
    }

    /// Hash that spreads the packets to a slot over equal-cost paths.
    #[inline]
    pub fn flow_of(&self, slot: Slot) -> u64 {
        self.flow_seed ^ u64::from(self.ends[slot.index()].id.number())
    }

    /// Hash that selects the path of a packet: its flow's, or its own.
    #[inline]
    fn path_of(&self, packet: &InFlight) -> u64 {
        let flow = self.flow_of(packet.to);
        let Some(chosen_path) = self.chosen_path else { return flow };
        let own = match chosen_path(&packet.packet) {
            // Flows with neighbouring numbers have other paths for the same choices.
            Some(path) => u64::from(path).wrapping_mul(0xff51_afd7_ed55_8ccd),
            None => u64::from(packet.packet.body[0]) << 32 ^ u64::from(packet.packet.body[1]) ^ u64::from(packet.sent),
        };
        (flow ^ own).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    /// Pass a packet to a link; unless it is from a host, it came by another one. Only hosts have jitter.
    #[inline(always)]
    fn enqueue(&mut self, now: u64, link: LinkId, packet: &InFlight, came_by: Option<LinkId>) {
        match came_by {
            Some(came_by) if self.shared => self.enqueue_shared(now, link, *packet, came_by),
            _ => self.put(now, link, packet, came_by.is_none()),
        }
    }

    /// The same at a switch whose ports share memory, have classes, or are controlled. Out of line, so that others pay nothing.
    #[inline(never)]
    fn enqueue_shared(&mut self, now: u64, link: LinkId, packet: InFlight, came_by: LinkId) {
        if let Some(pools) = &mut self.pools {
            let fits = pools.make_room(now, link, packet.bytes(), &mut self.links);
            if P::ON
                && !fits
                && let Some(memory) = pools.of(link)
            {
                self.probe.refused(link, memory);
            }
        }
        let queued = Queued { came_by, class: packet.packet.class.number(), bytes: packet.bytes() };
        if let Some(control) = &self.flow_control
            && !control.admits(queued)
        {
            self.links[link.index()].count_refused(queued.class);
            return self.dropped(now, link, &packet, Why::Law(Drop::Full));
        }
        let before = self.links[link.index()].queue_bytes();
        if self.ports.trims {
            return self.enqueue_trimming(now, link, packet);
        }
        let mut todo = self.links[link.index()].enqueue(now, &packet, &mut self.metadata);
        if todo == LinkAction::Held {
            todo = self.links[link.index()].enqueue_held(now, &packet, &mut self.metadata);
        }
        if self.extended
            && self.links[link.index()].queue_bytes() > before
            && let Some(queued) = self.links[link.index()].place(came_by)
        {
            self.control(now, queued, link, |control| control.queued(queued));
        }
        let leaves = self.links[link.index()].queue_bytes() == before && !matches!(todo, LinkAction::Dropped(_));
        if packet.beside != 0 && leaves {
            self.write_telemetry(now, link, packet.beside, packet.bytes());
        }
        self.act(now, link, &packet, todo, false);
        self.count(now, link);
    }

    /// The same at a switch whose ports trim: the arriving packet, or the last queued one, may become a header, or be lost.
    fn enqueue_trimming(&mut self, now: u64, link: LinkId, packet: InFlight) {
        let (todo, lost) = self.links[link.index()].enqueue_trimming(now, packet);
        if let Some((lost, why)) = lost {
            self.dropped(now, link, &lost, why);
        }
        self.act(now, link, &packet, todo, false);
        self.count(now, link);
    }

    /// The port of a switch writes telemetry into a packet that leaves now, if it asks for it.
    fn write_telemetry(&mut self, now: u64, link: LinkId, beside: u32, bytes: u32) {
        if let Some(hops) = self.metadata.hops(beside) {
            hops.push(self.links[link.index()].hop(now, bytes, self.fabric.link(link).rate));
        }
    }

    /// Pass a packet from a host to its link, for a transport that learns when its packets leave.
    #[inline(never)]
    fn put_reporting(&mut self, now: u64, link: LinkId, packet: &InFlight) {
        let (queued, started) = (self.links[link.index()].queue_bytes(), self.started.len());
        self.put(now, link, packet, true);
        let leaves = self.links[link.index()].queue_bytes() == queued && self.started.len() == started;
        if leaves && packet.has_payload() {
            self.started.push((packet.to, packet.packet.payload));
        }
    }

    /// Consult flow control about a packet of a port's queue; its answer takes effect at the sending end of the link by which the packet
    /// came, when a frame of the least size has crossed the reverse link.
    fn control(
        &mut self,
        now: u64,
        packet: Queued,
        port: LinkId,
        ask: impl FnOnce(&mut dyn FlowControl) -> Option<PauseFrame>,
    ) {
        let Some(control) = &mut self.flow_control else { return };
        let Some(frame) = ask(&mut **control) else { return };
        let (link, on) = (packet.came_by, frame.on);
        let is_paused = self.links[port.index()].is_paused(frame.class);
        let cause = self.pauses.note(Time(now), link, frame, (port, is_paused));
        self.probe.happening(Time(now), LoggedEvent::Pause { link, on, port });
        let back = self.fabric.link(self.fabric.reverse(packet.came_by));
        let takes = back.rate.time_for(self.framing.on_wire(0).into());
        let pause = ComingPause { key: Key::pause(now + takes.0 + back.delay.0, link, frame), link, frame, cause };
        match P::PART && self.probe.comes_from_away(link) {
            true => self.probe.hand_over_pause(pause),
            false => self.await_pause(pause),
        }
    }

    /// A pause or its end is on its way to the sending end of a link.
    pub fn await_pause(&mut self, ComingPause { key, link, frame, cause }: ComingPause) {
        self.events.push_far(key);
        if let Some(cause) = cause {
            self.pauses.ends(link, frame.class, cause);
        }
    }

    /// Packets of a class in a link's queue that do not go to this port of its switch.
    fn blocked(&self, link: LinkId, class: u8, port: LinkId) -> u64 {
        let next =
            |packet: &InFlight| self.fabric.next_hop(link, self.host_of[packet.to.index()], || self.path_of(packet));
        let waiting = self.links[link.index()].waiting_packets();
        waiting.filter(|packet| packet.packet.class.number() == class && next(packet) != port).count() as u64
    }

    /// A pause or its end has reached the sending end of a link.
    #[cold]
    pub fn pause(&mut self, now: u64, link: LinkId, frame: PauseFrame) {
        if !frame.on
            && let Some(cause) = self.pauses.ended(link, frame.class)
        {
            let packets = self.blocked(link, frame.class, cause);
            self.pauses.blocks(link, frame.class, cause, packets);
        }
        if self.links[link.index()].pause(frame) {
            let at = self.links[link.index()].busy_until().0;
            self.leave(now, link, at);
        }
    }

    /// A queued packet leaves at a time that may have passed.
    #[inline(never)]
    fn leave(&mut self, now: u64, link: LinkId, at: u64) {
        match at > now {
            true => self.await_departure(link, at),
            false => self.depart(now, link),
        }
    }

    #[inline(always)]
    fn put(&mut self, now: u64, link: LinkId, packet: &InFlight, from_host: bool) {
        let todo = self.links[link.index()].enqueue(now, packet, &mut self.metadata);
        self.act(now, link, packet, todo, from_host);
    }

    /// Act on a link's answer to a packet.
    #[inline(always)]
    fn act(&mut self, now: u64, link: LinkId, packet: &InFlight, todo: LinkAction, from_host: bool) {
        if P::ON && !matches!(todo, LinkAction::Dropped(_) | LinkAction::Held) {
            self.probe.port(Time(now), link, &self.links[link.index()]);
        }
        if P::PART && self.probe.leads_away(link) {
            return self.put_away(now, link, *packet, todo);
        }
        match todo {
            LinkAction::Nothing => {}
            LinkAction::Arrival(due) => self.await_arrival(link, due, from_host),
            LinkAction::Departure(at) => self.leave(now, link, at),
            LinkAction::Dropped(why) => self.dropped(now, link, packet, why),
            LinkAction::Held => self.put_held(now, link, *packet),
        }
    }

    /// Pass a packet from a host to a link that is down or paused, or whose port has classes.
    #[cold]
    #[inline(never)]
    fn put_held(&mut self, now: u64, link: LinkId, mut packet: InFlight) {
        if let Some(classes) = &self.ports.classes {
            let owner = self.ends[packet.to.index()].id.connection().owner();
            packet.packet.class = classes.of(owner, packet.packet.class);
        }
        let todo = self.links[link.index()].enqueue_held(now, &packet, &mut self.metadata);
        if let LinkAction::Dropped(why) = todo {
            return self.dropped(now, link, &packet, why);
        }
        self.probe.port(Time(now), link, &self.links[link.index()]);
        match todo {
            LinkAction::Departure(at) => self.leave(now, link, at),
            LinkAction::Arrival(due) => self.await_arrival(link, due, true),
            LinkAction::Nothing | LinkAction::Dropped(_) | LinkAction::Held => {}
        }
    }

    /// The same if the link leads into another part.
    #[inline(never)]
    fn put_away(&mut self, now: u64, link: LinkId, packet: InFlight, mut todo: LinkAction) {
        if todo == LinkAction::Held {
            todo = self.links[link.index()].enqueue_held(now, &packet, &mut self.metadata);
        }
        match todo {
            LinkAction::Dropped(why) => return self.dropped(now, link, &packet, why),
            LinkAction::Departure(at) => self.await_departure(link, at),
            LinkAction::Nothing | LinkAction::Arrival(_) | LinkAction::Held => {}
        }
        self.hand_over(link);
    }

    /// A link's queue changed: update its switch's shared memory, if any.
    #[inline(always)]
    fn count(&mut self, now: u64, link: LinkId) {
        if let Some(pools) = &mut self.pools {
            pools.count(link, &self.links[link.index()]);
            if P::ON
                && let Some(memory) = pools.of(link)
            {
                self.probe.memory(Time(now), memory);
            }
        }
    }

    /// Everything given for the run but its fabric, transport and applications.
    pub fn config(&self) -> &Config {
        &self.ports.config
    }

    /// Conservation error of the switches' memories, if any.
    pub fn broken(&self) -> Option<String> {
        self.pools.as_ref().and_then(|pools| pools.broken(&self.links))
    }

    /// Count a packet that a port drops.
    #[inline(always)]
    fn dropped(&mut self, now: u64, link: LinkId, packet: &InFlight, why: Why) {
        self.lose(now, link, packet.to, packet.beside);
        if P::ON {
            let memory = self.pools.as_ref().and_then(|pools| pools.of(link)).map(Filled::of);
            let queue = self.links[link.index()].queue_bytes();
            let drop = Dropped { packet: LostPacket::of(packet), why, queue, memory };
            self.probe.happening(Time(now), LoggedEvent::Drop(link, self.ends[packet.to.index()].id, drop));
        }
    }

    /// Count a lost packet.
    fn lose(&mut self, now: u64, link: LinkId, to: Slot, beside: u32) {
        self.metadata.free(beside);
        let end = &mut self.ends[to.index()];
        end.lost = end.lost.wrapping_add(1);
        self.beside_drops += u64::from(end.id.connection().owner() != Owner::WORKLOAD);
        self.incasts.dropped(now, link);
        if let Some(faults) = &mut self.faults {
            faults.lost(end.id, Lost::AtPort);
        }
    }

    /// Serve the arrival of a link's head, possibly from a host, at its far end.
    #[inline(always)]
    fn await_arrival(&mut self, link: LinkId, due: ArrivalOrder, from_host: bool) {
        let due = if from_host { self.jitter.late(link, due) } else { due };
        self.events.push(link.index(), Key::arrival(due, link));
    }

    #[inline(never)]
    fn await_departure(&mut self, link: LinkId, at: u64) {
        self.events.push(self.links.len() + link.index(), Key::departure(at, link));
    }

    /// Serves a departure.
    pub fn depart(&mut self, now: u64, link: LinkId) {
        while let Some((packet, why)) = self.links[link.index()].drop_first(now) {
            self.dropped(now, link, &packet, why);
        }
        let Departed { arrival, next, left } = self.links[link.index()].depart(now);
        self.count(now, link);
        self.probe.port(Time(now), link, &self.links[link.index()]);
        let is_of_host = self.fabric.is_host(self.fabric.link(link).from);
        if let Some(Left { queued, beside, .. }) = left
            && beside != 0
            && !is_of_host
        {
            self.write_telemetry(now, link, beside, queued.bytes);
        }
        if P::PART && self.probe.leads_away(link) {
            self.hand_over(link);
        } else if let Some(due) = arrival {
            self.await_arrival(link, due, true);
        }
        if let Some(at) = next {
            self.await_departure(link, at);
        }
        let Some(Left { queued, to, payload, .. }) = left else { return };
        match is_of_host {
            true if self.reports_starts && payload > 0 => self.started.push((to, payload)),
            true => {}
            false => self.control(now, queued, link, |control| control.left(queued)),
        }
    }

    /// Take the arriving packet off a link.
    #[inline(always)]
    pub fn take_off(&mut self, now: u64, id: LinkId) -> InFlight {
        self.hops += 1;
        let (packet, next) = self.links[id.index()].arrive(now);
        if P::ON {
            let to = self.ends[packet.to.index()].id;
            self.probe.crossed(Time(now), id, to, &packet, self.metadata.of(packet.beside));
        }
        match next {
            // Packets to a host come from a switch.
            Some(due) => self.await_arrival(id, due, !self.fabric.is_downlink(id)),
            None if self.probe.is_large() => self.links[id.index()].rest(),
            None => {}
        }
        packet
    }

    /// A packet has arrived over a link: return it at a host, forward it at a switch.
    #[inline(always)]
    pub fn comes_out(&mut self, now: u64, link: LinkId, packet: &InFlight) -> bool {
        match self.interferes {
            true => self.comes_through(now, link, packet),
            false => self.goes_no_further(now, link, packet),
        }
    }

    /// The same in a network with faults or cards.
    #[cold]
    fn comes_through(&mut self, now: u64, link: LinkId, packet: &InFlight) -> bool {
        (self.faults.is_none() || self.passes(now, link, packet)) && self.reaches_host(now, link, packet)
    }

    /// The same for a packet that no fault affects.
    #[inline(always)]
    fn goes_no_further(&mut self, now: u64, link: LinkId, packet: &InFlight) -> bool {
        if self.fabric.is_downlink(link) {
            self.delivered += 1;
            return true;
        }
        let host = self.host_of[packet.to.index()];
        let next = match self.adaptive {
            true => self.shortest(now, link, packet),
            false => self.fabric.next_hop(link, host, || self.path_of(packet)),
        };
        self.enqueue(now, next, packet, Some(link));
        if self.probe.is_large() {
            self.given_to = next;
        }
        false
    }

    /// Of the equal-cost links from the switch at the end of a link, the one with the shortest queue; among equals, its hash selects.
    #[cold]
    #[inline(never)]
    fn shortest(&mut self, now: u64, link: LinkId, packet: &InFlight) -> LinkId {
        let mut hops = std::mem::take(&mut self.next_hops);
        self.fabric.next_hops(link, self.host_of(packet.to), &mut hops);
        if hops.len() > 1 {
            let first = self.path_of(packet) % hops.len() as u64;
            hops.rotate_left(first as usize);
        }
        let shortest = match hops[..] {
            [only] => only,
            _ => hops.iter().copied().min_by_key(|hop| self.queue_now(now, *hop)).unwrap_or(link),
        };
        self.next_hops = hops;
        shortest
    }

    /// Bytes in the queue of a link at this time.
    fn queue_now(&mut self, now: u64, link: LinkId) -> u64 {
        let link = &mut self.links[link.index()];
        link.bring_up(now);
        link.queue_bytes()
    }

    /// A packet is at a switch: prefetch the port of the last link of a packet behind it.
    #[inline(always)]
    pub fn fetch_port_behind(&self, link: LinkId) {
        if let Some(packet) = self.links[link.index()].fetch_queue(AHEAD / 2) {
            self.links[self.fabric.downlink(self.host_of(packet.to)).index()].fetch_port();
        }
    }

    /// Prefetch the last link to an endpoint.
    #[inline(always)]
    fn fetch_last(&self, to: Slot) {
        self.fetch(self.fabric.downlink(self.host_of(to)));
    }

    /// Prefetch a link.
    #[inline(always)]
    pub fn fetch(&self, link: LinkId) {
        self.links[link.index()].fetch();
    }

    /// Take the metadata of a delivered packet: its SACK blocks into `sack`.
    pub fn unload<'a>(&mut self, packet: &InFlight, sack: &'a mut Vec<Block>, hops: &'a mut Vec<Hop>) -> Metadata<'a> {
        sack.clear();
        hops.clear();
        let beside = self.metadata.of(packet.beside);
        sack.extend_from_slice(beside.sack);
        hops.extend_from_slice(beside.telemetry.hops());
        let (notes, echoes) = (beside.notes, matches!(beside.telemetry, Telemetry::Echo(_)));
        let telemetry = match hops.is_empty() {
            true => Telemetry::None,
            false if echoes => Telemetry::Echo(hops),
            false => Telemetry::Written(hops),
        };
        self.metadata.free(packet.beside);
        Metadata { sack, notes, telemetry }
    }

    /// Packets on links, in queues and cards, and delayed.
    pub fn in_flight(&self) -> u64 {
        let in_cards = self.cards.as_ref().map_or(0, |cards| cards.packets());
        self.links.iter().map(|link| link.len() as u64).sum::<u64>() + in_cards + self.late()
    }
}

/// A host's outgoing link: the wire of an endpoint.
pub(crate) struct Uplink<'a, P, T> {
    pub net: &'a mut Net<P>,
    pub of: PhantomData<T>,
    pub now: Time,
    pub link: LinkId,
    /// Slot of the other end.
    pub peer: Slot,
    /// Limit of the window that the end may advertise.
    pub window: Offer,
}

impl<P: Probe, T: Transport> Wire for Uplink<'_, P, T> {
    #[inline(always)]
    fn send(&mut self, packet: Packet, beside: Metadata<'_>) {
        self.net.injected += 1;
        if self.net.probe.is_large() {
            self.net.fetch_last(self.peer);
        }
        let beside = self.net.metadata.keep(beside);
        let mut packet = Packet { bytes: self.net.framing.frame(packet.bytes), ..packet };
        if self.window != Offer::UNLIMITED {
            cold_path();
            T::limit_window(&mut packet, self.window);
        }
        let packet = InFlight { to: self.peer, beside, sent: stamp(self.now.0), packet };
        let link = match T::SPRAYS && !self.net.fabric.has_one_link_each() {
            true => self.net.sprayed(self.link, &packet),
            false => self.link,
        };
        match T::REPORTS_STARTS {
            true => self.net.put_reporting(self.now.0, link, &packet),
            false => self.net.enqueue(self.now.0, link, &packet, None),
        }
    }
}
