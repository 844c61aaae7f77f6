//! A scenario on real TCP beside its prediction.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use etcetera::{BaseStrategy, choose_base_strategy};
use fanin_lab::{CompareOptions, Compared, Outcome, stats};
use fanin_tables::{Counter, RunTables, Totals};
use fanin_testbed::Trouble;
pub use fanin_testbed::{Kind, Testbed, prepare, serve};
use serde_json::{Value, json};

use crate::{Comparison, Error, Finding, Lab, Resolved, SummaryRow, Update};

/// Share of a processor's time from which a point shows the machine rather than the network.
const BUSY: f64 = 0.85;
/// Share of a processor's time at which a point shows the network.
const FITS: f64 = 0.7;
/// Added to the labels of measured schemes.
const MEASURED: &str = "(measured)";

/// Measured and predicted figures of a scenario.
pub struct Proof {
    both: Comparison,
    machine: &'static str,
    impossible: Vec<Impossible>,
}

/// A scheme that a testbed cannot measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Impossible {
    /// Its label.
    pub scheme: String,
    /// Why, and what to do.
    pub why: String,
}

/// One scheme at one point, measured and predicted.
pub struct ProofRow<'a> {
    /// Measured on real TCP.
    pub measured: Side<'a>,
    /// Simulated.
    pub predicted: Side<'a>,
    /// Largest share of a processor's time.
    pub busy: f64,
}

/// Measured or predicted figures of a point.
pub struct Side<'a> {
    /// Means over runs.
    pub row: &'a SummaryRow,
    /// Totals of each run.
    totals: Vec<&'a Totals>,
    /// Goodput of each run in Mbit/s.
    goodputs: Vec<f64>,
}

/// Verdicts on a scheme.
pub struct ProofFinding<'a> {
    /// The scheme.
    pub scheme: &'a str,
    /// Verdict on what was measured.
    pub measured: &'a Finding,
    /// Verdict on what was predicted.
    pub predicted: &'a Finding,
}

/// The user's folder for the kernel of a machine; `None` if the system has no cache folder.
pub fn kernel_folder(kind: Kind) -> Option<PathBuf> {
    Some(choose_base_strategy().ok()?.cache_dir().join("fanin").join(format!("linux-{}", kind.name())))
}

impl Lab {
    /// Simulates a scenario with this lab, and measures it on a testbed. `measured` is the same scenario with the number of runs to measure.
    /// Schemes that the testbed cannot measure are in the result, unless there is no other.
    ///
    /// # Errors
    /// [`Error::Asked`] for a scenario that no kernel has, [`Error::Lacking`] if the machine lacks something, or as [`Lab::compare`].
    pub fn testbed(
        &self,
        testbed: Testbed,
        predicted: &Resolved,
        measured: &Resolved,
        hear: &mut dyn FnMut(Update),
    ) -> Result<Proof, Error> {
        let mut impossible = check(&testbed, measured, hear)?;
        let machine = testbed.machine.name();
        let (mut predicted, mut measured) = (predicted.clone(), measured.clone());
        for scenario in [&mut predicted, &mut measured] {
            scenario.variants.retain(|variant| impossible.iter().all(|one| one.scheme != variant.label));
        }
        for variant in &mut measured.variants {
            *variant = variant.labelled(format!("{} {MEASURED}", variant.label));
        }
        let predicted = self.compare(&predicted, CompareOptions::default(), hear)?;
        let lab = Lab::default().without_cache().stopped_by(self.stop.clone()).measuring(testbed);
        let measured = lab.compare(&measured, CompareOptions::default(), hear)?;
        let raised = &measured.outcome().raised;
        if let Some(raised) = raised.first().filter(|_| measured.summary().rows.is_empty()) {
            return Err(Error::Lacking(raised.to_string()));
        }
        impossible.extend(raised.iter().map(|raised| Impossible {
            scheme: raised.label.trim_end_matches(MEASURED).trim_end().into(),
            why: format!("at {} under seed {}: {}", raised.point, raised.seed, raised.what),
        }));
        Ok(Proof { both: together(predicted, measured), machine, impossible })
    }
}

