//! The result of `advise`.

use std::collections::BTreeMap;

use fanin_lab::stats::Interval;
use fanin_lab::{Broken, Slowest, Spread, SummaryRow, Verdict, figures};
use fanin_spec::{Problem, Variant};
use fanin_units::Time;
use serde::Serialize;

use crate::cluster::{Asked, Cluster};
use crate::lines::{Line, Plain};
use crate::remedy::{Change, Effort};
use crate::standing::{Assumption, Limit, Margin, counts};
use crate::trials::Paused;

/// Why there is no advice.
#[derive(Debug, thiserror::Error)]
pub enum AdviceError {
    /// An invalid scenario.
    #[error(transparent)]
    Problem(#[from] Problem),
    /// A run that broke an invariant.
    #[error(transparent)]
    Broken(#[from] Broken),
    /// Invalid options.
    #[error("{0}")]
    Asked(String),
    /// A stop before any result.
    #[error("stopped")]
    Stopped,
}

impl AdviceError {
    /// A budget that does not suffice for runs of `needs` packets each.
    pub(crate) fn too_small(budget: u64, needs: u64) -> AdviceError {
        /// Runs at least.
        const RUNS: u64 = 30;
        AdviceError::Asked(format!(
            "--budget {budget} is too small: one run takes {needs} packets, and advice takes about {RUNS} runs; use --budget {}M",
            (needs * RUNS).div_ceil(1_000_000)
        ))
    }
}

/// How a cluster fares without a change.
#[derive(Clone, Debug, Serialize)]
pub struct Standing {
    /// Its scheme.
    pub scheme: String,
    /// Servers; in a workload between any hosts, the hosts other than the client.
    pub servers: u32,
    /// All hosts, if any of them may send to any other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts: Option<u32>,
    /// Unit of the times: a round, an operation, or a pull.
    pub operation: &'static str,
    /// Whether it sustains goodput, is slow, degrades or has collapsed.
    pub state: Verdict,
    /// Whether losses or waits take enough of its time to justify a change.
    pub impaired: bool,
    /// Goodput.
    pub goodput_mbps: Interval,
    /// Upper bound; absent without a closed form.
    pub allowed_mbps: Option<f64>,
    /// Times of rounds, as a comparison has them.
    pub qct_ms: Spread,
    /// Time of a round's packets on the client's link, the lower bound of a round; absent for random sizes and without a closed form.
    pub wire_ms: Option<f64>,
    /// Pauses; absent unless ports are lossless.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<Paused>,
    /// The first rounds, if the verdict would be better without them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<Slowest>,
    /// The command that shows it.
    pub run: String,
}

/// The cluster without a change in the runs with which changes are compared.
#[derive(Clone, Debug, Serialize)]
pub struct Base {
    /// Their length.
    pub length: String,
    /// Goodput.
    pub goodput_mbps: Interval,
    /// Whether `today`, too, is of these runs, because the budget does not suffice for the scenario's own.
    pub short_only: bool,
    /// The command that shows it.
    pub run: String,
}

impl Base {
    /// In words.
    pub fn says(&self) -> String {
        let (length, goodput) = (&self.length, figures::three(self.goodput_mbps.mean));
        match self.short_only {
            true => format!(
                "All figures are of runs of {length} after a warm-up, because the budget is too small for the scenario's own; increase --budget."
            ),
            false => format!(
                "Changes are compared in runs of {length} after a warm-up, in which today's goodput is {goodput} Mbit/s."
            ),
        }
    }
}

/// Whether a goal is met.
#[derive(Clone, Debug, Serialize)]
pub struct Met {
    /// Whether it is.
    pub met: bool,
    /// Whether a round's packets leave time for it at this link rate.
    pub possible: bool,
    /// The achieved value of the goal.
    pub reached: String,
}

/// Effect of a change on a flow that has the client's link for itself.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LoneFlow {
    /// Its goodput today.
    pub today_mbps: f64,
    /// Its goodput with the change.
    pub mbps: f64,
}

/// A remedy, or the best of its family, at the ends of an interval.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AtEnds {
    /// Key of the unknown value.
    pub key: &'static str,
    /// The ends.
    pub ends: [String; 2],
    /// Time for the same bytes over today's at each end; absent if none of its family was compared there.
    pub relative: [Option<f64>; 2],
    /// Whether it helps at both ends.
    pub holds: bool,
}

