//! `fanin advise`: ranked remedies for a cluster, with the commands to apply them.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use fanin::advice::Goal;
use fanin::{Draft, Out, Scenario, Time, Wanted};

use crate::advice::{Shown, told};
use crate::arguments::AdviseArguments;
use crate::described::{described, number, stripe};
use crate::failure::Failure;
use crate::load::read;
use crate::stop::listen;
use crate::terminal::say;
use crate::testbed::Prover;
use crate::work::{self, Means, in_lab, warn};

/// Approximate number of data packets that a core simulates per second.
const PACKETS_A_SECOND: f64 = 4e6;

/// Simulates and ranks remedies, and prints the advice.
pub fn advise(arguments: &AdviseArguments) -> Result<(), Failure> {
    let goal = arguments.goal.as_deref().map(str::parse::<Goal>).transpose();
    let goal = goal.map_err(|why| Failure::Input(format!("--goal: {why}")))?;
    let number = |flag: &str, text: &Option<String>| text.as_deref().map(|text| number(flag, text)).transpose();
    let (servers, grow_to) = (number("--servers", &arguments.servers)?, number("--grow-to", &arguments.grow_to)?);
    let jobs = arguments.jobs.map_or(1, usize::from);
    let (budget, limit) = budget(&arguments.budget, jobs)?;
    let (mut source, mut scenario) = match &arguments.scenario {
        Some(file) => (vec![file.clone()], read(file)?),
        None => described(&arguments.cluster, arguments.servers.as_deref())?,
    };
    let mut set = arguments.set.clone();
    for assignment in &set {
        scenario.set_by(&format!("--set {assignment}"), assignment)?;
    }
    if let Some(text) = &arguments.stripe {
        let resolved = scenario.resolve()?;
        let most = resolved.variants()[0].points.iter().map(|at| at.settings.servers()).max();
        let assignment = format!("workload.stripe={}", stripe(text, servers.or(most).unwrap_or(1))?);
        scenario.set_by(&format!("--stripe {text}"), &assignment)?;
        set.push(assignment);
    }
    if arguments.scenario.is_some() {
        warn(scenario.resolve()?.warnings());
    }
    if let Some(path) = &arguments.save {
        scenario.resolve()?;
        let text = scenario.text_with(&set)?;
        save(path, &text)?;
        let name = path.display().to_string();
        (scenario, source) = (Scenario::parse(&name, text)?, vec![name]);
        set.clear();
    }
    let files = match arguments.scenario {
        Some(_) => Vec::new(),
        None => vec![("scenario.toml".to_string(), scenario.text_with(&set)?)],
    };
    let wanted = Wanted {
        arguments: set.into_iter().flat_map(|assignment| ["--set".into(), assignment]).collect(),
        servers,
        grow_to,
        goal,
        time: limit,
        remedies: arguments.remedies.iter().map(|word| word.to_ascii_lowercase()).collect(),
        ..Wanted::new(source, budget)
    };
    listen()?;
    let out = arguments.out.as_deref().map(Out::claim).transpose().map_err(Failure::unclaimed)?;
    let means = Means { jobs: arguments.jobs, cached: !arguments.no_cache };
    let prover = arguments.prove.map(Prover::on).transpose()?;
    let (advised, proved) = in_lab(means, |lab, hear| {
        prover.as_ref().map(|prover| prover.check(lab, &scenario, hear)).transpose()?;
        let advised = lab.advise(&scenario, &wanted, hear)?;
        if let Some(out) = out {
            let picture = lab.picture(&advised, hear)?;
            advised.write(out, &picture, &work::arguments(), files)?;
        }
        let prove = |prover: &Prover| prover.prove(lab, &scenario, &advised.advice, hear);
        let proved = prover.as_ref().map(prove).transpose()?;
        Ok((advised, proved))
    })?;
    if arguments.json {
        let json = proved.map_or_else(|| advised.to_json(), |proved| proved.json(&advised));
        return say(&(json + "\n"));
    }
    let changes = proved.map_or(String::new(), |proved| proved.text());
    let out = arguments.out.as_deref();
    say(&(told(&advised.advice, wanted.goal.as_ref(), shown(arguments), out) + &changes))
}

/// The remedies to print in full.
fn shown(arguments: &AdviseArguments) -> Shown<'_> {
    match (arguments.brief, arguments.details.as_slice()) {
        (true, _) => Shown::Brief,
        (false, []) => Shown::First,
        (false, ranks) => Shown::Ranks(ranks),
    }
}

/// Saves the described cluster.
fn save(path: &Path, text: &str) -> Result<(), Failure> {
    let unwritten = |error| Failure::Input(format!("--save {}: cannot write: {error}", path.display()));
    let draft = Draft::open(path).map_err(unwritten)?;
    draft.file().write_all(text.as_bytes()).and_then(|()| draft.publish()).map_err(unwritten)
}

/// The budget in data packets, and the time limit if given as a time.
fn budget(text: &str, jobs: usize) -> Result<(u64, Option<Duration>), Failure> {
    let wrong = || Failure::Input(format!("--budget {text}: use data packets, such as 250M, or a time, such as 30s"));
    if let Ok(time) = text.parse::<Time>() {
        let seconds = time.as_secs_f64();
        return match seconds > 0.0 {
            true => Ok(((seconds * PACKETS_A_SECOND * jobs as f64) as u64, Some(Duration::from_secs_f64(seconds)))),
            false => Err(wrong()),
        };
    }
    let (digits, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len()));
    let unit = match unit.trim() {
        "" => 1.0,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        _ => return Err(wrong()),
    };
    let packets = digits.parse::<f64>().ok().map(|n| n * unit).filter(|n| (1.0..1e15).contains(n));
    packets.map(|n| (n as u64, None)).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_packets_or_a_time() {
        assert_eq!(budget("250M", 2).unwrap(), (250_000_000, None));
        assert_eq!(budget("1.5G", 2).unwrap().0, 1_500_000_000);
        assert_eq!(budget("30s", 2).unwrap(), (240_000_000, Some(Duration::from_secs(30))));
        for wrong in ["", "0", "M", "-3M", "3X", "0 s"] {
            assert!(matches!(budget(wrong, 2), Err(Failure::Input(_))), "{wrong}");
        }
    }
}
