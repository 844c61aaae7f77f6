//! `fanin advise`: what to change about a cluster, in which order, with the lines to apply.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Duration;

use fanin::advice::{Advice, Goal, Line, Margin, Remedy, Where};
use fanin::{Bytes, Out, Rate, Scenario, Time, Wanted};

use crate::arguments::AdviseArguments;
use crate::failure::Failure;
use crate::figures::{BOLD, GREY, RED, large, three, time};
use crate::load::read;
use crate::stop::listen;
use crate::terminal::{fold, say};
use crate::work::{self, Means, in_lab};

/// How the scenario of a cluster that was described in a line is called where it is not saved.
const UNSAVED: &str = "cluster.toml";
/// Remedies of which all lines are shown.
const SHOWN: usize = 3;
/// Data packets that a core simulates in a second, roughly.
const PACKETS_A_SECOND: f64 = 4e6;

/// Simulates, ranks, and says what to do.
pub fn advise(arguments: &AdviseArguments) -> Result<(), Failure> {
    let goal = arguments.goal.as_deref().map(str::parse::<Goal>).transpose();
    let goal = goal.map_err(|why| Failure::Input(format!("--goal: {why}")))?;
    let (file, mut scenario, servers) = match &arguments.scenario {
        Some(file) => (file.clone(), read(file)?, arguments.servers.as_deref().map(number).transpose()?),
        None => described(arguments)?,
    };
    for assignment in &arguments.set {
        scenario.set_by(&format!("--set {assignment}"), assignment)?;
    }
    let jobs = arguments.jobs.map_or(1, usize::from);
    let (budget, limit) = budget(&arguments.budget, jobs)?;
    let wanted = Wanted {
        file,
        arguments: arguments.set.iter().flat_map(|set| ["--set".into(), set.clone()]).collect(),
        servers,
        goal,
        budget,
        time: limit,
        remedies: arguments.remedies.clone(),
    };
    listen()?;
    let out = arguments.out.as_deref().map(Out::claim).transpose().map_err(Failure::unclaimed)?;
    let means = Means { jobs: arguments.jobs, cached: !arguments.no_cache };
    let (advised, picture) = in_lab(means, |lab, hear| {
        let advised = lab.advise(&scenario, &wanted, hear)?;
        let picture = out.is_some().then(|| lab.picture(&advised, hear)).transpose()?;
        Ok((advised, picture))
    })?;
    if let (Some(out), Some(picture), Some(folder)) = (out, picture, &arguments.out) {
        picture.write(out, &work::arguments())?;
        let path = folder.join("advice.json");
        let unwritten = |error| Failure::Environment(format!("{}: it cannot be written: {error}", path.display()));
        fs::write(&path, advised.to_json() + "\n").map_err(unwritten)?;
    }
    match arguments.json {
        true => say(&(advised.to_json() + "\n")),
        false => say(&fold(&told(&advised.advice, wanted.goal.as_ref()))),
    }
}

/// A cluster in a line: how its file is called, the scenario, and the servers that it has.
fn described(arguments: &AdviseArguments) -> Result<(String, Scenario, Option<u32>), Failure> {
    let wrong = |flag: &str, why: String| Failure::Input(format!("--{flag}: {why}"));
    let needed = |flag: &str, value: &Option<String>, such_as: &str| {
        let what = || Failure::Input(format!("a file, or --servers, --rate and --answer: give --{flag} {such_as}"));
        value.clone().ok_or_else(what)
    };
    let servers = number(&needed("servers", &arguments.servers, "48")?)?;
    let rate = needed("rate", &arguments.rate, "25Gbit/s")?;
    let rate: Rate = rate.parse().map_err(|why: fanin::ParseError| wrong("rate", why.to_string()))?;
    let answer = needed("answer", &arguments.answer, "1MiB")?;
    let answer: Bytes = answer.parse().map_err(|why: fanin::ParseError| wrong("answer", why.to_string()))?;
    let stripe = arguments.stripe.as_deref().map(number).transpose()?;
    if let Some(stripe) = stripe.filter(|stripe| *stripe > servers) {
        return Err(wrong(
            "stripe",
            format!("{stripe} of {servers} servers cannot answer; right would be at most {servers}"),
        ));
    }
    let fan_in = stripe.unwrap_or(servers);
    let text = text_of(fan_in, rate, answer, arguments.switch.as_deref(), arguments.tcp.as_deref().unwrap_or("linux"));
    let name = arguments.save.as_deref().unwrap_or(Path::new(UNSAVED));
    let scenario = Scenario::parse(&name.display().to_string(), text.clone())?;
    scenario.resolve()?;
    if let Some(path) = &arguments.save {
        let unwritten = |error| Failure::Input(format!("--save {}: it cannot be written: {error}", path.display()));
        fs::write(path, text).map_err(unwritten)?;
    }
    Ok((name.display().to_string(), scenario, None))
}

