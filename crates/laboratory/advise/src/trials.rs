//! Changes tried: runs under common seeds, paid for out of one budget.

use core::fmt;

use fanin_lab::stats::{Interval, mean_interval, six_digits};
use fanin_lab::{
    Batch, Broken, CompareOptions, Done, Least, Outcome, Runs, Session, SummaryRow, Verdict, figures, paused_share,
    summarise, verdict_at,
};
use fanin_spec::{RunSpec, Settings, Variant};
use fanin_tables::RunTables;
use fanin_units::Bytes;
use serde::Serialize;

use crate::cluster::{Cluster, round};
use crate::remedy::Change;

/// Links that a data packet and its ACK cross in a star.
const HOPS_A_PACKET: u64 = 4;
/// Events that cost as much as a data packet with its ACK.
const EVENTS_A_PACKET: u64 = 8;

/// Bytes of a packet, roughly.
const A_PACKET: f64 = 1460.0;

/// A change with the runs that it has had.
#[derive(Debug)]
pub struct Trial {
    /// A trial of a variant.
    pub change: Change,
    /// The cluster with it.
    pub variant: Variant,
    /// Results, seed by seed.
    pub runs: Vec<Done>,
    /// Payload of a client's round today, if it has one.
    bytes: Option<Bytes>,
    /// Lower bound of the bytes' time on the client's link: a run that ends within a round may seem faster.
    wire_ms: f64,
}

/// A time is as good as another that it exceeds by no more than this factor.
pub const AS_GOOD: f64 = 1.02;
/// A goodput that is less than another by no more than this factor counts as the same.
pub const AS_MUCH: f64 = 1.1;

impl Trial {
    /// A change that has not been tried.
    pub fn new(cluster: &Cluster<'_>, change: Change, variant: Variant) -> Trial {
        let (s, bytes) = (&variant.points[0].settings, cluster.round());
        let least = bytes.zip(round(s)).zip(Least::known(&variant.scheme, s));
        let of = |((bytes, own), least): ((Bytes, Bytes), Least)| least.wire_ms * bytes.0 as f64 / own.0.max(1) as f64;
        let wire_ms = least.map_or(0.0, of);
        Trial { change, variant, runs: Vec::new(), bytes, wire_ms }
    }

    /// Time in which a client receives the bytes of one of today's rounds, in ms, by seed.
    fn waits(&self) -> impl Iterator<Item = f64> {
        let clients = f64::from(self.settings().clients().max(1));
        self.runs.iter().map(move |done| client_ms(&done.tables, clients, self.bytes).max(self.wire_ms))
    }

    /// Shares of the time for which a server's link is paused, by seed.
    fn paused_shares(&self) -> impl Iterator<Item = f64> {
        let s = self.settings();
        let senders = if s.workload.kind.many_to_one() { s.servers() } else { s.hosts() };
        self.runs.iter().map(move |done| paused_share(&done.tables, senders))
    }

    /// What a change is ranked by, in ms, by seed: the time in which a client receives the bytes of one of today's rounds, and the time of
    /// it for which a server's link is paused, which its other flows lose.
    pub fn times(&self) -> Vec<f64> {
        self.waits().zip(self.paused_shares()).map(|(wait, paused)| wait * (1.0 + paused)).collect()
    }

    /// Mean time in which a client receives the bytes of one of today's rounds, in ms.
    pub fn wait(&self) -> f64 {
        mean_interval(&self.waits().collect::<Vec<_>>()).unwrap_or_default().six_digits().mean
    }

    /// Pauses of lossless ports; `None` if ports may drop.
    pub fn paused(&self) -> Option<Paused> {
        let runs = self.runs.len().max(1) as f64;
        let count = self.runs.iter().flat_map(|done| &done.tables.pauses).map(|row| row.pauses).sum::<u64>() as f64;
        let share = self.paused_shares().sum::<f64>();
        let [count, share] = [count, share].map(|sum| six_digits(sum / runs));
        self.variant.scheme.rdma().map(|_| Paused { count, share })
    }

    fn settings(&self) -> &Settings {
        &self.variant.points[0].settings
    }

    /// Its mean with an interval.
    pub fn time(&self) -> Interval {
        let of = mean_interval(&self.times()).unwrap_or_default();
        Interval { lo: of.lo.max(0.0), ..of }.six_digits()
    }

    /// Mean time; infinite without runs.
    pub fn mean(&self) -> f64 {
        if self.runs.is_empty() { f64::INFINITY } else { self.time().mean }
    }

