//! Migration of keys between servers, as a placement plan requests.
//!
//! Until cutover the old server of a key is authoritative, and the new one has at most a copy. A change goes to the old server; before
//! the client gets the response, the new server deletes its copy. A client request that misses at the new server makes the copy: it takes
//! a lease there (memcached's vivifying `mg`), reads the old server, and stores the value only if the key has not been deleted or
//! written meanwhile. So no copy is older than the last acknowledged change, whichever thread or front end made it. From cutover on the
//! new server is authoritative, and the old one deletes first.
//!
//! Front ends and threads in neighbouring stages are compatible; all others are not. `running/coordinator.rs`
//! moves all threads to the next stage. `plan` reads the table, `front/key_migration.rs` has the state of one key's migration, and
//! `front/moving.rs` performs it. `unread` has the keys that no client reads. `rollout` is the planner's side.

pub mod moves;
pub mod plan;
pub mod progress;
pub mod rollout;
pub mod unread;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use moves::{Homes, Moves, Side};

use fanin_proxy_routing::Router;

/// Lifetime of a lease at the new server, in seconds.
pub const LEASE: u32 = 3;

/// Stage of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Read and write at the old server; the new one deletes written keys.
    Begin,
    /// Read from the new server, then from the old one, and make a copy.
    Move,
    /// The same, without new copies.
    Copied,
    /// The new server is authoritative; the old one deletes written keys.
    Turn,
    /// The old server is not used any more.
    Over,
}

impl Stage {
    /// Each stage and its name, in order.
    pub const WORDS: [(&'static str, Stage); 5] = [
        ("begin", Stage::Begin),
        ("move", Stage::Move),
        ("copied", Stage::Copied),
        ("turn", Stage::Turn),
        ("over", Stage::Over),
    ];

    /// Its name.
    pub fn word(self) -> &'static str {
        Stage::WORDS[self as usize].0
    }

    /// The stage with this name.
    pub fn of_word(word: &str) -> Option<Stage> {
        Stage::WORDS.iter().find(|(known, _)| *known == word).map(|(_, stage)| *stage)
    }

    /// Whether the new server is authoritative.
    pub fn is_turned(self) -> bool {
        self >= Stage::Turn
    }
}

/// State of a migration: a plan and its stage.
#[derive(Debug)]
pub struct MigrationState {
    /// Table of moves.
    pub moves: Arc<Moves>,
    /// Current stage.
    pub stage: Stage,
}

/// Location of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location {
    /// On this server.
    At(usize),
    /// Between two servers.
    Moving(KeyMove),
}

impl Location {
    /// The authoritative server.
    pub fn authority(&self) -> usize {
        match self {
            Location::At(server) => *server,
            Location::Moving(key_move) => key_move.authority(),
        }
    }

    /// The server to ask for the key in a multiget, for its value alone (`plainly`) or for more.
    pub fn asked_of(&self, plainly: bool) -> usize {
        match self {
            Location::Moving(key_move) if plainly => key_move.read(),
            _ => self.authority(),
        }
    }
}

/// Move of a key from one server to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyMove {
    /// The old server.
    pub old: usize,
    /// The new server.
    pub new: usize,
    /// The key's index in the plan.
    pub index: u32,
    /// Stage of the plan.
    pub stage: Stage,
}

impl KeyMove {
    /// Between the primary and a copy of a key with replicas, which may be made or not.
    pub fn between_replicas(primary: usize, copy: usize, copies: bool) -> KeyMove {
        let stage = if copies { Stage::Move } else { Stage::Copied };
        KeyMove { old: primary, new: copy, index: u32::MAX, stage }
    }

    /// Whether it is one between replicas.
    pub fn is_between_replicas(&self) -> bool {
        self.index == u32::MAX
    }

    /// The authoritative server.
    pub fn authority(&self) -> usize {
        if self.stage.is_turned() { self.new } else { self.old }
    }

    /// The side to clear before the key is read or changed there.
    pub fn unclear_side(&self, moves: &Moves) -> Option<Side> {
        let stays = self.old == self.new;
        let side = if stays || !self.stage.is_turned() { Side::Old } else { Side::New };
        (!moves.is_clear(self.index, side)).then_some(side)
    }

    /// The side to ask in a multiget, for the value alone (`plainly`) or for more.
    pub fn side_asked(&self, plainly: bool) -> Side {
        let asked = if plainly { self.read() } else { self.authority() };
        if asked == self.old { Side::Old } else { Side::New }
    }

    /// The server for reads of values without CAS unique.
    pub fn read(&self) -> usize {
        if self.stage == Stage::Begin { self.old } else { self.new }
    }
}

impl MigrationState {
    /// Location of a key: by its hash, unless the plan names it. A key that has moved counts as moving until its server is known to be
    /// clear.
    pub fn place(&self, key: &[u8], router: &Router) -> Location {
        match self.named(key, router) {
            None => Location::At(router.server(key)),
            Some(key_move) if key_move.stage == Stage::Over && key_move.unclear_side(&self.moves).is_none() => {
                Location::At(key_move.new)
            }
            Some(key_move) => Location::Moving(key_move),
        }
    }

    /// The move of a key that is moving, or was when it was requested because the server was not clear.
    pub fn key_move(&self, key: &[u8], router: &Router, was_unclear: bool) -> Option<KeyMove> {
        let is_between =
            |key_move: &KeyMove| key_move.stage != Stage::Over || key_move.unclear_side(&self.moves).is_some();
        self.named(key, router).filter(|key_move| was_unclear || is_between(key_move))
    }

