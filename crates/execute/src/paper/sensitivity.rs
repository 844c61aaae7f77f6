//! How far verdicts hang on what a paper leaves open: one parameter at a time goes to either end of its plausible range.
//! Other readings of the paper's text are tried too; they are shown, and make no claim fragile.
//!
//! `sensitivity.toml` names the parameters with their ranges and the reduced settings; [`sweep`] writes `sensitivity.json`,
//! which scorecards read, and `sensitivity.md`, which people do.

use std::collections::BTreeMap;

use fanin_lab::paper::{Conditions, Mode, Paper, PaperProblem, Sensitivity, Setting};
use serde::Deserialize;

use super::read::{SENSITIVITY, contenders};
use super::reproduce::{Unreproduced, reproduce};
use crate::input::{self, SCENARIO_MAX};
use crate::{Lab, Progress, draft};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ranges {
    /// Of every point, in place of the scenarios' own.
    seeds: Option<u32>,
    #[serde(default)]
    set: Vec<String>,
    #[serde(default)]
    parameter: Vec<Parameter>,
    #[serde(default)]
    reading: Vec<Parameter>,
}

impl Ranges {
    /// A paper's own; what cannot be set is told before anything is run.
    fn read(paper: &Paper) -> Result<Ranges, PaperProblem> {
        let path = paper.folder.join("sensitivity.toml");
        let problem = |what: String| PaperProblem(format!("{}: {what}", path.display()));
        let text = input::text(&path, SCENARIO_MAX).map_err(|error| problem(error.to_string()))?;
        let ranges: Ranges = toml::from_str(&text).map_err(|error| problem(error.to_string()))?;
        let unknown = |name: &&String| !paper.scenarios().contains(name.as_str());
        if let Some(name) = ranges.all().flat_map(|p| &p.scenarios).find(unknown) {
            return Err(problem(format!("no figure has a scenario `{name}`")));
        }
        for (parameter, end) in ranges.all().flat_map(|p| p.ends.iter().map(move |end| (p, end))) {
            let setting = parameter.at(end);
            for scenario in paper.scenarios().into_iter().filter(|name| setting.is_of(name)) {
                let set: Vec<String> = ranges.set.iter().cloned().chain([setting.assignment.clone()]).collect();
                contenders(&paper.folder, scenario, &[], &set).map_err(|what| problem(what.to_string()))?;
            }
        }
        Ok(ranges)
    }

    fn all(&self) -> impl Iterator<Item = &Parameter> {
        self.parameter.iter().chain(&self.reading)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameter {
    /// `host.service_jitter`.
    key: String,
    /// The value in the scenarios, for people.
    value: String,
    /// The ends of its range, as `--set` takes them.
    ends: Vec<String>,
    /// The scenarios that it is left open in; all where there is none.
    #[serde(default)]
    scenarios: Vec<String>,
    /// Why these.
    why: String,
}

impl Parameter {
    fn at(&self, end: &str) -> Setting {
        Setting { assignment: format!("{}={end}", self.key), scenarios: self.scenarios.clone() }
    }
}

/// Moves every open parameter of a paper to either end and writes what changes. Finished runs are kept, so that a stopped
/// sweep goes on where it was.
///
/// # Errors
/// As [`reproduce`]; a `sensitivity.toml` that is not there or not right, or results that cannot be written.
pub fn sweep(
    lab: &Lab,
    paper: &Paper,
    tell: &mut dyn FnMut(&str),
    progress: &mut dyn FnMut(Progress),
) -> Result<(), Unreproduced> {
    let ranges = Ranges::read(paper)?;
    let mut verdicts = |more: Option<Setting>| -> Result<BTreeMap<String, bool>, Unreproduced> {
        let set = ranges.set.iter().map(|assignment| Setting::everywhere(assignment)).chain(more).collect();
        let conditions = Conditions { mode: Mode::Full, seeds: ranges.seeds, first_seed: None, set };
        let out = reproduce(lab, std::slice::from_ref(paper), &|_| true, &conditions, progress)?;
        let claims = out.papers.into_iter().flat_map(|p| p.figures).flat_map(|f| f.claims);
        Ok(claims.map(|c| (c.claim.id, c.judgement.pass)).collect())
    };
    tell("as the scenarios have it");
    let base = verdicts(None)?;
    let mut found = Sensitivity { hangs_on: base.keys().map(|id| (id.clone(), Vec::new())).collect() };
    let mut rows = [String::new(), String::new()];
    for (open, parameters) in [(true, &ranges.parameter), (false, &ranges.reading)] {
        for (parameter, end) in parameters.iter().flat_map(|p| p.ends.iter().map(move |end| (p, end))) {
            let setting = parameter.at(end);
            tell(&setting.assignment);
            let moved = verdicts(Some(setting.clone()))?;
            let mut changed = Vec::new();
            for (id, pass) in moved.into_iter().filter(|(id, pass)| base.get(id) != Some(pass)) {
                changed.push(format!("{id} {}", if pass { "passes" } else { "fails" }));
                if open {
                    found.hangs_on.entry(id).or_default().push(setting.assignment.clone());
                }
            }
            let changed = if changed.is_empty() { "none".to_string() } else { changed.join(", ") };
            let Parameter { key, value, why, .. } = parameter;
            rows[usize::from(!open)] += &format!("| `{key}` | {value} | {end} | {changed} | {why} |\n");
        }
    }
    let head =
        |why: &str| format!("| key | here | there | verdicts that change | {why} |\n| --- | --- | --- | --- | --- |\n");
    let [open, readings] = rows;
    let mut table = head("why this range") + &open;
    if !readings.is_empty() {
        table += &format!("\n## Other readings\n\nThey make no claim fragile.\n\n{}{readings}", head("why not"));
    }
    let fragile = found.hangs_on.values().filter(|settings| !settings.is_empty()).count();
    let seeds = ranges.seeds.map_or("the scenarios' own seeds".to_string(), |seeds| format!("{seeds} seeds"));
    let text = format!(
        "# How far the verdicts hang on what the paper leaves open\n\n\
         Made by `make sensitivity`: one parameter at a time, {seeds}{}. {fragile} of {} claims are fragile.\n\n{table}",
        ranges.set.iter().map(|s| format!(", `{s}`")).collect::<String>(),
        found.hangs_on.len(),
    );
    let json = serde_json::to_string_pretty(&found).unwrap_or_default();
    for (name, text) in [(SENSITIVITY, format!("{json}\n")), ("sensitivity.md", text)] {
        let path = paper.folder.join(name);
        draft::write(&path, &text).map_err(|error| PaperProblem(format!("{}: {error}", path.display())))?;
    }
    Ok(())
}
