//! Closeness: how likely two objects are requested together.
//! Sources: Wang and Shen, "Proactive Incast Congestion Control in a Datacenter Serving Web Applications" (INFOCOM 2018),
//!          section III-B, equation 1: C_T = α ΣP_t + β ΣQ_t + (1 − α − β) C_{T−1}.
//! Law:     P counts queries for both objects; Q counts queries for one where the next query, within a time slot, requests the
//!          other. Without history the period counts as if all earlier ones had been equal: C_{T−1} is the fixed point of
//!          equation 1, so the same log again changes nothing.
//! Units:   1/256 of a request, scaled up to all queries if the log keeps only some. The maximum is 2³¹ − 1.
//! Owns:    nothing; the result is the next period's history.
//! Departs: of the pairs (10⁸ in a log of 417 queries of 1,000 objects), only those edges are kept that are among the `strongest` of
//!          their rarer object; an edge cannot exceed that object's frequency. Ties go to the more frequent object. Edges are dropped
//!          that are so weak that `strongest` of them do not exceed w, or that are below `least` of the more frequent object's
//!          requests. Without the latter, objects requested all the time are close to everything, and minimum cuts find one cluster
//!          or none (docs/performance.md).
//! Checked: tests/placement/closeness.rs, against all pairs counted one by one; vectors/closeness.json.

use crate::picc::Params;
use crate::{Object, RequestLog};

/// Closeness of one common request.
pub const UNIT: u32 = 256;

/// Maximum closeness of two objects.
const MOST: u64 = i32::MAX as u64;

/// Closeness of two objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Edge {
    /// The objects, the rarer first.
    pub ends: [Object; 2],
    /// Closeness in `UNIT`s.
    pub closeness: u32,
}

/// The strongest edges after a period with this history.
pub fn closeness(log: &RequestLog, history: Option<&[Edge]>, settings: &Params) -> Vec<Edge> {
    let index = Index::of(log, history.unwrap_or_default());
    let mut rows = Rows::new(log, &index, history.is_some(), settings);
    let mut edges = Vec::new();
    for rank in 0..index.order.len() as u32 {
        rows.row(rank, &mut edges);
    }
    edges
}

/// Objects in at least this many queries are stored as dense rows, which are faster to sum than lists.
const DENSE: usize = 32;

/// Number of sums of dense objects that are checked together.
const ABREAST: usize = 16;

/// Requested objects, now or in the history, ranked by falling frequency.
struct Index {
    order: Vec<Object>,
    /// Kept queries that request each object.
    queries: Groups<u32>,
    /// History of each object with those of lower rank.
    past: Groups<(u32, u32)>,
}

impl Index {
    fn of(log: &RequestLog, history: &[Edge]) -> Index {
        let mut known = vec![false; log.objects()];
        let mut counts = vec![0u32; log.objects()];
        let requests = || (0..log.kept()).flat_map(|query| log.query(query).iter().map(move |object| (*object, query)));
        requests().for_each(|(object, _)| counts[object.0 as usize] += 1);
        history.iter().flat_map(|edge| edge.ends).for_each(|object| known[object.0 as usize] = true);
        let in_use = |object: &u32| known[*object as usize] || counts[*object as usize] > 0;
        let mut order: Vec<u32> = (0..log.objects() as u32).filter(in_use).collect();
        order.sort_unstable_by_key(|object| (!counts[*object as usize], *object));
        let mut ranks = vec![u32::MAX; log.objects()];
        order.iter().zip(0..).for_each(|(object, rank)| ranks[*object as usize] = rank);
        let rank = |object: Object| ranks[object.0 as usize];
        let past = history.iter().map(|edge| {
            let [one, other] = edge.ends.map(rank);
            (one.max(other), (one.min(other), edge.closeness))
        });
        Index {
            queries: Groups::of(order.len(), || requests().map(|(object, query)| (rank(object), query as u32))),
            past: Groups::of(order.len(), || past.clone()),
            order: order.into_iter().map(Object).collect(),
        }
    }
}

/// Items per index, concatenated.
struct Groups<T> {
    starts: Vec<usize>,
    items: Vec<T>,
}

impl<T: Copy + Default> Groups<T> {
    fn of<I: Iterator<Item = (u32, T)>>(numbers: usize, items: impl Fn() -> I) -> Groups<T> {
        let mut starts = vec![0; numbers + 1];
        items().for_each(|(number, _)| starts[number as usize + 1] += 1);
        (0..numbers).for_each(|number| starts[number + 1] += starts[number]);
        let mut next = starts.clone();
        let mut sorted = vec![T::default(); starts[numbers]];
        for (number, item) in items() {
            let place = &mut next[number as usize];
            sorted[*place] = item;
            *place += 1;
        }
        Groups { starts, items: sorted }
    }

    fn get(&self, number: u32) -> &[T] {
        &self.items[self.starts[number as usize]..self.starts[number as usize + 1]]
    }
}

