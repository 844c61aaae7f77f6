//! Endpoints on a network with a clock: event handling, and the operations of applications.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use fanin_driver::{ConnectionId, EndpointId, Meaning, Message, Owner};
use fanin_fabric::{Fabric, HostId, LinkId};
use fanin_laws::rate::Hop;
use fanin_tables::FlowKind;
use fanin_transport::{Block, Call, Expiry, Metadata, Offer, Phase, Progress, Timer as EndpointTimer, Transport};
use fanin_units::{Rate, Time};

use crate::by_rate::ByRate;
use crate::event::{Key, Timer};
use crate::ideal;
use crate::incasts::Incasts;
use crate::latency::Latencies;
use crate::link::{Departures, Link};
use crate::net::{AHEAD, Net, NetOptions, Uplink};
use crate::network::{Clients, Config, Switches};
use crate::packet::InFlight;
use crate::ports::PortSetup;
use crate::probe::{LoggedEvent, Probe};
use crate::receivers::Receivers;
use crate::since::{MeasurementStart, PairCounts, PortSums, counts_by_class};
use crate::slot::Slot;
use crate::socket::{ExpectedMessage, Socket, Sockets};
use crate::stall_causes::{Evidence, cause_of};
use crate::stalls::{FiredTimer, Stalls};
use crate::ticks::Ticks;
use crate::turns::Turns;

/// Length of a long-lived flow, which no run reaches.
const ENDLESS: u64 = 1 << 50;

/// The ends of a connection between two hosts: number, host and peer's host of each.
pub(crate) fn ends_of(connection: ConnectionId, from: HostId, to: HostId) -> [(EndpointId, (HostId, HostId)); 2] {
    [(connection.opener(), (from, to)), (connection.answerer(), (to, from))]
}

/// Limit of the window that an endpoint may advertise.
#[inline(always)]
fn offered(receivers: Option<&Receivers>, slot: Slot) -> Offer {
    receivers.map_or(Offer::UNLIMITED, |receivers| receivers.offer(slot))
}

/// All simulated state except the application.
pub(crate) struct World<P: Probe, T: Transport> {
    pub now: Time,
    /// Owner of connections and timers to come.
    pub owner: Owner,
    pub net: Net<P>,
    pub sockets: Sockets<P::Places, T>,
    /// Settings of the transport.
    pub transport: ByRate<T>,
    /// Ticks of hosts' clocks, if any.
    ticks: Option<Ticks>,
    /// Receiver algorithm of hosts, if any.
    receivers: Option<Box<Receivers>>,
    /// Turns of ends at their hosts.
    turns: Turns,
    /// Buffer for segments' SACK blocks.
    sack: Vec<Block>,
    /// Likewise for telemetry.
    hops: Vec<Hop>,
    /// Events served so far.
    pub events: u64,
    /// Messages that applications sent, and those reported to their receivers.
    pub messages_sent: u64,
    pub messages_told: u64,
    /// Retransmission timeouts so far.
    pub timeouts: u64,
    /// Start of the workload, without preceding connection setup: background traffic begins here too.
    pub begun: Option<Time>,
    /// Stalls of clients.
    pub stalls: Stalls,
    /// Counters at the start of the measured time.
    pub since: MeasurementStart,
    /// Latencies, if the scenario measures them.
    pub latencies: Option<Box<Latencies>>,
    /// The application has finished, or no events remain.
    pub done: bool,
}

impl<P: Probe, T: Transport> World<P, T> {
    /// The world at its start.
    pub fn new(
        fabric: Fabric,
        transport: ByRate<T>,
        config: Config,
        switches: Switches,
        departures: Departures,
        probe: P,
    ) -> World<P, T> {
        let departures =
            if switches.flow_control.is_some() || T::REPORTS_STARTS { Departures::Lazy } else { departures };
        let ticks = config.ticks.map(|ticks| Ticks::new(ticks, config.seed));
        let receivers = config.receive_windows.map(|windows| Box::new(Receivers::new(windows)));
        let latencies = config.measures_latencies.then(Box::default);
        let connections = config.connections;
        let ports = PortSetup::new(config, departures, &switches);
        World {
            now: Time::ZERO,
            owner: Owner::WORKLOAD,
            net: Net::new(
                fabric,
                ports,
                T::full_payload(transport.usual()) + 100,
                NetOptions {
                    flow_control: switches.flow_control,
                    reports_starts: T::REPORTS_STARTS,
                    chosen_path: T::SPRAYS.then_some(T::chosen_path),
                    adaptive: switches.adaptive,
                },
                probe,
            ),
            // Growing would copy all of them.
            sockets: Sockets::with_capacity(if P::PART { 0 } else { 2 * connections }),
            transport,
            ticks,
            receivers,
            turns: Turns::default(),
            sack: Vec::with_capacity(4),
            hops: Vec::new(),
            events: 0,
            messages_sent: 0,
            messages_told: 0,
            timeouts: 0,
            latencies,
            begun: None,
            stalls: Stalls::new(),
            since: MeasurementStart::default(),
            done: false,
        }
    }

