//! Which runs wait to be handed in, and how many go into a batch: long ones first and alone, short ones together.

use std::collections::VecDeque;
use std::time::Duration;

/// A run is handed in so often at most.
pub(super) const MOST_TRIES: usize = 3;
/// Runs in a batch at most, by how often they were lost: one of them may be what kills workers.
const MOST_RUNS: [usize; MOST_TRIES] = [usize::MAX, 8, 1];
/// What a batch is to take: enough that to carry it costs little beside it, and little enough that none is waited for long.
const LONGEST_S: f64 = 0.5;
const SHORTEST_S: f64 = 0.02;
/// As long as nothing is known but an estimate.
const FIRST_S: f64 = 0.05;

/// Runs that wait.
pub(super) struct Waiting {
    /// By how often they were lost; in each the longest first.
    runs: [VecDeque<usize>; MOST_TRIES],
    tries: Vec<usize>,
    /// What each is estimated to take, seconds.
    cost: Vec<f64>,
    /// The estimates of all that is neither ended nor given up.
    left: f64,
    /// Of runs that have ended: what they were estimated to take, and what they took.
    estimated: f64,
    took: f64,
}

impl Waiting {
    /// None of so many.
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

    /// These wait, in the order of their places where they cost the same.
    pub(super) fn fill(&mut self, mut places: Vec<usize>, cost: impl Fn(usize) -> f64) {
        for &place in &places {
            self.cost[place] = cost(place);
            self.left += self.cost[place];
        }
        places.sort_by(|&a, &b| self.cost[b].total_cmp(&self.cost[a]).then(a.cmp(&b)));
        self.runs[0] = places.into();
    }

    /// Seconds that an estimated second takes, as far as runs have ended.
    fn scale(&self) -> Option<f64> {
        (self.estimated > 0.0 && self.took > 0.0).then(|| self.took / self.estimated)
    }

    /// The next batch's runs, for so many workers; none where none waits.
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

    /// A run was lost: it waits again. `false` where it was lost too often.
    pub(super) fn again(&mut self, place: usize) -> bool {
        self.tries[place] += 1;
        match self.runs.get_mut(self.tries[place]) {
            Some(runs) => runs.push_back(place),
            None => return false,
        }
        true
    }

    /// A run that has ended took so long.
    pub(super) fn learn(&mut self, place: usize, took: Duration) {
        self.estimated += self.cost[place];
        self.took += took.as_secs_f64();
    }

    /// A run is over.
    pub(super) fn ended(&mut self, place: usize) {
        self.left -= self.cost[place];
    }

    /// Wall time until all are over; `None` before anything is known.
    pub(super) fn left(&self, at_once: usize) -> Option<Duration> {
        let left = self.left.max(0.0) * self.scale()? / at_once as f64;
        Duration::try_from_secs_f64(left).ok()
    }
}
