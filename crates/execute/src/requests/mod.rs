//! Logs of requests: which keys a query asked for, when, and how large they are. Streamed, in bounded memory but for the keys.
//!
//! A table of `time,query,key,size` ([`table`], CSV or Parquet), or the lines of memcached's `watch fetchers mutations` ([`watch`]),
//! where a query is what one connection asks without a longer gap.

mod catalogue;
mod parquet_table;
mod sink;
mod table;
mod watch;

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::path::Path;

use fanin_units::Time;

pub use catalogue::Catalogue;
pub use sink::{Query, Tally, Unreadable};
use sink::{Said, Sink};

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
    let gap = if matches!(ending.as_str(), "csv" | "parquet") { NAMED_GAP } else { reading.gap };
    let mut sink = Sink::new(gap, reading.skip_bad, catalogue, each);
    match ending.as_str() {
        "csv" => table::read_csv(file, &mut sink)?,
        "parquet" => parquet_table::read(file, &mut sink)?,
        _ => lines(BufReader::new(file), &mut sink)?,
    }
    Ok(sink.end())
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

#[cfg(test)]
mod tests;
