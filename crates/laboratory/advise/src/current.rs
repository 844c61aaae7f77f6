//! Current state of a cluster: in the scenario's own runs, so that a comparison has the same figures, and in shorter ones, with which
//! changes are compared.

use fanin_lab::stats::Interval;
use fanin_lab::{SummaryRow, figures};
use fanin_spec::Kind;
use fanin_units::Time;

use crate::advice::{AdviceError, Base, Standing};
use crate::cluster::{Cluster, round};
use crate::remedy::Change;
use crate::trials::{AS_MUCH, PacketBudget, Trial};

/// Seeds of a cluster without a change.
const SEEDS: u32 = 5;
/// A search needs at least this number of runs.
const RUNS_LEAST: u64 = 40;
/// A verdict needs at least this number of the scenario's own runs.
const OWN_RUNS_LEAST: u64 = 2;

/// A cluster without a change.
pub struct Current<'a> {
    /// The cluster whose changes are tried.
    pub cluster: Cluster<'a>,
    /// Its runs.
    pub trial: Trial,
    /// Its state.
    pub standing: Standing,
    /// Length of its runs, if they are shorter than the scenario's.
    pub shortened: Option<Time>,
    /// Whether the state is that of shorter runs, too.
    short_only: bool,
}

impl<'a> Current<'a> {
    /// Judges a cluster by the scenario's own runs if half of the budget suffices, else by runs of `length`. Changes are compared in runs of
    /// that length, doubled until they have the same verdict as the scenario's own.
    ///
    /// # Errors
    /// A run that broke an invariant, or a stop before the first one.
    pub fn judge(
        own: Cluster<'a>,
        length: Time,
        budget: &mut PacketBudget<'_, '_>,
        begun: &mut dyn FnMut(&Cluster<'a>, &Trial),
    ) -> Result<Current<'a>, AdviceError> {
        let half = budget.left() / 2;
        let needs = own.packets(own.at().settings.workload.duration);
        let Some(mut short) = own.shortened(length)? else {
            let trial = tried(&own, budget.left() / 10, budget, begun)?;
            let standing = standing(&own, &trial).ok_or_else(|| refused(budget))?;
            return Ok(Current { cluster: own, trial, standing, shortened: None, short_only: false });
        };
        if OWN_RUNS_LEAST * needs > half {
            let trial = tried(&short, half / 5, budget, begun)?;
            let standing = standing(&short, &trial).ok_or_else(|| refused(budget))?;
            return Ok(Current { cluster: short, trial, standing, shortened: Some(length), short_only: true });
        }
        let whole = tried(&own, half, budget, begun)?;
        let standing = standing(&own, &whole).ok_or_else(|| refused(budget))?;
        let mut length = length;
        loop {
            let trial = tried(&short, budget.left() / 5, budget, &mut |_, _| {})?;
            // Without a run, the scenario's own have spent the budget.
            let has_run = !trial.runs.is_empty();
            let longer = Time(length.0.saturating_mul(2));
            if has_run && (agree(&whole, &trial) || RUNS_LEAST * own.packets(longer) > budget.left()) {
                return Ok(Current { cluster: short, trial, standing, shortened: Some(length), short_only: false });
            }
            length = longer;
            short = match own.shortened(length)? {
                Some(longer) if has_run => longer,
                _ => {
                    budget.change_length(&whole);
                    return Ok(Current { cluster: own, trial: whole, standing, shortened: None, short_only: false });
                }
            };
        }
    }

    /// The state in the runs with which changes are compared, if they are shorter than the scenario's.
    pub fn base(&self) -> Option<Base> {
        let length = self.shortened?;
        let goodput_mbps = self.trial.row()?.goodput_mbps;
        let run = self.cluster.command(&Change::none(), self.trial.runs.len() as u32);
        Some(Base { length: length.to_string(), goodput_mbps, short_only: self.short_only, run })
    }
}

