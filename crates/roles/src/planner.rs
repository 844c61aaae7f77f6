//! The planner: it has objects moved from server to server while they are read and written.
//! Source: Wang and Shen, "Proactive Incast Congestion Control in a Datacenter Serving Web Applications" (INFOCOM 2018), section III:
//! an object that is moved leaves a link at its old place. The paper does not say how a write meanwhile, or a crash, is survived.
//!
//! Each move is: a copy to the new place, which keeps it aside; once it says so, a link in place of the old, but only if the old is
//! still what was copied, or else another copy; then the new place takes what it kept aside for the object. At every instant one
//! place has the object, or a link leads to where it is or lies aside, whoever crashes. What is asked of the old place is passed on
//! with the link's version, by which the new place knows that the object is its own, should the planner not have come to say so.
//!
//! Versions grow with each write and each change of hands, so that a late or doubled message is known by its own. A server's
//! [`Shelf`] outlives its crashes; a planner's progress need not: another with the same moves goes on where it was.

use std::collections::BTreeMap;

use fanin_units::Time;

use crate::wire::Node;

/// An object is to be somewhere else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// The object.
    pub object: u64,
    /// Who has it.
    pub from: Node,
    /// Who is to have it.
    pub to: Node,
}

/// What planner and servers say to one another. Each is about an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said<V> {
    /// To the old place: copy it there.
    Copy(Node),
    /// To the new place: keep this aside, and tell the planner.
    Keep {
        /// What it is a copy of.
        version: u64,
        /// It.
        value: V,
        /// Whom to tell.
        planner: Node,
    },
    /// To the planner: that version is kept aside.
    Kept(u64),
    /// To the old place: put a link to there in place of that version.
    Link(u64, Node),
    /// To the planner: in place of that version there is a link to there.
    Linked(u64, Node),
    /// To the new place: what was kept aside of that version is yours.
    Take(u64),
    /// To the planner: it is.
    Taken,
    /// To the planner: there is no such object.
    Nothing,
}

/// Something to be said of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letter<V> {
    /// To whom.
    pub to: Node,
    /// Of which object.
    pub object: u64,
    /// What.
    pub said: Said<V>,
}

/// How far a move is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Copying,
    Linking(u64),
    Taking(u64),
}

/// A planner's state.
#[derive(Clone, Debug)]
pub struct Planner {
    /// Those that have not begun, the next one last.
    later: Vec<Move>,
    at_once: usize,
    patience: Time,
    /// By object: how far its move is, and when it is asked for again.
    under_way: BTreeMap<u64, (Move, Step, Time)>,
}

impl Planner {
    /// One that makes moves in their order, so many at once; it says again what was not answered for a while.
    pub fn new(mut moves: Vec<Move>, at_once: usize, patience: Time) -> Planner {
        moves.reverse();
        Planner { later: moves, at_once, patience, under_way: BTreeMap::new() }
    }

    /// Whether all moves are made.
    pub fn is_done(&self) -> bool {
        self.later.is_empty() && self.under_way.is_empty()
    }

    /// When it wants to be woken; none once it is done.
    pub fn wakes(&self) -> Option<Time> {
        self.under_way.values().map(|(_, _, again)| *again).min()
    }

    /// It begins, or the time has come: what was not answered is said again.
    pub fn wake<V>(&mut self, now: Time, out: &mut Vec<Letter<V>>) {
        let late = self.under_way.values().filter(|(_, _, again)| *again <= now);
        for (of, step, _) in late.copied().collect::<Vec<_>>() {
            self.say(of, step, now, out);
        }
        self.go_on(now, out);
    }

    /// It is told something.
    pub fn told<V>(&mut self, from: Node, object: u64, said: &Said<V>, now: Time, out: &mut Vec<Letter<V>>) {
        let Some((of, step, _)) = self.under_way.get(&object).copied() else { return };
        match (said, step) {
            (Said::Kept(version), Step::Copying) if from == of.to => self.say(of, Step::Linking(*version), now, out),
            (Said::Kept(version), Step::Linking(before)) if from == of.to && *version > before => {
                self.say(of, Step::Linking(*version), now, out);
            }
            (Said::Linked(version, to), Step::Copying | Step::Linking(_)) if from == of.from && *to == of.to => {
                self.say(of, Step::Taking(*version), now, out);
            }
            (Said::Taken, Step::Taking(_)) if from == of.to => self.over(object, now, out),
            // It is not there, or went elsewhere: there is nothing to move.
            (Said::Nothing | Said::Linked(..), Step::Copying | Step::Linking(_)) if from == of.from => {
                self.over(object, now, out);
            }
            _ => {}
        }
    }