    /// The row that a comparison has of it.
    pub fn row(&self) -> Option<SummaryRow> {
        let of = |i: usize| self.variant.at(0, self.variant.settings.run.first_seed + i as u64);
        let specs: Vec<RunSpec> = (0..self.runs.len()).filter_map(of).collect();
        let runs = self.runs.iter().cloned().map(Some).collect();
        let outcome = Outcome { runs, ..Outcome::default() };
        let variants = core::slice::from_ref(&self.variant);
        summarise("", variants, CompareOptions::default(), Runs::of(&specs, &outcome)).rows.pop()
    }

    /// Whether it is better than another for sure.
    pub fn beats(&self, other: &Trial) -> bool {
        surely_less(&self.times(), &other.times())
    }

    /// Whether it delivers about as much as another. With independent request times, one may take less time on average only because its
    /// slowest requests are cut off by the run's end.
    pub fn brings_as_much(&self, other: &Trial) -> bool {
        let of = |trial: &Trial| trial.row().map(|row| row.goodput_mbps.mean);
        of(self).zip(of(other)).is_some_and(|(own, than)| AS_MUCH * own >= than)
    }

    /// Whether rounds there are idle or lost, or pauses hold servers back.
    pub fn is_impaired(&self) -> bool {
        self.verdict().is_some_and(Verdict::is_impaired)
    }

    /// Its verdict, as a comparison has it; `None` without runs.
    pub fn verdict(&self) -> Option<Verdict> {
        Some(verdict_at(&self.row()?))
    }
}

/// Pauses of a run, mean over seeds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Paused {
    /// Their number.
    pub count: f64,
    /// Share of the time for which a server's link is paused, mean over servers.
    pub share: f64,
}

impl fmt::Display for Paused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (percent, count) = (figures::three(100.0 * self.share), figures::count(self.count));
        write!(f, "{percent} % of servers' time ({count} pauses)")
    }
}

/// Time to deliver these bytes at one client's share of a run's goodput, including the bytes of an unfinished round. For rounds of objects:
/// their mean time, with unfinished ones at their waiting times; without rounds: the time of a megabyte. A run that delivers nothing counts
/// as one packet.
fn client_ms(tables: &RunTables, clients: f64, bytes: Option<Bytes>) -> f64 {
    let waits: Vec<u64> = tables.queries.iter().filter_map(|query| query.qct_ps.or(query.waited_ps)).collect();
    let a_packet = A_PACKET * 8.0 / (tables.totals.measured_ps.max(1) as f64 / 1e6);
    match (bytes, waits.len()) {
        (None, n) if n > 0 => waits.iter().map(|ps| *ps as f64).sum::<f64>() / n as f64 / 1e9,
        _ => bytes.map_or(1e6, |bytes| bytes.0 as f64) * 8.0 / 1e3 * clients / tables.goodput_mbps().max(a_packet),
    }
}

/// Whether times are certainly shorter than others: disjoint intervals, or a maximum below the others' minimum. If one of five seeds has
/// idle rounds, the interval of today's times extends to zero.
fn surely_less(own: &[f64], others: &[f64]) -> bool {
    let (Some(of), Some(than)) = (mean_interval(own), mean_interval(others)) else { return false };
    let longest = own.iter().copied().fold(0.0, f64::max);
    let shortest = others.iter().copied().fold(f64::INFINITY, f64::min);
    of.hi < than.lo || (own.len() > 1 && longest < shortest)
}

/// Cost of a run in data packets.
pub fn cost(tables: &RunTables) -> u64 {
    let engine = tables.engine;
    (engine.packet_hops / HOPS_A_PACKET).max(engine.events / EVENTS_A_PACKET)
}

/// Budget of simulated packets.
pub struct PacketBudget<'a, 'b> {
    session: Session<'b>,
    budget: u64,
    /// The part of the budget that is reserved for later work.
    kept_back: u64,
    spent: u64,
    /// Cost of the most expensive run of this length so far, the estimate for others, and of any length.
    dearest: u64,
    largest: u64,
    stop: &'a dyn Fn() -> bool,
}

impl<'a, 'b> PacketBudget<'a, 'b> {
    /// A budget of this many data packets; checks `stop` between batches.
    pub fn new(session: Session<'b>, budget: u64, stop: &'a dyn Fn() -> bool) -> PacketBudget<'a, 'b> {
        PacketBudget { session, budget, kept_back: 0, spent: 0, dearest: 0, largest: 0, stop }
    }

