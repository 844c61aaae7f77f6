//! A plan that is being carried out: keys that lie at one server and are to lie at another.
//!
//! Until the turn a key's old place has the last word, and the new one has a copy of it at most. Whatever changes a key does so at the
//! old place, and the new one then forgets its copy before the client is answered. A copy is made by who found none: it takes a lease
//! of the new place (memcached's vivifying `mg`), reads the old one, and stores what it read only if nobody has forgotten or written the
//! key since. So no copy is older than the last change that was answered, whatever thread or front end made it. From the turn on the
//! new place has the last word, and the old one forgets first.
//!
//! Stages may stand side by side with their neighbours, and with no others: who is a stage behind does nothing that who is ahead
//! could not bear, and the other way round. `keeper` has all threads go from one to the next.
//! `plan` reads what is to move, `migration` has what one key's business takes, `migrations` does it.

pub mod keeper;
pub mod migration;
mod migrations;
mod moves;
pub mod plan;
pub mod progress;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};

pub use moves::{Moves, Side};

use crate::routing::Router;

/// How far a plan is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// The old place is asked; the new one forgets what is written.
    Begin,
    /// The new place is asked, then the old one, of which a copy is made.
    Move,
    /// The same, and no copies are made any more.
    Copied,
    /// The new place has the last word; the old one forgets what is written.
    Turn,
    /// The old place is not asked any more.
    Over,
}

impl Stage {
    /// Each with its word, in their order.
    pub const WORDS: [(&'static str, Stage); 5] = [
        ("begin", Stage::Begin),
        ("move", Stage::Move),
        ("copied", Stage::Copied),
        ("turn", Stage::Turn),
        ("over", Stage::Over),
    ];

    /// Its word.
    pub fn word(self) -> &'static str {
        Stage::WORDS[self as usize].0
    }

    /// The stage of a word.
    pub fn of_word(word: &str) -> Option<Stage> {
        Stage::WORDS.iter().find(|(known, _)| *known == word).map(|(_, stage)| *stage)
    }

    /// Whether the new place has the last word.
    pub fn is_turned(self) -> bool {
        self >= Stage::Turn
    }
}

/// A plan, and how far it is.
#[derive(Debug)]
pub struct Standing {
    /// What moves.
    pub moves: Arc<Moves>,
    /// How far.
    pub stage: Stage,
}

/// Where a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At this server.
    At(usize),
    /// Between two.
    Moving(Way),
}

impl Place {
    /// The server that has the last word.
    pub fn authority(&self) -> usize {
        match self {
            Place::At(server) => *server,
            Place::Moving(way) => way.authority(),
        }
    }

    /// The server that the key is asked of among many, for its value alone or for more.
    pub fn asked_of(&self, plainly: bool) -> usize {
        match self {
            Place::Moving(way) if plainly => way.read(),
            _ => self.authority(),
        }
    }
}

/// A key's way from one server to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// From here.
    pub old: usize,
    /// To here.
    pub new: usize,
    /// The key's number in the plan.
    pub index: u32,
    /// How far the plan is.
    pub stage: Stage,
}

impl Way {
    /// The server that has the last word.
    pub fn authority(&self) -> usize {
        if self.stage.is_turned() { self.new } else { self.old }
    }

    /// The place that has to be cleared before the key is read or changed there.
    pub fn unclear_side(&self, moves: &Moves) -> Option<Side> {
        let stays = self.old == self.new;
        let side = if stays || !self.stage.is_turned() { Side::Old } else { Side::New };
        (!moves.is_clear(self.index, side)).then_some(side)
    }

    /// Which of its places it is asked of among many, for its value alone or for more.
    pub fn side_asked(&self, plainly: bool) -> Side {
        let asked = if plainly { self.read() } else { self.authority() };
        if asked == self.old { Side::Old } else { Side::New }
    }

    /// The server that many keys are asked of, where nothing is to change and no unique number is wanted.
    pub fn read(&self) -> usize {
        if self.stage == Stage::Begin { self.old } else { self.new }
    }
}

impl Standing {
    /// Where a key is, which lies by its hash if the plan does not have it. One that does not move any more is between two places as
    /// long as the one where it is may hold something old.
    pub fn place(&self, key: &[u8], router: &Router) -> Place {
        match self.named(key, router) {
            None => Place::At(router.server(key)),
            Some(way) if way.stage == Stage::Over && way.unclear_side(&self.moves).is_none() => Place::At(way.new),
            Some(way) => Place::Moving(way),
        }
    }

    /// The way of a key that is between two places, or was when it was asked for, since the one that was asked was not clear.
    pub fn way(&self, key: &[u8], router: &Router, was_unclear: bool) -> Option<Way> {
        let is_between = |way: &Way| way.stage != Stage::Over || way.unclear_side(&self.moves).is_some();
        self.named(key, router).filter(|way| was_unclear || is_between(way))
    }

    /// The way of a key that the plan has.
    fn named(&self, key: &[u8], router: &Router) -> Option<Way> {
        let (index, places) = self.moves.find(key)?;
        let [old, new] = places.map(|server| server.unwrap_or_else(|| router.server(key)));
        Some(Way { old, new, index, stage: if old == new { Stage::Over } else { self.stage } })
    }
}

/// The plans of all pools, as threads are to have them.
#[derive(Debug, Default)]
pub struct Plans {
    /// One a pool, where it has a plan.
    standing: Vec<Option<Mutex<Arc<Standing>>>>,
    /// The stage that each has reached and settled in: nothing of the one before is under way.
    settled: Vec<AtomicUsize>,
    /// Which is another one whenever one of them is.
    edition: AtomicU64,
    /// Plans that were read anew, and such that were not right.
    pub reloads: AtomicU64,
    pub refused: AtomicU64,
}

impl Plans {
    /// Those that a front end begins with.
    pub fn new(standing: impl Iterator<Item = Option<Arc<Standing>>>) -> Plans {
        let standing: Vec<_> = standing.map(|one| one.map(Mutex::new)).collect();
        let some = standing.iter().any(Option::is_some);
        let settled = standing.iter().map(|_| AtomicUsize::new(0)).collect();
        Plans { standing, settled, edition: AtomicU64::new(u64::from(some)), ..Plans::default() }
    }

    /// Which edition this is: none where there are no plans.
    pub fn edition(&self) -> u64 {
        self.edition.load(SeqCst)
    }

    /// A pool's.
    pub fn of(&self, pool: usize) -> Option<Arc<Standing>> {
        let standing = self.standing.get(pool)?.as_ref()?;
        Some(standing.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    /// All threads are to have this from now on.
    pub fn publish(&self, pool: usize, standing: Arc<Standing>) {
        if let Some(Some(there)) = self.standing.get(pool) {
            *there.lock().unwrap_or_else(PoisonError::into_inner) = standing;
            self.edition.fetch_add(1, SeqCst);
        }
    }

    /// Nothing of a stage before this one is under way any more.
    pub fn settle(&self, pool: usize, stage: Stage) {
        self.settled[pool].store(stage as usize, SeqCst);
    }

    /// The stage that a pool's plan has settled in.
    pub fn settled(&self, pool: usize) -> Stage {
        Stage::WORDS[self.settled[pool].load(SeqCst)].1
    }

    /// Counts a plan that was read anew, or one that was not right.
    pub fn has_read(&self, right: bool) {
        let counter = if right { &self.reloads } else { &self.refused };
        counter.fetch_add(1, Relaxed);
    }
}
