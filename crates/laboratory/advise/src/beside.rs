//! Side effects of a remedy: on other traffic, and its robustness to unknown parameters.

use fanin_lab::{Broken, SummaryRow, figures};
use fanin_spec::Settings;
use fanin_units::Bytes;

use crate::advice::LoneFlow;
use crate::cluster::Cluster;
use crate::remedy::{Change, SERVERS};
use crate::trials::{PacketBudget, Trial};

/// Runs of each point.
const SEEDS: u32 = 2;
/// Responses of a lone flow in a second at the link's rate.
const LONE_FLOW_PER_SECOND: u64 = 20;
/// Minimum relative difference to report.
const WORTH_TELLING: f64 = 0.1;

/// Under other circumstances: today and remedies, in their order.
struct Circumstances {
    trials: Vec<Trial>,
}

impl Circumstances {
    /// Tries all of them; `None` if one is impossible, or the budget is spent.
    fn try_all(
        cluster: &Cluster<'_>,
        changes: &[&Change],
        circumstances: &[(&str, String)],
        budget: &mut PacketBudget<'_, '_>,
    ) -> Result<Option<Circumstances>, Broken> {
        let settings = circumstances.iter().map(|(key, value)| ((*key).into(), value.clone())).collect();
        let other = Change { settings, ..Change::none() };
        let with = |change: &&Change| {
            let change = change.and(&other)?;
            let variant = cluster.with(&change)?;
            Some(Trial::new(cluster, change, variant))
        };
        let Some(mut trials) = changes.iter().map(with).collect::<Option<Vec<Trial>>>() else { return Ok(None) };
        // The cost of a variant is not known before.
        if let Some(first) = trials.first_mut() {
            budget.run(&mut [first], 1, budget.left())?;
        }
        budget.run(&mut trials.iter_mut().collect::<Vec<_>>(), SEEDS, budget.left())?;
        let all = trials.iter().all(|trial| trial.runs.len() == SEEDS as usize);
        Ok(all.then_some(Circumstances { trials }))
    }
}

/// Side effects of these changes on a long flow into the client, on small Poisson flows between all hosts, and on requests to two servers.
///
/// # Errors
/// A run that broke an invariant.
pub fn harms(
    cluster: &Cluster<'_>,
    changes: &[&Change],
    budget: &mut PacketBudget<'_, '_>,
) -> Result<Option<Vec<Vec<String>>>, Broken> {
    let none = Change::none();
    let all: Vec<&Change> = core::iter::once(&none).chain(changes.iter().copied()).collect();
    let mut harms: Option<Vec<Vec<String>>> = None;
    let traffics: [(&str, &str, Harm); 3] = [
        ("workload.background", "1", of_a_long_flow),
        ("workload.load", "1 %", of_small_flows),
        (SERVERS, "[2]", with_few_servers),
    ];
    for (key, value, harm) in traffics {
        let Some(tried) = Circumstances::try_all(cluster, &all, &[(key, value.into())], budget)? else { continue };
        let rows: Vec<SummaryRow> = tried.trials.iter().filter_map(Trial::row).collect();
        let Some((today, others)) = rows.split_first() else { continue };
        let found = harms.get_or_insert_with(|| vec![Vec::new(); changes.len()]);
        for ((all, row), change) in found.iter_mut().zip(others).zip(changes) {
            // It applies to the client only, but to all hosts in a simulation.
            let of_one_host = key == "workload.load" && change.value("tcp.receive_window").is_some();
            all.extend(harm(today, row, &cluster.at().settings).filter(|_| !of_one_host));
        }
    }
    Ok(harms)
}

/// The side effects of a change: compares today's row with the change's, for each kind of background traffic.
type Harm = fn(&SummaryRow, &SummaryRow, &Settings) -> Option<String>;

fn of_a_long_flow(today: &SummaryRow, row: &SummaryRow, s: &Settings) -> Option<String> {
    let [before, after] = [today, row].map(|row| row.background.map_or(0.0, |background| background.goodput_mbps));
    // Rounds that are idle leave their share to the background.
    let even = s.link.client_rate.0.unwrap_or(s.link.rate).0 as f64 / 1e6 / f64::from(s.requested_servers() + 1);
    let [was, is, even_share] = [before, after, even].map(figures::three);
    let why = if after >= (1.0 - WORTH_TELLING) * even {
        format!(" while rounds wait; an even share is {even_share}")
    } else {
        String::new()
    };
    (after < (1.0 - WORTH_TELLING) * before)
        .then(|| format!("a background long flow gets {is} Mbit/s instead of {was}{why}"))
}

