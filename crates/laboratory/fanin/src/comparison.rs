//! Schemes over a sweep, and one run.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fanin_execute::{ExtraFiles, Out, Table, Tables, Threads};
use fanin_lab::{
    Batch, CompareOptions, Compared, Finding, Manifest, Outcome, Summary, compare, execute, stats, with_jitter,
};
use fanin_report::{Report, report};
use fanin_spec::{RunSpec, Watch};
use fanin_tables::{Cell, CollectiveRow, Row, RunTables};
use serde_json::{Map, Value, json};

use crate::simulator::{Follower, RUNNER};
use crate::{Error, Lab, Resolved, Update};

/// Results of a scenario.
pub struct Comparison {
    pub(crate) scenario: Resolved,
    pub(crate) compared: Compared,
    /// Output besides the tables.
    pub(crate) beside: Besides,
    pub(crate) stop: Arc<AtomicBool>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Besides {
    Nothing,
    Report,
    Series,
}

impl Lab {
    /// Compares schemes: runs the scenario, evaluates the options, and summarises. If no host has jitter, runs the points once more with
    /// jitter: results that then differ depend on phase effects, and a warning says which.
    ///
    /// # Errors
    /// [`Error::Memory`], [`Error::Broken`].
    pub fn compare(
        &self,
        scenario: &Resolved,
        options: CompareOptions,
        hear: &mut dyn FnMut(Update),
    ) -> Result<Comparison, Error> {
        for runs in [scenario.variants(), &with_jitter(scenario.variants())] {
            if !runs.is_empty() {
                hear(Update::Forecast(self.forecast(runs)?));
            }
        }
        let (variants, warnings) = (scenario.variants(), scenario.warnings());
        let mut progress = |progress| hear(Update::Progress(progress));
        let compared = self
            .with_executor(|executor| compare(executor, scenario.name(), variants, warnings, options, &mut progress))?;
        let hangs = &compared.summary.warnings[scenario.warnings().len()..];
        hangs.iter().for_each(|warning| hear(Update::Warning(warning.clone())));
        Ok(self.told(scenario, compared, Besides::Report, hear))
    }

    /// Runs the only run of a scenario. With `watch`, also records the events inside it.
    ///
    /// # Errors
    /// [`Error::Asked`] if a key is swept, else as [`Lab::compare`].
    pub fn run(
        &self,
        scenario: &Resolved,
        watch: Option<&Watch>,
        hear: &mut dyn FnMut(Update),
    ) -> Result<Comparison, Error> {
        let spec = scenario.one_run()?;
        hear(Update::Forecast(self.forecast(scenario.variants())?));
        let mut progress = |progress| hear(Update::Progress(progress));
        let batch = Batch { specs: std::slice::from_ref(&spec), watch };
        let outcome = self.with_executor(|executor| execute(executor, batch, &mut progress))?;
        let beside = if watch.is_some() { Besides::Series } else { Besides::Nothing };
        Ok(self.of_one_run(scenario, spec, outcome, beside, hear))
    }

    /// Runs the only run of a scenario on this machine, without the cache. `ended` receives each collective operation of a trace soon after
    /// its end, on another thread.
    ///
    /// # Errors
    /// As [`Lab::run`].
    pub fn follow(
        &self,
        scenario: &Resolved,
        ended: &(dyn Fn(&CollectiveRow) + Sync),
        hear: &mut dyn FnMut(Update),
    ) -> Result<Comparison, Error> {
        let spec = scenario.one_run()?;
        hear(Update::Forecast(self.forecast(scenario.variants())?));
        let threads = Threads { runner: &Follower(ended), cache: None, jobs: NonZeroUsize::MIN, stop: &self.stop };
        let batch = Batch { specs: std::slice::from_ref(&spec), watch: None };
        let outcome = execute(&threads, batch, &mut |progress| hear(Update::Progress(progress)))?;
        Ok(self.of_one_run(scenario, spec, outcome, Besides::Nothing, hear))
    }

    fn of_one_run(
        &self,
        scenario: &Resolved,
        spec: RunSpec,
        outcome: Outcome,
        beside: Besides,
        hear: &mut dyn FnMut(Update),
    ) -> Comparison {
        let (variants, warnings, options) = (scenario.variants(), scenario.warnings(), CompareOptions::default());
        let compared = Compared::of(scenario.name(), variants, warnings, options, vec![spec], outcome);
        self.told(scenario, compared, beside, hear)
    }