    /// The servers of a key with replicas that the plan names.
    pub fn replicas_of(&self, key: &[u8], router: &Router) -> Option<ReplicaMove> {
        let (index, places) = self.moves.find(key)?;
        let [old, new] = places.map(|homes| match homes.servers() {
            Some(mut servers) => {
                router.rank(key, &mut servers);
                servers
            }
            None => router.first_servers(key, self.moves.replicas()),
        });
        let stays = places[0] == places[1];
        let is_clear =
            [Side::Old, Side::New].map(|side| self.moves.is_clear(index, side) || stays && side == Side::New);
        Some(ReplicaMove { old, new, index, stage: if stays { Stage::Over } else { self.stage }, is_clear })
    }

    /// The move of a key that the plan names.
    fn named(&self, key: &[u8], router: &Router) -> Option<KeyMove> {
        let (index, places) = self.moves.find(key)?;
        let [old, new] = places.map(|homes| homes.server().unwrap_or_else(|| router.server(key)));
        Some(KeyMove { old, new, index, stage: if old == new { Stage::Over } else { self.stage } })
    }
}

/// Move of a key with replicas from some servers to others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaMove {
    /// The old servers, the first of which is the primary if all are in use.
    pub old: Vec<usize>,
    /// The new servers.
    pub new: Vec<usize>,
    /// The key's index in the plan.
    pub index: u32,
    /// Stage of the plan.
    pub stage: Stage,
    /// Whether the old servers have nothing older than the key's last change; and the new ones that are not old ones.
    is_clear: [bool; 2],
}

impl ReplicaMove {
    /// The servers of which one is authoritative.
    pub fn homes(&self) -> &[usize] {
        if self.stage.is_turned() { &self.new } else { &self.old }
    }

    /// The servers of which one is authoritative in the other stage beside the cutover, if this is one of the two.
    pub fn other_homes(&self) -> &[usize] {
        match self.stage {
            Stage::Copied => &self.new,
            Stage::Turn => &self.old,
            _ => &[],
        }
    }

    /// New servers that are not old ones.
    pub fn joining(&self) -> impl Iterator<Item = usize> {
        self.new.iter().copied().filter(|server| !self.old.contains(server))
    }

    /// Servers beside the homes that may have a copy of the key: each deletes it when it changes.
    pub fn others(&self) -> Vec<usize> {
        let homes = self.homes();
        let all = self.old.iter().chain(&self.new).filter(|_| self.stage != Stage::Over);
        all.copied().filter(|server| !homes.contains(server)).collect()
    }

    /// Whether the new servers have copies that may be read.
    pub fn has_copies(&self) -> bool {
        matches!(self.stage, Stage::Move | Stage::Copied) && self.is_clear[Side::New as usize]
    }

    /// Servers to clear before the key is read or changed.
    pub fn unclear(&self) -> Vec<usize> {
        let [old, new] = self.is_clear;
        let (is_turned, joining) = (self.stage.is_turned(), self.joining());
        let of_old = self.old.iter().copied().filter(|_| !old);
        of_old.chain(joining.filter(|_| is_turned && !new)).collect()
    }

    /// Whether it is not over.
    pub fn is_under_way(&self) -> bool {
        self.stage != Stage::Over || !self.unclear().is_empty()
    }

    /// Whether copies may be made: a server that is or becomes the primary must not have a lease.
    pub fn makes_copies(&self) -> bool {
        !matches!(self.stage, Stage::Copied | Stage::Turn) || self.old == self.new
    }
}

/// Changes of all pools' plans.
#[derive(Debug, Default)]
pub struct Plans {
    /// Changes with every state.
    edition: AtomicU64,
    /// Plans read again.
    pub reloads: AtomicU64,
    /// Plans refused when read again.
    pub refused: AtomicU64,
}

/// Migration state of a pool.
#[derive(Debug)]
pub struct PoolPlan {
    state: Mutex<Arc<MigrationState>>,
    /// The stage in which the pool has settled: no requests of earlier stages are open.
    settled: AtomicUsize,
    /// Keys that a thread is to copy.
    unread: Mutex<Vec<Vec<u8>>>,
}

impl PoolPlan {
    /// The initial state.
    pub fn new(moves: Arc<Moves>, stage: Stage) -> PoolPlan {
        PoolPlan {
            state: Mutex::new(Arc::new(MigrationState { moves, stage })),
            settled: AtomicUsize::new(0),
            unread: Mutex::default(),
        }
    }

    /// The current state.
    pub fn state(&self) -> Arc<MigrationState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Records that no requests of earlier stages are open.
    pub fn settle(&self, stage: Stage) {
        self.settled.store(stage as usize, SeqCst);
    }

    /// Keys to copy that no thread has taken yet.
    pub fn unread(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.unread.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The stage in which it has settled.
    pub fn settled(&self) -> Stage {
        Stage::WORDS[self.settled.load(SeqCst)].1
    }
}

impl Plans {
    /// Plans of some pool, or of none.
    pub fn new(any: bool) -> Plans {
        Plans { edition: AtomicU64::new(u64::from(any)), ..Plans::default() }
    }

    /// Current edition; zero if no pool has a plan.
    pub fn edition(&self) -> u64 {
        self.edition.load(SeqCst)
    }

    /// Publishes a new state of a pool to all threads.
    pub fn publish(&self, plan: &PoolPlan, state: Arc<MigrationState>) {
        *plan.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
        self.edition.fetch_add(1, SeqCst);
    }

    /// Passes keys of a pool's plan to the thread that looks first.
    pub fn copy(&self, plan: &PoolPlan, keys: Vec<Vec<u8>>) {
        *plan.unread() = keys;
        self.edition.fetch_add(1, SeqCst);
    }

    /// Counts a plan read again, valid or not.
    pub fn has_read(&self, right: bool) {
        let counter = if right { &self.reloads } else { &self.refused };
        counter.fetch_add(1, Relaxed);
    }
}
