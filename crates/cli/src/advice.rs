//! Advice in words, from the figures of `--json`.

use std::path::{Path, PathBuf};

use fanin::Verdict;
use fanin::advice::{Advice, Assumption, AtEnds, Goal, Line, LoneFlow, Margin, Remedy, Standing, by_machine};

use crate::figures::{BOLD, GREY, RED, large, three, time};
use crate::terminal::Text;

/// Number of remedies printed with their commands unless the user selects some; `--json` and `--out` include all.
const SHOWN: usize = 5;

/// Text beside the remedies.
#[derive(Clone, Copy)]
pub enum Shown<'a> {
    /// Nothing: one screen.
    Brief,
    /// The commands of the first remedies.
    First,
    /// The commands of remedies with these ranks.
    Ranks(&'a [usize]),
}

impl Shown<'_> {
    fn is_brief(self) -> bool {
        matches!(self, Shown::Brief)
    }

    /// Whether a remedy's commands are printed.
    fn has(self, rank: usize) -> bool {
        match self {
            Shown::Brief => false,
            Shown::First => rank <= SHOWN,
            Shown::Ranks(ranks) => ranks.contains(&rank),
        }
    }
}

/// The advice, with the folder of its scripts, if any.
pub fn told(advice: &Advice, goal: Option<&Goal>, shown: Shown<'_>, out: Option<&Path>) -> String {
    let mut text = Text::default();
    standing(advice, shown, &mut text);
    if let (Some(goal), Some(met)) = (goal, &advice.goal) {
        let is = if met.met { "is met" } else { "is not met" };
        let wire = advice.before().wire_ms.filter(|_| !met.possible);
        let never = wire.map_or(String::new(), |wire| {
            format!(" This link rate cannot meet it: a round's packets alone take {} on the client's link.", time(wire))
        });
        text.prose(&format!("The goal, {goal}, {is} today: {}.{never}", met.reached));
    }
    if !advice.needed {
        text.prose(&format!(
            "\n{BOLD}Nothing needs changing.{BOLD:#} {}",
            margins(&advice.margins, advice.before().impaired)
        ));
        caveats(advice, &mut text);
        return text.done();
    }
    let (main, apart): (Vec<&Remedy>, Vec<&Remedy>) =
        advice.remedies.iter().partition(|r| r.apart.is_none() && r.deployable);
    if main.is_empty() {
        text.prose("\nNo remedy that was tried and is available today helps.");
    } else {
        let pauses = if advice.today.paused.is_some() { " and servers' paused time" } else { "" };
        text.prose(&format!(
            "\n{BOLD}Remedies{BOLD:#}, best first by a client's time for the same bytes{pauses}; equals by side effects and effort"
        ));
        main.iter().enumerate().for_each(|(i, remedy)| text.prose(&one_line(i + 1, remedy, advice.today.operation)));
    }
    unmet(advice, goal, &main, &mut text);
    if !apart.is_empty() && !shown.is_brief() {
        text.prose(&format!("\n{BOLD}Other options{BOLD:#}: purchases, other workloads, or not available today"));
        apart.iter().for_each(|remedy| text.prose(&one_line(0, remedy, advice.today.operation)));
    }
    let folders = advice.scripts();
    for (remedy, rank) in main.iter().zip(1..).filter(|(_, rank)| shown.has(*rank)) {
        let folder = format!("remedy-{rank}");
        let has_scripts = folders.iter().any(|(path, _)| path.split('/').next() == Some(&folder));
        in_full(rank, remedy, out.filter(|_| has_scripts).map(|out| out.join(folder)), &mut text);
    }
    if let Shown::Ranks(ranks) = shown {
        let missing = ranks.iter().filter(|rank| !(1..=main.len()).contains(rank));
        missing.for_each(|rank| {
            text.prose(&format!("\nThere is no remedy of rank {rank}: the ranks are 1 to {}.", main.len()))
        });
    }
    if shown.is_brief() && !main.is_empty() {
        text.prose("\n--details 1 prints the commands of the first remedy.");
    }
    caveats(advice, &mut text);
    text.done()
}

fn caveats(advice: &Advice, text: &mut Text) {
    for caveat in &advice.caveats {
        text.prose(&format!("\n{GREY}{caveat}{GREY:#}"));
    }
    text.prose(&format!("{GREY}{} data packets simulated{GREY:#}", large(advice.spent_packets as f64)));
}