    fn over<V>(&mut self, object: u64, now: Time, out: &mut Vec<Letter<V>>) {
        self.under_way.remove(&object);
        self.go_on(now, out);
    }

    /// Begins moves as long as there may be more; one of an object that is under way waits, and all behind it.
    fn go_on<V>(&mut self, now: Time, out: &mut Vec<Letter<V>>) {
        while let Some(of) = self.later.last().copied() {
            if self.under_way.len() >= self.at_once || self.under_way.contains_key(&of.object) {
                return;
            }
            self.later.pop();
            self.say(of, Step::Copying, now, out);
        }
    }

    fn say<V>(&mut self, of: Move, step: Step, now: Time, out: &mut Vec<Letter<V>>) {
        let (to, said) = match step {
            Step::Copying => (of.from, Said::Copy(of.to)),
            Step::Linking(version) => (of.from, Said::Link(version, of.to)),
            Step::Taking(version) => (of.to, Said::Take(version)),
        };
        self.under_way.insert(of.object, (of, step, now.saturating_add(self.patience)));
        out.push(Letter { to, object: of.object, said });
    }
}

/// What a server has of an object.
#[derive(Clone, Debug)]
struct Place<V> {
    /// Its version, and it, where it is here.
    held: Option<(u64, V)>,
    /// A copy that is not yet this server's.
    aside: Option<(u64, V)>,
    /// Where it went, and its version then.
    link: Option<(u64, Node)>,
}

/// Where an object is, as a server knows.
#[derive(Debug, PartialEq, Eq)]
pub enum Found<'a, V> {
    /// Here.
    Here(&'a V),
    /// There, whom to tell the version with which it was handed over.
    There(Node, u64),
    /// Nowhere.
    Nowhere,
}

/// What a server has, all of which outlives a crash.
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
    /// An object is put here first.
    pub fn put(&mut self, object: u64, value: V) {
        self.places.insert(object, Place { held: Some((1, value)), aside: None, link: None });
    }

    /// It is asked for an object, by whom another server passed on with the version of its link, or by anybody.
    pub fn read(&mut self, object: u64, handed: Option<u64>) -> Found<'_, V> {
        let Some(place) = self.places.get_mut(&object) else { return Found::Nowhere };
        handed.into_iter().for_each(|version| place.take(version));
        match (&place.held, place.link) {
            (Some((_, value)), _) => Found::Here(value),
            (None, Some((version, to))) => Found::There(to, version),
            (None, None) => Found::Nowhere,
        }
    }

    /// An object is changed if it is here; where it is.
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

    /// It is told something, of an object: by the planner, or by the server that has it.
    pub fn told(&mut self, from: Node, object: u64, said: Said<V>, out: &mut Vec<Letter<V>>) {
        let mut say = |to, said| out.push(Letter { to, object, said });
        let place = self.places.entry(object).or_insert(Place { held: None, aside: None, link: None });
        match said {
            Said::Link(version, to) if place.held.as_ref().is_some_and(|(held, _)| *held == version) => {
                place.held = None;
                place.link = Some((version, to));
                say(from, Said::Linked(version, to));
            }
            // What was copied is not what there is, or a link already.
            Said::Copy(to) | Said::Link(_, to) => match (&place.held, place.link) {
                (Some((version, value)), _) => {
                    say(to, Said::Keep { version: *version, value: value.clone(), planner: from });
                }
                (None, Some((version, to))) => say(from, Said::Linked(version, to)),
                (None, None) => say(from, Said::Nothing),
            },
            Said::Keep { version, value, planner } => {
                let aside = place.aside.as_ref().map_or(0, |(version, _)| *version);
                if version > place.known() && version >= aside {
                    place.aside = Some((version, value));
                    say(planner, Said::Kept(version));
                }
            }
            Said::Take(version) => {
                place.take(version);
                if place.known() > version {
                    say(from, Said::Taken);
                }
            }
            Said::Kept(_) | Said::Linked(..) | Said::Taken | Said::Nothing => {}
        }
    }
}

impl<V> Place<V> {
    /// The last version of which this place knows that it was its own.
    fn known(&self) -> u64 {
        let held = self.held.as_ref().map_or(0, |(version, _)| *version);
        held.max(self.link.map_or(0, |(version, _)| version))
    }

    /// The old place has a link here: what was kept aside of that version is this place's. It is newer than what is known.
    fn take(&mut self, version: u64) {
        if self.aside.as_ref().is_none_or(|(aside, _)| *aside != version) {
            return;
        }
        self.held = self.aside.take().map(|(version, value)| (version + 1, value));
        self.link = None;
    }
}