    fn told(
        &self,
        scenario: &Resolved,
        compared: Compared,
        beside: Besides,
        hear: &mut dyn FnMut(Update),
    ) -> Comparison {
        compared.outcome.notices.iter().for_each(|notice| hear(Update::Notice(notice.clone())));
        Comparison { scenario: scenario.clone(), compared, beside, stop: Arc::clone(&self.stop) }
    }
}

impl Comparison {
    /// The scenario.
    pub fn scenario(&self) -> &Resolved {
        &self.scenario
    }

    /// The planned runs, by scheme, point, seed.
    pub fn specs(&self) -> &[RunSpec] {
        &self.compared.specs
    }

    /// The runs' results, in the same order; `None` for runs that a stop prevented.
    pub fn outcome(&self) -> &Outcome {
        &self.compared.outcome
    }

    /// Rows with intervals over seeds, collapse points, cost.
    pub fn summary(&self) -> &Summary {
        &self.compared.summary
    }

    /// Warnings: reasons to doubt results.
    pub fn warnings(&self) -> &[String] {
        &self.compared.summary.warnings
    }

    /// The verdicts in sentences: first of all schemes, then scheme by scheme.
    pub fn findings(&self) -> &[Finding] {
        &self.compared.summary.findings
    }

    /// The finished runs with their tables.
    pub fn runs(&self) -> impl Iterator<Item = (&RunSpec, &RunTables)> {
        self.compared.runs().finished()
    }

    /// The names of the tables, which are also the names of the files that [`Comparison::write`] writes.
    pub fn tables(&self) -> Vec<&'static str> {
        self.named().names()
    }

    /// One of the tables; `rounds` is an alias of `queries`.
    ///
    /// # Errors
    /// [`Error::Asked`] if there is no such table.
    pub fn table(&self, name: &str) -> Result<Table, Error> {
        let tables = self.named();
        let wanted = if name == "rounds" { "queries" } else { name };
        tables
            .get(wanted)
            .ok_or_else(|| Error::Asked(format!("no table `{name}`; use one of {}", tables.names().join(", "))))
    }

    fn named(&self) -> Tables<'_> {
        let series = self.beside == Besides::Series;
        Tables::of(&self.compared.summary, self.compared.runs(), series)
    }

    /// The numbers of finished and of planned runs.
    pub fn finished(&self) -> [usize; 2] {
        [self.compared.outcome.runs.iter().flatten().count(), self.compared.outcome.runs.len()]
    }

    /// The report. It watches one run of each scheme again, unless runs were measured. `arguments` are the command line that it shows, without the program.
    ///
    /// # Errors
    /// [`Error::Broken`].
    pub fn report(&self, arguments: &[String]) -> Result<Report, Error> {
        let (title, runs) = (self.scenario.title(), self.compared.runs());
        let manifest = self.manifest(arguments);
        // A measured run cannot be watched once more.
        let runner = self.compared.outcome.provenance.is_none().then_some(RUNNER);
        Ok(report(runner, title, self.scenario.variants(), &manifest, &self.compared.summary, runs, &self.stop)?)
    }

    /// Writes every table as CSV and Parquet, a comparison's report, a watched run's series, and the manifest.
    ///
    /// # Errors
    /// [`Error::Folder`], [`Error::Broken`].
    pub fn write(&self, out: Out, arguments: &[String]) -> Result<(), Error> {
        self.write_with(out, arguments, &[], String::new())
    }

    /// As [`Comparison::write`], with other files by their paths, and a section of HTML in the report.
    pub fn write_with(
        &self,
        out: Out,
        arguments: &[String],
        files: &[(String, String)],
        section: String,
    ) -> Result<(), Error> {
        let report = (self.beside == Besides::Report).then(|| self.report(arguments)).transpose()?;
        let report = report.map(|report| report.with(section));
        let beside = match &report {
            Some(report) => ExtraFiles::Report(report),
            None if self.beside == Besides::Series => ExtraFiles::Series,
            None => ExtraFiles::Nothing,
        };
        out.fill(&self.manifest(arguments), &self.compared.summary, self.compared.runs(), beside, files)?;
        Ok(())
    }

    /// One JSON object: the output of `fanin compare --json`, or of `fanin run --json` for a single run.
    pub fn to_json(&self) -> String {
        match self.runs().next().filter(|_| self.beside != Besides::Report) {
            Some((spec, tables)) => self.run_json(spec, tables).to_string(),
            None => serde_json::to_string(&self.compared.summary).unwrap_or_default(),
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
            "schema": self.compared.summary.schema,
            "scenario": self.compared.summary.scenario,
            "hash": self.compared.summary.hash,
            "warnings": self.compared.summary.warnings,
            "ecn_threshold_k": self.compared.summary.ecn_threshold_k,
            "slowdown": self.compared.summary.rows.first().map(|row| &row.slowdown),
            "engine": self.compared.summary.engine,
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
