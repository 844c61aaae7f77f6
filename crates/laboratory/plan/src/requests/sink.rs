//! From lines and rows to queries.

use std::io;
use std::path::PathBuf;

use fanin_units::Time;
use indexmap::{Equivalent, IndexMap};

use super::catalogue::{Catalogue, Seen};

/// A query as a log has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// Time of its first key, in the log's time.
    pub time: Time,
    /// Its keys by number, each once.
    pub keys: Vec<u32>,
}

/// Contents of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Queries.
    pub queries: u64,
    /// Requested keys.
    pub requests: u64,
    /// Misses.
    pub misses: u64,
    /// Lines that were not understood, and left out.
    pub bad: u64,
    /// Lines that the watcher dropped.
    pub dropped: u64,
}

/// An error in a log.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// An invalid line or row.
    #[error("{place} {number}: {what}")]
    Bad {
        /// Unit of counting: line or row.
        place: &'static str,
        /// Its number.
        number: u64,
        /// The error, with its remedy.
        what: String,
    },
    /// An error of the log as a whole.
    #[error("{0}")]
    Form(String),
}

/// A log that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{}: {why}", path.display())]
pub struct Unread {
    /// Its path.
    pub path: PathBuf,
    /// The error.
    pub why: Unreadable,
}

/// A log's own clock, which may be Unix time.
pub(super) type Nanos = u64;

/// Contents of a line or row.
pub(super) enum Said<'a> {
    /// A request for a key.
    Asked { at: Nanos, of: &'a [u8], key: &'a [u8], seen: Seen },
    /// A miss.
    Missed { at: Nanos, of: &'a [u8], key: &'a [u8] },
    /// A key was looked up to be stored, and has a new size if it was.
    Stored { at: Nanos, of: &'a [u8], key: &'a [u8], seen: Seen },
    /// A key was not stored, and is looked up next.
    Refused { key: &'a [u8] },
    /// This many lines are lost.
    Dropped(u64),
    /// Nothing of requests.
    Else,
}

impl Said<'_> {
    /// Time, if given.
    pub fn at(&self) -> Option<Nanos> {
        match *self {
            Said::Asked { at, .. } | Said::Missed { at, .. } | Said::Stored { at, .. } => Some(at),
            Said::Refused { .. } | Said::Dropped(_) | Said::Else => None,
        }
    }
}

/// Source of a log's lines or rows.
pub(super) trait Source {
    /// Goes on to the next one: whether there is one.
    fn next(&mut self) -> Result<bool, Unreadable>;
    /// Its contents.
    fn said(&self) -> Result<Said<'_>, String>;
    /// Whether it is a line or a row, and its number.
    fn place(&self) -> (&'static str, u64);
}

/// Place of a line or row: server, unit and number.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub server: usize,
    pub kind: &'static str,
    pub number: u64,
}

/// A client at a server.
#[derive(PartialEq, Eq, Hash)]
struct Client {
    server: usize,
    of: Box<[u8]>,
}

/// The same, as a line has it. Both hash alike, field by field.
#[derive(Clone, Copy, Hash)]
struct Asking<'a> {
    server: usize,
    of: &'a [u8],
}

impl Equivalent<Client> for Asking<'_> {
    fn equivalent(&self, client: &Client) -> bool {
        self.server == client.server && *self.of == *client.of
    }
}

/// A query in progress, or only misses.
struct Open {
    last: Nanos,
    query: Query,
    /// The last key, if it was a miss.
    missed: Option<Box<[u8]>>,
}

pub(super) struct Sink<'a> {
    open: IndexMap<Client, Open>,
    gap: Nanos,
    /// The first time of the log.
    zero: Option<Nanos>,
    /// The latest.
    now: Nanos,
    /// When it was looked for queries that are over.
    looked: Nanos,
    /// A lookup that a server is expected to make itself.
    refused: Vec<(usize, Box<[u8]>)>,
    skip_bad: bool,
    tally: Tally,
    catalogue: &'a mut Catalogue,
    each: &'a mut dyn FnMut(Query),
}

