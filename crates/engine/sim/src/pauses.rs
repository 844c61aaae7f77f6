//! Priority flow control of a network's switches.

use std::collections::{BTreeMap, BTreeSet};

use fanin_fabric::{Fabric, LinkId, NodeId};
use fanin_laws::pfc::{Held, Memory};
use fanin_laws::scheduler::CLASSES;
use fanin_tables::{DeadlockRow, PauseRow};
use fanin_transport::Class;
use fanin_units::Time;

use crate::event::PauseFrame;
use crate::flow_control::FlowControl;
use crate::link::{Link, Queued};

/// The memories of a network's switches, and the packets of each link into them, by lossless class. Packets of other classes are never
/// paused, and take no memory here.
pub struct Pauses {
    memories: Vec<Memory>,
    drains_within: Time,
    /// By class: its place among the parts of a link; `None` for a class that is not lossless.
    places: [Option<usize>; CLASSES],
    /// Parts of a link.
    parts: usize,
    /// By link and part: the memory's number, and the part; none for links to hosts.
    links: Vec<Option<(usize, Held)>>,
}

impl Pauses {
    /// One part for each link, of all classes but the highest, whose packets are few.
    pub const ALL_BUT_HIGHEST: [Option<usize>; CLASSES] = {
        let mut places = [Some(0); CLASSES];
        places[Class::HIGHEST.number() as usize] = None;
        places
    };

    /// Those of a network whose switches have these memories, divided among the links into them. Each link has as many parts as `places`
    /// names, one after another. A port that is not paused sends all that its switch can hold within `drains_within`.
    pub fn new(
        fabric: &Fabric,
        places: [Option<usize>; CLASSES],
        memory: impl Fn(NodeId) -> (Memory, Vec<(LinkId, Held)>),
        drains_within: Time,
    ) -> Pauses {
        let parts = places.iter().flatten().max().map_or(1, |last| last + 1);
        let (mut memories, mut links) = (Vec::new(), vec![None; fabric.links().len() * parts]);
        for (memory, held) in fabric.switches().map(memory) {
            for (&(id, held), part) in held.iter().zip((0..parts).cycle()) {
                links[id.index() * parts + part] = Some((memories.len(), held));
            }
            memories.push(memory);
        }
        Pauses { memories, drains_within, places, parts, links }
    }

    /// Place of the part that holds a packet; `None` if its class is not lossless.
    fn part(&self, packet: Queued) -> Option<usize> {
        Some(packet.came_by.index() * self.parts + self.places[usize::from(packet.class) % CLASSES]?)
    }
}

impl FlowControl for Pauses {
    fn drains_within(&self) -> Time {
        self.drains_within
    }

    fn admits(&self, packet: Queued) -> bool {
        let part = self.part(packet).and_then(|part| self.links[part].as_ref());
        part.is_none_or(|(number, held)| self.memories[*number].admits(held, packet.bytes.into()))
    }

    fn queued(&mut self, packet: Queued) -> Option<PauseFrame> {
        let part = self.part(packet)?;
        let (number, held) = self.links[part].as_mut()?;
        let pauses = self.memories[*number].queued(held, packet.bytes.into());
        pauses.then_some(PauseFrame { class: packet.class, on: true })
    }

    fn left(&mut self, packet: Queued) -> Option<PauseFrame> {
        let part = self.part(packet)?;
        let (number, held) = self.links[part].as_mut()?;
        let resumes = self.memories[*number].left(held, packet.bytes.into());
        resumes.then_some(PauseFrame { class: packet.class, on: false })
    }
}

/// Pauses of a run: which links' sending ends were paused, and the ports whose queues caused it.
#[derive(Default)]
pub(crate) struct PauseLog {
    /// The longest that a port that is not paused takes to send all that its switch can hold.
    drains_within: Time,
    /// By link and class.
    open: BTreeMap<(LinkId, u8), OpenPause>,
    /// By link, class and port.
    sums: BTreeMap<(LinkId, u8, LinkId), Sum>,
}

/// A pause that has not ended.
#[derive(Clone, Copy)]
struct OpenPause {
    since: Time,
    /// The port whose queue caused it.
    port: LinkId,
}

#[derive(Clone, Copy, Default)]
struct Sum {
    pauses: u64,
    time: Time,
    longest: Time,
    spread: u64,
    blocked: u64,
}

impl PauseLog {
    /// Of a network whose ports send all that a switch can hold within this time.
    pub fn new(drains_within: Time) -> PauseLog {
        PauseLog { drains_within, ..PauseLog::default() }
    }

