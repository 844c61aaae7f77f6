//! Sensitivity of verdicts to a paper's open parameters: sets one at a time to either end of its plausible range.
//!
//! `sensitivity.toml` lists the parameters, their ranges and the reduced settings; [`sweep`] writes `sensitivity.json` for scorecards and
//! `sensitivity.md` for readers.

use std::collections::BTreeMap;

use fanin_lab::Session;
use fanin_papers::{ClaimSensitivity, Conditions, Figure, Mode, Paper, PaperProblem, Sensitivity, Setting, Verdict};
use serde::Deserialize;

use crate::read::{SENSITIVITY, variants};
use crate::reproduce::{ReproduceError, reproduce};
use fanin_execute::input::{self, SCENARIO_MAX};
use fanin_execute::replace;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ranges {
    /// Seeds of every point, overriding the scenarios.
    seeds: Option<u32>,
    /// The judged figures; if empty all but those of whole runs.
    #[serde(default)]
    figures: Vec<String>,
    /// Settings of all scenarios in all rows.
    #[serde(default)]
    set: Vec<String>,
    /// Settings of single scenarios in all rows, by file name.
    #[serde(default)]
    scenario: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    parameter: Vec<Parameter>,
    #[serde(default)]
    reading: Vec<Reading>,
}

impl Ranges {
    /// Reads and validates a paper's file before anything runs.
    fn read(paper: &Paper) -> Result<Ranges, PaperProblem> {
        let path = paper.folder.join("sensitivity.toml");
        let problem = |what: String| PaperProblem(format!("{}: {what}", path.display()));
        let text = input::text(&path, SCENARIO_MAX).map_err(|error| problem(error.to_string()))?;
        let ranges: Ranges = toml::from_str(&text).map_err(|error| problem(error.to_string()))?;
        if let Some(id) = ranges.figures.iter().find(|&id| paper.figures.iter().all(|figure| figure.id != *id)) {
            return Err(problem(format!("`{}` has no figure `{id}`", paper.name)));
        }
        let unknown = |name: &&String| !paper.scenarios().contains(name.as_str());
        let mut named = ranges.parameter.iter().flat_map(|p| &p.scenarios).chain(ranges.scenario.keys());
        if let Some(name) = named.find(unknown) {
            return Err(problem(format!("no figure has a scenario `{name}`")));
        }
        for row in ranges.rows() {
            for scenario in paper.scenarios() {
                let all = ranges.reduced().chain(row.settings.iter().cloned());
                let own = all.filter(|setting| setting.is_of(scenario));
                let set: Vec<String> = own.map(|setting| setting.assignment).collect();
                variants(&paper.folder, scenario, &[], &set).map_err(|what| problem(what.to_string()))?;
            }
        }
        Ok(ranges)
    }

    /// Whether the rows are judged by a figure.
    fn judges(&self, figure: &Figure) -> bool {
        if self.figures.is_empty() { !figure.whole_runs } else { self.figures.contains(&figure.id) }
    }

    /// Settings that shorten all rows.
    fn reduced(&self) -> impl Iterator<Item = Setting> {
        let single = |(scenario, set): (&String, &Vec<String>)| -> Vec<Setting> {
            let setting =
                |assignment: &String| Setting { assignment: assignment.clone(), scenarios: vec![scenario.clone()] };
            set.iter().map(setting).collect()
        };
        let all = self.set.iter().map(|assignment| Setting::everywhere(assignment));
        all.chain(self.scenario.iter().flat_map(single))
    }

    /// Both ends of every parameter, then every reading.
    fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        let ends = self.parameter.iter().flat_map(|p| p.ends.iter().map(|end| p.row(end)));
        ends.chain(self.reading.iter().map(Reading::row))
    }
}

/// A row of the table: settings applied together.
struct Row<'a> {
    /// Name in the results: `tcp.delayed_ack=1`, or the reading's name.
    name: String,
    settings: Vec<Setting>,
    /// Cells of the table: setting, default and value.
    cells: [String; 3],
    why: &'a str,
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
    /// Scenarios with this parameter; all if empty.
    #[serde(default)]
    scenarios: Vec<String>,
    /// Why these.
    why: String,
}

impl Parameter {
    fn row(&self, end: &str) -> Row<'_> {
        let assignment = format!("{}={end}", self.key);
        Row {
            name: assignment.clone(),
            settings: vec![Setting { assignment, scenarios: self.scenarios.clone() }],
            cells: [format!("`{}`", self.key), self.value.clone(), end.into()],
            why: &self.why,
        }
    }
}

/// An alternative reading of the paper: several settings together.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reading {
    /// In a few words.
    name: String,
    /// Its settings, as for `--set`.
    set: Vec<String>,
    /// Reason for it.
    why: String,
}