    /// A part of it, with neither events nor endpoints so far.
    pub fn part<B: Probe>(&self, border: B) -> World<B, T> {
        let (fabric, transport, config) = (self.net.fabric.clone(), self.transport.clone(), self.config().clone());
        let mut part = World::new(fabric, transport, config, self.net.switches(), self.net.departures(), border);
        part.now = self.now;
        part
    }

    /// Exchange the state of a host beside its endpoints with another part of the same network.
    pub fn take_over_host<B: Probe>(&mut self, host: HostId, from: &mut World<B, T>) {
        self.turns.take_over(host, &mut from.turns);
    }

    /// Everything given for the run but its fabric, transport and applications.
    pub fn config(&self) -> &Config {
        self.net.config()
    }

    /// Deliver a packet to its endpoint; returns progress for the application.
    #[inline(always)]
    pub fn receive(&mut self, link: LinkId, packet: &InFlight) -> Progress {
        match packet.beside {
            0 => self.take(link, packet, Metadata::default()),
            _ => self.receive_with(link, packet),
        }
    }

    /// The same for a packet with metadata. Out of line, so that others pay nothing.
    #[inline(never)]
    fn receive_with(&mut self, link: LinkId, packet: &InFlight) -> Progress {
        let (mut sack, mut hops) = (std::mem::take(&mut self.sack), std::mem::take(&mut self.hops));
        let beside = self.net.unload(packet, &mut sack, &mut hops);
        let progress = self.take(link, packet, beside);
        (self.sack, self.hops) = (sack, hops);
        progress
    }

    #[inline(always)]
    fn take(&mut self, link: LinkId, packet: &InFlight, beside: Metadata<'_>) -> Progress {
        let host = self.net.fabric.host_at(link);
        if let Some(from) = self.stalls.waits.heard(self.now, host, packet.to.is_opener()) {
            self.stall_ends(host, from, packet);
        }
        if let Some(latencies) = &mut self.latencies {
            latencies.record(self.now.0, packet.sent, packet.to, packet.has_payload());
        }
        match self.receivers.is_some() {
            true => self.take_at_receivers(packet, beside),
            false => self.deliver(packet, beside, Offer::UNLIMITED),
        }
    }

    /// The same at a host with a receiver algorithm.
    #[cold]
    #[inline(never)]
    fn take_at_receivers(&mut self, packet: &InFlight, beside: Metadata<'_>) -> Progress {
        let endpoint = &self.sockets.at(packet.to).endpoint;
        let (srtt, sent) = (endpoint.srtt(), endpoint.stats().segments_sent);
        if let Some(receivers) = &mut self.receivers {
            receivers.receive(self.now, packet, packet.bytes() + self.net.framing.gap, srtt);
        }
        let window = offered(self.receivers.as_deref(), packet.to);
        let progress = self.deliver(packet, beside, window);
        self.note_sent(packet.to, sent);
        self.announce_grants(self.net.host_of(packet.to));
        progress
    }

    /// Deliver a packet to its endpoint, which may advertise this window.
    #[inline(always)]
    fn deliver(&mut self, packet: &InFlight, beside: Metadata<'_>, window: Offer) -> Progress {
        let socket = self.sockets.at(packet.to);
        let peer = packet.to.peer();
        let mut wire =
            Uplink { link: socket.uplink, net: &mut self.net, of: PhantomData::<T>, now: self.now, peer, window };
        let recoveries = if P::ON { socket.endpoint.stats().fast_retransmits } else { 0 };
        let mut call = Call { settings: self.transport.of(socket.uplink), now: self.now, wire: &mut wire };
        let progress = socket.endpoint.receive(&mut call, &packet.packet, beside);
        let deadline = socket.endpoint.deadline();
        if deadline < socket.armed {
            self.arm_for(packet.to, deadline);
        }
        if P::ON {
            self.tell(packet.to, recoveries);
        }
        if T::TAKES_TURNS {
            self.await_turn(packet.to);
        }
        progress
    }