    /// A switch pauses a link because of a packet in a port's queue, or ends a pause; returns the port that caused one that ends.
    pub fn note(
        &mut self,
        now: Time,
        link: LinkId,
        PauseFrame { class, on }: PauseFrame,
        port: LinkId,
    ) -> Option<LinkId> {
        if on {
            let spreads = self.open.contains_key(&(port, class));
            self.open.insert((link, class), OpenPause { since: now, port });
            let sum = self.sums.entry((link, class, port)).or_default();
            (sum.pauses, sum.spread) = (sum.pauses + 1, sum.spread + u64::from(spreads));
            return None;
        }
        let open = self.open.remove(&(link, class))?;
        self.close(link, class, open, now);
        Some(open.port)
    }

    /// A pause has blocked packets on their way to other ports than its cause.
    pub fn blocks(&mut self, link: LinkId, class: u8, cause: LinkId, packets: u64) {
        self.sums.entry((link, class, cause)).or_default().blocked += packets;
    }

    fn close(&mut self, link: LinkId, class: u8, open: OpenPause, now: Time) {
        let (sum, took) = (self.sums.entry((link, class, open.port)).or_default(), now.since(open.since));
        (sum.time, sum.longest) = (sum.time + took, sum.longest.max(took));
    }

    /// Forget all pauses before now.
    pub fn forget(&mut self, now: Time) {
        self.sums.clear();
        self.open.values_mut().for_each(|open| open.since = now);
    }

    /// Cycles of links that have waited for one another for longer than a port takes to send all that its switch can hold: packets of
    /// each wait for the next one, and only packets that wait for a paused port keep a link paused for that long.
    pub fn deadlocks(&self, now: Time, measured_from: Time, fabric: &Fabric, links: &[Link]) -> Vec<DeadlockRow> {
        let is_stuck =
            |of: &(LinkId, u8)| self.open.get(of).is_some_and(|open| now.since(open.since) > self.drains_within);
        let mut waits: BTreeMap<(LinkId, u8), BTreeSet<(LinkId, u8)>> = BTreeMap::new();
        for port in fabric.link_ids().filter(|_| !self.open.is_empty()) {
            let held =
                links[port.index()].queued().map(|Queued { came_by, class, .. }| ((came_by, class), (port, class)));
            for (link, port) in held.filter(|(link, port)| is_stuck(link) && is_stuck(port)) {
                waits.entry(link).or_default().insert(port);
            }
        }
        // Links that wait only for links that wait for nothing resume in the end.
        loop {
            let all: BTreeSet<(LinkId, u8)> = waits.keys().copied().collect();
            waits.retain(|_, nexts| nexts.iter().any(|next| all.contains(next)));
            if waits.len() == all.len() {
                break;
            }
        }
        let (mut seen, mut rows) = (BTreeSet::new(), Vec::new());
        for &first in waits.keys() {
            // From each link to one that it waits for, until that was seen.
            let mut path: Vec<(LinkId, u8)> = Vec::new();
            let mut at = Some(first);
            while let Some(link) = at.filter(|link| seen.insert(*link)) {
                path.push(link);
                at = waits[&link].iter().find(|next| waits.contains_key(next)).copied();
            }
            let begins = at.and_then(|last| path.iter().position(|&link| link == last));
            let Some(cycle) = begins.map(|begins| &path[begins..]) else { continue };
            let since = cycle.iter().map(|link| self.open[link].since).max().unwrap_or(now);
            let names: Vec<String> = cycle.iter().map(|&(link, _)| fabric.link_name(link)).collect();
            let class = first.1.into();
            rows.push(DeadlockRow { class, ports: names.join(" "), since_ps: since.since(measured_from).0 });
        }
        rows
    }

    /// How often a class of a link has been paused until now, and for how long.
    pub fn of_class(&self, now: Time, link: LinkId, class: u8) -> (u64, Time) {
        let all = self.sums.range((link, class, LinkId(0))..=(link, class, LinkId(u32::MAX)));
        let open = self.open.get(&(link, class)).map_or(Time::ZERO, |open| now.since(open.since));
        all.fold((0, open), |(pauses, time), (_, sum)| (pauses + sum.pauses, time + sum.time))
    }

    /// Rows of a run that ends now.
    pub fn rows(&self, now: Time, fabric: &Fabric) -> Vec<PauseRow> {
        let mut all = PauseLog { sums: self.sums.clone(), ..PauseLog::default() };
        self.open.iter().for_each(|(&(link, class), &open)| all.close(link, class, open, now));
        let row = |(&(link, class, port), sum): (&(LinkId, u8, LinkId), &Sum)| PauseRow {
            port: fabric.link_name(link),
            class: class.into(),
            cause: fabric.link_name(port),
            pauses: sum.pauses,
            paused_ps: sum.time.0,
            longest_ps: sum.longest.0,
            spread: sum.spread,
            blocked_packets: sum.blocked,
        };
        all.sums.iter().map(row).collect()
    }
}