/// The scenario of it, with what was assumed.
fn text_of(fan_in: u32, rate: Rate, answer: Bytes, switch: Option<&str>, tcp: &str) -> String {
    let (profile, assumed) = switch.map_or(("arista-7050cx3", "  # assumed: --switch says another"), |name| (name, ""));
    format!(
        r#"# A cluster as `fanin advise` was told of it; what stands behind "assumed" was not said.
title = "{fan_in} servers that answer {answer} each, at {rate}"
schemes = ["cubic"]  # assumed: Linux's default

[link]
rate = "{rate}"
delay = "2 us"  # assumed: a cable, and the switch's own latency

[switch]
profile = "{profile}"{assumed}

[host]
service_time = "20 us"    # assumed: some tens of microseconds
service_jitter = "50 us"  # assumed: answers of real servers never start at one instant

[tcp]
profile = "{tcp}"

[workload]
kind = "barrier"  # assumed: a client asks all of them, waits, and asks again
fragment = "{answer}"
duration = "5 s"

[sweep]
fan_in = [{fan_in}]

[run]
seeds = 3
"#
    )
}

fn number(text: &str) -> Result<u32, Failure> {
    let number = text.parse().ok().filter(|n| (1..=1_000_000).contains(n));
    number.ok_or_else(|| {
        Failure::Input(format!("`{text}` is not a number of servers; right would be a whole number from 1 to 1000000"))
    })
}