    /// Tell the algorithm of the host if the end in a slot has sent a segment since it had sent `before`.
    #[cold]
    fn note_sent(&mut self, slot: Slot, before: u32) {
        if let Some(receivers) = &mut self.receivers
            && self.sockets.at(slot).endpoint.stats().segments_sent != before
        {
            receivers.sent(slot);
        }
    }

    /// Ends at the host of this one announce their grants, if no other segment does.
    #[cold]
    fn announce_grants(&mut self, host: HostId) {
        while let Some(woken) = self.receivers.as_mut().and_then(|receivers| receivers.next_woken(host)) {
            self.call(woken, |endpoint, call| endpoint.announce(call));
        }
        if let Some(at) = self.receivers.as_mut().and_then(|receivers| receivers.next_deadline(host)) {
            self.net.events.push_far(Key::grants(at.0, host));
        }
    }

    /// The timer of a host's receiver algorithm may have expired.
    pub fn grant_at(&mut self, host: HostId) {
        if let Some(receivers) = &mut self.receivers {
            receivers.expire(host, self.now);
        }
        self.announce_grants(host);
    }

    /// The end in a slot is about to send data.
    #[inline]
    fn before_sending(&mut self, slot: Slot) {
        if let Some(receivers) = &mut self.receivers {
            receivers.send(slot, self.now);
        }
    }

    /// The end in a slot may wait for its turn.
    fn await_turn(&mut self, slot: Slot) {
        if let Some(how) = self.sockets.at(slot).endpoint.asks_turn() {
            let host = self.net.host_of(slot);
            let at = self.turns.wait(self.now, host, (self.net.id_of(slot), slot), how);
            at.into_iter().for_each(|at| self.net.events.push_far(Key::turn(at.0, host)));
        }
    }

    /// The next turn of a host's ends has come. Those that have no use for theirs take no time.
    pub fn take_turn(&mut self, host: HostId) {
        let mut takes = Time::ZERO;
        while takes == Time::ZERO
            && let Some(((id, slot), how)) = self.turns.next(host)
        {
            if self.net.id_of(slot) != id {
                continue;
            }
            self.with(slot, |endpoint, call| takes = endpoint.take_turn(call, how));
        }
        let at = self.turns.took(self.now, host, self.net.turn_of(host, takes));
        at.into_iter().for_each(|at| self.net.events.push_far(Key::turn(at.0, host)));
    }

    /// Whether this event may end a client's stall: a packet arrives after a long wait.
    pub fn may_end_stall(&self, key: Key) -> bool {
        let fabric = &self.net.fabric;
        let arrives = key.arrives().filter(|&link| fabric.is_downlink(link));
        arrives.is_some_and(|link| Time(key.time()) > self.stalls.waits.stalls_from(fabric.host_at(link)))
    }

    /// A packet ends a client's stall.
    #[cold]
    fn stall_ends(&mut self, client: HostId, from: Time, by: &InFlight) {
        let stall = self.evidence().ended_by(client, from, by);
        self.stalls.ended.push(stall);
    }

