//! Front ends of a hub: memory of their requests, shares of the link, and turns of those that have queued objects.

use std::collections::{BTreeMap, BTreeSet};

use fanin_units::Rate;

use super::gathering::{Gathering, Key};
use super::params::Limits;
use crate::wire::{Node, Part};

/// Open requests of a front end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Held {
    pub requests: u32,
    /// Memory of the requests and their objects.
    pub state: u64,
    /// Memory of responses that wait to be sent.
    pub waiting: u64,
    /// Requests with such responses.
    pub busy: u32,
}

/// A front end.
#[derive(Clone, Debug, Default)]
struct FrontEnd {
    held: Held,
    /// Requests with queued objects, by their turns.
    hungry: BTreeMap<u64, Key>,
    turn: Turn,
}

/// When a front end's next object is requested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Turn {
    /// Nothing is queued.
    #[default]
    None,
    /// After all front ends with lower numbers.
    At(u64),
    /// When there is room for its responses.
    Blocked,
}

/// The front ends. Without limits, all requests are as those of one, in the order of their first queued objects.
#[derive(Clone, Debug)]
pub struct FrontEnds {
    limits: Option<Limits>,
    by_node: BTreeMap<Node, FrontEnd>,
    /// Sum over all.
    all: Held,
    /// Number of front ends that responses wait for.
    busy: u64,
    /// Front ends by their turns; and those without room, by the memory of their responses.
    order: BTreeMap<u64, Node>,
    blocked: BTreeSet<(u64, Node)>,
    next: u64,
}

impl FrontEnds {
    pub fn new(limits: Option<Limits>) -> FrontEnds {
        FrontEnds {
            limits,
            by_node: BTreeMap::new(),
            all: Held::default(),
            busy: 0,
            order: BTreeMap::new(),
            blocked: BTreeSet::new(),
            next: 0,
        }
    }

    /// Memory of all requests, and of one front end's.
    pub fn memory(&self) -> u64 {
        self.all.state + self.all.waiting
    }

    pub fn memory_of(&self, node: Node) -> u64 {
        self.by_node.get(&node).map_or(0, |its| its.held.state + its.held.waiting)
    }

    /// Takes requests and their memory, if the front end may have more: no more than is free, so that one leaves memory for others.
    pub fn take(&mut self, node: Node, requests: u32, state: u64) -> bool {
        let Some(limits) = self.limits else { return true };
        let its = self.by_node.get(&node).map_or(Held::default(), |its| its.held);
        let fits = its.requests + requests <= limits.requests.saturating_sub(self.all.requests)
            && its.state + state <= limits.state.0.saturating_sub(self.all.state);
        if fits {
            for held in [&mut self.by_node.entry(node).or_default().held, &mut self.all] {
                (held.requests, held.state) = (held.requests + requests, held.state + state);
            }
        }
        fits
    }

    /// A request is over.
    pub fn release<K: Part + Clone, V: Part>(&mut self, gathering: &mut Gathering<K, V>) {
        if self.limits.is_none() {
            return;
        }
        let node = gathering.tag.origin;
        gathering.drop_waiting();
        self.count(gathering);
        let Some(its) = self.by_node.get_mut(&node) else { return };
        for held in [&mut its.held, &mut self.all] {
            (held.requests, held.state) = (held.requests - 1, held.state - gathering.state);
        }
        if let Some(turn) = gathering.hungry {
            its.hungry.remove(&turn);
        }
        if its.held.requests == 0 {
            match its.turn {
                Turn::None => {}
                Turn::At(turn) => {
                    self.order.remove(&turn);
                }
                Turn::Blocked => {
                    self.blocked.remove(&(its.held.waiting, node));
                }
            }
            self.by_node.remove(&node);
        }
    }

