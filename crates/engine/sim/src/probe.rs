//! Probes inside a run. An unwatched run pays nothing: its probe is empty and compiled away.

use std::collections::{BTreeMap, BTreeSet};

use fanin_driver::{EndpointId, Owner, Watch};
use fanin_fabric::{Fabric, HostId, LinkId};
use fanin_laws::port::Drop;
use fanin_tables::{EventRow, SampleRow};
use fanin_transport::SendLimit;
use fanin_transport::{Bits, Metadata};
use fanin_units::Time;

use crate::event::ArrivalOrder;
use crate::link::{Link, Why};
use crate::occupancy::Occupancy;
use crate::packet::{CapturedPacket, InFlight};
use crate::pauses::ComingPause;
use crate::places::{Every, Places};
use crate::pools::Memory;
use crate::socket::ExpectedMessage;
use crate::tap::Tap;

/// An event rare enough to record each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoggedEvent {
    /// A port dropped a packet for this endpoint.
    Drop(LinkId, EndpointId, Dropped),
    /// A packet for this endpoint was lost by a fault.
    Loss(LinkId, EndpointId, LostPacket),
    /// An endpoint's retransmission timer fired: the first unacknowledged sequence number.
    Timeout(EndpointId, u32),
    /// An endpoint's tail loss probe timer fired, likewise.
    Probe(EndpointId, u32),
    /// An endpoint entered fast recovery.
    FastRetransmit(EndpointId),
    /// A switch paused a link, or ended the pause, because of the queue of a port.
    Pause { link: LinkId, on: bool, port: LinkId },
    /// A round or query ended.
    RoundEnd(u32),
}

/// A lost packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LostPacket {
    /// Kind of packet, in a word.
    kind: &'static str,
    /// Position in its sender's stream.
    seq: u32,
}

impl LostPacket {
    pub fn of(packet: &InFlight) -> LostPacket {
        let bits = packet.packet.bits;
        let kind = match () {
            _ if bits.any(Bits::OPENS) => "syn",
            _ if packet.has_payload() => "data",
            _ if bits.any(Bits::CLOSES | Bits::BREAKS) => "fin",
            _ => "ack",
        };
        LostPacket { kind, seq: packet.packet.body[0] }
    }
}

/// A packet that a port dropped, the reason, and the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dropped {
    pub packet: LostPacket,
    pub why: Why,
    /// Bytes in the port's queue.
    pub queue: u64,
    /// Its shared memory, if any.
    pub memory: Option<Filled>,
}

impl Dropped {
    fn word(&self) -> &'static str {
        match self.why {
            Why::Law(Drop::Full) => "full",
            Why::Law(Drop::Early) => "early",
            Why::Law(Drop::NotEct) => "not_ect",
            Why::Down => "down",
            Why::Card => "card",
        }
    }
}

/// The largest user of a shared memory, and the memory's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Filled {
    holder: Option<(LinkId, u64)>,
    shared: u64,
}

impl Filled {
    pub fn of(memory: Memory<'_>) -> Filled {
        let most = memory.holders().max_by_key(|&(id, bytes)| (bytes, std::cmp::Reverse(id)));
        Filled { holder: most, shared: memory.shared() }
    }
}

impl LoggedEvent {
    fn endpoint(self) -> Option<EndpointId> {
        match self {
            LoggedEvent::Drop(_, endpoint, _)
            | LoggedEvent::Loss(_, endpoint, _)
            | LoggedEvent::Timeout(endpoint, _)
            | LoggedEvent::Probe(endpoint, _)
            | LoggedEvent::FastRetransmit(endpoint) => Some(endpoint),
            LoggedEvent::Pause { .. } | LoggedEvent::RoundEnd(_) => None,
        }
    }
}

