//! One key's migration: its current step, the servers' responses to it, and what follows from them. No I/O.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use fanin_memcache::{Keyed, response};

use crate::upstreams::ask::Ask;
use fanin_proxy_core::memory::table::Id;
use fanin_proxy_core::memory::{Buffer, Charge};
use fanin_proxy_failover::{Members, Reserved};
use fanin_proxy_migration::{KeyMove, MigrationState, Moves, Side, Stage};
use fanin_proxy_routing::writes::OpenWrite;

/// Longest relative time to live; memcached reads larger numbers as dates, so copies are limited to this.
const LONGEST: i64 = 30 * 24 * 3600;

/// Who waits for the migration.
#[derive(Clone, Copy, Debug)]
pub enum Whose {
    /// A client that requested this key alone.
    Client { number: u64 },
    /// A key of a multiget's batch.
    Batch { get: Id, batch: u32, slot: u32 },
    /// Nobody.
    Nobody,
}

/// Whose a migration is: a client, and its request that waits for it.
#[derive(Clone, Copy, Debug)]
pub struct Owner {
    pub client: Id,
    pub whose: Whose,
}

/// A key as a client sends it.
#[derive(Clone, Copy, Debug)]
pub struct SentKey<'a> {
    pub bytes: &'a [u8],
    /// Whether the bytes are base64 of the key.
    pub base64: bool,
}

impl<'a> SentKey<'a> {
    /// The key itself.
    pub fn plain(bytes: &'a [u8]) -> SentKey<'a> {
        SentKey { bytes, base64: false }
    }
}

/// The next or current request to the servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Change the key at the authoritative server; the client gets its response.
    Change,
    /// Delete a copy that may be older than the key's last change.
    Clear(Side),
    /// Read from the new server, with a lease to make a copy on a miss.
    Copy,
    /// Read from the old server.
    Old,
    /// Store the value at the new server.
    Fill,
    /// Return the lease to the new server.
    ReturnLease,
    /// Delete the copy at the server that is not authoritative.
    DeleteCopy,
}

/// A request that changes a key or needs the authoritative server, as it is sent.
#[derive(Debug)]
pub struct Change {
    pub ask: Ask,
    pub note: Vec<u8>,
    pub bytes: Vec<u8>,
    /// Whether it stores a value, which is then copied.
    pub stores: bool,
    /// Whether the client gets no response.
    pub silent: bool,
}

/// Other servers that a change of a key concerns, in a pool with failover.
#[derive(Debug)]
pub struct KeyFailover {
    /// The key's group, if it has replicas, and its incomplete write.
    pub open: Option<(u16, OpenWrite)>,
    /// Servers that have yet to delete the key before it is changed: they may have older values, or be authoritative in a neighbouring stage
    /// of a plan.
    pub before: Vec<usize>,
    /// Whether they have done so.
    pub is_prepared: bool,
    /// Servers that have yet to delete the key.
    pub deletes: Vec<usize>,
    /// Servers that get the new value then.
    pub copies: Vec<usize>,
    /// The key's index in a plan that names it, whose sides are clear then.
    pub index: Option<u32>,
    /// Whether the key, which is not changed, is missing then.
    pub misses: bool,
    /// Places in the journals of these servers and the primary, in case they fail.
    pub reserved: Vec<Reserved>,
}

impl KeyFailover {
    /// The tenant whose change it is, if it has a place in the journals.
    pub fn tenant(&self) -> Option<u32> {
        self.reserved.first().map(|reserved| reserved.tenant)
    }
}

/// The same get at two replicas.
#[derive(Debug, Default)]
pub struct Race {
    is_over: Cell<bool>,
    has_failed: Cell<bool>,
}

impl Race {
    /// Whether an outcome is the one that counts: the first that is no failure, or the second failure.
    pub fn wins(&self, outcome: &Outcome<'_>) -> bool {
        if matches!(outcome, Outcome::Failed(_)) && !self.has_failed.replace(true) {
            return false;
        }
        !self.is_over.replace(true)
    }
}