/// A change with its gain, cost and side effects.
#[derive(Clone, Debug, Serialize)]
pub struct Remedy {
    /// In words.
    pub says: String,
    /// The word of `--remedies`, of a pair both.
    pub family: String,
    /// The keys that it sets.
    pub settings: BTreeMap<String, String>,
    /// The scheme; absent for today's.
    pub scheme: Option<String>,
    /// Commands that apply it.
    pub apply: Vec<Line>,
    /// Commands that undo it.
    pub undo: Vec<Line>,
    /// Commands that verify it.
    pub verify: Vec<Line>,
    /// The same for reading, one plain command for each careful one; capitals stand for values of the machine.
    pub plain: Plain,
    /// Settings of `fanin-limit` that do the same in a client; absent if it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limiter: Option<serde_json::Value>,
    /// Effects on traffic other than the cluster's own.
    pub touches: Vec<&'static str>,
    /// Notes from practice.
    pub notes: Vec<&'static str>,
    /// Effort.
    pub effort: Effort,
    /// Whether it can be made today.
    pub deployable: bool,
    /// Why it is not ranked among the others, if so.
    pub apart: Option<&'static str>,
    /// Goodput with it.
    pub goodput_mbps: Interval,
    /// Times of rounds, as a comparison has them.
    pub qct_ms: Spread,
    /// Time in which a client receives the bytes of one of today's rounds, over today's time in runs of the same length. Both include the time of it for which a
    /// server's link is paused.
    pub relative_to_current: f64,
    /// Pauses; absent unless ports are lossless.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<Paused>,
    /// Goodput of a flow without others; absent if not simulated.
    pub lone_flow: Option<LoneFlow>,
    /// Simulated side effects; absent if not simulated, empty if there are none.
    pub harms: Option<Vec<String>>,
    /// Whether its rank is the same under other assumptions; absent if not simulated.
    pub robust: Option<bool>,
    /// Its effect at the ends of an interval of an unknown value; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_ends: Option<AtEnds>,
    /// Whether it meets the goal, if there is one.
    pub goal: Option<Met>,
    /// The command that shows it.
    pub run: String,
    /// Simulated rows.
    #[serde(skip)]
    pub row: SummaryRow,
}

/// Advice for a cluster.
#[derive(Clone, Debug, Serialize)]
pub struct Advice {
    /// The version of this form: 2.
    pub schema: u32,
    /// The scenario's file, or the flags that describe it.
    pub scenario: String,
    /// Smallest number of servers with goodput below half of the best with fewer, by simulation; absent if there is none up to four times
    /// the cluster's number.
    pub onset: Option<u32>,
    /// Whether it was looked for to the end.
    pub onset_searched: bool,
    /// Number of servers whose initial windows fill path and queue, by the closed form; absent without many-to-one responses.
    pub onset_model: Option<f64>,
    /// Distances from another verdict.
    pub margins: Vec<Margin>,
    /// Limits, the largest first.
    pub limits: Vec<Limit>,
    /// The cluster without a change.
    pub today: Standing,
    /// The cluster after growth, if requested. Margins, limits and remedies refer to it, unless only today's is impaired.
    pub grown: Option<Standing>,
    /// The assumed values, and whether the verdict depends on them.
    pub depends_on: Vec<Assumption>,
    /// Whether anything needs changing.
    pub needed: bool,
    /// Whether the goal is met today, if there is one.
    pub goal: Option<Met>,
    /// By rank: available and comparable remedies first, then the others.
    pub remedies: Vec<Remedy>,
    /// The cluster that remedies are compared with; absent if its runs are the scenario's own.
    pub base: Option<Base>,
    /// Duration of those runs, if shorter than the scenario's.
    #[serde(skip)]
    pub shortened: Option<Time>,
    /// Changes that there was no budget for.
    pub untried: usize,
    /// Spent budget, in data packets.
    pub spent_packets: u64,
    /// Caveats that apply to all results.
    pub caveats: Vec<String>,
}

impl Advice {
    /// The cluster that margins, limits and remedies describe: the grown one if there is one, unless only today's is impaired.
    pub fn before(&self) -> &Standing {
        let grown = self.grown.as_ref().filter(|grown| grown.impaired || !self.today.impaired);
        grown.unwrap_or(&self.today)
    }

    /// Today and the first remedies with fewer and more servers, for a chart.
    ///
    /// # Errors
    /// An error in the scenario.
    pub fn curves(&self, asked: &Asked<'_>) -> Result<Vec<Variant>, Problem> {
        const SHOWN: usize = 3;
        let own = Cluster::new(asked, Some(self.before().servers))?;
        let short = self.shortened.map(|length| own.shortened(length)).transpose()?.flatten();
        let cluster = short.unwrap_or(own);
        let first = self.remedies.iter().filter(|remedy| remedy.apart.is_none()).take(SHOWN);
        let changes =
            core::iter::once(Change { says: "today".into(), ..Change::none() }).chain(first.map(Remedy::change));
        let counts = counts(cluster.servers, 2);
        Ok(changes.filter_map(|change| Some(cluster.along(&change, &counts)?.called(change.says))).collect())
    }
}

impl Remedy {
    fn change(&self) -> Change {
        let settings = self.settings.clone().into_iter().collect();
        Change { says: self.says.clone(), settings, scheme: self.scheme.clone(), ..Change::none() }
    }
}
