//! Planner: moves objects between servers while they are read and written.
//! Source: Wang and Shen, "Proactive Incast Congestion Control in a Datacenter Serving Web Applications" (INFOCOM 2018), section III:
//! a moved object leaves a link at its old server. The paper does not cover concurrent writes and crashes.
//!
//! A move has three steps. The new server stores a copy aside and confirms it. The old server replaces the object by a link, if the object
//! still equals the copy; otherwise the copy is repeated. The new server then adopts the copy. At every instant one server has the object,
//! or a link leads to the server that has it or its copy, whoever crashes. A request to the old server is forwarded with the link's
//! version, which tells the new server that it owns the object, even before the planner's message.
//!
//! Versions grow with each write and each change of owner, so late and duplicate messages are recognised. A server's [`Shelf`] survives
//! its crashes; a planner's progress need not: another one with the same moves continues.

use std::collections::BTreeMap;

use fanin_units::Time;

use crate::wire::Node;

/// A move of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// The object.
    pub object: u64,
    /// Current server.
    pub from: Node,
    /// New server.
    pub to: Node,
}

/// A message between planner and servers about an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlannerMessage<V> {
    /// To the old server: copy it to that server.
    Copy(Node),
    /// To the new server: keep this copy, and confirm to the planner.
    Keep {
        /// Version of the copy.
        version: u64,
        /// Its value.
        value: V,
        /// The planner.
        planner: Node,
    },
    /// To the planner: the copy of that version is stored.
    Kept(u64),
    /// To the old server: replace that version by a link.
    Link(u64, Node),
    /// To the planner: that version is replaced by a link.
    Linked(u64, Node),
    /// To the new server: adopt the copy of that version.
    Take(u64),
    /// To the planner: adopted.
    Taken,
    /// To the planner: the object does not exist.
    Nothing,
}

/// A message with its destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope<V> {
    /// Destination.
    pub to: Node,
    /// Object.
    pub object: u64,
    /// Message.
    pub body: PlannerMessage<V>,
}

/// Step of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Copying,
    Linking(u64),
    Taking(u64),
}

/// State of a planner.
#[derive(Clone, Debug)]
pub struct Planner {
    /// Moves not started, the next one last.
    later: Vec<Move>,
    at_once: usize,
    timeout: Time,
    /// By object: its move, step, and time of the next retransmission.
    under_way: BTreeMap<u64, (Move, Step, Time)>,
}

impl Planner {
    /// A planner that makes moves in order, up to a number at once, and retransmits after a timeout.
    pub fn new(mut moves: Vec<Move>, at_once: usize, timeout: Time) -> Planner {
        moves.reverse();
        Planner { later: moves, at_once, timeout, under_way: BTreeMap::new() }
    }

    /// Whether all moves are complete.
    pub fn is_done(&self) -> bool {
        self.later.is_empty() && self.under_way.is_empty()
    }

    /// Next wake-up; none if complete.
    pub fn wakes(&self) -> Option<Time> {
        self.under_way.values().map(|(_, _, again)| *again).min()
    }

    /// Starts, or retransmits unanswered messages.
    pub fn wake<V>(&mut self, now: Time, out: &mut Vec<Envelope<V>>) {
        let late = self.under_way.values().filter(|(_, _, again)| *again <= now);
        for (of, step, _) in late.copied().collect::<Vec<_>>() {
            self.say(of, step, now, out);
        }
        self.go_on(now, out);
    }

    /// Handles a message.
    pub fn handle<V>(
        &mut self,
        from: Node,
        object: u64,
        body: &PlannerMessage<V>,
        now: Time,
        out: &mut Vec<Envelope<V>>,
    ) {
        let Some((of, step, _)) = self.under_way.get(&object).copied() else { return };
        match (body, step) {
            (PlannerMessage::Kept(version), Step::Copying) if from == of.to => {
                self.say(of, Step::Linking(*version), now, out)
            }
            (PlannerMessage::Kept(version), Step::Linking(before)) if from == of.to && *version > before => {
                self.say(of, Step::Linking(*version), now, out);
            }
            (PlannerMessage::Linked(version, to), Step::Copying | Step::Linking(_))
                if from == of.from && *to == of.to =>
            {
                self.say(of, Step::Taking(*version), now, out);
            }
            (PlannerMessage::Taken, Step::Taking(_)) if from == of.to => self.over(object, now, out),
            // The object does not exist or went elsewhere: nothing to move.
            (PlannerMessage::Nothing | PlannerMessage::Linked(..), Step::Copying | Step::Linking(_))
                if from == of.from =>
            {
                self.over(object, now, out);
            }
            _ => {}
        }
    }

    fn over<V>(&mut self, object: u64, now: Time, out: &mut Vec<Envelope<V>>) {
        self.under_way.remove(&object);
        self.go_on(now, out);
    }

    /// Starts further moves; a move of an object in progress blocks those after it.
    fn go_on<V>(&mut self, now: Time, out: &mut Vec<Envelope<V>>) {
        while let Some(of) = self.later.last().copied() {
            if self.under_way.len() >= self.at_once || self.under_way.contains_key(&of.object) {
                return;
            }
            self.later.pop();
            self.say(of, Step::Copying, now, out);
        }
    }