/// Growing sorted lists with fixed capacities; neighbours are adjacent in memory.
struct Lists {
    bounds: Vec<Bounds>,
    items: Vec<u32>,
}

/// Start and current end of a list; items before `passed` were below the last query's bound.
#[derive(Clone, Copy)]
struct Bounds {
    start: u32,
    passed: u32,
    end: u32,
}

impl Lists {
    fn new(lengths: impl Iterator<Item = usize>) -> Lists {
        let mut end = 0;
        let bound = |length| {
            let start = end;
            end += length as u32;
            Bounds { start, passed: start, end: start }
        };
        let bounds = lengths.map(bound).collect();
        Lists { bounds, items: vec![0; end as usize] }
    }

    fn push(&mut self, list: usize, item: u32) {
        let end = &mut self.bounds[list].end;
        self.items[*end as usize] = item;
        *end += 1;
    }

    /// Items of a list from a bound on; the bound mostly grows, so few items are skipped.
    fn since(&mut self, list: usize, from: u32) -> &[u32] {
        let Bounds { start, passed, end } = &mut self.bounds[list];
        let items = &self.items[..*end as usize];
        if *passed > *start && items[*passed as usize - 1] >= from {
            *passed = *start;
        }
        let more = items[*passed as usize..].iter().take_while(|item| **item < from).count();
        *passed += more as u32;
        &items[*passed as usize..]
    }
}

/// Edges from each object to those of lower rank, so each pair occurs once.
struct Rows<'a> {
    index: &'a Index,
    log: &'a RequestLog,
    settings: &'a Params,
    /// Number of dense ranks, and their weight for an object of each query.
    dense: usize,
    rows: Vec<u16>,
    /// Other ranks of each query so far: those below the current object, in order.
    lists: Lists,
    /// Whether each query is the successor of the one before it.
    sequel: Vec<bool>,
    alpha: u32,
    beta: u32,
    decay: u64,
    /// Numerator and denominator that scale a sum over kept queries.
    scale: (u64, u64),
    /// Minimum closeness of an edge; and by rank, falling, the minimum sum relative to that object's requests.
    floor: u64,
    enough: Vec<u32>,
    /// Number of ranks too frequent to be close to the current object in this period; and the first rank that is examined.
    too_frequent: u32,
    from: u32,
    /// By rank; zero between rows.
    sums: Vec<u32>,
    best: Vec<(u32, u32)>,
}