/// Receives events of a run.
pub(crate) trait Probe {
    /// A packet arrived at a port or left it.
    fn port(&mut self, _now: Time, _id: LinkId, _port: &Link) {}
    /// The use of a switch's shared memory changed.
    fn memory(&mut self, _now: Time, _memory: Memory<'_>) {}
    /// A port refused a packet for lack of shared memory.
    fn refused(&mut self, _id: LinkId, _memory: Memory<'_>) {}
    /// Current window of an endpoint.
    fn limit(&mut self, _now: Time, _endpoint: EndpointId, _limit: SendLimit) {}
    /// A packet for an endpoint has crossed a link.
    fn crossed(&mut self, _now: Time, _link: LinkId, _to: EndpointId, _packet: &InFlight, _beside: Metadata<'_>) {}
    /// Any other event.
    fn happening(&mut self, _now: Time, _happening: LoggedEvent) {}
    /// The measured time begins: clocks start here.
    fn clock_starts(&mut self, _now: Time) {}
    /// The run ends.
    fn run_ends(&mut self, _now: Time) {}
    /// Occupancy of ports, if watched.
    fn occupancy(&self) -> Option<&Occupancy> {
        None
    }
    /// The part of the run, and the resolution, that an application should also record.
    fn watch(&self) -> Option<&Watch> {
        None
    }
    /// The recorded samples and events; `host_of` maps an endpoint to its host.
    fn rows(&mut self, _fabric: &Fabric, _host_of: &BTreeMap<EndpointId, HostId>) -> (Vec<SampleRow>, Vec<EventRow>) {
        Default::default()
    }
    /// The packets captured since the last call, by time.
    fn caught(&mut self, _fabric: &Fabric, _host_of: &BTreeMap<EndpointId, HostId>) -> Vec<CapturedPacket> {
        Vec::new()
    }
    /// Whether a link leads to another part of the network, which is simulated separately.
    #[inline(always)]
    fn leads_away(&self, _link: LinkId) -> bool {
        false
    }
    /// Hand a packet to that part: its arrival time and its metadata.
    fn hand_over(&mut self, _link: LinkId, _due: ArrivalOrder, _packet: &InFlight, _beside: Metadata<'_>) {}
    /// Whether a link comes from another part.
    fn comes_from_away(&self, _link: LinkId) -> bool {
        false
    }
    /// Hand a pause to the part at the sending end of its link.
    fn hand_over_pause(&mut self, _pause: ComingPause) {}
    /// Whether a host is in another part.
    fn is_away(&self, _host: HostId) -> bool {
        false
    }
    /// Hand an expected message to its receiver's part.
    fn hand_over_message(&mut self, _host: HostId, _message: ExpectedMessage) {}
    /// Storage of endpoints: at their slots for a joined network.
    type Places: Places;
    /// Whether this is only a part of a network.
    const PART: bool = false;
    /// Whether anything is watched; otherwise data that only a probe uses is not computed.
    const ON: bool;
    /// Whether the run is large enough for prefetching.
    #[inline(always)]
    fn is_large(&self) -> bool {
        false
    }
}

/// Watches nothing, in runs of one size: small ones do not even look whether they are large.
pub(crate) struct NoProbe<const LARGE: bool>;

impl<const LARGE: bool> Probe for NoProbe<LARGE> {
    type Places = Every;
    const ON: bool = false;

    #[inline(always)]
    fn is_large(&self) -> bool {
        LARGE
    }
}

/// Watches nothing, in runs of any size.
pub(crate) struct NoProbeOfAnySize {
    pub is_large: bool,
}

impl Probe for NoProbeOfAnySize {
    type Places = Every;
    const ON: bool = false;

    #[inline(always)]
    fn is_large(&self) -> bool {
        self.is_large
    }
}

/// Quantities at the client's port that are recorded over time. If the client has several, the longest queue counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    /// Its queue.
    Queue,
    /// The queue's limit, if the switch's ports share memory.
    Threshold,
    /// Use of that memory by all ports.
    Memory,
}

impl Level {
    const ALL: [Level; 3] = [Level::Queue, Level::Threshold, Level::Memory];

    fn word(self) -> &'static str {
        match self {
            Level::Queue => "queue",
            Level::Threshold => "threshold",
            Level::Memory => "memory",
        }
    }
}

/// The current step of a level: its maximum (of a threshold, its minimum), and its last value.
#[derive(Clone, Copy, Debug)]
struct Peak {
    step: u64,
    extreme: u64,
    last: u64,
}

/// The current step of a sender's limit, and its value.
#[derive(Clone, Copy, Debug)]
struct Stand {
    step: u64,
    limit: SendLimit,
}

/// Whether an endpoint belongs to background traffic, which is not recorded.
fn is_background(endpoint: EndpointId) -> bool {
    endpoint.connection().owner() > Owner::LONG_FLOWS
}

/// Records the watched data.
pub(crate) struct Recorder {
    watch: Watch,
    /// Start of the first round, where the tables' clock starts.
    began: Time,
    /// The client's ports, and the queue of each.
    client_ports: Vec<(LinkId, u64)>,
    /// By [`Level`].
    levels: [Option<Peak>; 3],
    limits: BTreeMap<EndpointId, Stand>,
    samples: Vec<Sample>,
    happenings: Vec<(Time, LoggedEvent)>,
}

/// One sample, before its names are known.
#[derive(Clone, Copy, Debug)]
enum Sample {
    Level(Time, Level, u64),
    Limit(Time, EndpointId, SendLimit),
}

impl Recorder {
    pub fn new(watch: Watch, client_ports: impl Iterator<Item = LinkId>) -> Recorder {
        let (limits, samples, happenings) = (BTreeMap::new(), Vec::new(), Vec::new());
        let client_ports = client_ports.map(|port| (port, 0)).collect();
        Recorder { watch, began: Time::ZERO, client_ports, levels: [None; 3], limits, samples, happenings }
    }

    /// Names of the client's ports, or of their switches.
    fn names(&self, name: impl Fn(LinkId) -> String) -> String {
        let mut names: Vec<String> = self.client_ports.iter().map(|&(port, _)| name(port)).collect();
        names.dedup();
        names.join(" ")
    }

    fn step_of(&self, now: Time) -> Option<u64> {
        let now = now.since(self.began);
        (self.watch.from <= now && now < self.watch.to).then(|| now.0 / self.watch.step.0.max(1))
    }

    fn time_of(&self, step: u64) -> Time {
        Time(step * self.watch.step.0.max(1))
    }

    /// Write out the series in progress.
    fn finish(&mut self) {
        Level::ALL.into_iter().for_each(|level| self.close(level, None));
        for (endpoint, stand) in std::mem::take(&mut self.limits) {
            self.samples.push(Sample::Limit(self.time_of(stand.step), endpoint, stand.limit));
        }
    }

    /// Rows of a sample; none for an endpoint that is not watched.
    fn sample_rows(
        &self,
        sample: &Sample,
        fabric: &Fabric,
        watched: &dyn Fn(EndpointId) -> bool,
        host: &dyn Fn(EndpointId) -> String,
    ) -> Vec<SampleRow> {
        let row = |time: Time, series: &str, of: String| SampleRow {
            time_ps: time.0,
            series: series.into(),
            of,
            ..SampleRow::default()
        };
        let bytes = |row: SampleRow, bytes: u64| vec![SampleRow { value_bytes: Some(bytes), ..row }];
        match *sample {
            Sample::Level(time, level @ Level::Memory, used) => {
                bytes(row(time, level.word(), self.names(|port| fabric.name(fabric.link(port).from))), used)
            }
            Sample::Level(time, level, queue) => {
                bytes(row(time, level.word(), self.names(|port| fabric.link_name(port))), queue)
            }
            Sample::Limit(_, endpoint, _) if !watched(endpoint) => Vec::new(),
            Sample::Limit(time, endpoint, SendLimit::Window { bytes: window, ssthresh }) => {
                let mut rows = bytes(row(time, "cwnd", host(endpoint)), window);
                rows.extend(ssthresh.into_iter().flat_map(|t| bytes(row(time, "ssthresh", host(endpoint)), t.into())));
                rows
            }
            Sample::Limit(time, endpoint, SendLimit::Credit(credit)) => {
                bytes(row(time, "credit", host(endpoint)), credit)
            }
            Sample::Limit(time, endpoint, SendLimit::Rate(rate)) => {
                vec![SampleRow { rate_bps: Some(rate.0), ..row(time, "rate", host(endpoint)) }]
            }
        }
    }

    /// Set a level from now on.
    fn stand(&mut self, now: Time, level: Level, bytes: u64) {
        let Some(step) = self.step_of(now) else { return };
        match &mut self.levels[level as usize] {
            Some(peak) if peak.step == step => {
                let extreme = if level == Level::Threshold { u64::min } else { u64::max };
                (peak.extreme, peak.last) = (extreme(peak.extreme, bytes), bytes);
            }
            _ => {
                self.close(level, Some(step));
                self.levels[level as usize] = Some(Peak { step, extreme: bytes, last: bytes });
            }
        }
    }

    /// Write out a level's current step, and its value after it if the next changed step is not adjacent: a row is valid until
    /// the next one.
    fn close(&mut self, level: Level, next: Option<u64>) {
        let Some(peak) = self.levels[level as usize].take() else { return };
        self.samples.push(Sample::Level(self.time_of(peak.step), level, peak.extreme));
        let after = self.time_of(peak.step + 1);
        if peak.last != peak.extreme && next != Some(peak.step + 1) && after < self.watch.to {
            self.samples.push(Sample::Level(after, level, peak.last));
        }
    }
}

impl Probe for Recorder {
    type Places = Every;
    const ON: bool = true;

    fn port(&mut self, now: Time, id: LinkId, port: &Link) {
        if let Some((_, queue)) = self.client_ports.iter_mut().find(|(client_port, _)| *client_port == id) {
            *queue = port.queue_bytes();
            let longest = self.client_ports.iter().map(|&(_, queue)| queue).max().unwrap_or(0);
            self.stand(now, Level::Queue, longest);
        }
    }

    fn memory(&mut self, now: Time, memory: Memory<'_>) {
        for at in 0..self.client_ports.len() {
            let (port, _) = self.client_ports[at];
            if memory.is_of(port) {
                self.stand(now, Level::Threshold, memory.threshold(port));
                self.stand(now, Level::Memory, memory.used());
            }
        }
    }

    fn limit(&mut self, now: Time, endpoint: EndpointId, limit: SendLimit) {
        let Some(step) = self.step_of(now).filter(|_| !is_background(endpoint)) else { return };
        let before = self.limits.insert(endpoint, Stand { step, limit });
        if let Some(before) = before.filter(|before| before.step != step) {
            self.samples.push(Sample::Limit(self.time_of(before.step), endpoint, before.limit));
        }
    }

    fn happening(&mut self, now: Time, happening: LoggedEvent) {
        if self.step_of(now).is_some() && !happening.endpoint().is_some_and(is_background) {
            self.happenings.push((now.since(self.began), happening));
        }
    }

    fn watch(&self) -> Option<&Watch> {
        Some(&self.watch)
    }

    fn rows(&mut self, fabric: &Fabric, host_of: &BTreeMap<EndpointId, HostId>) -> (Vec<SampleRow>, Vec<EventRow>) {
        self.finish();
        let host = |endpoint: EndpointId| fabric.name(host_of[&endpoint].node());
        let servers: BTreeSet<u32> = self.watch.servers.iter().copied().collect();
        // Host 0 is the client; servers come after it.
        let watched =
            |endpoint: EndpointId| host_of[&endpoint].0.checked_sub(1).is_some_and(|server| servers.contains(&server));
        let mut samples: Vec<SampleRow> = Vec::new();
        for sample in &self.samples {
            samples.extend(self.sample_rows(sample, fabric, &watched, &host));
        }
        samples.sort_by(|a, b| (a.time_ps, &a.series, &a.of).cmp(&(b.time_ps, &b.series, &b.of)));
        let event = |&(time, happening): &(Time, LoggedEvent)| {
            let row = |what: &str, at| EventRow { time_ps: time.0, what: what.into(), at, ..EventRow::default() };
            let lost = |what, link, to: EndpointId, packet: LostPacket| EventRow {
                of: host(to.peer()),
                to: host(to),
                packet: packet.kind.into(),
                seq: Some(packet.seq.into()),
                ..row(what, fabric.link_name(link))
            };
            let repairs =
                |what, endpoint: EndpointId| EventRow { to: host(endpoint.peer()), ..row(what, host(endpoint)) };
            let fired = |what, endpoint, first: u32| EventRow { seq: Some(first.into()), ..repairs(what, endpoint) };
            match happening {
                LoggedEvent::Drop(link, to, drop) => {
                    let holder = drop.memory.and_then(|memory| memory.holder);
                    EventRow {
                        why: drop.word().into(),
                        queue_bytes: Some(drop.queue),
                        holder: holder.map_or(String::new(), |(id, _)| fabric.link_name(id)),
                        holder_bytes: holder.map(|(_, bytes)| bytes),
                        shared_bytes: drop.memory.map(|memory| memory.shared),
                        ..lost("drop", link, to, drop.packet)
                    }
                }
                LoggedEvent::Loss(link, to, packet) => lost("loss", link, to, packet),
                LoggedEvent::Timeout(endpoint, first) => fired("timeout", endpoint, first),
                LoggedEvent::Probe(endpoint, first) => fired("probe", endpoint, first),
                LoggedEvent::FastRetransmit(endpoint) => repairs("fast_retransmit", endpoint),
                LoggedEvent::Pause { link, on, port } => {
                    let what = if on { "pause" } else { "resume" };
                    EventRow { of: fabric.link_name(port), ..row(what, fabric.link_name(link)) }
                }
                LoggedEvent::RoundEnd(round) => {
                    EventRow { of: round.to_string(), ..row("round_end", fabric.name(HostId::CLIENT.node())) }
                }
            }
        };
        (samples, self.happenings.iter().map(event).collect())
    }

    fn clock_starts(&mut self, now: Time) {
        self.began = now;
        // Samples from the opening of connections count at the start.
        self.levels = [None; 3];
        self.limits.clear();
        self.samples.clear();
        self.happenings.iter_mut().for_each(|(time, _)| *time = Time::ZERO);
    }
}

/// The watchers of a run: one or more.
pub(crate) struct Watchers {
    pub occupancy: Option<Occupancy>,
    pub recorder: Option<Recorder>,
    pub tap: Option<Tap>,
}

impl Probe for Watchers {
    type Places = Every;
    const ON: bool = true;

    fn port(&mut self, now: Time, id: LinkId, port: &Link) {
        if let Some(occupancy) = &mut self.occupancy {
            occupancy.port(now, id, port);
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.port(now, id, port);
        }
    }

    fn memory(&mut self, now: Time, memory: Memory<'_>) {
        if let Some(occupancy) = &mut self.occupancy {
            occupancy.memory(now, memory);
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.memory(now, memory);
        }
    }

    fn refused(&mut self, id: LinkId, memory: Memory<'_>) {
        if let Some(occupancy) = &mut self.occupancy {
            occupancy.refused(id, memory);
        }
    }

    fn limit(&mut self, now: Time, endpoint: EndpointId, limit: SendLimit) {
        if let Some(recorder) = &mut self.recorder {
            recorder.limit(now, endpoint, limit);
        }
    }

    fn crossed(&mut self, now: Time, link: LinkId, to: EndpointId, packet: &InFlight, beside: Metadata<'_>) {
        if let Some(tap) = &mut self.tap {
            tap.crossed(now, link, to, packet, beside);
        }
    }

    fn caught(&mut self, fabric: &Fabric, host_of: &BTreeMap<EndpointId, HostId>) -> Vec<CapturedPacket> {
        self.tap.as_mut().map(|tap| tap.caught(fabric, host_of)).unwrap_or_default()
    }

    fn happening(&mut self, now: Time, happening: LoggedEvent) {
        if let Some(recorder) = &mut self.recorder {
            recorder.happening(now, happening);
        }
    }

    fn clock_starts(&mut self, now: Time) {
        if let Some(occupancy) = &mut self.occupancy {
            occupancy.begin(now);
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.clock_starts(now);
        }
    }

    fn run_ends(&mut self, now: Time) {
        if let Some(occupancy) = &mut self.occupancy {
            occupancy.end(now);
        }
    }

    fn occupancy(&self) -> Option<&Occupancy> {
        self.occupancy.as_ref()
    }

    fn watch(&self) -> Option<&Watch> {
        self.recorder.as_ref().and_then(Probe::watch)
    }

    fn rows(&mut self, fabric: &Fabric, host_of: &BTreeMap<EndpointId, HostId>) -> (Vec<SampleRow>, Vec<EventRow>) {
        self.recorder.as_mut().map_or_else(Default::default, |recorder| recorder.rows(fabric, host_of))
    }
}