/// Why a run was not made.
fn refused(budget: &PacketBudget<'_, '_>) -> AdviceError {
    let (all, largest) = budget.all_and_largest();
    if budget.is_stopped() { AdviceError::Stopped } else { AdviceError::too_small(all, largest) }
}

/// A cluster's runs without a change, of a new length; `begun` receives the first one.
fn tried<'a>(
    cluster: &Cluster<'a>,
    most: u64,
    budget: &mut PacketBudget<'_, '_>,
    begun: &mut dyn FnMut(&Cluster<'a>, &Trial),
) -> Result<Trial, AdviceError> {
    let mut trial = Trial::new(cluster, Change::none(), cluster.today.clone());
    budget.change_length(&trial);
    budget.run(&mut [&mut trial], 1, u64::MAX)?;
    begun(cluster, &trial);
    budget.run(&mut [&mut trial], SEEDS, most)?;
    Ok(trial)
}

/// Whether shorter runs have the same verdict, and about the same goodput.
fn agree(own: &Trial, short: &Trial) -> bool {
    let goodputs = [own, short].map(|trial| trial.row().map(|row| row.goodput_mbps));
    let [Some(one), Some(other)] = goodputs else { return false };
    let within = |a: Interval, b: Interval| a.mean >= b.lo && a.mean <= b.hi;
    let near = one.mean.max(other.mean) <= AS_MUCH * one.mean.min(other.mean);
    own.is_impaired() == short.is_impaired() && (near || within(one, other) || within(other, one))
}

/// The state of a cluster from a trial's runs; `None` without runs.
fn standing(cluster: &Cluster<'_>, trial: &Trial) -> Option<Standing> {
    let (row, kind) = (trial.row()?, cluster.at().settings.workload.kind);
    Some(Standing {
        scheme: trial.variant.label.clone(),
        servers: cluster.servers,
        hosts: (!kind.many_to_one()).then_some(cluster.servers + 1),
        operation: operation(kind),
        state: trial.verdict()?,
        impaired: trial.is_impaired(),
        goodput_mbps: row.goodput_mbps,
        allowed_mbps: allowed(&row),
        qct_ms: row.qct_ms,
        wire_ms: wire_ms(trial, &row),
        paused: trial.paused(),
        start: fanin_lab::start_decides(&row).cloned(),
        run: cluster.command(&Change::none(), trial.runs.len() as u32),
    })
}

/// The repeated unit of a workload, in words.
fn operation(kind: Kind) -> &'static str {
    match kind {
        Kind::AllReduce | Kind::AllToAll => "operation",
        Kind::Pulls => "pull",
        Kind::Shuffle => "shuffle",
        Kind::MapReduce => "job",
        _ => "round",
    }
}

/// The figures of the first run. It draws no conclusion: one run may be chance.
pub fn first_words(cluster: &Cluster<'_>, today: &Trial) -> Option<String> {
    let row = today.row()?;
    let allowed = allowed(&row).map_or(String::new(), |mbps| format!(" of at most {}", figures::three(mbps)));
    let kind = cluster.at().settings.workload.kind;
    let per = operation(kind);
    let round = row.qct_ms.mean.map_or(String::new(), |ms| format!(", {} per {per}", figures::time(ms)));
    let many = match kind.many_to_one() {
        true => format!("{} servers", cluster.servers),
        false => format!("{} hosts", cluster.servers + 1),
    };
    Some(format!(
        "{} with {many}, the first run: {} Mbit/s{allowed}{round}",
        today.variant.label,
        figures::three(row.goodput_mbps.mean)
    ))
}

/// The upper bound; absent if requests have fixed start times and were more than expected.
fn allowed(row: &SummaryRow) -> Option<f64> {
    row.allowed_mbps.filter(|allowed| row.goodput_mbps.mean <= *allowed)
}

/// Time of a round's packets on the client's link. For random sizes, the closed form has their mean, which is not a bound.
pub fn wire_ms(trial: &Trial, row: &SummaryRow) -> Option<f64> {
    row.least.filter(|_| round(&trial.variant.points[0].settings).is_some()).map(|least| least.wire_ms)
}
