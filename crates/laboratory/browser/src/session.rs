//! A comparison whose runs are carried out elsewhere.

use core::cell::RefCell;
use core::sync::atomic::AtomicBool;
use core::time::Duration;
use std::collections::BTreeMap;

use fanin_lab::{Batch, Broken, CompareOptions, Done, Executor, Manifest, News, Runner};
use fanin_spec::Problem;
use fanin_tables::RunTables;

use crate::inline::{Simulator, packed};
use crate::scenario::{NAME, Read};

/// Runs of scenarios by their encoding, and the results that have come. Results are kept when the scenario changes, so that only new
/// runs are carried out.
#[derive(Default)]
pub struct Session {
    results: BTreeMap<Vec<u8>, RunTables>,
    /// Their encoded length.
    bytes: usize,
    /// The last scenario.
    text: String,
}

/// Next step of a comparison.
#[derive(Debug)]
pub enum Step {
    /// Missing runs, to be carried out and [taken](Session::take).
    Runs(Vec<Vec<u8>>),
    /// The comparison.
    Done(Box<Comparison>),
}

/// A finished comparison.
#[derive(Debug)]
pub struct Comparison {
    /// As printed by `fanin compare --json`.
    pub summary: String,
    /// The report's data.
    pub report: String,
}

/// Encoded bytes of results that are kept when the scenario changes.
const KEPT: usize = 256 << 20;

/// Takes results from a session, and notes the runs that it lacks.
struct Results<'a> {
    session: &'a Session,
    missing: RefCell<Vec<Vec<u8>>>,
}

impl Executor for Results<'_> {
    fn carry_out(&self, batch: Batch<'_>, tell: &mut dyn FnMut(News)) -> Result<Duration, Broken> {
        for (place, spec) in batch.specs.iter().enumerate() {
            let job = packed(spec);
            match self.session.results.get(&job) {
                Some(tables) => {
                    let done = Box::new(Done { tables: tables.clone(), cpu: Duration::ZERO });
                    tell(News::Ended { place, done, cached: false });
                }
                None => self.missing.borrow_mut().push(job),
            }
        }
        Ok(Duration::ZERO)
    }
}

impl Session {
    /// The next step of a comparison with this many seeds. With `watched`, the report has timelines, for which one more run per scheme is
    /// carried out at once.
    ///
    /// # Errors
    /// The problem in the scenario, and a fault of the simulator.
    pub fn step(&mut self, text: &str, seeds: u32, watched: bool) -> Result<Step, Problem> {
        if self.text != text {
            text.clone_into(&mut self.text);
            if self.bytes > KEPT {
                (self.results, self.bytes) = (BTreeMap::new(), 0);
            }
        }
        let read = Read::new(text, Some(seeds))?;
        let results = Results { session: self, missing: RefCell::default() };
        let warnings: Vec<String> = read.warnings();
        let options = CompareOptions::default();
        let compared =
            fanin_lab::compare(&results, NAME, &read.variants, &warnings, options, &mut |_| {}).map_err(fault)?;
        let missing = results.missing.into_inner();
        if !missing.is_empty() {
            return Ok(Step::Runs(missing));
        }
        let manifest = Manifest {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            arguments: read.arguments(seeds),
            scenario_text: text.to_owned(),
        };
        let runner: Option<&dyn Runner> = if watched { Some(&Simulator) } else { None };
        let title = read.scenario.title.as_deref();
        let stop = AtomicBool::new(false);
        let report =
            fanin_report::report(runner, title, &read.variants, &manifest, &compared.summary, compared.runs(), &stop);
        let text = |json: Result<String, serde_json::Error>| json.unwrap_or_default();
        Ok(Step::Done(Box::new(Comparison {
            summary: text(serde_json::to_string(&compared.summary)),
            report: text(serde_json::to_string(&report.map_err(fault)?)),
        })))
    }

    /// Takes the tables of a run that [`run`](crate::run) has carried out.
    ///
    /// # Errors
    /// Bytes that are no tables.
    pub fn take(&mut self, job: Vec<u8>, tables: &[u8]) -> Result<(), String> {
        self.bytes += tables.len();
        let tables = postcard::from_bytes(tables).map_err(|error| format!("not the tables of a run: {error}"))?;
        self.results.insert(job, tables);
        Ok(())
    }
}

/// A fault of the simulator as a problem of the whole scenario.
#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn fault(broken: Broken) -> Problem {
    Problem { origin: fanin_spec::Origin::Default, what: broken.to_string() }
}
