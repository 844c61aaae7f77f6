//! Ranks over an interval of an unknown value: a remedy that helps at both ends is advice, and any other depends on the value.

use crate::advice::{Advice, AtEnds, Remedy};

/// A remedy helps if it takes at most this share of today's time.
const HELPS: f64 = 0.9;

/// The largest time over today's at the ends.
fn worst(ends: &AtEnds) -> f64 {
    ends.relative.iter().map(|one| one.unwrap_or(1.0)).fold(0.0, f64::max)
}

impl Advice {
    /// Ranks the available remedies over an interval of `key`: first those that help at both ends, by their worse end. `ends` have the
    /// advice at each.
    pub fn rank_over(&mut self, key: &'static str, ends: [(&str, &Advice); 2]) {
        let at = |remedy: &Remedy| {
            let best = |advice: &Advice| {
                let same = advice.ranked().filter(|other| other.family == remedy.family);
                same.map(|other| other.relative_to_current).min_by(f64::total_cmp)
            };
            let relative = ends.map(|(_, advice)| best(advice));
            let helps = |relative: &Option<f64>| relative.is_some_and(|relative| relative <= HELPS);
            let holds = relative.iter().all(helps) && remedy.relative_to_current <= HELPS;
            AtEnds { key, ends: ends.map(|(value, _)| value.to_owned()), relative, holds }
        };
        for remedy in &mut self.remedies {
            remedy.at_ends = Some(at(remedy)).filter(|_| remedy.apart.is_none() && remedy.deployable);
        }
        let place = |remedy: &Remedy| match &remedy.at_ends {
            Some(ends) if ends.holds => (0, worst(ends).max(remedy.relative_to_current)),
            Some(_) => (1, remedy.relative_to_current),
            None => (2, 0.0),
        };
        // A stable order: equal ones keep their rank.
        self.remedies.sort_by(|a, b| {
            let (one, other) = (place(a), place(b));
            one.0.cmp(&other.0).then(one.1.total_cmp(&other.1))
        });
    }
}
