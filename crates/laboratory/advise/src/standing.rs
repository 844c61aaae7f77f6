//! State of a cluster: its collapse point, its margin, and its limits.

use fanin_lab::stats::Interval;
use fanin_lab::{Broken, CompareOptions, Done, Outcome, Planner, Runs, figures, summarise};
use fanin_model::{Bottleneck, overflow_onset};
use fanin_spec::{PacketJitter, RateBased, RunSpec, Settings, Transport};
use fanin_units::{Bytes, Rate, Time};

use crate::cluster::Cluster;
use crate::remedy::{Change, Effort, round_trip};
use crate::trials::{AS_GOOD, PacketBudget, Trial};

/// Margin of a parameter.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Margin {
    /// The parameter: response, round or buffer size.
    pub of: &'static str,
    /// Current value.
    pub now: String,
    /// Closest tried value with another verdict; absent if none has.
    pub edge: Option<String>,
    /// The last value tried.
    pub tried_to: String,
}

/// A limit of the cluster.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Limit {
    /// In a word or two.
    pub what: &'static str,
    /// The removed limit, and the result.
    pub says: String,
    /// Goodput without it.
    pub goodput_mbps: Interval,
    /// The command that shows it.
    pub run: String,
}

/// N* of TCP's first windows that fill pipe and queue ([`overflow_onset`]).
pub fn by_closed_form(cluster: &Cluster<'_>) -> Option<f64> {
    let s = &cluster.at().settings;
    if !cluster.has_tcp() || !s.workload.kind.many_to_one() {
        return None;
    }
    let rate = s.link.client_rate.0.unwrap_or(s.link.rate);
    let packet = Bytes(s.link.framing.on_wire(s.full_packet().0 as u32).into());
    let bottleneck = Bottleneck { rate, buffer: s.client_buffer(), rtt: round_trip(s), packet };
    let answer = s.answer(s.servers().max(1), 0).0.div_ceil(s.tcp.mss.0).max(1);
    let window = u64::from(s.tcp.initial_window).min(answer);
    Some(overflow_onset(window as f64, &bottleneck))
}

/// Numbers of servers from two to a multiple of the cluster's, including its own.
pub fn counts(n: u32, times: u32) -> Vec<u32> {
    let doubles = core::iter::successors(Some(2_u32), |n| n.checked_mul(2));
    let mut counts: Vec<u32> = doubles.flat_map(|k| [k, k.saturating_add(k / 2)]).collect();
    counts.push(n);
    counts.retain(|k| *k <= n.saturating_mul(times));
    counts.sort_unstable();
    counts.dedup();
    counts
}

/// Smallest number of servers with goodput below half of the best with fewer, from two to four times the cluster's number; `None` if there
/// is none; and whether the search was complete. The runs of `today` are used for their point, for consistency.
///
/// # Errors
/// A run that broke an invariant.
pub fn onset(
    cluster: &Cluster<'_>,
    today: &Trial,
    budget: &mut PacketBudget<'_, '_>,
) -> Result<(Option<u32>, bool), Broken> {
    let n = cluster.servers;
    let counts = counts(n, 4);
    let many_to_one = cluster.at().settings.workload.kind.many_to_one();
    let Some(variant) = cluster.along(&Change::none(), &counts).filter(|_| many_to_one && n > 1) else {
        return Ok((None, false));
    };
    let variants = core::slice::from_ref(&variant);
    let options = CompareOptions { onset: true, precision: None };
    let planner = Planner::new(variants, options);
    let own = variant.points.iter().position(|at| at.settings.servers() == n);
    let first = variant.settings.run.first_seed;
    let known = today.runs.iter().zip(first..).filter_map(|(run, seed)| Some((variant.at(own?, seed)?, run.clone())));
    let mut done: Vec<(RunSpec, Done)> = known.collect();
    loop {
        let specs = planner.next(&done);
        if specs.is_empty() {
            break;
        }
        if budget.left() < budget.dearest() {
            return Ok((None, false));
        }
        let runs = budget.carry_out(&specs)?;
        let finished = runs.len() == runs.iter().flatten().count();
        done.extend(specs.into_iter().zip(runs).filter_map(|(spec, run)| Some((spec, run?))));
        if !finished {
            return Ok((None, false));
        }
    }
    done.sort_by_key(|(spec, _)| (spec.place, spec.seed));
    let (specs, runs): (Vec<RunSpec>, Vec<Option<Done>>) =
        done.into_iter().map(|(spec, run)| (spec, Some(run))).unzip();
    let outcome = Outcome { runs, ..Outcome::default() };
    let summary = summarise("", variants, options, Runs::of(&specs, &outcome));
    let at = summary.onset.0.first().and_then(|(_, onsets)| onsets.first()?.at.as_ref().map(|(place, _)| *place));
    Ok((at.map(|place| variant.points[place].settings.servers()), true))
}

