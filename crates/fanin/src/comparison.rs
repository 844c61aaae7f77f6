//! Schemes over a sweep, and one run.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fanin_execute::{Beside, Out};
use fanin_lab::{
    Batch, Finding, Manifest, Outcome, Report, Summary, Wishes, execute, findings, hang_on_phases, report, stats,
    summarise, with_jitter,
};
use fanin_spec::{Cell, Row, RunSpec, RunTables, Watch};
use serde_json::{Map, Value, json};

use crate::lab::Simulator;
use crate::{Error, Lab, Resolved, Update};

/// What came of a scenario.
pub struct Comparison {
    scenario: Resolved,
    specs: Vec<RunSpec>,
    outcome: Outcome,
    summary: Summary,
    /// What is written besides the tables.
    beside: Besides,
    stop: Arc<AtomicBool>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Besides {
    Nothing,
    Report,
    Series,
}

impl Lab {
    /// Compares schemes: runs what the wishes ask for, and says what came of it. Where no host has jitter, points are run
    /// once more with some: what fares otherwise hangs on phases, and a warning says so.
    ///
    /// # Errors
    /// [`Error::Memory`], [`Error::Broken`].
    pub fn compare(
        &self,
        scenario: &Resolved,
        wishes: Wishes,
        hear: &mut dyn FnMut(Update),
    ) -> Result<Comparison, Error> {
        let (specs, outcome) = self.conduct(scenario.contenders(), wishes, hear)?;
        let mut done = self.told(scenario, wishes, (specs, outcome), Besides::Report);
        let hangs = self.with_other_phases(&done, wishes, hear)?;
        hangs.iter().for_each(|warning| hear(Update::Warning(warning.clone())));
        done.summary.warnings.extend(hangs);
        Ok(done)
    }

    /// Runs the one run that a scenario has; with `watch` keeps what happened inside, too.
    ///
    /// # Errors
    /// [`Error::Asked`] where a key is swept over, else as [`Lab::compare`].
    pub fn run(
        &self,
        scenario: &Resolved,
        watch: Option<&Watch>,
        hear: &mut dyn FnMut(Update),
    ) -> Result<Comparison, Error> {
        let spec = scenario.one_run()?;
        hear(Update::Forecast(self.forecast(scenario.contenders())?));
        let mut progress = |progress| hear(Update::Progress(progress));
        let batch = Batch { specs: std::slice::from_ref(&spec), watch };
        let outcome = self.with_executor(|executor| execute(executor, batch, &mut progress))?;
        outcome.notices.iter().for_each(|notice| hear(Update::Notice(notice.clone())));
        let beside = if watch.is_some() { Besides::Series } else { Besides::Nothing };
        Ok(self.told(scenario, Wishes::default(), (vec![spec], outcome), beside))
    }

    fn told(
        &self,
        scenario: &Resolved,
        wishes: Wishes,
        (specs, outcome): (Vec<RunSpec>, Outcome),
        beside: Besides,
    ) -> Comparison {
        let summary = summarise(scenario.name(), scenario.contenders(), wishes, (&specs, &outcome));
        let warnings = scenario.warnings().to_vec();
        let summary = Summary { findings: findings(scenario.contenders(), &summary), warnings, ..summary };
        Comparison { scenario: scenario.clone(), specs, outcome, summary, beside, stop: Arc::clone(&self.stop) }
    }

    /// What hangs on hosts without jitter: points that fare otherwise with some. One run a point, where no host has any.
    fn with_other_phases(
        &self,
        done: &Comparison,
        wishes: Wishes,
        hear: &mut dyn FnMut(Update),
    ) -> Result<Vec<String>, Error> {
        let contenders = done.scenario.contenders();
        let others = with_jitter(contenders);
        if others.is_empty() {
            return Ok(Vec::new());
        }
        let wishes = Wishes { precision: None, ..wishes };
        let (specs, outcome) = self.conduct(&others, wishes, hear)?;
        let jittery = summarise(done.scenario.name(), &others, wishes, (&specs, &outcome));
        Ok(hang_on_phases(contenders, &done.summary, (&done.specs, &done.outcome), &jittery))
    }
}

impl Comparison {
    /// The scenario.
    pub fn scenario(&self) -> &Resolved {
        &self.scenario
    }

