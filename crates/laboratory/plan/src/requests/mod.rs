//! Logs of requests: keys of each query, times and sizes. Streamed, in bounded memory except for the keys.
//!
//! Input is a table `time,query,key,size` ([`table`], CSV or Parquet), or the lines of memcached's `watch fetchers mutations`
//! ([`watch`]), in which a query is a series of requests on one connection without a long gap. [`log`] merges several servers' logs.

mod catalogue;
#[cfg(feature = "parquet")]
mod guarded;
mod log;
#[cfg(feature = "parquet")]
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

/// Maximum time between lines of a query; a later line with the same name is another query.
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
        let what = "a table has queries, but `watch` lines have connections: use logs of one format";
        return Err(other.unread(Unreadable::Form(what.into())));
    }
    let mut sink = Sink::new(if named { NAMED_GAP } else { reading.gap }, reading.skip_bad, catalogue, each);
    merge(logs, &mut sink)?;
    Ok(sink.end())
}

#[cfg(test)]
mod tests;