/// Memory of a switch or its ports: the key, words before its size, and bytes.
fn buffer(cluster: &Cluster<'_>) -> (&'static str, &'static str, u64) {
    let s = &cluster.at().settings;
    match (cluster.today.scheme.uet(), s.switch.shared_buffer.0) {
        (Some(kind), _) => ("trimming.queue", "port queues of", s.in_bytes(s.trimming_queue(kind))),
        (None, Some(memory)) => ("switch.shared_buffer", "a shared buffer of", memory.0),
        (None, None) => ("switch.buffer", "port buffers of", s.in_bytes(s.switch.buffer)),
    }
}

/// Steps of two in which a margin is looked for.
const STEPS: u32 = 6;

/// Margins of bytes per server and of the buffer.
///
/// # Errors
/// A run that broke an invariant.
pub fn margins(
    cluster: &Cluster<'_>,
    impaired: bool,
    budget: &mut PacketBudget<'_, '_>,
) -> Result<Vec<Margin>, Broken> {
    let s = &cluster.at().settings;
    let mut margins = Vec::new();
    let answer = match (s.workload.fragment.0, s.workload.block.0) {
        (Some(fragment), _) => Some(("workload.fragment", "responses of", fragment.0)),
        (None, block) => block.map(|block| ("workload.block", "rounds of", block.0)),
    };
    let buffer = buffer(cluster);
    for (i, (key, of, now)) in answer.into_iter().map(|a| (0, a)).chain([(1, buffer)]) {
        // Smaller responses and larger buffers help an impaired cluster.
        let up = impaired == (i == 1);
        let value =
            |step: u32| Bytes(if up { now.saturating_mul(1 << step) } else { (now >> step).max(1) }).to_string();
        let mut edge = None;
        let mut tried_to = Bytes(now).to_string();
        for step in 1..=STEPS {
            let change = Change { settings: vec![(key.into(), value(step))], ..Change::none() };
            let Some(variant) = cluster.with(&change) else { break };
            let mut trial = Trial::new(cluster, change, variant);
            budget.run(&mut [&mut trial], 1, budget.left())?;
            if trial.runs.is_empty() {
                break;
            }
            tried_to = value(step);
            if trial.is_impaired() != impaired {
                edge = Some(value(step));
                break;
            }
        }
        let now = Bytes(now).to_string();
        if tried_to != now {
            margins.push(Margin { of, now, edge, tried_to });
        }
    }
    Ok(margins)
}

/// An assumed value, and the result with other values.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Assumption {
    /// The key.
    pub key: &'static str,
    /// As it was taken.
    pub now: String,
    /// Values that were tried in its place.
    pub tried: Vec<String>,
    /// Of these the ones with which the verdict is the opposite: whether losses or waits are worth a change.
    pub reversed_by: Vec<String>,
}