/// The schemes that a testbed cannot measure, before anything runs; notes on the others are heard once.
///
/// # Errors
/// The first reason, if it can measure none.
pub(crate) fn check(
    testbed: &Testbed,
    scenario: &Resolved,
    hear: &mut dyn FnMut(Update),
) -> Result<Vec<Impossible>, Error> {
    let (mut impossible, mut notes) = (Vec::new(), Vec::new());
    let mut first = None;
    for variant in scenario.variants() {
        let checked: Result<Vec<Vec<String>>, Trouble> = (0..variant.points.len())
            .filter_map(|place| variant.at(place, 1))
            .map(|spec| testbed.check(&spec))
            .collect();
        match checked {
            Ok(all) => notes.extend(all.into_iter().flatten()),
            Err(Trouble::Stopped) => return Err(Error::Stopped),
            Err(trouble) => {
                impossible.push(Impossible { scheme: variant.label.clone(), why: trouble.to_string() });
                first.get_or_insert(trouble);
            }
        }
    }
    if let Some(trouble) = first.filter(|_| impossible.len() == scenario.variants().len()) {
        return Err(trouble.into());
    }
    notes.sort_unstable();
    notes.dedup();
    notes.into_iter().for_each(|note| hear(Update::Notice(note)));
    Ok(impossible)
}

/// Both comparisons as one, whose schemes are those of either.
fn together(one: Comparison, other: Comparison) -> Comparison {
    let mut scenario = one.scenario;
    scenario.variants.extend(other.scenario.variants);
    let specs = [one.compared.specs, other.compared.specs].concat();
    let [mine, theirs] = [one.compared.outcome, other.compared.outcome];
    let outcome = Outcome {
        runs: [mine.runs, theirs.runs].into_iter().flatten().collect(),
        cached: mine.cached,
        notices: Vec::new(),
        raised: [mine.raised, theirs.raised].concat(),
        wall: mine.wall.saturating_add(theirs.wall),
        provenance: theirs.provenance,
    };
    let warnings = one.compared.summary.warnings;
    let options = CompareOptions::default();
    let compared = Compared::of(&scenario.name, &scenario.variants, &warnings, options, specs, outcome);
    Comparison { scenario, compared, ..one }
}

impl From<Trouble> for Error {
    fn from(trouble: Trouble) -> Error {
        match trouble {
            Trouble::Unsupported(_) | Trouble::Asked(_) | Trouble::TooLarge(_) => Error::Asked(trouble.to_string()),
            Trouble::Stopped => Error::Stopped,
            other => Error::Lacking(other.to_string()),
        }
    }
}

impl Proof {
    /// Both as one comparison; the labels of measured schemes end with `(measured)`.
    pub fn comparison(&self) -> &Comparison {
        &self.both
    }

    /// Time that it took.
    pub fn wall(&self) -> Duration {
        self.both.outcome().wall
    }

    /// Points that were both measured and predicted, by scheme.
    pub fn rows(&self) -> Vec<ProofRow<'_>> {
        let mut runs: BTreeMap<(&str, usize), Vec<&RunTables>> = BTreeMap::new();
        for (spec, tables) in self.both.runs() {
            runs.entry((&spec.label, spec.place)).or_default().push(tables);
        }
        let side = |scheme: &str, place: usize| {
            let row = self.both.summary().rows.iter().find(|row| row.scheme == scheme && row.place == place)?;
            let of = runs.get(&(row.scheme.as_str(), place))?;
            let totals = of.iter().map(|tables| &tables.totals).collect();
            Some(Side { row, totals, goodputs: of.iter().map(|tables| tables.goodput_mbps()).collect() })
        };
        let proof = |(scheme, place): &(&str, usize)| {
            let measured_scheme = format!("{scheme} {MEASURED}");
            let (predicted, measured) = (side(scheme, *place)?, side(&measured_scheme, *place)?);
            let busy = runs.get(&(measured.row.scheme.as_str(), *place))?.iter();
            let busy = busy.map(|tables| tables.engine.busy_thousandths).max().unwrap_or(0) as f64 / 1e3;
            Some(ProofRow { measured, predicted, busy })
        };
        let rows = self.both.summary().rows.iter();
        rows.filter_map(|row| proof(&(row.scheme.as_str(), row.place))).collect()
    }

    /// Schemes that were not measured, or not at all points, with the reasons.
    pub fn impossible(&self) -> &[Impossible] {
        &self.impossible
    }

    /// Verdicts on each scheme, in the words of a comparison.
    pub fn findings(&self) -> Vec<ProofFinding<'_>> {
        let of = |scheme: &str| self.both.findings().iter().find(|finding| finding.scheme.as_deref() == Some(scheme));
        let both = |predicted: &'_ Finding| {
            let scheme = predicted.scheme.as_deref()?;
            of(&format!("{scheme} {MEASURED}"))
        };
        let findings = self.both.findings().iter();
        findings
            .filter_map(|predicted| {
                let measured = both(predicted)?;
                Some(ProofFinding { scheme: predicted.scheme.as_deref()?, measured, predicted })
            })
            .collect()
    }

    /// The object that `--json` prints.
    pub fn to_json(&self) -> String {
        let provenance = self.both.summary().provenance.clone().unwrap_or_default();
        let rows: Vec<Value> = self.rows().iter().map(ProofRow::to_json).collect();
        let findings: Vec<Value> = self.findings().iter().map(ProofFinding::to_json).collect();
        let impossible: Vec<Value> =
            self.impossible.iter().map(|one| json!({"scheme": one.scheme, "why": one.why})).collect();
        let whole = json!({
            "schema": 1, "machine": self.machine, "kernel": provenance.kernel, "rows": rows, "verdicts": findings,
            "impossible": impossible,
        });
        format!("{whole:#}")
    }
}