impl<'a> Rows<'a> {
    fn new(log: &'a RequestLog, index: &'a Index, has_history: bool, settings: &'a Params) -> Rows<'a> {
        let (alpha, beta) = (settings.alpha.in_q(8), settings.beta.in_q(8).min(UNIT - settings.alpha.in_q(8)));
        // The fixed point of equation 1 is S / (α + β).
        let rest = if has_history { UNIT } else { (alpha + beta).max(1) };
        let scale = (log.seen() * u64::from(UNIT), (log.kept() as u64 * u64::from(rest)).max(1));
        let in_many = |rank: &u32| index.queries.get(*rank).len() * DENSE >= log.kept().max(1);
        let dense = (0..index.order.len() as u32).take_while(in_many).count();
        let mut rows = Rows {
            index,
            log,
            settings,
            dense,
            rows: vec![0; dense * log.kept()],
            lists: Lists::new((0..log.kept()).map(|query| log.query(query).len())),
            // No successors if they do not count; the last query has none.
            sequel: (0..=log.kept())
                .map(|query| beta > 0 && query < log.kept() && log.follows(query, settings.slot))
                .collect(),
            alpha,
            beta,
            decay: u64::from(UNIT - alpha - beta),
            scale,
            floor: u64::from(settings.w) * u64::from(UNIT) / u64::from(settings.strongest) + 1,
            enough: Vec::new(),
            too_frequent: 0,
            from: 0,
            sums: vec![0; index.order.len()],
            best: Vec::new(),
        };
        rows.enough = (0..index.order.len() as u32).map(|rank| rows.sum_for(rows.least_with(rank))).collect();
        rows.fill();
        rows
    }

    /// Fills the weights of dense objects.
    fn fill(&mut self) {
        let Rows { index, dense, alpha, beta, .. } = *self;
        for rank in 0..dense {
            for query in index.queries.get(rank as u32) {
                let query = *query as usize;
                self.rows[query * dense + rank] += alpha as u16;
                let [before, after] = self.sequels(query);
                for query in [before, after].into_iter().flatten() {
                    self.rows[query * dense + rank] += beta as u16;
                }
            }
        }
    }

    /// The previous and the next query.
    fn sequels(&self, query: usize) -> [Option<usize>; 2] {
        [self.sequel[query].then(|| query - 1), self.sequel[query + 1].then_some(query + 1)]
    }

    fn row(&mut self, rank: u32, edges: &mut Vec<Edge>) {
        let index = self.index;
        let queries = index.queries.get(rank);
        self.skip_too_frequent(rank);
        // Dense objects of lower rank that are not too frequent.
        let end = self.dense.min(rank as usize);
        let many = end.min(self.from as usize)..end;
        for query in queries {
            let row = &self.rows[*query as usize * self.dense..];
            if !many.is_empty() {
                let sums = self.sums[many.clone()].iter_mut().zip(&row[many.clone()]);
                sums.for_each(|(sum, weight)| *sum += u32::from(*weight));
            }
            self.around(*query as usize, |list, sums, _, weight| {
                list.iter().for_each(|other| sums[*other as usize] += weight);
            });
        }
        let past = self.with_history(rank);
        let most = self.settings.strongest as usize;
        let mut best = std::mem::take(&mut self.best);
        // The bound is lowest here.
        let mut least = self.enough[rank as usize].max(1);
        let first = many.start;
        for (place, sums) in self.sums[many.clone()].chunks(ABREAST).enumerate() {
            // Usually no sum is large enough, which one check over all shows.
            if sums.iter().fold(true, |none, sum| none & (*sum < least)) {
                continue;
            }
            for (sum, other) in sums.iter().zip(first + place * ABREAST..) {
                if *sum >= least && *sum >= self.enough[other] {
                    best.push((*sum, other as u32));
                    least = narrow(&mut best, most, least);
                }
            }
        }
        self.sums[many].fill(0);
        for query in queries {
            self.around(*query as usize, |list, sums, enough, _| {
                for other in list {
                    let sum = std::mem::take(&mut sums[*other as usize]);
                    if sum >= least && sum >= enough[*other as usize] {
                        best.push((sum, *other));
                    }
                }
            });
            least = narrow(&mut best, most, least);
        }
        best.iter_mut().for_each(|(sum, _)| *sum = self.scaled(*sum).min(MOST) as u32);
        best.extend(past);
        strongest(&mut best, most);
        let object = index.order[rank as usize];
        let edge = |(closeness, other): (u32, u32)| Edge { ends: [object, index.order[other as usize]], closeness };
        edges.extend(best.drain(..).map(edge));
        self.best = best;
        if rank as usize >= self.dense {
            queries.iter().for_each(|query| self.lists.push(*query as usize, rank));
        }
    }

    /// Minimum closeness to an object for an edge.
    fn least_with(&self, rank: u32) -> u64 {
        let asked = self.index.queries.get(rank).len() as u64 * self.log.seen() / self.log.kept().max(1) as u64;
        self.settings.least.part_of(asked * u64::from(UNIT)).max(self.floor)
    }

    /// Finds the first rank that is not too frequent: an object that can be close in this period, or was close before.
    fn skip_too_frequent(&mut self, rank: u32) {
        let most = self.index.queries.get(rank).len() as u64 * u64::from(self.alpha + 2 * self.beta);
        while self.too_frequent < rank && u64::from(self.enough[self.too_frequent as usize]) > most {
            self.too_frequent += 1;
        }
        let before = self.index.past.get(rank).iter().map(|(other, _)| *other).min();
        self.from = self.too_frequent.min(before.unwrap_or(u32::MAX));
    }

    /// Passes the lists of a query and its neighbours, with weights, sums and bounds, to `with`.
    fn around(&mut self, query: usize, mut with: impl FnMut(&[u32], &mut [u32], &[u32], u32)) {
        with(self.lists.since(query, self.from), &mut self.sums, &self.enough, self.alpha);
        for other in self.sequels(query).into_iter().flatten() {
            with(self.lists.since(other, self.from), &mut self.sums, &self.enough, self.beta);
        }
    }

    /// Edges of an object in the history; takes their sums.
    fn with_history(&mut self, rank: u32) -> Vec<(u32, u32)> {
        let index = self.index;
        let mut edges = Vec::new();
        for (other, before) in index.past.get(rank) {
            let sum = std::mem::take(&mut self.sums[*other as usize]);
            let closeness = self.scaled(sum) + ((u64::from(*before) * self.decay) >> 8);
            if closeness >= self.least_with(*other) {
                edges.push((closeness.min(MOST) as u32, *other));
            }
        }
        edges
    }

    /// Minimum sum over kept queries for a closeness.
    fn sum_for(&self, closeness: u64) -> u32 {
        (closeness * self.scale.1).div_ceil(self.scale.0.max(1)).min(u32::MAX.into()) as u32
    }

    fn scaled(&self, sum: u32) -> u64 {
        u64::from(sum) * self.scale.0 / self.scale.1
    }
}

/// Keeps the strongest edges; ties go to lower ranks.
fn strongest(edges: &mut Vec<(u32, u32)>, most: usize) {
    if edges.len() > most {
        edges.select_nth_unstable_by_key(most, |(closeness, other)| (!closeness, *other));
        edges.truncate(most);
    }
}

/// Keeps the strongest edges once there are many; returns the minimum for further ones.
fn narrow(best: &mut Vec<(u32, u32)>, most: usize, least: u32) -> u32 {
    if best.len() < 4 * most {
        return least;
    }
    strongest(best, most);
    best.iter().map(|(sum, _)| *sum).min().unwrap_or(least)
}
