//! Logs of requests: which keys a query asked for, when, and how large they are. Streamed, in bounded memory but for the keys.
//!
//! A table of `time,query,key,size` ([`table`], CSV or Parquet), or the lines of memcached's `watch fetchers mutations` ([`watch`]),
//! where a query is what one connection asks without a longer gap.

mod parquet_table;
mod table;
mod watch;

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::path::Path;

use fanin_units::Time;
use indexmap::IndexSet;

/// A line is at most so long.
const LINE_MAX: u64 = 1 << 16;
/// Where a query is named, its lines are at most so far apart: a name that comes again later is another query.
const NAMED_GAP: Time = Time::from_secs(1);

/// How a log is read.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// Of a watcher's lines: the longest pause within a query of one connection.
    pub gap: Time,
    /// Lines that are not understood are counted and left out.
    pub skip_bad: bool,
}

/// The keys of a log, numbered as they come, with their sizes.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    keys: IndexSet<Box<[u8]>>,
    /// The latest size of each; none where only misses were seen.
    sizes: Vec<Option<u32>>,
}

impl Catalogue {
    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// A key by its number.
    pub fn key(&self, number: u32) -> &[u8] {
        &self.keys[number as usize]
    }

    /// The number of a key.
    pub fn number(&self, key: &[u8]) -> Option<u32> {
        self.keys.get_index_of(key).map(|number| number as u32)
    }

    /// Bytes of each key's object, by number: those that were never seen are empty.
    pub fn sizes(&self) -> impl Iterator<Item = u32> {
        self.sizes.iter().map(|size| size.unwrap_or(0))
    }

    /// The number of a key whose object has that size, where it is known.
    fn note(&mut self, key: &[u8], size: Option<u32>) -> u32 {
        let number = match self.keys.get_index_of(key) {
            Some(number) => number,
            None => {
                self.sizes.push(None);
                self.keys.insert_full(key.into()).0
            }
        };
        if size.is_some() {
            self.sizes[number] = size;
        }
        number as u32 // sizes of 2^32 keys would not fit
    }
}

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
type Nanos = u64;

/// What one line or row says.
enum Said<'a> {
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

/// Reads a log from its beginning to its end, query by query as they end.
///
/// # Errors
/// [`Unreadable`].
pub fn read(
    path: &Path,
    reading: Reading,
    catalogue: &mut Catalogue,
    each: &mut dyn FnMut(Query),
) -> Result<Tally, Unreadable> {
    let file = File::open(path)?;
    if !file.metadata()?.is_file() {
        let what = "it is no regular file, and a log is read more than once";
        return Err(io::Error::new(ErrorKind::InvalidInput, what).into());
    }
    let ending = path.extension().map_or(String::new(), |ending| ending.to_string_lossy().to_lowercase());
    let mut sink = Sink {
        open: Vec::new(),
        gap: if matches!(ending.as_str(), "csv" | "parquet") { NAMED_GAP } else { reading.gap }.0 / 1_000,
        zero: None,
        now: 0,
        looked: 0,
        skip_bad: reading.skip_bad,
        tally: Tally::default(),
        catalogue,
        each,
    };
    match ending.as_str() {
        "csv" => table::read_csv(file, &mut sink)?,
        "parquet" => parquet_table::read(file, &mut sink)?,
        _ => lines(BufReader::new(file), &mut sink)?,
    }
    sink.end();
    Ok(sink.tally)
}

fn lines(mut from: impl BufRead, sink: &mut Sink<'_>) -> Result<(), Unreadable> {
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        if Read::take(&mut from, LINE_MAX + 1).read_until(b'\n', &mut line)? == 0 {
            break;
        }
        let said = match line.trim_ascii() {
            _ if line.len() as u64 > LINE_MAX => Err(format!("it is longer than {LINE_MAX} B")),
            [] => Ok(Said::Else),
            line => watch::said(line),
        };
        sink.take("line", number, said)?;
    }
    Ok(())
}

/// Queries that are under way, by who asks.
struct Open {
    of: Box<[u8]>,
    last: Nanos,
    query: Query,
}

struct Sink<'a> {
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

impl Sink<'_> {
    fn take(&mut self, place: &'static str, number: u64, said: Result<Said<'_>, String>) -> Result<(), Unreadable> {
        match said {
            Ok(Said::Asked { at, of, key, size }) => self.asked(at, of, key, size),
            Ok(Said::Stored { key, size }) => {
                self.catalogue.note(key, Some(size));
            }
            Ok(Said::Missed) => self.tally.misses += 1,
            Ok(Said::Dropped(lines)) => self.tally.dropped += lines,
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

    fn end(&mut self) {
        std::mem::take(&mut self.open).into_iter().for_each(|open| self.over(open));
    }
}

/// A time in seconds, such as `12.5`.
fn seconds(text: &str) -> Option<Nanos> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return None;
    }
    // A log's clock is no finer than that.
    let nanos = format!("{fraction:0<9}")[..9].parse::<Nanos>().ok()?;
    whole.parse::<Nanos>().ok()?.checked_mul(1_000_000_000)?.checked_add(nanos)
}

#[cfg(test)]
mod tests;
