//! Calibration: simulation settles the values that a recording leaves open, so that the scenario's rounds take as long, and lose as much,
//! as the recorded ones.

use std::collections::BTreeMap;

use fanin_lab::{Outcome, Runs};
use fanin_spec::{Problem, RunSpec, Scenario, Variant};

use crate::{Choice, Diagnosis, Simulated, Sketch};

/// Numbers of servers to compare: those with the most rounds.
const POINTS: usize = 3;
/// Simulated rounds per number of servers, and the maximum of data packets per trial.
const ROUNDS: f64 = 40.0;
const PACKETS: f64 = 1.5e6;
const SEEDS: u32 = 3;
/// Maximum of data packets for the final scenario, whose results appear beside the measured ones.
const MOST_PACKETS: f64 = 6e6;
/// Tolerances of the mean round and of the losses per round, as shares: standard deviations.
const TIME: f64 = 0.05;
const LOSS: f64 = 0.3;
/// A trial that fits better than `FITS` ends the search. Another value must reduce the misfit by the factor `BETTER`.
const FITS: f64 = 1.0;
const BETTER: f64 = 0.8;
/// The key that is searched most closely.
const BUFFER: &str = "switch.buffer";
/// Name of the scenario in messages.
const NAME: &str = "scenario.toml";
const WHY: &str = "with this value, simulated rounds are closest to the recorded ones";

/// Rounds of one number of servers.
#[derive(Clone, Copy, Debug, Default)]
struct Rounds {
    count: f64,
    sum_s: f64,
    squares: f64,
    lost: f64,
    bytes: f64,
}

impl Rounds {
    fn add(&mut self, took_s: f64, lost: f64, bytes: f64) {
        self.count += 1.0;
        self.sum_s += took_s;
        self.squares += took_s * took_s;
        self.lost += lost;
        self.bytes += bytes;
    }

    fn mean_s(&self) -> f64 {
        self.sum_s / self.count
    }

    fn mbps(&self) -> f64 {
        self.bytes * 8.0 / self.sum_s.max(1e-9) / 1e6
    }

    /// The variance of the mean, over its square.
    fn doubt(&self) -> f64 {
        let square = self.mean_s() * self.mean_s();
        (self.squares / self.count / square - 1.0).max(0.0) / self.count
    }

    /// The misfit to other rounds: about one if they fit.
    fn unlike(&self, other: &Rounds) -> f64 {
        if other.count < 1.0 {
            return f64::INFINITY;
        }
        let doubt = TIME * TIME + self.doubt() + other.doubt();
        let lost = |rounds: &Rounds| rounds.lost / rounds.count + 0.5;
        let times = apart(self.mean_s(), other.mean_s());
        let losses = apart(lost(self), lost(other));
        times * times / doubt + losses * losses / (LOSS * LOSS)
    }
}

/// By which share the larger number exceeds the smaller.
fn apart(one: f64, other: f64) -> f64 {
    (one / other).max(other / one) - 1.0
}

/// Recorded rounds by number of servers, and the mean time of a round with the pause after it.
struct Seen {
    rounds: BTreeMap<u32, Rounds>,
    cycle_s: f64,
}

impl Seen {
    fn of(diagnosis: &Diagnosis) -> Option<Seen> {
        let mut rounds: BTreeMap<u32, Rounds> = BTreeMap::new();
        for one in &diagnosis.episodes {
            let lost = (one.lost[0] + one.lost[1]) as f64 / 2.0;
            rounds.entry(one.fan_in).or_default().add(one.took_s, lost, one.bytes as f64);
        }
        let mut most: Vec<(u32, Rounds)> = rounds.into_iter().collect();
        most.sort_by(|a, b| b.1.count.total_cmp(&a.1.count));
        most.truncate(POINTS);
        let (first, last) = (diagnosis.episodes.first()?, diagnosis.episodes.last()?);
        let cycle_s = (last.start_s + last.took_s - first.start_s) / diagnosis.episodes.len() as f64;
        Some(Seen { rounds: most.into_iter().collect(), cycle_s })
    }