fn of_small_flows(today: &SummaryRow, row: &SummaryRow, _: &Settings) -> Option<String> {
    let small = |row: &SummaryRow| row.slowdown.iter().find(|class| class.up_to_bytes.is_some())?.p99;
    let (before, after) = (small(today)?, small(row)?);
    let [was, is] = [before, after].map(figures::three);
    (after > (1.0 + WORTH_TELLING) * before)
        .then(|| format!("background flows of up to 10 KB have a p99 slowdown of {is}× instead of {was}×"))
}

/// Few senders may need the windows and requests that a change takes from many.
fn with_few_servers(today: &SummaryRow, row: &SummaryRow, _: &Settings) -> Option<String> {
    let (before, after) = (today.goodput_mbps.mean, row.goodput_mbps.mean);
    let [was, is] = [before, after].map(figures::three);
    (after < (1.0 - WORTH_TELLING) * before).then(|| format!("two servers alone reach {is} Mbit/s instead of {was}"))
}

/// Effects of these changes on a flow without others: one server that sends for 50 ms at the link's rate.
///
/// # Errors
/// A run that broke an invariant.
pub fn lone_flow(
    cluster: &Cluster<'_>,
    changes: &[&Change],
    budget: &mut PacketBudget<'_, '_>,
) -> Result<Option<Vec<LoneFlow>>, Broken> {
    let s = &cluster.at().settings;
    let key = match (s.workload.fragment.0, s.workload.block.0) {
        (Some(_), _) => "workload.fragment",
        (_, Some(_)) => "workload.block",
        _ => return Ok(None),
    };
    if !s.workload.kind.many_to_one() {
        return Ok(None);
    }
    let bytes = Bytes(s.link.client_rate.0.unwrap_or(s.link.rate).0 / 8 / LONE_FLOW_PER_SECOND);
    let alone = [(SERVERS, "[1]".into()), (key, bytes.to_string())];
    let none = Change::none();
    let all: Vec<&Change> = core::iter::once(&none).chain(changes.iter().copied()).collect();
    let Some(tried) = Circumstances::try_all(cluster, &all, &alone, budget)? else { return Ok(None) };
    let rates: Vec<f64> = tried.trials.iter().filter_map(Trial::row).map(|row| row.goodput_mbps.mean).collect();
    let Some((today, others)) = rates.split_first().filter(|(_, others)| others.len() == changes.len()) else {
        return Ok(None);
    };
    Ok(Some(others.iter().map(|mbps| LoneFlow { today_mbps: *today, mbps: *mbps }).collect()))
}

/// Whether each of these changes is better than today, and at most 5 % worse than later ones, under other assumptions: jitter, a background
/// flow, response sizes, service times.
///
/// # Errors
/// A run that broke an invariant.
pub fn robust(
    cluster: &Cluster<'_>,
    changes: &[&Change],
    budget: &mut PacketBudget<'_, '_>,
) -> Result<Vec<Option<bool>>, Broken> {
    let s = &cluster.at().settings;
    let mut circumstances: Vec<(&str, String)> = vec![("workload.background", "1".into())];
    let jitter = if s.host.packet_jitter == fanin_spec::PacketJitter::None { "transmission" } else { "none" };
    circumstances.push(("host.packet_jitter", jitter.into()));
    if let Some(fragment) = s.workload.fragment.0 {
        circumstances.push(("workload.fragment", Bytes((fragment.0 / 2).max(1)).to_string()));
    }
    circumstances.push(("host.service_jitter", "200 us".into()));
    let none = Change::none();
    let all: Vec<&Change> = core::iter::once(&none).chain(changes.iter().copied()).collect();
    let mut robust = vec![None; changes.len()];
    for circumstance in circumstances {
        let Some(tried) = Circumstances::try_all(cluster, &all, &[circumstance], budget)? else { continue };
        let means: Vec<f64> = tried.trials.iter().map(Trial::mean).collect();
        for (i, known) in robust.iter_mut().enumerate() {
            let own = means[i + 1];
            let stands = own < means[0] && means[i + 2..].iter().all(|behind| own <= 1.05 * behind);
            *known = Some(known.unwrap_or(true) && stands);
        }
    }
    Ok(robust)
}
