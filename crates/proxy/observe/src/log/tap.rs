//! Log rows of one thread.

use std::io::Write;
use std::sync::mpsc::SyncSender;

use fanin_units::Share;

use super::{Naming, Rows, Settings};
use fanin_proxy_core::clock::Nanos;

/// Rows are passed on at this size, or at this age of the first.
const ENOUGH: usize = 32 << 10;
const LONGEST: Nanos = 1_000_000_000;

/// A key to log.
#[derive(Clone, Copy, Debug)]
pub struct Logged<'a> {
    /// The key.
    pub key: &'a [u8],
    /// Size of the value, if known.
    pub size: Option<u32>,
    /// Server by hash, independent of plans.
    pub server: usize,
}

/// Log rows of a thread.
#[derive(Debug)]
pub struct Tap {
    to: SyncSender<Rows>,
    naming: Naming,
    /// Share of queries, of 2^32.
    share: u64,
    /// Prefix of the queries' names, and the number of queries.
    name: u64,
    queries: u64,
    /// Unix time at the clock's start, in nanoseconds.
    zero: u64,
    rows: Rows,
    since: Nanos,
}

impl Tap {
    /// The rows of a thread; the name must be unique among all front ends' threads.
    pub fn new(settings: &Settings, to: SyncSender<Rows>, name: u64, zero: u64) -> Tap {
        let share = share(settings.share);
        Tap { to, naming: settings.naming, share, name, queries: 0, zero, rows: Rows::default(), since: 0 }
    }

    /// Begins a query; returns its number if it is in the sample.
    pub fn begins(&mut self) -> Option<u64> {
        self.queries += 1;
        // Evenly spread, independent of the query's contents.
        let drawn = self.queries.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        (drawn < self.share).then_some(self.queries)
    }

    /// Logs a key of a query that was read at `taken`.
    pub fn asked(&mut self, now: Nanos, query: u64, taken: Nanos, key: Logged<'_>) {
        if self.rows.text.is_empty() {
            self.since = now;
        }
        let micros = (self.zero + taken) / 1_000;
        let text = &mut self.rows.text;
        // Writing to a vector cannot fail.
        let _ = write!(text, "{}.{:06},{:x}.{query},", micros / 1_000_000, micros % 1_000_000, self.name);
        self.naming.write(key.key, text);
        let size = key.size.map(|size| size.to_string()).unwrap_or_default();
        let _ = writeln!(text, ",{size},{}", key.server + 1);
        self.rows.count += 1;
    }

    /// When to pass rows on, if there are any.
    pub fn due(&self) -> Option<Nanos> {
        (!self.rows.text.is_empty()).then_some(self.since + LONGEST)
    }

    /// Passes rows on when due; returns the number of dropped rows.
    pub fn hand_on(&mut self, now: Nanos, at_once: bool) -> u64 {
        let due = self.rows.text.len() >= ENOUGH || self.due().is_some_and(|due| due <= now);
        if self.rows.text.is_empty() || !(due || at_once) {
            return 0;
        }
        let rows = std::mem::take(&mut self.rows);
        self.to.try_send(rows).map_or_else(|_| 1, |()| 0)
    }
}

fn share(share: Share) -> u64 {
    u64::from(share.in_q(31)) * 2
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use fanin_units::Bytes;

    use super::*;

    fn tap(share: Share, room: usize) -> (Tap, std::sync::mpsc::Receiver<Rows>) {
        let (to, rows) = sync_channel(room);
        let settings = Settings { file: "x.csv".into(), share, naming: Naming::Plain, size: Bytes(1 << 20), files: 2 };
        (Tap::new(&settings, to, 0xab, 1_700_000_000_000_000_000), rows)
    }

    #[test]
    fn rows_have_time_query_key_and_size() {
        let (mut tap, rows) = tap(Share::of(1, 1), 4);
        let query = tap.begins().unwrap();
        tap.asked(5_000_000, query, 2_000_000, Logged { key: b"a:1", size: Some(7), server: 0 });
        tap.asked(5_000_000, query, 2_000_000, Logged { key: b"b", size: None, server: 11 });
        assert_eq!((tap.hand_on(6_000_000, false), rows.try_recv().is_err()), (0, true));
        assert_eq!(tap.due(), Some(1_005_000_000));
        assert_eq!(tap.hand_on(1_005_000_000, false), 0);
        let got = rows.try_recv().unwrap();
        assert_eq!(got.text, b"1700000000.002000,ab.1,a%3A1,7,1\n1700000000.002000,ab.1,b,,12\n");
        assert_eq!(got.count, 2);
    }

    #[test]
    fn samples_share_of_queries() {
        let (mut tap, _rows) = tap(Share::of(1, 100), 4);
        let logged = (0..100_000).filter(|_| tap.begins().is_some()).count();
        assert!((900..=1100).contains(&logged), "{logged}");
        assert_eq!(share(Share::of(1, 1)), 1 << 32);
    }

    #[test]
    fn drops_rows_without_waiting() {
        let (mut tap, _rows) = tap(Share::of(1, 1), 1);
        for _ in 0..3 {
            tap.asked(0, 1, 0, Logged { key: b"k", size: None, server: 0 });
            tap.hand_on(0, true);
        }
        tap.asked(0, 1, 0, Logged { key: b"k", size: None, server: 0 });
        assert_eq!(tap.hand_on(0, true), 1);
    }
}
