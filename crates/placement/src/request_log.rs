//! What was asked for in a period: queries in the order of their times, each with its objects, and how often each object was.
//! Sources: Wang and Shen, "Proactive Incast Congestion Control in a Datacenter Serving Web Applications" (INFOCOM 2018),
//!          section III-A: "a log recording the requesting frequency of each requested data object".
//! Law:     an object counts once a query. Frequencies are exact, whatever is kept. Of queries no more is kept than `limit`
//!          requests: beyond it every other run of `RUN` queries is let go of, then three of four, and so on, so that what is
//!          left is spread over the period and most queries are still followed by the one that did follow.
//! Units:   requests; what is counted over kept queries goes by `kept` and `seen` to all.
//! Owns:    the kept queries one behind another, and a count an object.
//! Checked: tests/placement/request_log.rs.

use fanin_units::Time;

use crate::Object;

/// Queries that are kept or let go of together.
const RUN: u64 = 64;
/// No more queries are kept, so that sums over them fit 32 bits.
const MOST_QUERIES: usize = 1 << 22;

/// A period's queries.
#[derive(Clone, Debug, Hash)]
pub struct RequestLog {
    limit: usize,
    frequencies: Vec<u32>,
    /// Of the kept queries: when each was, its number among all, and where its objects begin.
    at: Vec<Time>,
    numbers: Vec<u64>,
    starts: Vec<usize>,
    objects: Vec<Object>,
    seen: u64,
    /// One run in so many is kept.
    stride: u64,
}

impl RequestLog {
    /// An empty log over so many objects, which keeps the queries of at most `limit` requests, and of 2³² if that is more.
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

    /// A query, no earlier than those before it.
    ///
    /// # Panics
    /// Where it asks for an object that is not among those that there are.
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

    /// How many objects there are.
    pub fn objects(&self) -> usize {
        self.frequencies.len()
    }

    /// How many queries asked for an object.
    pub fn frequency(&self, object: Object) -> u32 {
        self.frequencies[object.0 as usize]
    }

    /// How many queries there were.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// How many of them are kept.
    pub fn kept(&self) -> usize {
        self.at.len()
    }

    /// The objects of a kept query, in their order.
    pub fn query(&self, kept: usize) -> &[Object] {
        &self.objects[self.starts[kept]..self.starts[kept + 1]]
    }

    /// Whether a kept query is the one that came after the kept one before it, at most so much later.
    pub fn follows(&self, kept: usize, within: Time) -> bool {
        kept > 0 && self.numbers[kept] == self.numbers[kept - 1] + 1 && self.at[kept].since(self.at[kept - 1]) <= within
    }

    fn keeps(&self, number: u64) -> bool {
        (number / RUN).is_multiple_of(self.stride)
    }

    /// Lets go of every other run; where there is but the first, of its last query.
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
