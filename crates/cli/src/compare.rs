//! `fanin compare`: schemes over a sweep.

use std::io::Write;
use std::num::NonZeroUsize;
use std::thread;

use fanin_execute::Beside;
use fanin_lab::{Axis, Outcome, Summary, findings, hang_on_phases, summarise, with_jitter};
use fanin_spec::{Contender, RunSpec};

use crate::arguments::CompareArguments;
use crate::chart::{chart, header, notes};
use crate::failure::Failure;
use crate::figures::GREY;
use crate::load::{Wishes, fan_ins, load, warn};
use crate::simulate::{Means, all_finished, cost, simulate, tell};
use crate::spread::{background, latency, memories, overview, service, slowdown, tiers};
use crate::terminal::{fold, say, width};
use crate::verdict::verdicts;

/// Runs the comparison and shows it.
pub fn compare(arguments: &CompareArguments) -> Result<(), Failure> {
    let loaded =
        load(&arguments.scenario, &arguments.common.set, arguments.common.out.as_deref(), &wishes(arguments)?)?;
    warn(&loaded.warnings);
    let jobs = arguments.jobs.or_else(|| thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN);
    let wishes = fanin_lab::Wishes { onset: arguments.onset, precision: arguments.precision };
    let means = Means { jobs, cached: !arguments.common.no_cache };
    let (specs, outcome) = simulate(&loaded.contenders, wishes, means)?;
    let summary = summarise(&loaded.name, &loaded.contenders, wishes, (&specs, &outcome));
    let hangs = with_other_phases(&loaded.contenders, &summary, (&specs, &outcome), (wishes, means))?;
    warn(&hangs);
    let summary = Summary { warnings: [loaded.warnings, hangs].concat(), ..summary };
    if let Some(out) = loaded.out {
        let title = loaded.title.as_deref();
        let report = tell(title, &loaded.contenders, &loaded.manifest, &summary, (&specs, &outcome))?;
        out.fill(&loaded.manifest, &summary, &specs, &outcome, Beside::Report(&report)).map_err(Failure::unwritten)?;
    }
    if arguments.common.json {
        let summary = Summary { findings: findings(&loaded.contenders, &summary), ..summary };
        let text = serde_json::to_string(&summary).map_err(|error| Failure::Check(error.to_string()))?;
        say(&(text + "\n"))?;
    } else {
        let (width, axis) = (width(), Axis::of(&loaded.contenders));
        let head = header(&loaded.name, loaded.title.as_deref(), &loaded.contenders, width);
        let mut parts = vec![head + &notes(&summary, width)];
        match loaded.contenders.iter().any(|c| c.settings.workload.kind.many_to_one()) {
            true => parts.push(chart(&loaded.contenders, &summary, width)),
            false => parts.push(overview(&loaded.contenders, &axis, &summary, width)),
        }
        parts.push(slowdown(&axis, &summary, width));
        parts.push(background(&loaded.contenders, &summary, width));
        parts.push(service(&axis, &summary, width));
        parts.push(latency(&axis, &summary, width));
        parts.push(tiers(&axis, &summary, width));
        parts.push(memories(&axis, &summary, width));
        parts.push(verdicts(&loaded.contenders, &summary, width));
        parts.retain(|part| !part.is_empty());
        say(&parts.join("\n"))?;
        // The cost is beside the point: where it cannot be told, it is not.
        let _ = writeln!(anstream::stderr(), "{GREY}{}{GREY:#}", fold(&cost(&outcome)));
    }
    all_finished(&outcome)
}

/// What hangs on hosts without jitter: points that fare otherwise with some. One run a point, where no host has any.
fn with_other_phases(
    contenders: &[Contender],
    summary: &Summary,
    done: (&[RunSpec], &Outcome),
    (wishes, means): (fanin_lab::Wishes, Means),
) -> Result<Vec<String>, Failure> {
    let others = with_jitter(contenders);
    if others.is_empty() {
        return Ok(Vec::new());
    }
    let wishes = fanin_lab::Wishes { precision: None, ..wishes };
    let (specs, outcome) = simulate(&others, wishes, means)?;
    let jittery = summarise(&summary.scenario, &others, wishes, (&specs, &outcome));
    Ok(hang_on_phases(contenders, summary, done, &jittery))
}

fn wishes(arguments: &CompareArguments) -> Result<Wishes<'_>, Failure> {
    let mut keys = Vec::new();
    if let Some(text) = &arguments.fan_in {
        keys.push((format!("--fan-in {text}"), "sweep.fan_in", fan_ins(text)?));
    }
    if let Some(text) = &arguments.seeds {
        keys.push((format!("--seeds {text}"), "run.seeds", text.clone()));
    }
    if let Some(text) = &arguments.first_seed {
        keys.push((format!("--first-seed {text}"), "run.first_seed", text.clone()));
    }
    let schemes = arguments.schemes.as_ref().map(|names| names.split(',').map(str::trim).collect());
    Ok(Wishes { schemes, keys, sweeps: arguments.sweep.clone() })
}
