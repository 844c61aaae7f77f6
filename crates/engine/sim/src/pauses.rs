//! Priority flow control of a network's switches.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use fanin_fabric::{Fabric, LinkId, NodeId};
use fanin_laws::pfc::{Held, Memory};
use fanin_laws::scheduler::CLASSES;
use fanin_tables::{DeadlockRow, PauseRow};
use fanin_transport::Class;
use fanin_units::Time;

use crate::event::{Key, PauseFrame};
use crate::flow_control::FlowControl;
use crate::link::{Link, Queued};

/// The memories of a network's switches, and the packets of each link into them, by lossless class. Packets of other classes are never
/// paused, and take no memory here.
#[derive(Clone)]
pub struct Pauses {
    memories: Vec<(NodeId, Memory)>,
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
        of_switches: impl Iterator<Item = (NodeId, Memory, Vec<(LinkId, Held)>)>,
        drains_within: Time,
    ) -> Pauses {
        let parts = places.iter().flatten().max().map_or(1, |last| last + 1);
        let (mut memories, mut links) = (Vec::new(), vec![None; fabric.links().len() * parts]);
        for (switch, memory, held) in of_switches {
            for (&(id, held), part) in held.iter().zip((0..parts).cycle()) {
                links[id.index() * parts + part] = Some((memories.len(), held));
            }
            memories.push((switch, memory));
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
        part.is_none_or(|(number, held)| self.memories[*number].1.admits(held, packet.bytes.into()))
    }

    fn queued(&mut self, packet: Queued) -> Option<PauseFrame> {
        let part = self.part(packet)?;
        let (number, held) = self.links[part].as_mut()?;
        let pauses = self.memories[*number].1.queued(held, packet.bytes.into());
        pauses.then_some(PauseFrame { class: packet.class, on: true })
    }

    fn left(&mut self, packet: Queued) -> Option<PauseFrame> {
        let part = self.part(packet)?;
        let (number, held) = self.links[part].as_mut()?;
        let resumes = self.memories[*number].1.left(held, packet.bytes.into());
        resumes.then_some(PauseFrame { class: packet.class, on: false })
    }

    fn copy(&self) -> Box<dyn FlowControl> {
        Box::new(self.clone())
    }

    fn take_over(&mut self, copy: Box<dyn FlowControl>, own: &dyn Fn(NodeId) -> bool) {
        let copy: Box<dyn Any> = copy;
        let Ok(copy) = copy.downcast::<Pauses>() else { unreachable!("a copy is of its own kind") };
        for (part, other) in self.links.iter_mut().zip(copy.links) {
            if other.as_ref().is_some_and(|(number, _)| own(copy.memories[*number].0)) {
                *part = other;
            }
        }
        for (memory, other) in self.memories.iter_mut().zip(copy.memories).filter(|(memory, _)| own(memory.0)) {
            *memory = other;
        }
    }
}

/// A pause, or the end of one that a port caused, on its way to the sending end of a link.
#[derive(Clone, Copy)]
pub(crate) struct ComingPause {
    pub key: Key,
    pub link: LinkId,
    pub frame: PauseFrame,
    /// The port that caused a pause that ends.
    pub cause: Option<LinkId>,
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
    /// By link and class: the ports that caused pauses whose ends are on their way to the link's sending end.
    ending: BTreeMap<(LinkId, u8), VecDeque<LinkId>>,
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

    /// A switch pauses a link because of a packet in a port's queue, which may be paused itself, or ends a pause; returns the port that
    /// caused one that ends.
    pub fn note(
        &mut self,
        now: Time,
        link: LinkId,
        PauseFrame { class, on }: PauseFrame,
        port: (LinkId, bool),
    ) -> Option<LinkId> {
        let (port, spreads) = port;
        if on {
            self.open.insert((link, class), OpenPause { since: now, port });
            let sum = self.sums.entry((link, class, port)).or_default();
            (sum.pauses, sum.spread) = (sum.pauses + 1, sum.spread + u64::from(spreads));
            return None;
        }
        let open = self.open.remove(&(link, class))?;
        self.close(link, class, open, now);
        Some(open.port)
    }

    /// The end of a pause that a port caused is on its way to a link's sending end.
    pub fn ends(&mut self, link: LinkId, class: u8, cause: LinkId) {
        self.ending.entry((link, class)).or_default().push_back(cause);
    }

    /// It has arrived there: the port that caused the pause.
    pub fn ended(&mut self, link: LinkId, class: u8) -> Option<LinkId> {
        self.ending.get_mut(&(link, class))?.pop_front()
    }

    /// Move the pauses of a part of the network there: links whose far end `receives`, and whose sending end `sends`.
    pub fn cut(&mut self, receives: impl Fn(LinkId) -> bool, sends: impl Fn(LinkId) -> bool) -> PauseLog {
        PauseLog {
            drains_within: self.drains_within,
            open: self.open.extract_if(.., |(link, _), _| receives(*link)).collect(),
            sums: BTreeMap::new(),
            ending: self.ending.extract_if(.., |(link, _), _| sends(*link)).collect(),
        }
    }

    /// Take back a part's pauses.
    pub fn join(&mut self, part: PauseLog) {
        self.open.extend(part.open);
        self.ending.extend(part.ending);
        for (of, sum) in part.sums {
            let all = self.sums.entry(of).or_default();
            *all = Sum {
                pauses: all.pauses + sum.pauses,
                time: all.time + sum.time,
                longest: all.longest.max(sum.longest),
                spread: all.spread + sum.spread,
                blocked: all.blocked + sum.blocked,
            };
        }
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
            tier: fabric.tier(link).into(),
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
