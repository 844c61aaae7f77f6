//! What is said in the end.

use std::collections::BTreeMap;

use fanin_lab::stats::Interval;
use fanin_lab::{Spread, SummaryRow};
use fanin_spec::{Problem, Variant};
use fanin_units::Time;
use serde::Serialize;

use crate::cluster::{Asked, Cluster};
use crate::lines::Line;
use crate::remedy::{Change, Effort};
use crate::standing::{Assumption, Limit, Margin, counts};

/// How a cluster fares without a change.
#[derive(Clone, Debug, Serialize)]
pub struct Standing {
    /// What it runs.
    pub scheme: String,
    /// Servers.
    pub servers: u32,
    /// Whether it holds, is slow, sags or has collapsed.
    pub state: &'static str,
    /// Whether losses or waits take so much of its time that it is worth a change.
    pub hurt: bool,
    /// Goodput.
    pub goodput_mbps: Interval,
    /// What a closed form allows; absent where there is none.
    pub allowed_mbps: Option<f64>,
    /// Times of rounds, as a comparison has them.
    pub qct_ms: Spread,
    /// The time of a round's packets on the client's link, the least that a round takes; absent where sizes are drawn, and where no closed
    /// form knows.
    pub wire_ms: Option<f64>,
    /// The command that shows it.
    pub run: String,
}

/// Whether a goal is met.
#[derive(Clone, Debug, Serialize)]
pub struct Met {
    /// Whether it is.
    pub met: bool,
    /// Whether a round's packets leave time for it at this link rate.
    pub possible: bool,
    /// What there is of what was asked for.
    pub reached: String,
}

/// A change, with what it gains, costs and harms.
#[derive(Clone, Debug, Serialize)]
pub struct Remedy {
    /// In words.
    pub says: String,
    /// The word of `--remedies`, of a pair both.
    pub family: String,
    /// The keys that it sets.
    pub settings: BTreeMap<String, String>,
    /// The scheme that it takes; absent where that is today's.
    pub scheme: Option<String>,
    /// What makes it.
    pub apply: Vec<Line>,
    /// What takes it back.
    pub undo: Vec<Line>,
    /// What shows that it took effect.
    pub verify: Vec<Line>,
    /// Effects on traffic other than the cluster's own.
    pub touches: Vec<&'static str>,
    /// What practice knows of it.
    pub notes: Vec<&'static str>,
    /// What it takes.
    pub effort: Effort,
    /// Whether it can be made today.
    pub deployable: bool,
    /// Why it is not ranked among the others, where it is not.
    pub apart: Option<&'static str>,
    /// Goodput with it.
    pub goodput_mbps: Interval,
    /// Times of rounds, as a comparison has them.
    pub qct_ms: Spread,
    /// The time in which a client has what a round of today's brings, over today's.
    pub of_today: f64,
    /// What it may harm; absent where that was not simulated, empty where nothing was seen.
    pub harms: Option<Vec<String>>,
    /// Whether its rank is the same with other assumed values; absent where that was not simulated.
    pub robust: Option<bool>,
    /// Whether it meets the goal; absent where there is none.
    pub goal: Option<Met>,
    /// The command that shows it.
    pub run: String,
    /// What is said of its rows.
    #[serde(skip)]
    pub row: SummaryRow,
}

/// What to change.
#[derive(Clone, Debug, Serialize)]
pub struct Advice {
    /// The version of this form: 1.
    pub schema: u32,
    /// The scenario's file, or the flags that describe it.
    pub scenario: String,
    /// The least number of servers at which goodput is under half of its best at fewer, by simulation; absent where it is not, up to four
    /// times as many as there are.
    pub onset: Option<u32>,
    /// Whether it was looked for to the end.
    pub onset_searched: bool,
    /// The number of servers whose first windows fill pipe and queue, by the closed form; absent where no client is answered by many.
    pub onset_model: Option<f64>,
    /// How far it is from faring otherwise.
    pub margins: Vec<Margin>,
    /// What holds it up, the most first.
    pub limits: Vec<Limit>,
    /// As it is.
    pub today: Standing,
    /// With as many servers as it is to grow to; absent where it is not. Margins, limits and remedies are of it, where it is there.
    pub grown: Option<Standing>,
    /// The assumed values, and whether the verdict depends on them.
    pub hangs_on: Vec<Assumption>,
    /// Whether anything needs changing.
    pub needed: bool,
    /// Whether the goal is met today; absent where there is none.
    pub goal: Option<Met>,
    /// In the order of rank: what can be made and compared, then what stands apart.
    pub remedies: Vec<Remedy>,
    /// How long runs last, where that is shorter than the scenario has it.
    #[serde(skip)]
    pub shortened: Option<Time>,
    /// Changes that there was no budget for.
    pub untried: usize,
    /// What was spent of the budget, in data packets.
    pub spent_packets: u64,
    /// What is to be kept in mind of all of it.
    pub caveats: Vec<String>,
}

impl Advice {
    /// The cluster that margins, limits and remedies describe: the grown one if there is one, else today's.
    pub fn before(&self) -> &Standing {
        self.grown.as_ref().unwrap_or(&self.today)
    }

    /// Today and the first remedies, each at fewer and at more servers: what a picture shows side by side.
    ///
    /// # Errors
    /// What is wrong with the scenario, which was right before.
    pub fn curves(&self, asked: &Asked<'_>) -> Result<Vec<Variant>, Problem> {
        const SHOWN: usize = 3;
        let cluster = Cluster::new(asked, asked.grow_to.or(asked.servers), self.shortened)?;
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
