//! Estimate of the remaining time from finished runs.

use std::collections::BTreeMap;
use std::time::Duration;

use fanin_spec::RunSpec;

/// Durations of finished runs, by scheme and point.
#[derive(Default)]
pub(crate) struct Costs {
    points: BTreeMap<(String, usize), Mean>,
    places: BTreeMap<usize, Mean>,
    all: Mean,
}

#[derive(Clone, Copy, Default)]
struct Mean {
    sum: Duration,
    n: u32,
}

impl Mean {
    fn add(&mut self, took: Duration) {
        self.sum += took;
        self.n += 1;
    }

    fn get(self) -> Option<Duration> {
        self.sum.checked_div(self.n)
    }
}

impl Costs {
    /// Learns from a finished run.
    pub(crate) fn learn(&mut self, spec: &RunSpec, took: Duration) {
        self.points.entry((spec.label.clone(), spec.place)).or_default().add(took);
        self.places.entry(spec.place).or_default().add(took);
        self.all.add(took);
    }

    /// Expected duration of a run: from the same point, else from that point of other schemes, else from all; `None` before any run
    /// has finished.
    pub(crate) fn expect(&self, spec: &RunSpec) -> Option<Duration> {
        let point = self.points.get(&(spec.label.clone(), spec.place));
        let known = point.or_else(|| self.places.get(&spec.place)).copied().unwrap_or(self.all);
        known.get()
    }
}

/// Time for `jobs` threads to finish these pieces, at least the longest one.
pub(crate) fn spread(left: impl Iterator<Item = Duration>, jobs: u32) -> Duration {
    let (sum, longest) = left.fold((Duration::ZERO, Duration::ZERO), |(sum, max), d| (sum + d, max.max(d)));
    (sum / jobs.max(1)).max(longest)
}

#[cfg(test)]
mod tests {
    use fanin_spec::Scenario;

    use super::*;

    fn spec(label: &str, fan_in: u32) -> RunSpec {
        let text = format!(
            "[[schemes]]\nlabel = \"{label}\"\nscheme = \"newreno\"\n[workload]\nfragment = \"64 KiB\"\n[sweep]\nfan_in = [2, 4, 8]\n"
        );
        let variants = Scenario::parse("sample.toml", &text).and_then(|scenario| scenario.variants()).unwrap();
        variants[0].run(fan_in, 1).unwrap()
    }

    #[test]
    fn expects_nothing_before_the_first_run() {
        assert_eq!(Costs::default().expect(&spec("a", 2)), None);
    }

    #[test]
    fn uses_the_most_similar_runs() {
        let mut costs = Costs::default();
        costs.learn(&spec("a", 2), Duration::from_secs(1));
        costs.learn(&spec("a", 4), Duration::from_secs(4));
        costs.learn(&spec("b", 4), Duration::from_secs(10));
        assert_eq!(costs.expect(&spec("a", 4)), Some(Duration::from_secs(4)));
        assert_eq!(costs.expect(&spec("c", 4)), Some(Duration::from_secs(7)));
        assert_eq!(costs.expect(&spec("c", 8)), Some(Duration::from_secs(5)));
    }

    #[test]
    fn remaining_time_is_at_least_the_longest_run() {
        let pieces = [1, 1, 6].map(Duration::from_secs);
        assert_eq!(spread(pieces.into_iter(), 1), Duration::from_secs(8));
        assert_eq!(spread(pieces.into_iter(), 4), Duration::from_secs(6));
    }
}
