//! `fanin compare`: schemes over a sweep.

use std::io::Write;

use fanin::{Axis, CompareOptions, Lab, Update};

use crate::arguments::{CompareArguments, SweepArguments};
use crate::chart::{chart, header, notes};
use crate::described::described;
use crate::failure::Failure;
use crate::figures::GREY;
use crate::load::{Asked, Loaded, fan_ins, load, read};
use crate::spread::{background, latency, memories, overview, pauses, ranks, service, slowdown, tiers};
use crate::terminal::{fold, say, width};
use crate::verdict::verdicts;
use crate::work::{self, Means, all_finished, cost, in_lab, in_lab_on, warn};

/// Runs and prints the comparison.
pub fn compare(arguments: &CompareArguments) -> Result<(), Failure> {
    let common = &arguments.common;
    let scenario = match &arguments.scenario {
        Some(file) => read(file)?,
        None => described(&arguments.cluster, arguments.servers.as_deref())?.1,
    };
    let Loaded { scenario, out } = load(scenario, &common.set, common.out.as_deref(), &asked(&arguments.sweep)?)?;
    warn(scenario.warnings());
    let options = CompareOptions { onset: arguments.onset, precision: arguments.precision };
    let means = Means { jobs: arguments.jobs, cached: !common.no_cache };
    let compare = |lab: &Lab, hear: &mut dyn FnMut(Update)| lab.compare(&scenario, options, hear);
    let (comparison, ended) = match &arguments.on {
        Some(address) => in_lab_on(address, means, compare)?,
        None => (in_lab(means, compare)?, None),
    };
    if let (Some(why), [0, _]) = (&ended, comparison.finished()) {
        return Err(Failure::Environment(format!("--on: {why}")));
    }
    if let Some(out) = out {
        comparison.write(out, &work::arguments())?;
    }
    if common.json {
        say(&(comparison.to_json() + "\n"))?;
    } else {
        let (variants, summary) = (scenario.variants(), comparison.summary());
        let (width, axis) = (width(), Axis::of(variants));
        let head = header(scenario.name(), scenario.title(), variants, width);
        let mut parts = vec![head + &notes(summary, width)];
        match variants.iter().any(|c| c.settings.workload.kind.many_to_one()) {
            true => parts.push(chart(variants, summary, arguments.details, width)),
            false => parts.push(overview(variants, &axis, summary, width)),
        }
        parts.push(slowdown(&axis, summary, width));
        parts.push(background(variants, summary, width));
        parts.push(service(&axis, summary, width));
        parts.push(latency(&axis, summary, width));
        parts.push(tiers(&axis, summary, width));
        parts.push(pauses(&axis, summary, width));
        parts.push(memories(&axis, summary, width));
        parts.push(ranks(&axis, summary, width));
        parts.push(verdicts(comparison.findings(), width));
        parts.retain(|part| !part.is_empty());
        say(&parts.join("\n"))?;
        // A failure to print the cost is not an error.
        let _ = writeln!(anstream::stderr(), "{GREY}{}{GREY:#}", fold(&cost(&comparison)));
    }
    match (ended, comparison.finished()) {
        (Some(why), [done, total]) => Err(Failure::Environment(format!(
            "--on: {why}; the results include the {done} of {total} runs that finished"
        ))),
        (None, _) => all_finished(&comparison),
    }
}

/// The sweep of a command line.
pub fn asked(arguments: &SweepArguments) -> Result<Asked<'_>, Failure> {
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
    let schemes = arguments.schemes.as_ref();
    let schemes = schemes.map(|names| (format!("--schemes {names}"), names.split(',').map(str::trim).collect()));
    Ok(Asked { schemes, keys, sweeps: arguments.sweep.clone() })
}