impl Reading {
    fn row(&self) -> Row<'_> {
        let set: Vec<String> = self.set.iter().map(|assignment| format!("`{assignment}`")).collect();
        Row {
            name: self.name.clone(),
            settings: self.set.iter().map(|assignment| Setting::everywhere(assignment)).collect(),
            cells: [self.name.clone(), String::new(), set.join(" ")],
            why: &self.why,
        }
    }
}

/// Sets every open parameter of a paper to both ends of its range and writes the changed verdicts. Finished runs are cached, so that a
/// stopped sweep continues.
///
/// # Errors
/// As [`reproduce`]; a `sensitivity.toml` that is not there or not right, or results that cannot be written.
pub fn sweep(session: &mut Session<'_>, paper: &Paper, tell: &mut dyn FnMut(&str)) -> Result<(), ReproduceError> {
    let ranges = Ranges::read(paper)?;
    let mut judged = paper.for_its_claims();
    judged.figures.retain(|figure| ranges.judges(figure));
    let mut verdicts = |more: Vec<Setting>| -> Result<BTreeMap<String, Verdict>, ReproduceError> {
        let set = ranges.reduced().chain(more).collect();
        let conditions = Conditions { mode: Mode::Full, seeds: ranges.seeds, first_seed: None, set };
        let out = reproduce(session, std::slice::from_ref(&judged), &|_| true, &conditions)?;
        let claims = out.papers.into_iter().flat_map(|p| p.figures).flat_map(|f| f.claims);
        Ok(claims.map(|c| (c.claim.id, c.judgement.verdict)).collect())
    };
    tell("default settings");
    let base =
        verdicts(Vec::new())?.into_iter().map(|(id, here)| (id, ClaimSensitivity { here, there: BTreeMap::new() }));
    let mut found = Sensitivity { tried: Vec::new(), claims: base.collect() };
    for Row { name, settings, .. } in ranges.rows() {
        tell(&name);
        for (id, verdict) in verdicts(settings)? {
            if let Some(hanging) = found.claims.get_mut(&id).filter(|hanging| hanging.here != verdict) {
                hanging.there.insert(name.clone(), verdict);
            }
        }
        found.tried.push(name);
    }
    let json = serde_json::to_string_pretty(&found).unwrap_or_default();
    for (name, text) in [(SENSITIVITY, format!("{json}\n")), ("sensitivity.md", page(paper, &ranges, &found))] {
        let path = paper.folder.join(name);
        replace(&path, &text).map_err(|error| PaperProblem(format!("{}: {error}", path.display())))?;
    }
    Ok(())
}

/// `sensitivity.md`.
fn page(paper: &Paper, ranges: &Ranges, found: &Sensitivity) -> String {
    let counted = |id: &str| paper.claims().any(|claim| claim.id == id && claim.counts());
    let all = || found.claims.iter().filter(|(id, _)| counted(id)).map(|(_, hanging)| hanging);
    let (claims, fragile) = (all().count(), all().filter(|hanging| hanging.fragile()).count());
    let held = all().filter(|hanging| hanging.here == Verdict::Pass).count();
    let seeds = ranges.seeds.map_or("the scenarios' own seeds".to_string(), |seeds| format!("{seeds} seeds"));
    let of = |setting: &Setting| match setting.scenarios.first() {
        None => String::new(),
        Some(scenario) => format!(" in `{scenario}`"),
    };
    let set = ranges.reduced().map(|setting| format!(", `{}`{}", setting.assignment, of(&setting))).collect::<String>();
    let figures =
        if ranges.figures.is_empty() { String::new() } else { format!(", figure {}", ranges.figures.join(", ")) };
    let most = found.most(&counted).map_or(String::new(), |(key, n)| format!(", {n} of them on `{key}`"));
    let mut text = format!(
        "# Sensitivity of the verdicts to open parameters\n\n\
         `make sensitivity` generates this page: one parameter at a time, {seeds}{set}{figures}. {fragile} of {claims} claims are fragile: they hold\n\
         with some of these settings and fail with others{most}. With the scenarios' own settings, {held} hold.\n\n\
         | key | value | tested value | claims that hold | changed verdicts | reason for the range |\n\
         | --- | --- | --- | --- | --- | --- |\n"
    );
    for (Row { cells: [what, here, there], why, .. }, change) in ranges.rows().zip(found.changes(&counted)) {
        let verdicts = change.verdicts.iter().map(|(id, verdict)| format!("{id} {}", verdict.says()));
        let verdicts = match change.verdicts.is_empty() {
            true => "none".into(),
            false => verdicts.collect::<Vec<_>>().join(", "),
        };
        text += &format!("| {what} | {here} | {there} | {} | {verdicts} | {why} |\n", change.held);
    }
    text
}