/// Migration of one key.
#[derive(Debug)]
pub struct KeyMigration {
    pub whose: Whose,
    /// The client that started it.
    pub client: Id,
    /// The old and the new server.
    pub servers: (usize, usize),
    /// The key as sent, and whether it is in base64.
    pub key: Vec<u8>,
    pub base64: bool,
    pub key_move: KeyMove,
    /// Keeps the stage alive: the next but one does not begin while this exists.
    pub plan_state: Arc<MigrationState>,
    step: Step,
    /// The lease from the new server and the connection that got it; a restarted server does not know it.
    lease: Option<Lease>,
    /// Response bytes of the current step.
    come: Buffer,
    pub change: Option<Change>,
    /// Other servers that a change concerns, in a pool with failover.
    pub failover: Option<KeyFailover>,
    /// Keeps the members of such a pool in use: a server may not become the primary of a key while it has a lease of it.
    pub members: Option<Arc<Members>>,
    /// Servers with replicas that have failed to answer.
    pub failures: u32,
    /// The same get at two replicas: the first outcome counts.
    pub race: Option<Rc<Race>>,
    /// Memory charged for the key and the request.
    _charge: Charge,
}

/// A lease: the right to store a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Lease {
    /// CAS unique of the empty item.
    token: u64,
    /// The connection to the server that got it.
    life: u64,
}

/// Result of a migration for whoever waits for it.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome<'a> {
    /// A value, as a response to `get`.
    Value(Vec<u8>),
    /// A miss.
    Missed,
    /// Done; the response sent before stands.
    Done,
    /// An error line.
    Failed(&'a [u8]),
}

/// Consequence of a response: an outcome to deliver first, if any; then the next step, or the end of the migration.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Progress<'a> {
    /// A figure that the response counts for.
    pub counts: Option<Counted>,
    /// The outcome.
    pub outcome: Option<Outcome<'a>>,
    /// The next step.
    pub next: Option<Step>,
    /// Flags and value of a copy, if the next step is [`Step::Fill`].
    pub copy: Option<(String, &'a [u8])>,
}

/// Figures of moving keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// A hit at the new server.
    Found,
    /// A request to the old server.
    FellBack,
    /// A copy.
    Copied,
}

/// How a migration starts.
#[derive(Debug)]
pub struct FirstStep {
    pub step: Step,
    /// The change that it makes.
    pub change: Option<Change>,
}

impl From<Step> for FirstStep {
    fn from(step: Step) -> FirstStep {
        FirstStep { step, change: None }
    }
}

impl<'a> Progress<'a> {
    fn step(step: Step) -> Progress<'a> {
        Progress { next: Some(step), ..Progress::default() }
    }

    fn end(outcome: Outcome<'a>) -> Progress<'a> {
        Progress { outcome: Some(outcome), ..Progress::default() }
    }
}

/// First copy to clear before a moving key is read: the authoritative server's, then the other's.
pub fn first_step(moves: &Moves, key_move: &KeyMove) -> Option<Step> {
    let copies = matches!(key_move.stage, Stage::Move | Stage::Copied);
    let of_copies = (copies && !moves.is_clear(key_move.index, Side::New)).then_some(Side::New);
    key_move.unclear_side(moves).or(of_copies).map(Step::Clear)
}

impl KeyMigration {
    /// A migration that starts with this step.
    pub fn new(
        owner: Owner,
        servers: (usize, usize),
        key: Vec<u8>,
        base64: bool,
        key_move: KeyMove,
        plan_state: Arc<MigrationState>,
        first: FirstStep,
    ) -> KeyMigration {
        let (Owner { client, whose }, FirstStep { step, change }) = (owner, first);
        let mut charge = Charge::default();
        charge.set(key.capacity() + change.as_ref().map_or(0, |change| change.bytes.len() + change.note.len()));
        let (lease, come) = (None, Buffer::default());
        KeyMigration {
            whose,
            client,
            servers,
            key,
            base64,
            key_move,
            plan_state,
            step,
            lease,
            come,
            change,
            failover: None,
            members: None,
            failures: 0,
            race: None,
            _charge: charge,
        }
    }

    /// The current step.
    pub fn step(&self) -> Step {
        self.step
    }

