//! A comparison from schemes to findings, independent of the executor.

use fanin_spec::{RunSpec, Variant};

use crate::jitter::{hang_on_phases, with_jitter};
use crate::{Broken, CompareOptions, Executor, Outcome, Progress, Runs, Summary, conduct, findings, summarise};

/// Result of a comparison.
#[derive(Debug)]
pub struct Compared {
    /// Planned runs by scheme, point and seed.
    pub specs: Vec<RunSpec>,
    /// Their outcomes, in the same order.
    pub outcome: Outcome,
    /// Summary with findings and warnings.
    pub summary: Summary,
}

impl Compared {
    /// The runs with their outcome.
    pub fn runs(&self) -> Runs<'_> {
        Runs::of(&self.specs, &self.outcome)
    }

    /// Summarises finished runs; `warnings` are the scenario's.
    pub fn of(
        scenario: &str,
        variants: &[Variant],
        warnings: &[String],
        options: CompareOptions,
        specs: Vec<RunSpec>,
        outcome: Outcome,
    ) -> Compared {
        let summary = summarise(scenario, variants, options, Runs::of(&specs, &outcome));
        let (findings, warnings) = (findings(variants, &summary), warnings.to_vec());
        Compared { specs, outcome, summary: Summary { findings, warnings, ..summary } }
    }
}

/// Compares schemes. Repeats points without packet jitter once with jitter, and adds a warning if the results depend on phase
/// effects.
///
/// # Errors
/// A run that broke an invariant.
pub fn compare(
    executor: &dyn Executor,
    scenario: &str,
    variants: &[Variant],
    warnings: &[String],
    options: CompareOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<Compared, Broken> {
    let (specs, outcome) = conduct(executor, variants, options, progress)?;
    let mut done = Compared::of(scenario, variants, warnings, options, specs, outcome);
    let others = with_jitter(variants);
    // Real hosts have jitter of their own.
    if others.is_empty() || done.outcome.provenance.is_some() {
        return Ok(done);
    }
    let options = CompareOptions { precision: None, ..options };
    let (runs, wall) = (done.specs.len(), done.outcome.wall);
    let (specs, outcome) = conduct(executor, &others, options, &mut |now| {
        let (done, total) = (runs + now.done, runs + now.total);
        progress(Progress { done, total, elapsed: wall + now.elapsed, left: now.left, pace: now.pace });
    })?;
    let jittery = summarise(scenario, &others, options, Runs::of(&specs, &outcome));
    let hangs = hang_on_phases(variants, &done.summary, done.runs(), &jittery);
    done.summary.warnings.extend(hangs);
    done.outcome.notices.extend(outcome.notices);
    done.outcome.notices.dedup();
    done.outcome.raised.extend(outcome.raised);
    Ok(done)
}
