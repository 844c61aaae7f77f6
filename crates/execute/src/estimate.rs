//! How long the rest will take, learnt from what has finished.

use std::collections::BTreeMap;
use std::time::Duration;

use fanin_spec::RunSpec;

/// What finished runs took, by scheme and point.
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

    /// What a run is expected to take: as the same point, else as the same point of another scheme, else as all; `None` before
    /// anything is known.
    pub(crate) fn expect(&self, spec: &RunSpec) -> Option<Duration> {
        let point = self.points.get(&(spec.label.clone(), spec.place));
        let known = point.or_else(|| self.places.get(&spec.place)).copied().unwrap_or(self.all);
        known.get()
    }
}

/// The time that `jobs` threads need for pieces that are left: no less than the longest of them.
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
    fn nothing_is_expected_before_anything_is_known() {
        assert_eq!(Costs::default().expect(&spec("a", 2)), None);
    }

    #[test]
    fn the_nearest_knowledge_is_taken() {
        let mut costs = Costs::default();
        costs.learn(&spec("a", 2), Duration::from_secs(1));
        costs.learn(&spec("a", 4), Duration::from_secs(4));
        costs.learn(&spec("b", 4), Duration::from_secs(10));
        assert_eq!(costs.expect(&spec("a", 4)), Some(Duration::from_secs(4)));
        assert_eq!(costs.expect(&spec("c", 4)), Some(Duration::from_secs(7)));
        assert_eq!(costs.expect(&spec("c", 8)), Some(Duration::from_secs(5)));
    }

    #[test]
    fn the_rest_takes_no_less_than_its_longest_piece() {
        let pieces = [1, 1, 6].map(Duration::from_secs);
        assert_eq!(spread(pieces.into_iter(), 1), Duration::from_secs(8));
        assert_eq!(spread(pieces.into_iter(), 4), Duration::from_secs(6));
    }
}