    /// Counts the responses of a request that wait now. Front ends have turns again for which there is room.
    pub fn count<K: Part + Clone, V: Part>(&mut self, gathering: &mut Gathering<K, V>) {
        let Some(limits) = self.limits else { return };
        let now = gathering.waiting_memory();
        let before = std::mem::replace(&mut gathering.counted, now);
        let Some(its) = self.by_node.get_mut(&gathering.tag.origin).filter(|_| before != now) else { return };
        let (was_busy, had) = (its.held.busy > 0, its.held.waiting);
        for held in [&mut its.held, &mut self.all] {
            held.waiting = held.waiting + now - before;
            held.busy = held.busy + u32::from(now > 0) - u32::from(before > 0);
        }
        self.busy = self.busy + u64::from(its.held.busy > 0) - u64::from(was_busy);
        if its.turn == Turn::Blocked {
            self.blocked.remove(&(had, gathering.tag.origin));
            self.blocked.insert((its.held.waiting, gathering.tag.origin));
        }
        let free = limits.waiting.0.saturating_sub(self.all.waiting);
        while self.blocked.first().is_some_and(|(waiting, _)| *waiting <= free)
            && let Some((_, node)) = self.blocked.pop_first()
        {
            self.set_turn(node);
        }
    }

    /// A front end's turn is after all others'.
    fn set_turn(&mut self, node: Node) {
        let turn = self.next();
        self.by_node.entry(node).or_default().turn = Turn::At(turn);
        self.order.insert(turn, node);
    }

    /// The next number of a turn.
    fn next(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Whether this much more may wait for a front end: no more than is free, so that one that does not read leaves room for others.
    pub fn has_room(&self, node: Node, more: u64) -> bool {
        let Some(limits) = self.limits else { return true };
        let its = self.by_node.get(&node).map_or(0, |its| its.held.waiting);
        its + more <= limits.waiting.0.saturating_sub(self.all.waiting)
    }

    /// Share of the link that a request of a front end has, if the link is limited: front ends that responses wait for have equal shares,
    /// and so have their requests.
    pub fn share(&self, node: Node) -> Option<Rate> {
        let its = self.by_node.get(&node).map_or(0, |its| its.held.busy);
        self.limits.map(|limits| Rate(limits.link.0 / (self.busy.max(1) * u64::from(its.max(1)))))
    }

    /// Whose turns a request has.
    fn lane(&self, key: Key) -> Node {
        if self.limits.is_some() { key.0 } else { Node(0) }
    }

    /// A request has queued objects: it has a turn after the others of its front end. Returns its number.
    pub fn line_up(&mut self, key: Key) -> u64 {
        let (lane, turn) = (self.lane(key), self.next());
        let its = self.by_node.entry(lane).or_default();
        its.hungry.insert(turn, key);
        if its.turn == Turn::None {
            self.set_turn(lane);
        }
        turn
    }

    /// The request whose turn it is.
    pub fn turn(&mut self) -> Option<Key> {
        while let Some((_, &node)) = self.order.first_key_value() {
            let has_room = self.has_room(node, 0);
            let its = self.by_node.entry(node).or_default();
            match its.hungry.first_key_value() {
                Some((_, key)) if has_room => return Some(*key),
                Some(_) => {
                    its.turn = Turn::Blocked;
                    self.blocked.insert((its.held.waiting, node));
                }
                None => its.turn = Turn::None,
            }
            self.order.pop_first();
        }
        None
    }

    /// That request has no queued objects.
    pub fn leave(&mut self) {
        let its = self.order.first_key_value().and_then(|(_, node)| self.by_node.get_mut(node));
        if let Some(its) = its {
            its.hungry.pop_first();
        }
    }

    /// An object of that request was requested. With limits, it is the next front end's turn, and then that of this front end's next
    /// request. Returns the number of the request's next turn.
    pub fn pass_turn(&mut self) -> Option<u64> {
        self.limits?;
        let (_, node) = self.order.pop_first()?;
        self.set_turn(node);
        let turn = self.next();
        let its = self.by_node.get_mut(&node)?;
        let (_, key) = its.hungry.pop_first()?;
        its.hungry.insert(turn, key);
        Some(turn)
    }

    /// No request is open.
    pub fn clear(&mut self) {
        self.order.clear();
        self.by_node.clear();
    }
}