/// Keys with assumed values, and the values to try in their place: jitter, delay and service time at a fifth and five times the assumption;
/// with a kernel's TCP also keys by which its hosts and clients may differ from measured ones.
fn assumed(cluster: &Cluster<'_>) -> Vec<Assumption> {
    const TIMES: u64 = 5;
    let s = &cluster.at().settings;
    let assumption = |key, now: String, tried: Vec<String>| Assumption { key, now, tried, reversed_by: Vec::new() };
    let around = |key, now: Time| {
        let others = match now {
            Time(0) => [Time::from_micros(10), Time::from_micros(50)],
            Time(now) => [Time((now / TIMES).max(1)), Time(now.saturating_mul(TIMES))],
        };
        assumption(key, now.to_string(), others.map(|time| time.to_string()).into())
    };
    let mut all = vec![
        around("host.service_jitter", s.host.service_jitter),
        around("link.delay", s.link.delay),
        around("host.service_time", s.host.service_time),
    ];
    if cluster.has_tcp() && s.tcp.profile.0.is_some() {
        let jitters = [PacketJitter::None, PacketJitter::TRANSMISSION].map(|jitter| jitter.to_string());
        all.push(assumption("host.packet_jitter", s.host.packet_jitter.to_string(), jitters.into()));
        all.push(around("workload.request_gap", s.workload.request_gap));
        let reader = s.tcp.acks_wait_for_reader;
        if s.tcp.delayed_ack > 1 && s.workload.request_gap > Time::ZERO {
            all.push(assumption("tcp.acks_wait_for_reader", reader.to_string(), vec![(!reader).to_string()]));
        }
    }
    all
}

/// Whether the verdict depends on assumed values.
///
/// # Errors
/// A run that broke an invariant.
pub fn assumptions(
    cluster: &Cluster<'_>,
    impaired: bool,
    budget: &mut PacketBudget<'_, '_>,
) -> Result<Vec<Assumption>, Broken> {
    let mut assumptions = Vec::new();
    for mut assumption in assumed(cluster) {
        for value in core::mem::take(&mut assumption.tried) {
            let change = Change { settings: vec![(assumption.key.into(), value.clone())], ..Change::none() };
            let Some(variant) = cluster.with(&change) else { continue };
            let mut trial = Trial::new(cluster, change, variant);
            budget.run(&mut [&mut trial], 1, budget.left())?;
            // One run may be chance.
            if !trial.runs.is_empty() && trial.is_impaired() != impaired {
                budget.run(&mut [&mut trial], MORE_SEEDS, budget.left())?;
            }
            if trial.runs.is_empty() {
                break;
            }
            assumption.reversed_by.extend((trial.is_impaired() != impaired).then(|| value.clone()));
            assumption.tried.push(value);
        }
        assumptions.extend((!assumption.tried.is_empty()).then_some(assumption));
    }
    Ok(assumptions)
}

/// Runs of a point with another verdict than expected.
const MORE_SEEDS: u32 = 3;

/// Possible limits, each removed in turn.
fn suspects(cluster: &Cluster<'_>) -> Vec<(&'static str, Change)> {
    let s = &cluster.at().settings;
    let mut all: Vec<(&'static str, Change)> = Vec::new();
    let mut suspect = |what, says: String, key: &str, value: String| {
        let settings = vec![(key.to_string(), value)];
        all.push((what, Change { says, settings, effort: Effort::Hardware, ..Change::none() }));
    };
    let (key, of, now) = buffer(cluster);
    let bytes = Bytes(now.saturating_mul(16)).to_string();
    let of = if key == "switch.buffer" { "a buffer of" } else { of };
    suspect("buffer", format!("with {of} {bytes}"), key, bytes);
    match cluster.today.scheme.transport {
        Transport::Tcp => of_tcp(s, &mut suspect),
        Transport::Rdma(kind) => of_rdma(s, kind, &mut suspect),
        Transport::Uet(_) => of_uet(&mut suspect),
    }
    let up = s.fabric.uplink_rate.0.unwrap_or(s.link.rate);
    suspect(
        "uplink",
        "with uplinks four times as fast".into(),
        "fabric.uplink_rate",
        Rate(up.0.saturating_mul(4)).to_string(),
    );
    all
}

/// Adds a suspect: its description, the run without it in words, the key and its value.
type Suspect<'a> = dyn FnMut(&'static str, String, &str, String) + 'a;