    /// Begins a step.
    pub fn begin_step(&mut self, step: Step) {
        (self.step, self.come) = (step, Buffer::default());
    }

    /// Takes response bytes of the current step.
    pub fn receives(&mut self, bytes: &[u8]) {
        self.come.extend(bytes);
    }

    /// Takes all response bytes of the current step.
    pub fn take_received(&mut self) -> Buffer {
        std::mem::take(&mut self.come)
    }

    /// CAS unique of the lease, for its return.
    pub fn lease(&self) -> Option<u64> {
        self.lease.map(|lease| lease.token)
    }

    /// Returns an unused lease, if the new server's connection that got it still exists (its number is `life`): a restarted server reuses
    /// its numbers, so another item may have this one.
    pub fn return_lease(&self, life: u64) -> Option<Step> {
        self.lease.filter(|lease| lease.life == life).map(|_| Step::ReturnLease)
    }

    /// Whether the new server's connection that got the lease does not exist any more: it can be neither used nor returned.
    pub fn has_lost_lease(&self, life: u64) -> bool {
        self.lease.is_some_and(|lease| lease.life != life)
    }

    /// Consequence of a complete response to the current step. The new server's connection has the number `life`; if the front end is
    /// `full` of migrations, none goes on without a client.
    pub fn responded<'a>(&mut self, come: &'a [u8], life: u64, full: bool) -> Progress<'a> {
        let (turned, moves) = (self.key_move.stage.is_turned(), &self.plan_state.moves);
        match self.step {
            Step::DeleteCopy | Step::Clear(_) if !is_done(come) => Progress::end(Outcome::Failed(come)),
            Step::Clear(side) => {
                moves.cleared(self.key_move.index, side);
                match (&self.change, turned || side == Side::Old) {
                    (Some(_), _) => Progress::step(Step::Change),
                    // The authoritative server has no value now.
                    (None, true) => Progress::end(Outcome::Missed),
                    // The copy is made from the old server's value, so clear that server first.
                    (None, false) => Progress::step(first_step(moves, &self.key_move).unwrap_or(Step::Copy)),
                }
            }
            Step::DeleteCopy if turned && self.change.is_some() => {
                Progress::step(self.key_move.unclear_side(moves).map_or(Step::Change, Step::Clear))
            }
            Step::DeleteCopy => self.copy_deleted(full),
            Step::Copy => self.new_responded(come, life),
            Step::Old => self.old_responded(come, life),
            Step::Fill => {
                Progress { counts: come.starts_with(b"HD").then_some(Counted::Copied), ..Progress::default() }
            }
            Step::ReturnLease | Step::Change => Progress::default(),
        }
    }

    /// The other server has deleted its copy; a stored value is then copied.
    fn copy_deleted(&mut self, full: bool) -> Progress<'static> {
        if !self.key_move.stage.is_turned() {
            self.plan_state.moves.cleared(self.key_move.index, Side::New);
        }
        let copies = self.key_move.stage == Stage::Move && self.change.as_ref().is_some_and(|change| change.stores);
        Progress { next: (copies && !full).then_some(Step::Copy), ..Progress::end(Outcome::Done) }
    }

    /// Whether somebody waits for it.
    fn is_awaited(&self) -> bool {
        !matches!(self.whose, Whose::Nobody)
    }

    fn new_responded<'a>(&mut self, come: &'a [u8], life: u64) -> Progress<'a> {
        match found(come, true) {
            Found::Error(line) => Progress::end(Outcome::Failed(line)),
            Found::Value { value, flags, .. } => {
                let counts = self.is_awaited().then_some(Counted::Found);
                Progress { counts, ..Progress::end(Outcome::Value(value_line(&self.key, flags, value))) }
            }
            lacks => {
                self.lease = if let Found::Lease(token) = lacks { Some(Lease { token, life }) } else { None };
                let goes_on = self.lease.is_some() || self.is_awaited();
                Progress { next: goes_on.then_some(Step::Old), ..Progress::default() }
            }
        }
    }

    fn old_responded<'a>(&mut self, come: &'a [u8], life: u64) -> Progress<'a> {
        let counts = self.is_awaited().then_some(Counted::FellBack);
        let (outcome, copy) = match found(come, false) {
            Found::Value { value, flags, lives } => {
                let lease = self.lease.filter(|lease| lease.life == life && value.len() > 2);
                let flags_of_copy = lease.and_then(|lease| copy_flags(lease.token, flags, lives));
                (Outcome::Value(value_line(&self.key, flags, value)), flags_of_copy.map(|flags| (flags, value)))
            }
            Found::Error(line) => (Outcome::Failed(line), None),
            Found::Nothing | Found::Lease(_) => (Outcome::Missed, None),
        };
        let next = if copy.is_some() { Some(Step::Fill) } else { self.return_lease(life) };
        Progress { counts, outcome: Some(outcome), next, copy }
    }
}