    /// State from which causes of stalls follow.
    pub fn evidence(&self) -> Evidence<'_, P, T> {
        Evidence { now: self.now, net: &self.net, sockets: &self.sockets, stalls: &self.stalls }
    }

    /// Least time in which the messages that endpoints await can arrive over the links to their hosts: payload that has not arrived does so
    /// no faster than at the links' rates, but for a packet on each.
    pub fn least_time_to_end(&self) -> Time {
        let (fabric, full) = (&self.net.fabric, u64::from(T::full_payload(self.transport.usual())));
        let mut missing: BTreeMap<HostId, u64> = BTreeMap::new();
        for socket in self.sockets.ends.iter().filter(|socket| socket.awaited() > 0) {
            // At most: some packets were repeated, or carried less.
            let arrived = u64::from(socket.endpoint.stats().segments_received) * full;
            let host = HostId(fabric.link(socket.uplink).from.0);
            *missing.entry(host).or_default() += socket.awaits_until().saturating_sub(arrived);
        }
        let time = |(host, bytes): (HostId, u64)| {
            let links = fabric.downlinks(host);
            let rate = Rate(links.clone().map(|link| fabric.link(link).rate.0).sum());
            rate.time_for(bytes.saturating_sub(2 * full * links.count() as u64))
        };
        missing.into_iter().map(time).max().unwrap_or(Time::ZERO)
    }

    /// A switch has forwarded a packet for the endpoint in a slot: if to its host, prefetch its memory there, unless the packet waits
    /// behind enough others for the cache line to be evicted first.
    #[inline(always)]
    pub fn fetch(&self, link: LinkId, to: Slot) {
        let (net, host) = (&self.net, self.net.host_of(to));
        let last = net.fabric.downlink(host);
        if net.given_to == last {
            if net.links[last.index()].len() <= AHEAD {
                self.sockets.ends.fetch(to);
            }
            net.fetch(net.fabric.uplink(host));
        }
        net.fetch_port_behind(link);
    }

    /// A packet has reached its host: prefetch for one some distance behind it.
    #[inline(always)]
    pub fn fetch_behind(&self, link: LinkId) {
        self.net.links[self.net.fabric.uplink(self.net.fabric.host_at(link)).index()].fetch_port();
        if let Some(packet) = self.net.links[link.index()].fetch_queue(AHEAD) {
            self.sockets.ends.fetch(packet.to);
        }
    }

    /// Report an endpoint's state after a segment to the probe.
    fn tell(&mut self, slot: Slot, recoveries: u32) {
        let Socket { id, endpoint, .. } = self.sockets.at(slot);
        self.net.probe.limit(self.now, *id, endpoint.limit());
        if endpoint.stats().fast_retransmits > recoveries {
            self.net.probe.happening(self.now, LoggedEvent::FastRetransmit(*id));
        }
    }

    /// Serve the timer of an endpoint if it is due; returns progress for the application.
    #[cold]
    pub fn look_at_timer(&mut self, id: EndpointId, slot: Slot) -> Progress {
        let socket = self.sockets.at(slot);
        if socket.armed != self.now || socket.id != id {
            return Progress::NONE;
        }
        socket.armed = Time::NEVER;
        let mut progress = Progress::NONE;
        if socket.endpoint.deadline() <= self.now {
            let opens = socket.endpoint.phase() == Phase::Opening;
            let mut timer = EndpointTimer::Reordering;
            self.with(slot, |endpoint, call| Expiry { timer, progress } = endpoint.expire(call));
            let after = &self.sockets.at(slot).endpoint;
            // The opening packet is number 0, data starts at 1.
            let first = if opens { 0 } else { after.written().acked as u32 + 1 };
            match timer {
                EndpointTimer::Handshake | EndpointTimer::Timeout => {
                    self.timeouts += 1;
                    self.net.probe.happening(self.now, LoggedEvent::Timeout(id, first));
                    self.net.probe.limit(self.now, id, after.limit());
                }
                EndpointTimer::Probe => self.net.probe.happening(self.now, LoggedEvent::Probe(id, first)),
                EndpointTimer::Reordering | EndpointTimer::DelayedAck | EndpointTimer::Pace | EndpointTimer::Window => {
                }
            }
            self.note(id, slot, timer);
        } else {
            self.arm(slot);
        }
        progress
    }

    /// A timer has fired that may end a client's stall.
    fn note(&mut self, id: EndpointId, slot: Slot, timer: EndpointTimer) {
        if id.connection().owner() == Owner::WORKLOAD
            && let Some(cause) = cause_of(timer)
        {
            let ends = if slot.is_opener() { [slot, slot.peer()] } else { [slot.peer(), slot] };
            let hosts = ends.map(|slot| self.net.host_of(slot));
            self.stalls.note(FiredTimer { at: self.now, end: id, hosts, cause });
        }
    }

    /// Keep one entry per socket in the timer queue, at its deadline or before.
    fn arm(&mut self, slot: Slot) {
        let socket = self.sockets.at(slot);
        let deadline = socket.endpoint.deadline();
        if deadline < socket.armed {
            self.arm_for(slot, deadline);
        }
    }

    /// Arm its timer for that deadline; with clock ticks, it is served at one.
    fn arm_for(&mut self, slot: Slot, deadline: Time) {
        let socket = self.sockets.at(slot);
        let fabric = &self.net.fabric;
        // All links of a host tick as its first one.
        let first = || fabric.uplink(HostId(fabric.link(socket.uplink).from.0));
        let at = self.ticks.as_ref().map_or(deadline, |ticks| ticks.next(deadline, first()));
        if at < socket.armed {
            socket.armed = at;
            self.net.events.push_timer(Key::endpoint(at.0, socket.id, slot));
        }
    }

    /// Call an endpoint, and arm its timer; grants that this frees are announced.
    fn with(&mut self, slot: Slot, act: impl FnOnce(&mut T, &mut Call<'_, T::Settings, Uplink<'_, P, T>>)) {
        self.call(slot, act);
        if self.receivers.is_some() {
            self.announce_grants(self.net.host_of(slot));
        }
    }

    /// The same without further announcements.
    fn call(&mut self, slot: Slot, act: impl FnOnce(&mut T, &mut Call<'_, T::Settings, Uplink<'_, P, T>>)) {
        let sent = self.receivers.is_some().then(|| self.sockets.at(slot).endpoint.stats().segments_sent);
        let socket = self.sockets.at(slot);
        let window = offered(self.receivers.as_deref(), slot);
        let (now, peer) = (self.now, slot.peer());
        let mut wire = Uplink { link: socket.uplink, net: &mut self.net, of: PhantomData::<T>, now, peer, window };
        act(
            &mut socket.endpoint,
            &mut Call { settings: self.transport.of(socket.uplink), now: self.now, wire: &mut wire },
        );
        self.arm(slot);
        if let Some(sent) = sent {
            self.note_sent(slot, sent);
        }
        if T::TAKES_TURNS {
            self.await_turn(slot);
        }
    }

    /// Tell endpoints of their packets that have begun to leave.
    pub fn report_starts(&mut self) {
        let mut at = 0;
        // A packet into a failed link is gone at once, and its endpoint sends the next one.
        while let Some(&(to, payload)) = self.net.started.get(at) {
            at += 1;
            self.with(to.peer(), |endpoint, call| endpoint.started(call, payload.into()));
        }
        self.net.started.clear();
    }

    /// Open a connection between two hosts, for flows of a kind.
    pub fn connect(&mut self, owner: Owner, from: HostId, to: HostId, kind: FlowKind) -> ConnectionId {
        let (connection, slots) = self.add(owner, from, to, kind);
        self.open(slots[0]);
        connection
    }

    /// Prepare a connection between two hosts for flows of a kind: the opener's first message opens it.
    pub fn prepare(&mut self, owner: Owner, from: HostId, to: HostId, kind: FlowKind) -> ConnectionId {
        self.add(owner, from, to, kind).0
    }

    /// The endpoint in a slot opens its connection, unless its host is down.
    pub fn open(&mut self, slot: Slot) {
        if self.net.is_down(self.net.host_of(slot)) {
            return self.sockets.at(slot).endpoint.abort();
        }
        if let Some(receivers) = &mut self.receivers {
            receivers.connect(slot);
        }
        self.with(slot, |endpoint, call| endpoint.connect(call));
    }

    fn add(&mut self, owner: Owner, from: HostId, to: HostId, kind: FlowKind) -> (ConnectionId, [Slot; 2]) {
        self.sockets.give_back(|slot| self.net.lost(slot));
        let (connection, slots) = self.sockets.book.open(owner);
        for (slot, (id, (host, peer))) in slots.into_iter().zip(ends_of(connection, from, to)) {
            self.sockets.ends.put(slot, self.new_socket(id, host, peer));
            self.net.add_endpoint(slot, id, host, peer);
        }
        if let Some(receivers) = &mut self.receivers {
            receivers.open(slots[0], from, &self.net.fabric);
            receivers.open(slots[1], to, &self.net.fabric);
        }
        if let Some(latencies) = &mut self.latencies {
            latencies.classify(slots[0], kind);
        }
        (connection, slots)
    }

    /// A new endpoint at a host, whose peer is at another one.
    pub fn new_socket(&self, id: EndpointId, host: HostId, peer: HostId) -> Socket<T> {
        let uplink = self.net.uplink_to(host, peer, id.peer());
        let settings = self.transport.of(uplink);
        let endpoint = match id.connection().owner() {
            Owner::WORKLOAD => T::new(settings),
            _ => T::new_background(settings),
        };
        Socket::new(endpoint, id, uplink)
    }

    /// A link fails, heals or changes its rate. Flows of hosts with several links leave one that has failed, or return.
    pub fn change(&mut self, number: u32) {
        self.net.change(self.now.0, number);
        if !self.net.fabric.has_one_link_each() {
            let net = &self.net;
            self.sockets.each(|slot, socket| {
                socket.uplink = net.uplink_to(net.host_of(slot), net.host_of(slot.peer()), socket.id.peer());
            });
        }
    }

    /// Establish a persistent connection between two hosts, for flows of a kind.
    pub fn stand(&mut self, owner: Owner, from: HostId, to: HostId, kind: FlowKind) -> ConnectionId {
        let (connection, slots) = self.add(owner, from, to, kind);
        let rtt = self.handshake_time(from, to);
        for (slot, (host, peer)) in slots.into_iter().zip([(from, to), (to, from)]) {
            self.net.count_open(slot, host, peer);
            let down = self.net.is_down(host);
            let Socket { endpoint, uplink, .. } = self.sockets.at(slot);
            match down {
                true => endpoint.abort(),
                false => endpoint.stand(self.transport.of(*uplink), self.now, rtt),
            }
        }
        connection
    }

    /// Minimum time from a SYN to its SYN-ACK.
    fn handshake_time(&self, from: HostId, to: HostId) -> Time {
        let fabric = &self.net.fabric;
        let bytes = self.net.framing.on_wire(T::opening_bytes(self.transport.usual())).into();
        let way = |from, to| fabric.path(from, to).map(|link| link.delay.0 + link.rate.time_for(bytes).0).sum::<u64>();
        Time(way(from, to) + way(to, from))
    }

    /// A host forgets its connections. Packets that arrive afterwards are answered when it returns.
    pub fn crash(&mut self, host: HostId) {
        let net = &self.net;
        self.sockets.each(|slot, socket| {
            let endpoint = &mut socket.endpoint;
            if net.host_of(slot) == host && !matches!(endpoint.phase(), Phase::Listening | Phase::Finished) {
                endpoint.abort();
            }
        });
    }

    /// Minimum time to send `bytes` between two hosts, alone in the network.
    pub fn ideal_time(&self, from: HostId, to: HostId, bytes: u64) -> Time {
        let payload = T::full_payload(self.transport.usual());
        let header = T::header_bytes(self.transport.usual());
        let on_wire = |payload: u32| self.net.framing.on_wire(payload + header);
        ideal::time(&self.net.fabric, from, to, bytes, payload, on_wire)
    }

    /// Set whether an end's application reads incoming data.
    #[cold]
    pub fn reads(&mut self, at: EndpointId, reads: bool) {
        let slot = self.open_slot(at);
        self.with(slot, |endpoint, call| endpoint.reads(call, reads));
    }

    /// Send a message to the other end; returns the number of bytes before it.
    pub fn send(&mut self, from: EndpointId, Message { bytes, meaning, deadline }: Message) -> u64 {
        debug_assert!(bytes > 0, "nothing tells of a message without a last byte");
        let slot = self.open_slot(from);
        self.messages_sent += 1;
        let before = self.sockets.at(slot).written();
        let receiver = self.net.host_of(slot.peer());
        let message = ExpectedMessage { at: slot.peer(), until: before + bytes, meaning };
        match P::PART && self.net.probe.is_away(receiver) {
            true => self.net.probe.hand_over_message(receiver, message),
            false => self.expect(message),
        }
        if slot.is_opener() && self.sockets.at(slot).endpoint.phase() == Phase::Listening {
            self.open(slot);
        }
        self.write(slot, bytes, deadline);
        before
    }

    /// Expect a message.
    pub fn expect(&mut self, ExpectedMessage { at, until, meaning }: ExpectedMessage) {
        self.sockets.at(at).expect(until, meaning);
    }

    /// Send a long-lived flow.
    pub fn send_endlessly(&mut self, from: EndpointId) {
        self.write(self.open_slot(from), ENDLESS, Time::NEVER);
    }

    /// The application at a slot writes more bytes.
    pub fn write(&mut self, slot: Slot, bytes: u64, deadline: Time) {
        self.sockets.at(slot).write(bytes);
        self.before_sending(slot);
        self.with(slot, |endpoint, call| endpoint.write(call, bytes, deadline));
    }

    /// Discard an endpoint's unsent data, and close its sending side.
    pub fn stop(&mut self, at: EndpointId) {
        let slot = self.open_slot(at);
        self.sockets.at(slot).discard_unsent();
        self.close(at);
    }

    /// Closes an endpoint's sending side.
    pub fn close(&mut self, at: EndpointId) {
        self.close_slot(self.open_slot(at));
    }

    /// Closes the sending side of the endpoint in a slot.
    pub fn close_slot(&mut self, slot: Slot) {
        self.with(slot, |endpoint, call| endpoint.close(call));
    }

    /// The slot of an endpoint that has not closed yet.
    fn open_slot(&self, id: EndpointId) -> Slot {
        self.sockets.book.slot(id).unwrap_or_else(|| unreachable!("an end closes before its connection is over"))
    }

    /// The next complete message at an endpoint, for its application.
    pub fn next_message(&mut self, at: Slot) -> Option<Meaning> {
        let message = self.sockets.at(at).take()?;
        self.messages_told += 1;
        Some(message)
    }

    /// Begin the workload.
    pub fn begin(&mut self) {
        self.begun = Some(self.now);
        let Clients { converge_at, round_trip, .. } = &self.net.config().clients;
        if let Some(&host) = converge_at.first() {
            self.net.incasts = Incasts::new(self.net.fabric.downlinks(host), *round_trip);
        }
    }

    /// Tell the probe that all connections are set up and the first round begins.
    pub fn clock_starts(&mut self) {
        self.net.probe.clock_starts(self.now);
    }

    /// Clients wait for responses from now on; a server may need up to `work` for one.
    pub fn await_responses(&mut self, clients: &[HostId], work: Time) {
        let &Clients { round_trip, serve, .. } = &self.net.config().clients;
        self.stalls.waits.wait(self.now, clients, [round_trip, work], serve);
    }

    /// Exclude everything so far from all figures: the workload has delivered `payload`.
    pub fn measure_from_here(&mut self, payload: u64) {
        self.since = MeasurementStart {
            at: self.now,
            payload,
            sums: self.sockets.sums(),
            beside_drops: self.net.beside_drops,
            incasts: self.net.incasts.count,
            delivered_packets: self.net.delivered,
            ports: self.net.links.iter().map(PortSums::of).collect(),
            faults: self.net.met(),
            cards: self.net.card_counts(),
            classes: counts_by_class(&self.net.links, self.net.fabric.link_ids()).collect(),
            pairs: self.pairs().collect(),
        };
        self.net.links.iter_mut().for_each(Link::forget_longest_queue);
        self.net.pauses.forget(self.now);
        if let Some(cards) = &mut self.net.cards {
            cards.forget();
        }
        if let Some(latencies) = &mut self.latencies {
            latencies.forget();
        }
        self.stalls.forget(self.now);
        self.clock_starts();
    }

    /// The host of an endpoint of an open connection, and that of its peer.
    pub fn hosts_of(&self, id: EndpointId) -> [HostId; 2] {
        let slot = self.sockets.book.slot(id).expect("the connection is open");
        [slot, slot.peer()].map(|slot| self.net.host_of(slot))
    }

    /// Counts of each queue pair that sends, if they are measured.
    pub fn pairs(&self) -> impl Iterator<Item = (EndpointId, PairCounts)> {
        let measured = self.config().measures_pairs;
        let both =
            self.sockets.connections().filter(move |_| measured).flat_map(|[one, other]| [[one, other], [other, one]]);
        let sends = both.filter(|[from, _]| from.endpoint.written().total > 0);
        sends.filter_map(|[from, to]| Some((from.id, PairCounts::of(&from.endpoint, &to.endpoint)?)))
    }

    /// Tell the probe that a round or query has ended.
    pub fn round_ended(&mut self, round: u32) {
        self.net.probe.happening(self.now, LoggedEvent::RoundEnd(round));
    }

    /// Call an application after `span`.
    pub fn after(&mut self, span: Time, owner: Owner, what: Meaning) {
        let at = self.now.saturating_add(span);
        self.net.events.push_far(Key::app(at.0, Timer { owner, what }));
    }
}
