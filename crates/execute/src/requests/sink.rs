//! From what lines and rows say to queries.

use std::io;

use fanin_units::Time;

use super::catalogue::Catalogue;

/// A query as a log has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// When its first key was asked for, since the log's own zero.
    pub time: Time,
    /// What it asked for: each key once, by its number.
    pub keys: Vec<u32>,
}

/// What there was in a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Queries.
    pub queries: u64,
    /// Keys that they asked for.
    pub requests: u64,
    /// Keys that were asked for and not there.
    pub misses: u64,
    /// Lines that were not understood, and left out.
    pub bad: u64,
    /// Lines that the watcher says it could not keep up with.
    pub dropped: u64,
}

/// What is wrong with a log.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A line, or a row, that is not understood.
    #[error("{place} {number}: {what}")]
    Bad {
        /// What is counted: line or row.
        place: &'static str,
        /// Which.
        number: u64,
        /// What it says, and what would be right.
        what: String,
    },
    /// The whole of it.
    #[error("{0}")]
    Form(String),
}

/// A log's own clock, which may be Unix time.
pub(super) type Nanos = u64;

/// What one line or row says.
pub(super) enum Said<'a> {
    /// A key is asked for.
    Asked { at: Nanos, of: &'a [u8], key: &'a [u8], size: Option<u32> },
    /// A key was asked for and is not there.
    Missed,
    /// A key has a new size.
    Stored { key: &'a [u8], size: u32 },
    /// So many lines are lost.
    Dropped(u64),
    /// Nothing of requests.
    Else,
}

/// Queries that are under way, by who asks.
struct Open {
    of: Box<[u8]>,
    last: Nanos,
    query: Query,
}

pub(super) struct Sink<'a> {
    open: Vec<Open>,
    gap: Nanos,
    /// The first time of the log.
    zero: Option<Nanos>,
    /// The latest.
    now: Nanos,
    /// When it was looked for queries that are over.
    looked: Nanos,
    skip_bad: bool,
    tally: Tally,
    catalogue: &'a mut Catalogue,
    each: &'a mut dyn FnMut(Query),
}

impl<'a> Sink<'a> {
    /// For a log whose queries have no longer pauses than `gap`, and whose bad lines are told, or left out.
    pub fn new(gap: Time, skip_bad: bool, catalogue: &'a mut Catalogue, each: &'a mut dyn FnMut(Query)) -> Sink<'a> {
        let (open, tally) = (Vec::new(), Tally::default());
        Sink { open, gap: gap.0 / 1_000, zero: None, now: 0, looked: 0, skip_bad, tally, catalogue, each }
    }

    /// What a line or row says, of that number.
    pub fn take(&mut self, place: &'static str, number: u64, said: Result<Said<'_>, String>) -> Result<(), Unreadable> {
        match said {
            Ok(Said::Asked { at, of, key, size }) => self.asked(at, of, key, size),
            Ok(Said::Stored { key, size }) => {
                self.catalogue.note(key, Some(size));
            }
            Ok(Said::Missed) => self.tally.misses += 1,
            Ok(Said::Dropped(lines)) => self.tally.dropped = self.tally.dropped.saturating_add(lines),
            Ok(Said::Else) => {}
            Err(_) if self.skip_bad => self.tally.bad += 1,
            Err(what) => return Err(Unreadable::Bad { place, number, what }),
        }
        Ok(())
    }

    fn asked(&mut self, at: Nanos, of: &[u8], key: &[u8], size: Option<u32>) {
        // Threads of a server write their lines when they come to it: a time may be before the last one.
        self.now = self.now.max(at);
        let time = Time(at.saturating_sub(*self.zero.get_or_insert(at)).saturating_mul(1_000));
        if self.now - self.looked > self.gap {
            self.looked = self.now;
            self.close_until(self.now);
        }
        let key = self.catalogue.note(key, size);
        let place = self.open.iter().position(|open| *open.of == *of);
        match place {
            Some(place) if at.saturating_sub(self.open[place].last) <= self.gap => {
                let open = &mut self.open[place];
                open.last = open.last.max(at);
                open.query.keys.push(key);
            }
            place => {
                if let Some(place) = place {
                    let over = self.open.remove(place);
                    self.over(over);
                }
                self.open.push(Open { of: of.into(), last: at, query: Query { time, keys: vec![key] } });
            }
        }
    }

    /// Queries whose last key was longer ago than a gap are over.
    fn close_until(&mut self, now: Nanos) {
        let gap = self.gap;
        let over: Vec<Open> = self.open.extract_if(.., |open| now.saturating_sub(open.last) > gap).collect();
        over.into_iter().for_each(|open| self.over(open));
    }

    fn over(&mut self, Open { mut query, .. }: Open) {
        query.keys.sort_unstable();
        query.keys.dedup();
        self.tally.queries += 1;
        self.tally.requests += query.keys.len() as u64;
        (self.each)(query);
    }

    /// The log has ended.
    pub fn end(mut self) -> Tally {
        std::mem::take(&mut self.open).into_iter().for_each(|open| self.over(open));
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