    /// What was planned, by scheme, point, seed.
    pub fn specs(&self) -> &[RunSpec] {
        &self.specs
    }

    /// What became of it, in the same order; `None` where a stop came first.
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// Rows with intervals over seeds, onsets, what it cost.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// What makes results doubtful.
    pub fn warnings(&self) -> &[String] {
        &self.summary.warnings
    }

    /// The verdicts, in sentences: of all schemes first, then scheme by scheme.
    pub fn findings(&self) -> &[Finding] {
        &self.summary.findings
    }

    /// The finished runs with all that they gave.
    pub fn runs(&self) -> impl Iterator<Item = (&RunSpec, &RunTables)> {
        let done = self.specs.iter().zip(&self.outcome.runs);
        done.filter_map(|(spec, done)| Some((spec, &done.as_ref()?.tables)))
    }

    /// Runs that finished, of so many that were planned.
    pub fn finished(&self) -> [usize; 2] {
        [self.outcome.runs.iter().flatten().count(), self.outcome.runs.len()]
    }

    /// The report, for which one run of each scheme is watched again; `arguments` are the command that it names, without the program.
    ///
    /// # Errors
    /// [`Error::Broken`].
    pub fn report(&self, arguments: &[String]) -> Result<Report, Error> {
        let (title, done) = (self.scenario.title(), (&self.specs[..], &self.outcome));
        let manifest = self.manifest(arguments);
        Ok(report(&Simulator, title, self.scenario.contenders(), &manifest, &self.summary, done, &self.stop)?)
    }

    /// Writes every table as CSV and Parquet, a comparison's report, a watched run's series, and the manifest.
    ///
    /// # Errors
    /// [`Error::Folder`], [`Error::Broken`].
    pub fn write(&self, out: Out, arguments: &[String]) -> Result<(), Error> {
        let report = (self.beside == Besides::Report).then(|| self.report(arguments)).transpose()?;
        let beside = match &report {
            Some(report) => Beside::Report(report),
            None if self.beside == Besides::Series => Beside::Series,
            None => Beside::Nothing,
        };
        out.fill(&self.manifest(arguments), &self.summary, &self.specs, &self.outcome, beside)?;
        Ok(())
    }

    /// One object: what `fanin compare --json` prints, or of one run what `fanin run --json` does.
    pub fn to_json(&self) -> String {
        match self.runs().next().filter(|_| self.beside != Besides::Report) {
            Some((spec, tables)) => self.run_json(spec, tables).to_string(),
            None => serde_json::to_string(&self.summary).unwrap_or_default(),
        }
    }

    fn run_json(&self, spec: &RunSpec, tables: &RunTables) -> Value {
        let rows = |rows: Vec<Value>| Value::Array(rows);
        json!({
            "scheme": spec.label,
            "point": spec.point,
            "fan_in": spec.settings.servers(),
            "seed": spec.seed,
            "goodput_mbps": stats::six_digits(tables.goodput_mbps()),
            "totals": row(&tables.totals),
            "queries": rows(tables.queries.iter().map(row).collect()),
            "ports": rows(tables.ports.iter().map(row).collect()),
            "memories": rows(tables.memories.iter().map(row).collect()),
            "holders": rows(tables.holders.iter().map(row).collect()),
            "schema": self.summary.schema,
            "scenario": self.summary.scenario,
            "hash": self.summary.hash,
            "warnings": self.summary.warnings,
            "slowdown": self.summary.rows.first().map(|row| &row.slowdown),
            "engine": self.summary.engine,
        })
    }

    fn manifest(&self, arguments: &[String]) -> Manifest {
        Manifest {
            version: env!("CARGO_PKG_VERSION").into(),
            arguments: arguments.to_vec(),
            scenario_text: self.scenario.text().into(),
        }
    }
}

fn row<R: Row>(row: &R) -> Value {
    let value = |cell| match cell {
        Cell::U64(number) => number.into(),
        Cell::Text(text) => text.into(),
    };
    let pairs = R::COLUMNS.iter().zip(row.cells());
    Value::Object(pairs.map(|(column, cell)| (column.name.to_string(), value(cell))).collect::<Map<_, _>>())
}