    fn say<V>(&mut self, of: Move, step: Step, now: Time, out: &mut Vec<Envelope<V>>) {
        let (to, body) = match step {
            Step::Copying => (of.from, PlannerMessage::Copy(of.to)),
            Step::Linking(version) => (of.from, PlannerMessage::Link(version, of.to)),
            Step::Taking(version) => (of.to, PlannerMessage::Take(version)),
        };
        self.under_way.insert(of.object, (of, step, now.saturating_add(self.timeout)));
        out.push(Envelope { to, object: of.object, body });
    }
}

/// A server's state of an object.
#[derive(Clone, Debug)]
struct Place<V> {
    /// Version and value, if the object is here.
    held: Option<(u64, V)>,
    /// A copy not yet adopted.
    aside: Option<(u64, V)>,
    /// The new server, and the version at the link.
    link: Option<(u64, Node)>,
}

/// Location of an object, as a server knows it.
#[derive(Debug, PartialEq, Eq)]
pub enum Found<'a, V> {
    /// Here.
    Here(&'a V),
    /// On that server, with the version of the link to send there.
    There(Node, u64),
    /// Unknown.
    Nowhere,
}

/// Objects of a server; they survive crashes.
#[derive(Clone, Debug)]
pub struct Shelf<V> {
    places: BTreeMap<u64, Place<V>>,
}

impl<V> Default for Shelf<V> {
    fn default() -> Shelf<V> {
        Shelf { places: BTreeMap::new() }
    }
}

impl<V: Clone> Shelf<V> {
    /// Stores a new object.
    pub fn put(&mut self, object: u64, value: V) {
        self.places.insert(object, Place { held: Some((1, value)), aside: None, link: None });
    }

    /// Reads an object for a direct request, or a forwarded one with its link's version.
    pub fn read(&mut self, object: u64, handed: Option<u64>) -> Found<'_, V> {
        let Some(place) = self.places.get_mut(&object) else { return Found::Nowhere };
        handed.into_iter().for_each(|version| place.take(version));
        match (&place.held, place.link) {
            (Some((_, value)), _) => Found::Here(value),
            (None, Some((version, to))) => Found::There(to, version),
            (None, None) => Found::Nowhere,
        }
    }

    /// Changes an object if it is here; returns its location.
    pub fn write(&mut self, object: u64, handed: Option<u64>, change: impl FnOnce(&mut V)) -> Found<'_, V> {
        if let Some(place) = self.places.get_mut(&object) {
            handed.into_iter().for_each(|version| place.take(version));
            if let Some((version, value)) = &mut place.held {
                *version += 1;
                change(value);
            }
        }
        self.read(object, None)
    }

    /// Handles a message from the planner, or from the server that has the object.
    pub fn handle(&mut self, from: Node, object: u64, body: PlannerMessage<V>, out: &mut Vec<Envelope<V>>) {
        let mut say = |to, body| out.push(Envelope { to, object, body });
        let place = self.places.entry(object).or_insert(Place { held: None, aside: None, link: None });
        match body {
            PlannerMessage::Link(version, to) if place.held.as_ref().is_some_and(|(held, _)| *held == version) => {
                place.held = None;
                place.link = Some((version, to));
                say(from, PlannerMessage::Linked(version, to));
            }
            // The copy is outdated, or there is a link already.
            PlannerMessage::Copy(to) | PlannerMessage::Link(_, to) => match (&place.held, place.link) {
                (Some((version, value)), _) => {
                    say(to, PlannerMessage::Keep { version: *version, value: value.clone(), planner: from });
                }
                (None, Some((version, to))) => say(from, PlannerMessage::Linked(version, to)),
                (None, None) => say(from, PlannerMessage::Nothing),
            },
            PlannerMessage::Keep { version, value, planner } => {
                let aside = place.aside.as_ref().map_or(0, |(version, _)| *version);
                if version > place.known() && version >= aside {
                    place.aside = Some((version, value));
                    say(planner, PlannerMessage::Kept(version));
                }
            }
            PlannerMessage::Take(version) => {
                place.take(version);
                if place.known() > version {
                    say(from, PlannerMessage::Taken);
                }
            }
            PlannerMessage::Kept(_) | PlannerMessage::Linked(..) | PlannerMessage::Taken | PlannerMessage::Nothing => {}
        }
    }
}

impl<V> Place<V> {
    /// The last version that this server is known to have owned.
    fn known(&self) -> u64 {
        let held = self.held.as_ref().map_or(0, |(version, _)| *version);
        held.max(self.link.map_or(0, |(version, _)| version))
    }

    /// Adopts the copy of that version, which the old server has linked to, if it is newer.
    fn take(&mut self, version: u64) {
        if self.aside.as_ref().is_none_or(|(aside, _)| *aside != version) {
            return;
        }
        self.held = self.aside.take().map(|(version, value)| (version + 1, value));
        self.link = None;
    }
}