    /// The same numbers of servers, as a sweep.
    fn servers(&self) -> String {
        format!("fan_in={}", self.rounds.keys().map(ToString::to_string).collect::<Vec<_>>().join(","))
    }

    /// Data packets of a round at each number of servers together.
    fn packets(&self) -> f64 {
        self.rounds.values().map(|one| one.bytes / one.count / 1_000.0).sum()
    }

    /// The time of `rounds` rounds with their pauses, in seconds.
    fn time(&self, rounds: f64) -> f64 {
        (rounds * self.cycle_s).clamp(1e-3, 60.0)
    }

    /// A trial's duration in microseconds: about as many rounds as were recorded, within the limit of packets.
    fn trial_us(&self) -> f64 {
        let most = self.rounds.values().fold(0.0, |most: f64, one| most.max(one.count));
        let rounds = (PACKETS / f64::from(SEEDS) / self.packets()).clamp(3.0, ROUNDS.min(most.max(10.0)));
        (self.time(rounds) * 1e6).round()
    }

    /// Measured goodput within rounds, as in a diagnosis' points, beside the simulated one.
    fn beside(&self, told: &BTreeMap<u32, Rounds>) -> Vec<Simulated> {
        let digits = |mbps: f64| (mbps * 1e3).round() / 1e3;
        let beside = |(&fan_in, seen): (&u32, &Rounds)| {
            let told = told.get(&fan_in).filter(|told| told.count >= 1.0)?;
            Some(Simulated {
                fan_in,
                episodes: seen.count as u64,
                measured_mbps: digits(seen.mbps()),
                simulated_mbps: digits(told.mbps()),
            })
        };
        self.rounds.iter().filter_map(beside).collect()
    }

    /// The misfit to simulated rounds; each number of servers counts by its recorded rounds.
    fn unlike(&self, told: &BTreeMap<u32, Rounds>) -> f64 {
        let each = self.rounds.iter().map(|(servers, seen)| match told.get(servers) {
            Some(told) => seen.count * seen.unlike(told),
            None => f64::INFINITY,
        });
        each.sum::<f64>() / self.rounds.values().map(|seen| seen.count).sum::<f64>().max(1.0)
    }
}

/// The calibration of one diagnosis, with the caller's simulations.
struct Calibration<'a, E> {
    seen: Seen,
    simulate: &'a mut Simulate<'a, E>,
}