impl Side<'_> {
    /// Tail loss probes, mean over runs.
    pub fn probes(&self) -> f64 {
        self.mean(|totals| totals.probes)
    }

    /// Data packets retransmitted, mean over runs.
    pub fn retransmits(&self) -> f64 {
        self.mean(|totals| totals.retransmits)
    }

    /// Lowest and highest goodput of a run in Mbit/s.
    pub fn range_mbps(&self) -> [f64; 2] {
        let goodputs = || self.goodputs.iter().copied();
        [goodputs().fold(f64::INFINITY, f64::min), goodputs().fold(0.0, f64::max)]
    }

    fn mean(&self, pick: fn(&Totals) -> u64) -> f64 {
        let values: Vec<f64> = self.totals.iter().map(|totals| pick(totals) as f64).collect();
        stats::mean(&values).map_or(0.0, stats::six_digits)
    }

    fn to_json(&self) -> Value {
        let row = self.row;
        let mut goodput = json!(row.goodput_mbps);
        let measured = |counter, value: f64| (!row.unmeasured.contains(&counter)).then_some(value);
        goodput["range"] = json!(self.range_mbps().map(stats::six_digits));
        json!({
            "goodput_mbps": goodput, "qct_ms": row.qct_ms, "timeouts": row.timeouts, "probes": self.probes(),
            "retransmits": self.retransmits(), "drops": row.drops, "marks": row.marks, "rounds": row.rounds,
            "stalled_ms": measured(Counter::Stalls, row.stalled_ms), "stalls_by_cause": row.stalls_by_cause,
        })
    }
}

impl ProofRow<'_> {
    /// The scheme.
    pub fn scheme(&self) -> &str {
        &self.predicted.row.scheme
    }

    /// Measured over predicted goodput.
    pub fn goodput_ratio(&self) -> f64 {
        self.measured.row.goodput_mbps.mean / self.predicted.row.goodput_mbps.mean
    }

    /// Measured over predicted value of a percentile of query times.
    pub fn time_ratio(&self, pick: fn(&SummaryRow) -> Option<f64>) -> Option<f64> {
        Some(pick(self.measured.row)? / pick(self.predicted.row)?)
    }

    /// If the machine was too busy for this point: the share of the link's rate that would fit.
    pub fn rate_that_fits(&self) -> Option<f64> {
        (self.busy > BUSY).then(|| FITS / self.busy * self.goodput_ratio().min(1.0))
    }

    pub(crate) fn to_json(&self) -> Value {
        let ratio = |pick| self.time_ratio(pick).map(stats::six_digits);
        let mut measured = self.measured.to_json();
        measured["cpu"] = json!(self.busy);
        json!({
            "scheme": self.scheme(), "point": self.predicted.row.point, "measured": measured,
            "predicted": self.predicted.to_json(),
            "ratio": {
                "goodput": stats::six_digits(self.goodput_ratio()), "p50": ratio(|row| row.qct_ms.p50),
                "p99": ratio(|row| row.qct_ms.p99),
            },
            "rate_that_fits": self.rate_that_fits().map(stats::six_digits),
        })
    }
}

impl ProofFinding<'_> {
    /// Whether both have the same verdict.
    pub fn agrees(&self) -> bool {
        self.measured.verdict == self.predicted.verdict
    }

    fn to_json(&self) -> Value {
        let side = |finding: &Finding| json!({"verdict": finding.verdict, "head": finding.head});
        json!({
            "scheme": self.scheme, "agrees": self.agrees(), "measured": side(self.measured),
            "predicted": side(self.predicted),
        })
    }
}