/// Data packets, and a time where it was given in that.
fn budget(text: &str, jobs: usize) -> Result<(u64, Option<Duration>), Failure> {
    let wrong = || {
        Failure::Input(format!("--budget {text}: right would be data packets, such as 250M, or a time, such as 30s"))
    };
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

/// The advice in words.
pub fn told(advice: &Advice, goal: Option<&Goal>) -> String {
    let mut text = standing(advice);
    if let (Some(goal), Some(met)) = (goal, &advice.goal) {
        let is = if met.met { "is met today" } else { "is not met today" };
        let _ = writeln!(text, "The goal, {goal}, {is}: {}.", met.reached);
    }
    if !advice.needed {
        text +=
            &format!("\n{BOLD}Nothing needs changing.{BOLD:#} {}\n", margin_words(&advice.margins, advice.today.hurt));
        return text;
    }
    let (main, apart): (Vec<&Remedy>, Vec<&Remedy>) =
        advice.remedies.iter().partition(|r| r.apart.is_none() && r.deployable);
    if main.is_empty() {
        text += "\nNothing that was tried and can be made today helps.\n";
    } else {
        let _ = writeln!(
            text,
            "\n{BOLD}What helps{BOLD:#}, by a client's time for the same bytes; what is as good, by effort"
        );
        text += &main.iter().enumerate().map(|(i, remedy)| one_line(i + 1, remedy)).collect::<String>();
    }
    text += &unmet(goal, &main, &advice.remedies);
    if !apart.is_empty() {
        let _ = writeln!(text, "\n{BOLD}Apart{BOLD:#}: to be bought, another question, or not to be had today");
        text += &apart.iter().map(|remedy| one_line(0, remedy)).collect::<String>();
    }
    for (i, remedy) in main.iter().take(SHOWN).enumerate() {
        text += &in_full(i + 1, remedy);
    }
    for caveat in &advice.caveats {
        let _ = writeln!(text, "\n{GREY}{caveat}{GREY:#}");
    }
    let _ = writeln!(text, "{GREY}{} data packets simulated{GREY:#}", large(advice.spent_packets as f64));
    text
}

/// Where the cluster stands, and what holds it up.
fn standing(advice: &Advice) -> String {
    let today = &advice.today;
    let colour = if advice.needed { RED } else { BOLD };
    let allowed = today.allowed_mbps.map_or(String::new(), |mbps| format!(" of {} that could be", three(mbps)));
    let round = today.qct_ms.map_or(String::new(), |qct| format!(", a round takes {}", time(qct.mean)));
    let mut text = format!(
        "{BOLD}{}{BOLD:#}: {} with {} servers {colour}{}{colour:#}: {} Mbit/s{allowed}{round}\n",
        advice.scenario,
        today.scheme,
        today.servers,
        today.state,
        three(today.goodput_mbps.mean)
    );
    text += &onset_words(advice);
    if advice.needed {
        let _ = writeln!(text, "{}", margin_words(&advice.margins, advice.today.hurt));
    }
    for limit in &advice.limits {
        let _ = writeln!(text, "  held up by   {}: {}\n  {GREY}{}{GREY:#}", limit.what, limit.says, limit.run);
    }
    text
}

/// From how many servers on it collapses.
fn onset_words(advice: &Advice) -> String {
    let Some(model) = advice.onset_model else { return String::new() };
    let most = 4 * u64::from(advice.today.servers);
    let simulated = match advice.onset {
        Some(onset) => format!("it collapses from {onset} servers on"),
        None if advice.today.hurt => {
            format!("goodput nowhere falls to under half of what fewer servers have, from 2 to {most} of them")
        }
        None => format!("it does not collapse up to {most} servers"),
    };
    let model = three(model.floor());
    format!("By simulation {simulated}; by the closed form first windows overflow from {model} servers on.\n")
}

fn margin_words(margins: &[Margin], hurt: bool) -> String {
    let would = if hurt { "would hold" } else { "would be hurt" };
    let one = |Margin { of, now, edge, tried_to }: &Margin| match edge {
        Some(edge) => format!("It {would} with {edge} ({of}) in place of {now}."),
        None => format!("It fares the same with anything from {now} to {tried_to} ({of})."),
    };
    margins.iter().map(one).collect::<Vec<_>>().join(" ")
}

/// A remedy with what it gains: `1  RTOmin of 5 ms on the servers   11 ms (of 214)  sysctl`.
fn one_line(rank: usize, remedy: &Remedy) -> String {
    let place = if rank == 0 { String::new() } else { format!("{rank}") };
    let round = remedy
        .qct_ms
        .map_or(String::new(), |qct| format!(", a round {} ({} to {})", time(qct.mean), time(qct.lo), time(qct.hi)));
    let goal = match &remedy.goal {
        Some(met) if met.met => format!("; meets the goal: {}", met.reached),
        Some(met) => format!("; misses the goal: {}", met.reached),
        None => String::new(),
    };
    let apart = remedy.apart.map_or(String::new(), |why| format!("; {why}"));
    let stands = match remedy.robust {
        Some(true) => "; stands where what nobody knows is otherwise",
        Some(false) => "; does not stand everywhere where what nobody knows is otherwise",
        None => "",
    };
    format!(
        "  {place:>2}   {}: {:.1} % of today's time, {} Mbit/s{round}; {}{apart}{goal}{stands}\n",
        remedy.says,
        100.0 * remedy.of_today,
        three(remedy.goodput_mbps.mean),
        remedy.effort
    )
}

/// How near the best comes to a goal that nothing meets.
fn unmet(goal: Option<&Goal>, main: &[&Remedy], all: &[Remedy]) -> String {
    let meets = |remedy: &&Remedy| remedy.goal.as_ref().is_some_and(|met| met.met);
    let Some(goal) = goal.filter(|_| !main.iter().any(meets)) else { return String::new() };
    let nearest = main.first().and_then(|remedy| Some((remedy, remedy.goal.as_ref()?)));
    let near =
        nearest.map_or(String::new(), |(remedy, met)| format!(" {} comes nearest: {}.", remedy.says, met.reached));
    let other = all.iter().find(|remedy| meets(remedy));
    let other = other.map_or(String::new(), |remedy| format!(" Of what stands apart, {} meets it.", remedy.says));
    format!("\n{RED}Nothing that can be made today meets the goal, {goal}.{RED:#}{near}{other}\n")
}

/// All that is to be known of a remedy.
fn in_full(rank: usize, remedy: &Remedy) -> String {
    let mut text = format!("\n{BOLD}{rank}. {}{BOLD:#}\n", remedy.says);
    for (word, lines) in [("apply", &remedy.apply), ("undo", &remedy.undo), ("verify", &remedy.verify)] {
        text += &by_place(word, lines);
    }
    for note in &remedy.notes {
        let _ = writeln!(text, "  {GREY}{note}{GREY:#}");
    }
    match remedy.harms.as_deref() {
        Some([]) => text += "  Beside a long flow and small flows nothing was harmed by a tenth or more.\n",
        Some(harms) => harms.iter().for_each(|harm| {
            let _ = writeln!(text, "  {RED}harms{RED:#}  {harm}");
        }),
        None => {}
    }
    let _ = writeln!(text, "  {GREY}{}{GREY:#}", remedy.run);
    text
}

/// Lines under the place where they go.
fn by_place(word: &str, lines: &[Line]) -> String {
    let mut text = String::new();
    for place in [Where::Servers, Where::Client, Where::Switch, Where::Application] {
        let own: Vec<&str> = lines.iter().filter(|line| line.place == place).map(|line| line.line.as_str()).collect();
        if own.is_empty() {
            continue;
        }
        let at = match place {
            Where::Servers => "on every server",
            Where::Client => "on the client",
            Where::Switch => "on the switch",
            Where::Application => "in the application",
        };
        let _ = writeln!(text, "  {word} {at}");
        own.iter().for_each(|line| {
            let _ = writeln!(text, "    {line}");
        });
    }
    text
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

    #[test]
    fn a_cluster_in_a_line_is_a_scenario() {
        let text = text_of(12, "25 Gbit/s".parse().unwrap(), "1 MiB".parse().unwrap(), None, "linux");
        let scenario = Scenario::parse("x.toml", text).unwrap().resolve().unwrap();
        assert_eq!(scenario.contenders()[0].points[0].settings.servers(), 12);
    }
}