impl<E> Calibration<'_, E> {
    fn settle(&mut self, sketch: &mut Sketch) -> Result<(), E> {
        let mut choices = sketch.choices().to_vec();
        if choices.is_empty() {
            return Ok(());
        }
        let mut best = self.tried(sketch, &[])?;
        // The buffer first and last: the other values shift its best fit.
        choices.sort_by_key(|choice| choice.key != BUFFER);
        let buffer = choices.iter().find(|choice| choice.key == BUFFER).cloned();
        let mut settled: Vec<(&'static str, String)> = Vec::new();
        for Choice { key, values } in choices.into_iter().chain(buffer) {
            if best < FITS {
                break;
            }
            for value in values {
                let mut with: Vec<_> = settled.iter().filter(|(other, _)| *other != key).cloned().collect();
                with.push((key, value));
                let unlike = self.tried(sketch, &with)?;
                let enough = if key == BUFFER { 1.0 } else { BETTER };
                if unlike < enough * best {
                    (best, settled) = (unlike, with);
                }
            }
        }
        settled.iter().for_each(|(key, value)| sketch.settle(key, value, WHY));
        Ok(())
    }

    /// The misfit of a trial; infinite for values that are invalid or exceed the memory.
    fn tried(&mut self, sketch: &Sketch, settled: &[(&'static str, String)]) -> Result<f64, E> {
        let Ok(variants) = self.trial(sketch, settled) else { return Ok(f64::INFINITY) };
        Ok(self.rounds(&variants)?.map_or(f64::INFINITY, |told| self.seen.unlike(&told)))
    }

    /// A short scenario with some values settled.
    fn trial(&self, sketch: &Sketch, settled: &[(&'static str, String)]) -> Result<Vec<Variant>, Problem> {
        let mut scenario = self.scenario(sketch, self.seen.trial_us())?;
        for (key, value) in settled {
            match *key {
                "schemes" => scenario.select(value, &[value])?,
                key => set(&mut scenario, &format!("{key}={value}"))?,
            }
        }
        set(&mut scenario, &format!("run.seeds={SEEDS}"))?;
        scenario.variants()
    }

    /// The final scenario, as long as the limit of packets allows.
    fn settled(&self, sketch: &Sketch) -> Result<Vec<Variant>, Problem> {
        let variants = Scenario::parse(NAME, &sketch.text())?.variants()?;
        let own = variants[0].settings.workload.duration.as_secs_f64();
        let most = self.seen.time(MOST_PACKETS / f64::from(SEEDS) / self.seen.packets());
        self.scenario(sketch, (own.min(most) * 1e6).round())?.variants()
    }

    /// The scenario with the recorded numbers of servers.
    fn scenario(&self, sketch: &Sketch, duration_us: f64) -> Result<Scenario, Problem> {
        let (mut scenario, servers) = (Scenario::parse(NAME, &sketch.text())?, self.seen.servers());
        scenario.sweep(&servers, &servers)?;
        set(&mut scenario, &format!("workload.duration={duration_us} us"))?;
        Ok(scenario)
    }

    /// Simulated rounds by number of servers; `None` if they exceed the memory.
    fn rounds(&mut self, variants: &[Variant]) -> Result<Option<BTreeMap<u32, Rounds>>, E> {
        let Some((specs, outcome)) = (self.simulate)(variants)? else { return Ok(None) };
        let mut rounds: BTreeMap<u32, Rounds> = BTreeMap::new();
        for (spec, tables) in Runs::of(&specs, &outcome).finished() {
            let ended: Vec<f64> =
                tables.queries.iter().filter_map(|query| Some(query.qct_ps? as f64 * 1e-12)).collect();
            let lost = tables.totals.drops as f64 / ended.len().max(1) as f64;
            let bytes = spec.settings.workload.fragment.0.map_or(0, |answer| answer.0) as f64 * f64::from(spec.fan_in);
            let of = rounds.entry(spec.fan_in).or_default();
            ended.iter().for_each(|took_s| of.add(*took_s, lost, bytes));
        }
        Ok(Some(rounds))
    }
}

fn set(scenario: &mut Scenario, assignment: &str) -> Result<(), Problem> {
    scenario.assign(assignment, assignment)
}

/// Runs all specs of variants; `None` if they exceed the memory.
pub type Simulate<'a, E> = dyn FnMut(&[Variant]) -> Result<Option<(Vec<RunSpec>, Outcome)>, E> + 'a;

/// Settles the values that the recording leaves open in a diagnosis' scenario: picks, of each value's candidates, the one whose simulated
/// rounds resemble the recorded ones most. Changes nothing if the first trial fits. Adds the scenario's results beside the measured ones.
///
/// # Errors
/// As `simulate`.
pub fn calibrate<E>(diagnosis: &mut Diagnosis, simulate: &mut Simulate<'_, E>) -> Result<(), E> {
    let (Some(mut sketch), Some(seen)) = (diagnosis.sketch.take(), Seen::of(diagnosis)) else {
        return Ok(());
    };
    let mut calibration = Calibration { seen, simulate };
    let settled = calibration.settle(&mut sketch);
    let variants = settled.map(|()| calibration.settled(&sketch).ok());
    diagnosis.sketch = Some(sketch);
    let told = variants?.map(|variants| calibration.rounds(&variants)).transpose()?.flatten().unwrap_or_default();
    diagnosis.simulated = calibration.seen.beside(&told);
    Ok(())
}
