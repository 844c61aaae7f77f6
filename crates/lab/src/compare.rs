//! A comparison, from its schemes to what is said of them: what every way in does, whatever carries the runs out.

use fanin_spec::{RunSpec, Variant};

use crate::jitter::{hang_on_phases, with_jitter};
use crate::{Broken, CompareOptions, Executor, Outcome, Progress, Summary, conduct, findings, summarise};

/// What came of a comparison.
#[derive(Debug)]
pub struct Compared {
    /// What was planned, by scheme, point, seed.
    pub specs: Vec<RunSpec>,
    /// What became of it, in the same order.
    pub outcome: Outcome,
    /// What it says, with findings and warnings.
    pub summary: Summary,
}

impl Compared {
    /// Sums up what was run; `warnings` are the scenario's own.
    pub fn of(
        scenario: &str,
        variants: &[Variant],
        warnings: &[String],
        options: CompareOptions,
        (specs, outcome): (Vec<RunSpec>, Outcome),
    ) -> Compared {
        let summary = summarise(scenario, variants, options, (&specs, &outcome));
        let (findings, warnings) = (findings(variants, &summary), warnings.to_vec());
        Compared { specs, outcome, summary: Summary { findings, warnings, ..summary } }
    }
}

/// Compares schemes. Where no host has jitter, points are run once more with some: what fares otherwise hangs on phases, and a
/// warning behind the scenario's own says so.
///
/// # Errors
/// A run that broke an invariant.
pub fn compare(
    executor: &dyn Executor,
    scenario: &str,
    (variants, warnings): (&[Variant], &[String]),
    options: CompareOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<Compared, Broken> {
    let done = conduct(executor, variants, options, progress)?;
    let mut done = Compared::of(scenario, variants, warnings, options, done);
    let others = with_jitter(variants);
    if others.is_empty() {
        return Ok(done);
    }
    let options = CompareOptions { precision: None, ..options };
    let (runs, wall) = (done.specs.len(), done.outcome.wall);
    let (specs, outcome) = conduct(executor, &others, options, &mut |now| {
        let (done, total) = (runs + now.done, runs + now.total);
        progress(Progress { done, total, elapsed: wall + now.elapsed, left: now.left });
    })?;
    let jittery = summarise(scenario, &others, options, (&specs, &outcome));
    let hangs = hang_on_phases(variants, &done.summary, (&done.specs, &done.outcome), &jittery);
    done.summary.warnings.extend(hangs);
    done.outcome.notices.extend(outcome.notices);
    done.outcome.notices.dedup();
    done.outcome.raised.extend(outcome.raised);
    Ok(done)
}