/// The new server's response to [`Step::Copy`], and the old server's to [`Step::Old`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found<'a> {
    /// An error line.
    Error(&'a [u8]),
    /// A miss, or another client's lease.
    Nothing,
    /// A miss, with this lease.
    Lease(u64),
    /// A value with its terminator, the client's flags, and its time to live (none: unlimited).
    Value { value: &'a [u8], flags: u32, lives: Option<i64> },
}

/// Parses the response. An empty value at the new server counts as a miss, since it may be a lease.
fn found(come: &[u8], at_new: bool) -> Found<'_> {
    let Some(end) = come.iter().position(|byte| *byte == b'\n') else { return Found::Nothing };
    let (line, value) = come.split_at(end + 1);
    if response::is_error(line) {
        return Found::Error(line);
    }
    let mut words = line.trim_ascii_end().split(|byte| *byte == b' ');
    if words.next() != Some(b"VA") {
        return Found::Nothing;
    }
    let (mut flags, mut lives, mut token, mut wins, mut leased) = (0, None, None, false, false);
    for word in words.skip(1) {
        let number = |text: &[u8]| str::from_utf8(text).ok()?.parse::<i64>().ok();
        match word.split_first() {
            Some((b'f', text)) => flags = number(text).and_then(|number| u32::try_from(number).ok()).unwrap_or(0),
            Some((b't', text)) => lives = number(text).filter(|number| *number >= 0),
            Some((b'c', text)) => token = str::from_utf8(text).ok().and_then(|text| text.parse().ok()),
            Some((b'W', _)) => (wins, leased) = (true, true),
            Some((b'Z', _)) => leased = true,
            _ => {}
        }
    }
    match token {
        // Also the old server may have a lease, of another front end.
        _ if value.len() > 2 || !at_new && !leased => Found::Value { value, flags, lives },
        Some(token) if wins => Found::Lease(token),
        _ => Found::Nothing,
    }
}

/// Flags of the `ms` that makes a copy; none if the copy would live for less than a second.
fn copy_flags(token: u64, flags: u32, lives: Option<i64>) -> Option<String> {
    let time = match lives {
        None => 0,
        Some(0) => return None,
        Some(seconds) => seconds.min(LONGEST),
    };
    Some(format!("C{token} F{flags} T{time}"))
}

/// A value as a response to `get`.
fn value_line(key: &[u8], flags: u32, value: &[u8]) -> Vec<u8> {
    let size = value.len().saturating_sub(2);
    [b"VALUE ", key, format!(" {flags} {size}\r\n").as_bytes(), value].concat()
}

/// Whether a response to `md` or `ms` reports success, or that there was nothing to do.
pub fn is_done(come: &[u8]) -> bool {
    !response::is_error(come)
}

