//! Advice in words: each sentence is made of the figures that `--json` has.

use std::path::Path;

use fanin::advice::{Advice, Assumption, Goal, Line, Margin, Remedy, Standing, Syntax, Where};

use crate::figures::{BOLD, GREY, RED, large, three, time};
use crate::terminal::Text;

/// Remedies whose lines are shown; `--json` and `--out` have those of all.
const SHOWN: usize = 5;

/// The advice, and where its scripts are, if anywhere.
pub fn told(advice: &Advice, goal: Option<&Goal>, out: Option<&Path>) -> String {
    let mut text = Text::default();
    standing(advice, &mut text);
    if let (Some(goal), Some(met)) = (goal, &advice.goal) {
        let is = if met.met { "is met" } else { "is not met" };
        let wire = advice.before().wire_ms.filter(|_| !met.possible);
        let never = wire.map_or(String::new(), |wire| {
            format!(
                " At this link rate it cannot be: a round's packets alone take {} on the client's link.",
                time(wire)
            )
        });
        text.prose(&format!("The goal, {goal}, {is} without a change: {}.{never}", met.reached));
    }
    if !advice.needed {
        text.prose(&format!(
            "\n{BOLD}Nothing needs changing.{BOLD:#} {}",
            margins(&advice.margins, advice.before().hurt)
        ));
        caveats(advice, &mut text);
        return text.done();
    }
    let (main, apart): (Vec<&Remedy>, Vec<&Remedy>) =
        advice.remedies.iter().partition(|r| r.apart.is_none() && r.deployable);
    if main.is_empty() {
        text.prose("\nNothing that was tried and can be made today helps.");
    } else {
        text.prose(&format!(
            "\n{BOLD}What helps{BOLD:#}, by a client's time for the same bytes; what is as good, by what else it touches and by effort"
        ));
        main.iter().enumerate().for_each(|(i, remedy)| text.prose(&one_line(i + 1, remedy)));
    }
    unmet(advice, goal, &main, &mut text);
    if !apart.is_empty() {
        text.prose(&format!("\n{BOLD}Apart{BOLD:#}: to be bought, another question, or not to be had today"));
        apart.iter().for_each(|remedy| text.prose(&one_line(0, remedy)));
    }
    for (i, remedy) in main.iter().take(SHOWN).enumerate() {
        in_full(i + 1, remedy, out, &mut text);
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

/// Where the cluster stands, now and as it is to be, what that hangs on, and what holds it up.
fn standing(advice: &Advice, text: &mut Text) {
    let of = |standing: &Standing| {
        let colour = if standing.hurt { RED } else { BOLD };
        let allowed = standing.allowed_mbps.map_or(String::new(), |mbps| format!(" of {} that could be", three(mbps)));
        let least = if standing.qct_ms.at_least.is_some() { "at least " } else { "" };
        let round = standing.qct_ms.mean.map_or(String::new(), |ms| format!(", a round takes {least}{}", time(ms)));
        format!(
            "{} with {} servers {colour}{}{colour:#}: {} Mbit/s{allowed}{round}",
            standing.scheme,
            standing.servers,
            standing.state,
            three(standing.goodput_mbps.mean)
        )
    };
    text.prose(&format!("{BOLD}{}{BOLD:#}: {}", advice.scenario, of(&advice.today)));
    if let Some(grown) = &advice.grown {
        text.prose(&format!("Grown, {}; the rest is of that", of(grown)));
    }
    let onset = onset_words(advice);
    if !onset.is_empty() {
        text.prose(&onset);
    }
    if advice.needed && !advice.margins.is_empty() {
        text.prose(&margins(&advice.margins, advice.before().hurt));
    }
    let assumptions = hinge_words(&advice.hangs_on, advice.before().hurt);
    if !assumptions.is_empty() {
        text.prose(&assumptions);
    }
    for limit in &advice.limits {
        text.prose(&format!("  held up by   {}: {}", limit.what, limit.says));
        text.verbatim(2, &format!("{GREY}{}{GREY:#}", limit.run));
    }
}

/// From how many servers on goodput falls.
fn onset_words(advice: &Advice) -> String {
    let Some(model) = advice.onset_model else { return String::new() };
    let most = 4 * u64::from(advice.before().servers);
    let simulated = match advice.onset {
        Some(onset) => format!("By simulation goodput falls to under half of its best from {onset} servers on; by"),
        None if advice.onset_searched => {
            format!(
                "By simulation goodput nowhere falls to under half of its best with fewer servers, from 2 to {most}; by"
            )
        }
        None => "By".into(),
    };
    format!("{simulated} the closed form first windows overflow from {} servers on.", three(model.floor()))
}

fn margins(margins: &[Margin], hurt: bool) -> String {
    let would = if hurt { "would no longer be held up" } else { "would be held up" };
    let one = |Margin { of, now, edge, tried_to }: &Margin| match edge {
        Some(edge) => format!("It {would} with {edge} ({of}) in place of {now}."),
        None => format!("It fares the same with anything from {now} to {tried_to} ({of})."),
    };
    margins.iter().map(one).collect::<Vec<_>>().join(" ")
}

/// The assumed values, those that turn the verdict first.
fn hinge_words(assumptions: &[Assumption], hurt: bool) -> String {
    let otherwise = if hurt { "it would not be held up" } else { "it would be held up" };
    let (turning, others): (Vec<&Assumption>, Vec<&Assumption>) =
        assumptions.iter().partition(|assumption| !assumption.turns.is_empty());
    let turn = |assumption: &&Assumption| {
        format!(
            "This hangs on {} = {}: with {} {otherwise}.",
            assumption.key,
            assumption.now,
            assumption.turns.join(" or ")
        )
    };
    let mut says: Vec<String> = turning.iter().map(turn).collect();
    let same = |assumption: &&Assumption| {
        format!("{} = {} ({})", assumption.key, assumption.now, assumption.tried.join(" and "))
    };
    if !others.is_empty() {
        let all = others.iter().map(same).collect::<Vec<_>>().join(", ");
        says.push(format!("It is the same with other values, in brackets, of {all}."));
    }
    says.join(" ")
}

/// A remedy with what it gains: `1  RTOmin of 5 ms on the servers   11 ms (of 214)  sysctl`.
fn one_line(rank: usize, remedy: &Remedy) -> String {
    let place = if rank == 0 { String::new() } else { format!("{rank}") };
    let round = remedy.qct_ms.mean.map_or(String::new(), |ms| format!(", a round {}", time(ms)));
    let p99 = remedy.qct_ms.p99.map_or(String::new(), |ms| format!(" (p99 {})", time(ms)));
    let goal = match &remedy.goal {
        Some(met) if met.met => format!("; meets the goal: {}", met.reached),
        Some(met) => format!("; misses the goal: {}", met.reached),
        None => String::new(),
    };
    let apart = remedy.apart.map_or(String::new(), |why| format!("; {why}"));
    let touches = if remedy.touches.is_empty() { "" } else { "; touches more than these flows" };
    let stands = match remedy.robust {
        Some(true) => "; its rank is the same with other assumed values",
        Some(false) => "; its rank changes with other assumed values",
        None => "",
    };
    format!(
        "  {place:>2}   {}: {:.1} % of the time without it, {} Mbit/s{round}{p99}; {}{touches}{apart}{goal}{stands}",
        remedy.says,
        100.0 * remedy.of_today,
        three(remedy.goodput_mbps.mean),
        remedy.effort
    )
}

/// How near the best comes to a goal that nothing meets.
fn unmet(advice: &Advice, goal: Option<&Goal>, main: &[&Remedy], text: &mut Text) {
    let meets = |remedy: &&Remedy| remedy.goal.as_ref().is_some_and(|met| met.met);
    let Some(goal) = goal.filter(|_| !main.iter().any(meets)) else { return };
    if advice.goal.as_ref().is_some_and(|met| met.met) {
        return;
    }
    let nearest = main.first().and_then(|remedy| Some((remedy, remedy.goal.as_ref()?)));
    let near =
        nearest.map_or(String::new(), |(remedy, met)| format!(" {} comes nearest: {}.", remedy.says, met.reached));
    let other = advice.remedies.iter().find(|remedy| meets(remedy));
    let other = other.map_or(String::new(), |remedy| format!(" Of what stands apart, {} meets it.", remedy.says));
    let nothing = match advice.untried {
        0 => format!("Nothing that can be made today meets the goal, {goal}."),
        untried => format!(
            "Nothing that was tried and can be made today meets the goal, {goal}; {untried} changes were not tried."
        ),
    };
    text.prose(&format!("\n{RED}{nothing}{RED:#}{near}{other}"));
}

/// All that is to be known of a remedy: first what else it touches.
fn in_full(rank: usize, remedy: &Remedy, out: Option<&Path>, text: &mut Text) {
    text.prose(&format!("\n{BOLD}{rank}. {}{BOLD:#}", remedy.says));
    for touched in &remedy.touches {
        text.prose(&format!("  {RED}touches{RED:#}   {touched}"));
    }
    for (word, lines) in [("apply", &remedy.apply), ("undo", &remedy.undo), ("verify", &remedy.verify)] {
        by_place(word, lines, text);
    }
    if let Some(out) = out {
        text.prose(&format!("  as scripts   {}", out.join(format!("remedy-{rank}")).display()));
    }
    for note in &remedy.notes {
        text.prose(&format!("  {GREY}{note}{GREY:#}"));
    }
    match remedy.harms.as_deref() {
        Some([]) => text.prose("  Beside a long flow and small flows nothing was harmed by a tenth or more."),
        Some(harms) => harms.iter().for_each(|harm| text.prose(&format!("  {RED}harms{RED:#}   {harm}"))),
        None => {}
    }
    text.verbatim(2, &format!("{GREY}{}{GREY:#}", remedy.run));
}

/// Lines under the place where they go.
fn by_place(word: &str, lines: &[Line], text: &mut Text) {
    for place in [Where::Servers, Where::Client, Where::Switch, Where::Application] {
        let own: Vec<&Line> = lines.iter().filter(|line| line.place == place).collect();
        let Some(first) = own.first() else { continue };
        let at = match (place, first.syntax) {
            (Where::Servers, _) => "on every server",
            (Where::Client, _) => "on the client",
            (Where::Switch, Syntax::Sh) => "on the switch (SONiC)",
            (Where::Switch, Syntax::Eos) => "on the switch (EOS)",
            (Where::Application, _) => "in the application",
        };
        text.prose(&format!("  {word} {at}"));
        own.iter().for_each(|line| text.verbatim(4, &line.line));
    }
}