/// The cluster's current and future state, its assumptions, and its limits.
fn standing(advice: &Advice, shown: Shown<'_>, text: &mut Text) {
    let of = |standing: &Standing| {
        let colour = if standing.impaired { RED } else { BOLD };
        let allowed = standing.allowed_mbps.map_or(String::new(), |mbps| format!(" of at most {}", three(mbps)));
        let least = if standing.qct_ms.at_least.is_some() { "at least " } else { "" };
        let per = standing.operation;
        let round = standing.qct_ms.mean.map_or(String::new(), |ms| format!(", {least}{} per {per}", time(ms)));
        let many = standing.hosts.map_or(format!("{} servers", standing.servers), |hosts| format!("{hosts} hosts"));
        let pauses = standing.paused.map_or(String::new(), |paused| format!("; pauses take {paused}"));
        let at = if standing.state == Verdict::Sustains { "" } else { " at" };
        format!(
            "{} {colour}{}{at} {many}{colour:#}: {} Mbit/s{allowed}{round}{pauses}",
            standing.scheme,
            standing.state.verb(),
            three(standing.goodput_mbps.mean)
        )
    };
    text.prose(&format!("{BOLD}{}{BOLD:#}: {}", advice.scenario, of(&advice.today)));
    if let Some(grown) = &advice.grown {
        let this = if advice.before().servers == grown.servers { "this" } else { "today's cluster" };
        text.prose(&format!("After growth, {}; the rest refers to {this}", of(grown)));
    }
    if let Some(start) = &advice.before().start {
        text.prose(&format!(
            "This verdict is of the start: without the first rounds, {} of {}, goodput is {} Mbit/s; set workload.warm_up to exclude them.",
            start.count,
            start.of,
            three(start.goodput_mbps)
        ));
    }
    let onset = onset_words(advice);
    if !onset.is_empty() {
        text.prose(&onset);
    }
    if advice.needed && !advice.margins.is_empty() {
        text.prose(&margins(&advice.margins, advice.before().impaired));
    }
    let assumptions = assumption_words(&advice.depends_on, advice.before().impaired);
    if !assumptions.is_empty() && !shown.is_brief() {
        text.prose(&assumptions);
    }
    for limit in &advice.limits {
        text.prose(&format!("  limited by   {}: {}", limit.what, limit.says));
        if !shown.is_brief() {
            text.verbatim(2, &format!("{GREY}{}{GREY:#}", limit.run));
        }
    }
}

/// Number of servers from which goodput falls.
fn onset_words(advice: &Advice) -> String {
    let Some(model) = advice.onset_model else { return String::new() };
    let most = 4 * u64::from(advice.before().servers);
    let simulated = match advice.onset {
        Some(onset) => {
            let servers = advice.before().servers;
            let later = if onset < servers && !advice.before().impaired {
                format!(" and recovers by {servers}")
            } else {
                String::new()
            };
            format!("In simulation, goodput falls below half of its best at {onset} servers{later}.")
        }
        None if advice.onset_searched => {
            format!(
                "In simulation, goodput stays above half of its best with smaller numbers of servers, from 2 to {most}."
            )
        }
        None => String::new(),
    };
    format!("{simulated} By the closed form, initial windows overflow from {} servers on.", three(model.floor()))
        .trim_start()
        .into()
}

fn margins(margins: &[Margin], impaired: bool) -> String {
    let would = if impaired { "would no longer be impaired" } else { "would be impaired" };
    let one = |Margin { of, now, edge, tried_to }: &Margin| match edge {
        Some(edge) => format!("It {would} with {of} {edge} instead of {now}."),
        None => format!("It would be the same with {of} from {now} to {tried_to}."),
    };
    margins.iter().map(one).collect::<Vec<_>>().join(" ")
}

/// The assumed values, first those that would change the verdict.
fn assumption_words(assumptions: &[Assumption], impaired: bool) -> String {
    let otherwise = if impaired { "it would not be impaired" } else { "it would be impaired" };
    let (turning, others): (Vec<&Assumption>, Vec<&Assumption>) =
        assumptions.iter().partition(|assumption| !assumption.reversed_by.is_empty());
    let turn = |assumption: &&Assumption| {
        format!(
            "This depends on the assumption {} = {}: with {}, {otherwise}.",
            assumption.key,
            assumption.now,
            assumption.reversed_by.join(" or ")
        )
    };
    let mut says: Vec<String> = turning.iter().map(turn).collect();
    let same = |assumption: &&Assumption| {
        format!("{} = {} ({})", assumption.key, assumption.now, assumption.tried.join(" and "))
    };
    if !others.is_empty() {
        let all = others.iter().map(same).collect::<Vec<_>>().join(", ");
        says.push(format!("Other assumptions do not change it; tried values in brackets: {all}."));
    }
    says.join(" ")
}

