//! Logs of requests: which keys a query asked for, when, and how large they are. Streamed, in bounded memory but for the keys.
//!
//! A table of `time,query,key,size` ([`table`], CSV or Parquet), or the lines of memcached's `watch fetchers mutations` ([`watch`]),
//! where a query is what one connection asks a server without a longer gap. Several servers' logs are read as one ([`log`]).

mod catalogue;
mod guarded;
mod log;
mod parquet_table;
mod sink;
mod spool;
mod table;
mod watch;

use std::path::PathBuf;

use fanin_units::Time;

pub use catalogue::Catalogue;
use log::{Log, merge};
use sink::Sink;
pub use sink::{Query, Tally, Unread, Unreadable};
pub(crate) use spool::Spool;

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

/// Reads logs of one time, each its own server's, from their beginning to their end, query by query as they end.
///
/// # Errors
/// [`Unread`].
pub fn read(
    paths: &[PathBuf],
    reading: Reading,
    catalogue: &mut Catalogue,
    each: &mut dyn FnMut(Query),
) -> Result<Tally, Unread> {
    let logs = paths.iter().enumerate().map(|(server, path)| Log::open(path, server));
    let logs = logs.collect::<Result<Vec<_>, _>>()?;
    let named = logs.first().is_some_and(Log::is_table);
    if let Some(other) = logs.iter().find(|log| log.is_table() != named) {
        let what = "a table has queries and a watcher's lines have connections: use logs of one kind";
        return Err(other.unread(Unreadable::Form(what.into())));
    }
    let mut sink = Sink::new(if named { NAMED_GAP } else { reading.gap }, reading.skip_bad, catalogue, each);
    merge(logs, &mut sink)?;
    Ok(sink.end())
}

#[cfg(test)]
mod tests;
