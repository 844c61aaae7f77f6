//! Queue of runs and their division into batches: long runs first and alone, short ones together.

use std::collections::VecDeque;
use std::time::Duration;

/// Maximum number of attempts per run.
pub(super) const MOST_TRIES: usize = 3;
/// Maximum runs per batch by number of losses, because one of its runs may kill workers.
const MOST_RUNS: [usize; MOST_TRIES] = [usize::MAX, 8, 1];
/// Target duration of a batch: long compared with its transport, short compared with the whole.
const LONGEST_S: f64 = 0.5;
const SHORTEST_S: f64 = 0.02;
/// Target duration before any run has finished.
const FIRST_S: f64 = 0.05;

/// Queued runs.
pub(super) struct Waiting {
    /// By number of losses; the longest first.
    runs: [VecDeque<usize>; MOST_TRIES],
    tries: Vec<usize>,
    /// Estimated seconds of each run.
    cost: Vec<f64>,
    /// Sum of estimates of unfinished runs.
    left: f64,
    /// Estimated and actual seconds of finished runs.
    estimated: f64,
    took: f64,
}

impl Waiting {
    /// An empty queue for this many runs.
    pub(super) fn new(runs: usize) -> Waiting {
        Waiting {
            runs: Default::default(),
            tries: vec![0; runs],
            cost: vec![0.0; runs],
            left: 0.0,
            estimated: 0.0,
            took: 0.0,
        }
    }

    /// Queues runs by cost, then by index.
    pub(super) fn fill(&mut self, mut places: Vec<usize>, cost: impl Fn(usize) -> f64) {
        for &place in &places {
            self.cost[place] = cost(place);
            self.left += self.cost[place];
        }
        places.sort_by(|&a, &b| self.cost[b].total_cmp(&self.cost[a]).then(a.cmp(&b)));
        self.runs[0] = places.into();
    }

    /// Actual seconds per estimated second, once runs have finished.
    fn scale(&self) -> Option<f64> {
        (self.estimated > 0.0 && self.took > 0.0).then(|| self.took / self.estimated)
    }

    /// The runs of the next batch for this many workers; empty if none is queued.
    pub(super) fn batch(&mut self, at_once: usize) -> Vec<usize> {
        let Some(tries) = (0..MOST_TRIES).rev().find(|&tries| !self.runs[tries].is_empty()) else { return Vec::new() };
        let share = self.left * self.scale().unwrap_or(1.0) / (3 * at_once) as f64;
        let longest = if self.scale().is_some() { LONGEST_S } else { FIRST_S };
        let room = share.clamp(SHORTEST_S, longest) / self.scale().unwrap_or(1.0);
        let (mut places, mut sum) = (Vec::new(), 0.0);
        while let Some(&place) = self.runs[tries].front()
            && places.len() < MOST_RUNS[tries]
            && (places.is_empty() || sum + self.cost[place] <= room)
        {
            sum += self.cost[place];
            places.push(place);
            self.runs[tries].pop_front();
        }
        places
    }

    /// Queues a lost run again; `false` if it was lost too often.
    pub(super) fn again(&mut self, place: usize) -> bool {
        self.tries[place] += 1;
        match self.runs.get_mut(self.tries[place]) {
            Some(runs) => runs.push_back(place),
            None => return false,
        }
        true
    }

    /// Records the duration of a finished run.
    pub(super) fn learn(&mut self, place: usize, took: Duration) {
        self.estimated += self.cost[place];
        self.took += took.as_secs_f64();
    }

    /// Removes a run.
    pub(super) fn ended(&mut self, place: usize) {
        self.left -= self.cost[place];
    }

    /// Estimated wall time until all are finished; `None` before the first result.
    pub(super) fn left(&self, at_once: usize) -> Option<Duration> {
        let left = self.left.max(0.0) * self.scale()? / at_once as f64;
        Duration::try_from_secs_f64(left).ok()
    }
}
