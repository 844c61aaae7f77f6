//! What a thread puts down of the queries that it takes.

use std::io::Write;
use std::sync::mpsc::SyncSender;

use fanin_units::Share;

use super::{Naming, Rows, Settings};
use crate::clock::Nanos;

/// Rows are handed on when they have so many bytes, and no later than so long after the first.
const ENOUGH: usize = 32 << 10;
const LONGEST: Nanos = 1_000_000_000;

/// A key as it is logged.
#[derive(Clone, Copy, Debug)]
pub struct Logged<'a> {
    /// Its bytes.
    pub key: &'a [u8],
    /// The size of its value, where that is known.
    pub size: Option<u32>,
    /// Its server by its hash, whatever a plan says.
    pub server: usize,
}

/// A thread's.
#[derive(Debug)]
pub struct Tap {
    to: SyncSender<Rows>,
    naming: Naming,
    /// Of 2^32 queries, so many.
    share: u64,
    /// What the names of its queries begin with, and how many there were.
    name: u64,
    queries: u64,
    /// Unix time as the thread's clock began, in nanoseconds.
    zero: u64,
    rows: Rows,
    since: Nanos,
}

impl Tap {
    /// One for a thread; of all threads of all front ends, none may have its name.
    pub fn new(settings: &Settings, to: SyncSender<Rows>, name: u64, zero: u64) -> Tap {
        let share = share(settings.share);
        Tap { to, naming: settings.naming, share, name, queries: 0, zero, rows: Rows::default(), since: 0 }
    }

    /// A query begins: its number, where it is one that is logged.
    pub fn begins(&mut self) -> Option<u64> {
        self.queries += 1;
        // Spread evenly, and by nothing that a query is.
        let drawn = self.queries.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        (drawn < self.share).then_some(self.queries)
    }

    /// A key of a query that was taken then.
    pub fn asked(&mut self, now: Nanos, query: u64, taken: Nanos, key: Logged<'_>) {
        if self.rows.text.is_empty() {
            self.since = now;
        }
        let micros = (self.zero + taken) / 1_000;
        let text = &mut self.rows.text;
        // A vector takes everything.
        let _ = write!(text, "{}.{:06},{:x}.{query},", micros / 1_000_000, micros % 1_000_000, self.name);
        self.naming.write(key.key, text);
        let size = key.size.map(|size| size.to_string()).unwrap_or_default();
        let _ = writeln!(text, ",{size},{}", key.server + 1);
        self.rows.count += 1;
    }

    /// When to hand on what there is, if ever.
    pub fn due(&self) -> Option<Nanos> {
        (!self.rows.text.is_empty()).then_some(self.since + LONGEST)
    }

    /// Hands on what there is, where it is time; gives how many rows nobody had room for.
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
    fn rows_have_unix_time_the_querys_name_the_key_and_its_size() {
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
    fn a_share_of_queries_is_a_share() {
        let (mut tap, _rows) = tap(Share::of(1, 100), 4);
        let logged = (0..100_000).filter(|_| tap.begins().is_some()).count();
        assert!((900..=1100).contains(&logged), "{logged}");
        assert_eq!(share(Share::of(1, 1)), 1 << 32);
    }

    #[test]
    fn what_nobody_has_room_for_is_left_out_and_nobody_waits() {
        let (mut tap, _rows) = tap(Share::of(1, 1), 1);
        for _ in 0..3 {
            tap.asked(0, 1, 0, Logged { key: b"k", size: None, server: 0 });
            tap.hand_on(0, true);
        }
        tap.asked(0, 1, 0, Logged { key: b"k", size: None, server: 0 });
        assert_eq!(tap.hand_on(0, true), 1);
    }
}