fn of_rdma(s: &Settings, kind: RateBased, suspect: &mut Suspect<'_>) {
    let (key, now) = s.least_rate(kind);
    let rate = Rate(s.link.rate.0 / 10_000);
    if now > rate {
        suspect("least rate", format!("with a least rate of {rate}"), key, "1/10000".into());
    }
    if matches!(kind, RateBased::Dcqcn | RateBased::DcqcnWindow) && s.laws.rates.dcqcn.cnp_interval > Time(0) {
        let says = "with a congestion notification for each marked packet".into();
        suspect("congestion notifications", says, "dcqcn.cnp_interval", "0 s".into());
    }
    suspect("PFC threshold", "with a PFC alpha of 1".into(), "pfc.alpha", "1".into());
}

fn of_uet(suspect: &mut Suspect<'_>) {
    let says = "with an acknowledgement for every packet".into();
    suspect("withheld acknowledgements", says, "uet.ack_after", "0 B".into());
    suspect("timeout", "with a timeout of 1 ms".into(), "uet.timeout", "1 ms".into());
}

fn of_tcp(s: &Settings, suspect: &mut Suspect<'_>) {
    if s.tcp.rto_min > Time::from_millis(1) {
        suspect("RTOmin", "with an RTOmin of 1 ms".into(), "tcp.rto_min", "1 ms".into());
    }
    for segments in [1, 40] {
        suspect(
            "initial window",
            format!("with an initial window of {segments}"),
            "tcp.initial_window",
            segments.to_string(),
        );
    }
    suspect("receive window", "with a receive window of 64 MiB".into(), "tcp.receive_window", "64 MiB".into());
    if s.tcp.delayed_ack > 1 {
        suspect("delayed ACKs", "with an ACK for every segment".into(), "tcp.delayed_ack", "1".into());
    }
}

/// Limits by the gain without them. With few seeds, a gain counts only if intervals do not overlap and the time differs.
///
/// # Errors
/// A run that broke an invariant.
pub fn limits(cluster: &Cluster<'_>, today: &Trial, budget: &mut PacketBudget<'_, '_>) -> Result<Vec<Limit>, Broken> {
    let with = |(what, change): (&'static str, Change)| {
        let variant = cluster.with(&change)?;
        Some((what, Trial::new(cluster, change, variant)))
    };
    let mut trials: Vec<(&'static str, Trial)> = suspects(cluster).into_iter().filter_map(with).collect();
    let mut all: Vec<&mut Trial> = trials.iter_mut().map(|(_, trial)| trial).collect();
    let share = budget.left() / 5;
    budget.run(&mut all, 3, share)?;
    let gains_enough = |trial: &Trial| trial.beats(today) && AS_GOOD * trial.mean() < today.mean();
    trials.retain(|(_, trial)| trial.runs.len() > 1 && gains_enough(trial) && trial.brings_as_much(today));
    trials.sort_by(|a, b| a.1.mean().total_cmp(&b.1.mean()));
    let mut limits: Vec<Limit> = Vec::new();
    for (what, trial) in trials {
        let (Some(row), false) = (trial.row(), limits.iter().any(|limit| limit.what == what)) else { continue };
        let says = format!(
            "{} a client waits {} instead of {}",
            trial.change.says,
            figures::time(trial.wait()),
            figures::time(today.wait())
        );
        let pauses = trial.paused().zip(today.paused()).map_or(String::new(), |both| {
            let [is, was] = [both.0, both.1].map(|paused| figures::three(100.0 * paused.share));
            format!(", and pauses take {is} % of servers' time instead of {was} %")
        });
        let says = says + &pauses;
        let run = cluster.command(&trial.change, trial.runs.len() as u32);
        limits.push(Limit { what, says, goodput_mbps: row.goodput_mbps, run });
    }
    Ok(limits)
}
