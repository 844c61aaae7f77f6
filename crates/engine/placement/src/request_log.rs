//! Request log of a period: queries by time, each with its objects, and the frequency of each object.
//! Sources: Wang and Shen, "Proactive Incast Congestion Control in a Datacenter Serving Web Applications" (INFOCOM 2018),
//!          section III-A: "a log recording the requesting frequency of each requested data object".
//! Law:     an object counts once per query. Frequencies are always exact. Queries are kept up to `limit` requests: beyond it every
//!          other run of `RUN` queries is dropped, then three of four, and so on, so the rest is spread over the period and most
//!          queries keep their successor.
//! Units:   requests; counts over kept queries are scaled by `seen` / `kept`.
//! Owns:    the kept queries, concatenated, and a count per object.
//! Checked: tests/placement/request_log.rs.

use fanin_units::Time;

use crate::Object;

/// Number of queries kept or dropped together.
const RUN: u64 = 64;
/// Maximum number of kept queries, so that sums fit 32 bits.
const MOST_QUERIES: usize = 1 << 22;

/// Queries of a period.
#[derive(Clone, Debug, Hash)]
pub struct RequestLog {
    limit: usize,
    frequencies: Vec<u32>,
    /// Per kept query: time, index among all, and start of its objects.
    at: Vec<Time>,
    numbers: Vec<u64>,
    starts: Vec<usize>,
    objects: Vec<Object>,
    seen: u64,
    /// One run in this many is kept.
    stride: u64,
}

impl RequestLog {
    /// An empty log, which keeps queries of at most `limit` requests (at most 2³²).
    pub fn new(objects: usize, limit: usize) -> RequestLog {
        RequestLog {
            limit: limit.min(u32::MAX as usize),
            frequencies: vec![0; objects],
            at: Vec::new(),
            numbers: Vec::new(),
            starts: vec![0],
            objects: Vec::new(),
            seen: 0,
            stride: 1,
        }
    }

    /// Adds a query; times must not decrease.
    ///
    /// # Panics
    /// An object is out of range.
    pub fn add(&mut self, at: Time, asked: impl IntoIterator<Item = Object>) {
        let number = self.seen;
        self.seen += 1;
        let mut distinct: Vec<Object> = asked.into_iter().collect();
        distinct.sort_unstable();
        distinct.dedup();
        for object in &distinct {
            let frequency = &mut self.frequencies[object.0 as usize];
            *frequency = frequency.saturating_add(1);
        }
        if !self.keeps(number) {
            return;
        }
        self.objects.append(&mut distinct);
        self.at.push(at);
        self.numbers.push(number);
        self.starts.push(self.objects.len());
        while self.objects.len() > self.limit || self.kept() > MOST_QUERIES {
            self.thin();
        }
    }

    /// Number of objects.
    pub fn objects(&self) -> usize {
        self.frequencies.len()
    }

    /// Number of queries for an object.
    pub fn frequency(&self, object: Object) -> u32 {
        self.frequencies[object.0 as usize]
    }

    /// Number of queries.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// Number of kept queries.
    pub fn kept(&self) -> usize {
        self.at.len()
    }

    /// Objects of a kept query, sorted.
    pub fn query(&self, kept: usize) -> &[Object] {
        &self.objects[self.starts[kept]..self.starts[kept + 1]]
    }

    /// Whether a kept query directly followed the previous kept one, within this time.
    pub fn follows(&self, kept: usize, within: Time) -> bool {
        kept > 0 && self.numbers[kept] == self.numbers[kept - 1] + 1 && self.at[kept].since(self.at[kept - 1]) <= within
    }

    fn keeps(&self, number: u64) -> bool {
        (number / RUN).is_multiple_of(self.stride)
    }

    /// Drops every other run; if there is only one, its last query.
    fn thin(&mut self) {
        if self.numbers.last().is_none_or(|number| *number < RUN) {
            self.shorten(self.kept() - 1);
            return;
        }
        self.stride *= 2;
        let mut kept = 0;
        for query in 0..self.kept() {
            if self.keeps(self.numbers[query]) {
                let (objects, to) = (self.starts[query]..self.starts[query + 1], self.starts[kept]);
                self.starts[kept + 1] = to + objects.len();
                self.objects.copy_within(objects, to);
                self.at[kept] = self.at[query];
                self.numbers[kept] = self.numbers[query];
                kept += 1;
            }
        }
        self.shorten(kept);
    }

    fn shorten(&mut self, kept: usize) {
        self.at.truncate(kept);
        self.numbers.truncate(kept);
        self.starts.truncate(kept + 1);
        self.objects.truncate(self.starts[kept]);
    }
}