/// A remedy with its gain and effort, in one line.
fn one_line(rank: usize, remedy: &Remedy, per: &str) -> String {
    let place = if rank == 0 { String::new() } else { format!("{rank}") };
    let round = remedy.qct_ms.mean.map_or(String::new(), |ms| format!(", {} per {per}", time(ms)));
    let p99 = remedy.qct_ms.p99.map_or(String::new(), |ms| format!(" (p99 {})", time(ms)));
    let pauses = remedy.paused.map_or(String::new(), |paused| format!(", pauses {paused}"));
    let goal = match &remedy.goal {
        Some(met) if met.met => format!("; meets the goal: {}", met.reached),
        Some(met) => format!("; misses the goal: {}", met.reached),
        None => String::new(),
    };
    let apart = remedy.apart.map_or(String::new(), |why| format!("; {why}"));
    let touches = if remedy.touches.is_empty() { "" } else { "; affects other traffic" };
    let ends = remedy.at_ends.as_ref().map_or(String::new(), at_ends);
    let stands = match remedy.robust {
        Some(true) => "; same rank under other assumptions",
        Some(false) => "; rank depends on assumptions",
        None => "",
    };
    format!(
        "  {place:>2}   {}: {:.1} % of today's time, {} Mbit/s{round}{p99}{pauses}; {}{touches}{apart}{goal}{stands}{ends}",
        remedy.says,
        100.0 * remedy.relative_to_current,
        three(remedy.goodput_mbps.mean),
        remedy.effort
    )
}

/// The effect at the ends of an unknown value's interval.
fn at_ends(of: &AtEnds) -> String {
    let end = |place: usize| match of.relative[place] {
        Some(relative) => format!("{:.0} % with {}", 100.0 * relative, of.ends[place]),
        None => format!("not compared with {}", of.ends[place]),
    };
    let both = format!("{}, {}", end(0), end(1));
    match of.holds {
        true => format!("; helps at both ends of {}: {both}", of.key),
        false if of.relative.contains(&None) => format!("; {}: {both}", of.key),
        false => {
            format!("; depends on {}: {both}. A capture on both sides of that port, or its data sheet, decides", of.key)
        }
    }
}

/// The remedy closest to a goal that none meets.
fn unmet(advice: &Advice, goal: Option<&Goal>, main: &[&Remedy], text: &mut Text) {
    let meets = |remedy: &&Remedy| remedy.goal.as_ref().is_some_and(|met| met.met);
    let Some(goal) = goal.filter(|_| !main.iter().any(meets)) else { return };
    if advice.goal.as_ref().is_some_and(|met| met.met) {
        return;
    }
    let nearest = main.first().and_then(|remedy| Some((remedy, remedy.goal.as_ref()?)));
    let near =
        nearest.map_or(String::new(), |(remedy, met)| format!(" {} comes closest: {}.", remedy.says, met.reached));
    let other = advice.remedies.iter().find(|remedy| meets(remedy));
    let other = other.map_or(String::new(), |remedy| format!(" Of the other options, {} meets it.", remedy.says));
    let nothing = match advice.untried {
        0 => format!("No available remedy meets the goal, {goal}."),
        untried => format!("No available remedy that was tried meets the goal, {goal}; {untried} were not tried."),
    };
    text.prose(&format!("\n{RED}{nothing}{RED:#}{near}{other}"));
}

/// Details of a remedy, side effects first.
fn in_full(rank: usize, remedy: &Remedy, scripts: Option<PathBuf>, text: &mut Text) {
    text.prose(&format!("\n{BOLD}{rank}. {}{BOLD:#}", remedy.says));
    for touched in &remedy.touches {
        text.prose(&format!("  {RED}affects{RED:#}   {touched}"));
    }
    let plain = &remedy.plain;
    for (word, lines) in [("apply", &plain.apply), ("verify", &plain.verify), ("undo", &plain.undo)] {
        by_place(word, lines, text);
    }
    if let Some(folder) = scripts {
        text.prose(&format!("  as scripts   {}", folder.display()));
    }
    for note in &remedy.notes {
        text.prose(&format!("  {GREY}{note}{GREY:#}"));
    }
    if let Some(LoneFlow { today_mbps, mbps }) = remedy.lone_flow {
        let [is, was] = [mbps, today_mbps].map(three);
        text.prose(&format!("  A flow without others gets {is} Mbit/s; today {was}."));
    }
    match remedy.harms.as_deref() {
        Some([]) => text.prose("  It harms background flows, and requests to two servers, by less than 10 %."),
        Some(harms) => harms.iter().for_each(|harm| text.prose(&format!("  {RED}harms{RED:#}   {harm}"))),
        None => {}
    }
    text.verbatim(2, &format!("{GREY}{}{GREY:#}", remedy.run));
}

/// Commands grouped by the machine that they run on.
fn by_place(word: &str, lines: &[Line], text: &mut Text) {
    for (at, own) in by_machine(lines) {
        text.prose(&format!("  {word} {at}"));
        own.iter().for_each(|line| text.verbatim(4, line));
    }
}
