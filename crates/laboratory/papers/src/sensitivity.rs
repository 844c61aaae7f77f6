//! Sensitivity of verdicts to open parameters: each goes to either end of its plausible range, one at a time.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::judge::Verdict;

/// Sensitivity by claim.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sensitivity {
    /// The settings that were tried: `tcp.delayed_ack=1`.
    pub tried: Vec<String>,
    /// Each claim.
    pub claims: BTreeMap<String, ClaimSensitivity>,
}

/// The sensitivity of one claim's verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimSensitivity {
    /// The verdict with the scenarios' own values.
    pub here: Verdict,
    /// The differing verdicts, by setting.
    pub there: BTreeMap<String, Verdict>,
}

impl ClaimSensitivity {
    /// Whether the claim holds under some settings and fails under others. A change from or to undecided may be chance.
    pub fn fragile(&self) -> bool {
        let is = |verdict| self.here == verdict || self.there.values().any(|&other| other == verdict);
        is(Verdict::Pass) && is(Verdict::Fail)
    }
}

/// The effect of one setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change<'a> {
    /// `tcp.delayed_ack=1`.
    pub setting: &'a str,
    /// How many claims hold under it.
    pub held: usize,
    /// The claims whose verdict changes, with the new one.
    pub verdicts: Vec<(&'a str, Verdict)>,
}

impl Sensitivity {
    /// The effects of each setting on the claims that count, in the order of trial.
    pub fn changes<'a>(&'a self, counts: &dyn Fn(&str) -> bool) -> Vec<Change<'a>> {
        let of = |setting: &'a String| {
            let claims = || self.claims.iter().filter(|(id, _)| counts(id));
            let there = |hanging: &ClaimSensitivity| hanging.there.get(setting).copied();
            let verdicts = claims().filter_map(|(id, hanging)| Some((id.as_str(), there(hanging)?))).collect();
            let held = claims().filter(|(_, h)| there(h).unwrap_or(h.here) == Verdict::Pass).count();
            Change { setting, held, verdicts }
        };
        self.tried.iter().map(of).collect()
    }

    /// The parameter that most fragile claims depend on, and their number.
    pub fn most(&self, counts: &dyn Fn(&str) -> bool) -> Option<(&str, usize)> {
        let key = |setting: &'_ str| setting.split('=').next().unwrap_or_default().len();
        let mut by_key: BTreeMap<&str, usize> = BTreeMap::new();
        for (_, hanging) in self.claims.iter().filter(|(id, hanging)| counts(id) && hanging.fragile()) {
            let opposite = |verdict| verdict != Verdict::Undecided && verdict != hanging.here;
            let settings = hanging.there.iter().filter(|(_, there)| opposite(**there)).map(|(setting, _)| setting);
            let keys: BTreeSet<&str> = settings.map(|setting| &setting[..key(setting)]).collect();
            keys.into_iter().for_each(|key| *by_key.entry(key).or_default() += 1);
        }
        // The first of equal ones.
        by_key.into_iter().rev().max_by_key(|&(_, claims)| claims)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Verdict::{Fail, Pass, Undecided};

    fn hanging(here: Verdict, there: &[(&str, Verdict)]) -> ClaimSensitivity {
        ClaimSensitivity { here, there: there.iter().map(|&(setting, verdict)| (setting.into(), verdict)).collect() }
    }

    #[test]
    fn claims_are_fragile_if_they_hold_and_fail_by_setting() {
        assert!(hanging(Pass, &[("a=1", Fail)]).fragile() && hanging(Fail, &[("a=1", Pass)]).fragile());
        assert!(hanging(Undecided, &[("a=1", Pass), ("a=2", Fail)]).fragile());
        assert!(!hanging(Pass, &[]).fragile() && !hanging(Undecided, &[("a=1", Pass)]).fragile());
        assert!(!hanging(Pass, &[("a=1", Undecided)]).fragile(), "not beyond chance");
    }

    #[test]
    fn changes_are_counted_by_claims_that_count() {
        let claims = [
            ("X-1.1", hanging(Pass, &[("a=1", Fail), ("a=2", Fail)])),
            ("X-1.2", hanging(Fail, &[("b=1", Pass)])),
            ("X-1.3", hanging(Pass, &[("a=2", Undecided)])),
            ("X-1.4", hanging(Pass, &[("b=1", Fail)])),
        ];
        let tried = ["a=1", "a=2", "b=1"].map(String::from).to_vec();
        let found = Sensitivity { tried, claims: claims.map(|(id, hanging)| (id.into(), hanging)).into() };
        let counts = |id: &str| id != "X-1.4";
        let changes = found.changes(&counts);
        let told: Vec<_> = changes.iter().map(|c| (c.setting, c.held, c.verdicts.as_slice())).collect();
        assert_eq!(
            told,
            [
                ("a=1", 1, &[("X-1.1", Fail)][..]),
                ("a=2", 0, &[("X-1.1", Fail), ("X-1.3", Undecided)][..]),
                ("b=1", 3, &[("X-1.2", Pass)][..]),
            ]
        );
        assert_eq!(found.most(&counts), Some(("a", 1)), "both ends of a are one parameter; of equal ones the first");
        assert_eq!(found.most(&|_| true), Some(("b", 2)));
        assert_eq!(found.most(&|id| id == "X-1.3"), None);
    }
}