impl<'a> Sink<'a> {
    /// A sink for logs whose queries have no longer gaps than `gap`; bad lines are errors or skipped.
    pub fn new(gap: Time, skip_bad: bool, catalogue: &'a mut Catalogue, each: &'a mut dyn FnMut(Query)) -> Sink<'a> {
        let (open, refused, tally) = (IndexMap::new(), Vec::new(), Tally::default());
        Sink { open, gap: gap.0 / 1_000, zero: None, now: 0, looked: 0, refused, skip_bad, tally, catalogue, each }
    }

    /// Processes a line or row.
    pub fn take(&mut self, place: Place, said: Result<Said<'_>, String>) -> Result<(), Unreadable> {
        let Place { server, kind, number } = place;
        match said {
            Ok(Said::Asked { key, .. } | Said::Missed { key, .. }) if self.was_refused(server, key) => {}
            Ok(Said::Asked { at, of, key, seen }) => self.asked(at, Asking { server, of }, key, seen),
            Ok(Said::Missed { at, of, key }) => self.missed(at, Asking { server, of }, key),
            Ok(Said::Stored { of, key, seen, .. }) => {
                let key_number = self.catalogue.note(key, seen);
                self.withdraw(Asking { server, of }, key, key_number);
            }
            Ok(Said::Refused { key }) => {
                self.refused.retain(|(other, _)| *other != server);
                self.refused.push((server, key.into()));
            }
            Ok(Said::Dropped(lines)) => self.tally.dropped = self.tally.dropped.saturating_add(lines),
            Ok(Said::Else) => {}
            Err(_) if self.skip_bad => self.tally.bad += 1,
            Err(what) => return Err(Unreadable::Bad { place: kind, number, what }),
        }
        Ok(())
    }

    /// Whether this is the lookup of a server that refused to store a value.
    fn was_refused(&mut self, server: usize, key: &[u8]) -> bool {
        let place = self.refused.iter().position(|(other, refused)| *other == server && **refused == *key);
        place.map(|place| self.refused.swap_remove(place)).is_some()
    }

    fn asked(&mut self, at: Nanos, client: Asking<'_>, key: &[u8], seen: Seen) {
        // Threads of a server write their lines when they come to it: a time may be before the last one.
        self.now = self.now.max(at);
        let time = Time(at.saturating_sub(*self.zero.get_or_insert(at)).saturating_mul(1_000));
        if self.now - self.looked > self.gap {
            self.looked = self.now;
            self.close_until(self.now);
        }
        let key = self.catalogue.note(key, seen);
        match self.open.get_mut(&client) {
            Some(open) if at.saturating_sub(open.last) <= self.gap => {
                open.last = open.last.max(at);
                open.missed = None;
                if open.query.keys.is_empty() {
                    open.query.time = time;
                }
                open.query.keys.push(key);
            }
            open => {
                if open.is_some()
                    && let Some(over) = self.open.shift_remove(&client)
                {
                    self.over(over);
                }
                self.begin(at, client, Query { time, keys: vec![key] }, None);
            }
        }
    }

    fn missed(&mut self, at: Nanos, client: Asking<'_>, key: &[u8]) {
        self.tally.misses += 1;
        match self.open.get_mut(&client) {
            Some(open) => open.missed = Some(key.into()),
            None => self.begin(at, client, Query { time: Time::ZERO, keys: Vec::new() }, Some(key.into())),
        }
    }

    fn begin(&mut self, last: Nanos, Asking { server, of }: Asking<'_>, query: Query, missed: Option<Box<[u8]>>) {
        self.open.insert(Client { server, of: of.into() }, Open { last, query, missed });
    }

    /// The client's last lookup was not a request but part of storing the key.
    fn withdraw(&mut self, client: Asking<'_>, key: &[u8], number: u32) {
        let Some(open) = self.open.get_mut(&client) else { return };
        match &open.missed {
            Some(missed) if **missed == *key => {
                open.missed = None;
                self.tally.misses -= 1;
            }
            Some(_) => {}
            None if open.query.keys.last() == Some(&number) => {
                open.query.keys.pop();
            }
            None => {}
        }
    }

    /// Ends queries whose last key is older than a gap.
    fn close_until(&mut self, now: Nanos) {
        let gap = self.gap;
        let over: Vec<_> = self.open.extract_if(.., |_, open| now.saturating_sub(open.last) > gap).collect();
        over.into_iter().for_each(|(_, open)| self.over(open));
    }

    fn over(&mut self, Open { mut query, .. }: Open) {
        if query.keys.is_empty() {
            return;
        }
        query.keys.sort_unstable();
        query.keys.dedup();
        self.tally.queries += 1;
        self.tally.requests += query.keys.len() as u64;
        (self.each)(query);
    }

    /// The log has ended.
    pub fn end(mut self) -> Tally {
        std::mem::take(&mut self.open).into_values().for_each(|open| self.over(open));
        self.tally
    }
}

/// A time in seconds, such as `12.5`.
pub(super) fn seconds(text: &str) -> Option<Nanos> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return None;
    }
    // A log's clock is no finer than that.
    let nanos = format!("{fraction:0<9}")[..9].parse::<Nanos>().ok()?;
    whole.parse::<Nanos>().ok()?.checked_mul(1_000_000_000)?.checked_add(nanos)
}
