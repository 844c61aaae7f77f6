//! Recorded verdicts: `papers/NAME/expected.json`.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::file::{Figure, Paper};
use super::judge::Verdict;
use super::reproduced::Mode;
use super::scorecard::Scorecard;

/// Verdicts by claim, for the full and the quick reproduction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    full: BTreeMap<String, Verdict>,
    quick: BTreeMap<String, Verdict>,
}

/// A verdict that differs from the recorded one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The claim.
    pub id: String,
    /// The recorded verdict, if any.
    pub was: Option<Verdict>,
    /// The current verdict.
    pub is: Verdict,
}

impl Expected {
    /// The verdicts recorded for a mode.
    fn of(&self, mode: Mode) -> &BTreeMap<String, Verdict> {
        match mode {
            Mode::Full => &self.full,
            Mode::Quick => &self.quick,
        }
    }

    /// Whether no verdicts are recorded for this mode.
    pub fn is_empty(&self, mode: Mode) -> bool {
        self.of(mode).is_empty()
    }

    /// The claims of one paper whose verdict differs from the recorded one.
    pub fn changed(&self, paper: &str, card: &Scorecard) -> Vec<Changed> {
        let recorded = self.of(card.mode);
        let own = card.claims().filter(|(name, _)| *name == paper);
        own.filter(|(_, claim)| recorded.get(&claim.id) != Some(&claim.verdict))
            .map(|(_, claim)| Changed {
                id: claim.id.clone(),
                was: recorded.get(&claim.id).copied(),
                is: claim.verdict,
            })
            .collect()
    }

    /// Records the verdicts of one paper: keeps those of figures that were not reproduced, and drops those of removed claims and quick ones
    /// of figures that need whole runs.
    pub fn note(&mut self, paper: &Paper, card: &Scorecard) {
        let recorded = match card.mode {
            Mode::Full => &mut self.full,
            Mode::Quick => &mut self.quick,
        };
        for (_, claim) in card.claims().filter(|(name, _)| *name == paper.name) {
            recorded.insert(claim.id.clone(), claim.verdict);
        }
        let claims = |figures: &mut dyn Iterator<Item = &Figure>| -> BTreeSet<String> {
            figures.flat_map(|figure| &figure.claims).map(|claim| claim.id.clone()).collect()
        };
        let full = claims(&mut paper.figures.iter());
        let quick = claims(&mut paper.figures.iter().filter(|figure| !figure.whole_runs));
        self.full.retain(|id, _| full.contains(id));
        self.quick.retain(|id, _| quick.contains(id));
    }
}
