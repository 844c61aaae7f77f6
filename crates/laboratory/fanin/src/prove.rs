//! Advice on a testbed: a cluster as it is, and with its first remedies.

use std::iter::once;

use fanin_advise::{Advice, Remedy};
use fanin_testbed::Testbed;
use serde_json::{Value, json};

use crate::testbed::{Proof, ProofRow, check};
use crate::{Advised, Error, Lab, Scenario, Update};

/// Number of remedies that are measured.
const REMEDIES: usize = 3;
/// The flag, in messages about its settings.
const FLAG: &str = "--prove";

/// A cluster with a change, measured and predicted.
pub struct ProvedChange {
    /// The change in words; `today` for none.
    pub says: String,
    /// Figures, or why a testbed cannot have them.
    pub proof: Result<Proof, String>,
}

impl Lab {
    /// Finds out whether a testbed can measure a cluster as it is, before the search for remedies.
    ///
    /// # Errors
    /// As [`Lab::testbed`].
    pub fn can_prove(&self, testbed: &Testbed, scenario: &Scenario, hear: &mut dyn FnMut(Update)) -> Result<(), Error> {
        let mut first = scenario.resolve()?;
        first.variants.truncate(1);
        check(testbed, &first, hear).map(drop)
    }

    /// Measures a cluster as it is, and with the first three of its remedies that can be made today. `runs` of each are measured.
    ///
    /// # Errors
    /// As [`Lab::testbed`]; a change that cannot be measured here is in its result.
    pub fn prove(
        &self,
        testbed: &Testbed,
        scenario: &Scenario,
        advice: &Advice,
        runs: u32,
        hear: &mut dyn FnMut(Update),
    ) -> Result<Vec<ProvedChange>, Error> {
        let first = |remedy: &&Remedy| remedy.deployable && remedy.apart.is_none();
        let remedies = advice.remedies.iter().filter(first).take(REMEDIES).map(Some);
        let prove = |remedy: Option<&Remedy>| {
            let says = remedy.map_or("today", |remedy| &remedy.says).to_string();
            let changed = changed(scenario, advice, remedy)?;
            let mut measured = changed.clone();
            measured.set_by(FLAG, &format!("run.seeds={runs}"))?;
            let proof = match self.testbed(testbed.clone(), &changed.resolve()?, &measured.resolve()?, &mut *hear) {
                Err(Error::Asked(why) | Error::Lacking(why)) => Err(why),
                proof => Ok(proof?),
            };
            Ok(ProvedChange { says, proof })
        };
        once(None).chain(remedies).map(prove).collect()
    }
}

/// A cluster with a remedy.
fn changed(scenario: &Scenario, advice: &Advice, remedy: Option<&Remedy>) -> Result<Scenario, Error> {
    let mut changed = scenario.clone();
    for (key, value) in remedy.iter().flat_map(|remedy| &remedy.settings) {
        changed.set_by(FLAG, &format!("{key}={value}"))?;
    }
    let today = advice.before();
    let scheme = remedy.and_then(|remedy| remedy.scheme.as_ref()).unwrap_or(&today.scheme);
    changed.schemes_by(FLAG, &[scheme])?;
    changed.set_by(FLAG, &format!("sweep.fan_in=[{}]", today.servers))?;
    Ok(changed)
}

impl Advised {
    /// The output of `fanin advise --json`, with the measured changes as `proved`.
    pub fn to_json_with(&self, proved: &[ProvedChange]) -> String {
        let mut whole = serde_json::to_value(&self.advice).unwrap_or_default();
        whole["proved"] = proved.iter().map(ProvedChange::to_json).collect();
        whole.to_string()
    }
}

impl ProvedChange {
    /// The cluster's point.
    pub fn row(&self) -> Option<ProofRow<'_>> {
        self.proof.as_ref().ok()?.rows().into_iter().next()
    }

    /// The object that `--json` prints.
    pub fn to_json(&self) -> Value {
        match (&self.proof, self.row()) {
            (Err(why), _) => json!({"says": self.says, "impossible": why}),
            (Ok(_), row) => json!({"says": self.says, "row": row.map(|row| row.to_json())}),
        }
    }
}