    /// Packets available now: the budget minus those spent and reserved.
    pub fn left(&self) -> u64 {
        self.budget.saturating_sub(self.kept_back).saturating_sub(self.spent)
    }

    /// Reserves packets for later work, in place of any reserve before; 0 releases it.
    pub fn keep_back(&mut self, packets: u64) {
        self.kept_back = packets;
    }

    /// Runs from here on have the length of a trial's, so that the cost of others is no estimate for them.
    pub fn change_length(&mut self, trial: &Trial) {
        self.dearest = trial.runs.iter().map(|run| cost(&run.tables)).max().unwrap_or(0);
    }

    /// Whether the caller stops the search.
    pub fn is_stopped(&self) -> bool {
        (self.stop)()
    }

    /// All of the budget, and the cost of the most expensive run of any length.
    pub fn all_and_largest(&self) -> (u64, u64) {
        (self.budget, self.largest)
    }

    /// Packets spent.
    pub fn spent(&self) -> u64 {
        self.spent
    }

    /// Cost of the most expensive run.
    pub fn dearest(&self) -> u64 {
        self.dearest
    }

    /// Runs trials until each has this many seeds or the limit is spent; earlier trials take precedence. Which runs are made depends on the
    /// costs of earlier ones, never on concurrency.
    ///
    /// # Errors
    /// A run that broke an invariant.
    pub fn run(&mut self, trials: &mut [&mut Trial], seeds: u32, most: u64) -> Result<(), Broken> {
        const TOGETHER: usize = 16;
        let end = self.spent + most.min(self.left());
        let mut wanted: Vec<(usize, u64)> = Vec::new();
        for (i, trial) in trials.iter().enumerate() {
            wanted.extend((trial.runs.len() as u64..u64::from(seeds)).map(|seed| (i, seed)));
        }
        let mut rest = wanted.as_slice();
        while !rest.is_empty() && !(self.stop)() {
            let room = end.saturating_sub(self.spent) / self.dearest.max(1);
            let (now, later) = rest.split_at(rest.len().min(TOGETHER).min(room as usize));
            if now.is_empty() {
                break;
            }
            self.batch(trials, now)?;
            rest = later;
        }
        Ok(())
    }

    fn batch(&mut self, trials: &mut [&mut Trial], runs: &[(usize, u64)]) -> Result<(), Broken> {
        let of = |&(i, seed): &(usize, u64)| {
            let variant = &trials[i].variant;
            variant.at(0, variant.settings.run.first_seed + seed).expect("every variant has a point")
        };
        let specs: Vec<RunSpec> = runs.iter().map(of).collect();
        let done = self.carry_out(&specs)?;
        for ((i, seed), done) in runs.iter().zip(done) {
            // Seeds in their order, none left out.
            if let Some(done) = done.filter(|_| trials[*i].runs.len() as u64 == *seed) {
                trials[*i].runs.push(done);
            }
        }
        Ok(())
    }

    /// Runs specs at any cost, and charges them.
    ///
    /// # Errors
    /// A run that broke an invariant.
    pub fn carry_out(&mut self, specs: &[RunSpec]) -> Result<Vec<Option<Done>>, Broken> {
        let mut done: Vec<Option<Done>> = specs.iter().map(|_| None).collect();
        self.session.expect(specs.len());
        self.session.run(Batch { specs, watch: None }, &mut |place, run| done[place] = Some(run))?;
        for run in done.iter().flatten() {
            let cost = cost(&run.tables);
            self.spent += cost;
            self.dearest = self.dearest.max(cost);
            self.largest = self.largest.max(cost);
        }
        Ok(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variable_times_do_not_hide_a_significant_gain() {
        let today = [1.2, 40.0, 2.0, 3.0, 2.5];
        assert!(surely_less(&[0.32, 0.33, 0.32], &today));
        assert!(!surely_less(&[0.32], &today), "one run is chance");
        assert!(!surely_less(&[0.3, 1.3, 0.3], &today));
        assert!(surely_less(&[9.0], &[10.0, 10.1, 9.9]), "intervals that do not overlap");
    }

    #[test]
    fn a_run_without_delivery_counts_as_one_packet() {
        let mut tables = RunTables::default();
        tables.totals.measured_ps = 50_000_000_000;
        let ms = |tables: &RunTables| client_ms(tables, 1.0, Some(Bytes(14_600))).round();
        assert_eq!(ms(&tables), 500.0, "ten packets, one in 50 ms");
        tables.totals.payload_bytes = 146_000;
        assert_eq!(ms(&tables), 5.0);
    }
}