/// Whether a command changes a stored value or its lifetime.
pub fn changes(keyed: &Keyed<'_>) -> bool {
    use fanin_memcache::{Command, Meta};
    match keyed.command {
        Command::Inspect(_) => false,
        Command::Meta(Meta::Get, flags) => b"TNR".iter().any(|letter| flags.has(*letter)),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_responses_of_new_server() {
        let value = |value: &'static [u8], flags, lives| Found::Value { value, flags, lives };
        for (come, at_new, says) in [
            (&b"VA 2 f5 c7\r\nhi\r\n"[..], true, value(b"hi\r\n", 5, None)),
            (b"VA 0 f0 c7 W\r\n\r\n", true, Found::Lease(7)),
            (b"VA 0 f0 c7 Z\r\n\r\n", true, Found::Nothing),
            (b"VA 0 f0 c7\r\n\r\n", true, Found::Nothing),
            (b"EN\r\n", true, Found::Nothing),
            (b"", true, Found::Nothing),
            (b"VA 0 f9 t-1\r\n\r\n", false, value(b"\r\n", 9, None)),
            (b"VA 0 f0 t2 Z\r\n\r\n", false, Found::Nothing),
            (b"VA 1 f9 t20 c18446744073709551615\r\nx\r\n", false, value(b"x\r\n", 9, Some(20))),
            (b"SERVER_ERROR out of memory\r\n", true, Found::Error(b"SERVER_ERROR out of memory\r\n")),
        ] {
            assert_eq!(found(come, at_new), says, "{}", come.escape_ascii());
        }
    }

    #[test]
    fn copy_keeps_time_to_live() {
        assert_eq!(copy_flags(7, 5, None).as_deref(), Some("C7 F5 T0"));
        assert_eq!(copy_flags(7, 5, Some(20)).as_deref(), Some("C7 F5 T20"));
        assert_eq!(copy_flags(7, 5, Some(1 << 40)).as_deref(), Some("C7 F5 T2592000"));
        // No time to live means unlimited.
        assert_eq!(copy_flags(7, 5, Some(0)), None);
    }

    /// A migration of a key from server 0 to server 1, in this step; its servers are clear.
    fn migration(stage: Stage, step: Step, whose: Whose) -> KeyMigration {
        let secret = fanin_proxy_observe::log::Secret::of(b"sixteen bytes or more").unwrap();
        let [old, new] = [0, 1].map(|server| fanin_proxy_migration::Homes::of(&[server]));
        let row = fanin_proxy_migration::moves::Row {
            old_clear: true,
            new_clear: true,
            ..fanin_proxy_migration::moves::Row::new(1, old, new)
        };
        let moves = Arc::new(Moves::new(vec![row], 1, secret, String::new()));
        let key_move = KeyMove { old: 0, new: 1, index: 0, stage };
        let client = fanin_proxy_core::memory::table::Table::default().insert(());
        let state = Arc::new(MigrationState { moves, stage });
        let owner = Owner { client, whose };
        KeyMigration::new(owner, (0, 1), b"k".to_vec(), false, key_move, state, step.into())
    }

    #[test]
    fn makes_copy_with_lease_of_same_connection() {
        for (life, next) in [(7, Some(Step::Fill)), (8, None)] {
            let mut migration = migration(Stage::Move, Step::Copy, Whose::Client { number: 0 });
            let missed = migration.responded(b"VA 0 f0 c9 W\r\n\r\n", 7, false);
            assert_eq!(missed, Progress::step(Step::Old));
            migration.begin_step(Step::Old);
            let found = migration.responded(b"VA 2 f5 t-1\r\nhi\r\n", life, false);
            assert_eq!(found.outcome, Some(Outcome::Value(b"VALUE k 5 2\r\nhi\r\n".to_vec())));
            assert_eq!((found.next, found.counts), (next, Some(Counted::FellBack)), "connection {life}");
            assert_eq!(found.copy, next.map(|_| ("C9 F5 T0".to_owned(), &b"hi\r\n"[..])));
        }
    }

    #[test]
    fn returns_lease_if_old_server_misses() {
        let mut migration = migration(Stage::Move, Step::Copy, Whose::Nobody);
        assert_eq!(migration.responded(b"EN\r\n", 7, false), Progress::default(), "nobody waits");
        assert_eq!(migration.responded(b"VA 0 f0 c9 W\r\n\r\n", 7, false).next, Some(Step::Old));
        migration.begin_step(Step::Old);
        let missed = migration.responded(b"EN\r\n", 7, false);
        assert_eq!((missed.outcome, missed.next), (Some(Outcome::Missed), Some(Step::ReturnLease)));
        let error = b"SERVER_ERROR x\r\n";
        migration.begin_step(Step::Clear(Side::New));
        assert_eq!(migration.responded(error, 7, false), Progress::end(Outcome::Failed(error)));
    }
}
