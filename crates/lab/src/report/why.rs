//! What is behind a goodput: how a round spends its time at a point, in words.

use fanin_spec::Contender;

use super::story::Story;
use crate::SummaryRow;
use crate::figures::{count, three, time};

/// What a round is like at a point, and what the story shows of one.
pub(super) fn why(row: &SummaryRow, contender: &Contender, story: Option<&Story>) -> String {
    let begun = row.rounds + row.rounds_open;
    match row.qct_ms.mean {
        _ if begun == 0.0 => of_a_run(row),
        Some(mean) if row.rounds > 0.0 => of_a_round(row, mean, contender, story) + &cut_off(row) + &tail(row),
        _ => {
            let waited = row.qct_ms.max.map_or(String::new(), |max| format!(" in {}", time(max)));
            format!(" No round ended{waited}, after {} timeouts a run.", count(row.timeouts))
        }
    }
}

/// What a run without rounds is like.
fn of_a_run(row: &SummaryRow) -> String {
    let counts = [(row.timeouts, "timeouts"), (row.drops, "drops"), (row.marks, "marks")];
    let counts = counts.map(|(value, what)| format!("{} {what}", count(value))).join(", ");
    let fair = row.jain.map_or(String::new(), |jain| format!("; Jain's index of what they moved is {}", three(jain)));
    let still = match row.stalls {
        0.0 => String::new(),
        stalls => format!(" The port stands still {} times, for {} in all.", count(stalls), time(row.stalled_ms)),
    };
    format!(" A run has {counts}{fair}.{still}")
}

fn of_a_round(row: &SummaryRow, mean: f64, contender: &Contender, story: Option<&Story>) -> String {
    let mean = format!("{}{}", if row.qct_ms.at_least.is_some() { "at least " } else { "" }, time(mean));
    let timeouts = row.a_round(row.timeouts);
    if timeouts < 0.05 {
        let (drops, marks) = (row.a_round(row.drops), row.a_round(row.marks));
        let signs = match (drops >= 0.05, marks >= 0.05) {
            (false, false) => "no drops and no marks".into(),
            (true, false) => format!("{} drops", count(drops)),
            (false, true) => format!("no drops and {} marks", count(marks)),
            (true, true) => format!("{} drops and {} marks", count(drops), count(marks)),
        };
        let rare = if timeouts > 0.0 { "hardly a timeout" } else { "no timeout" };
        return format!(" A round takes {mean} on average, with {signs} and {rare}.{}", stands_still(row));
    }
    let rto_min = contender.settings.tcp.rto_min;
    let number = if count(timeouts) == "1.0" { "one timeout".into() } else { format!("{} timeouts", count(timeouts)) };
    let mut text = format!(" A round takes {mean} on average and has {number} of {rto_min} or more.");
    text += &stands_still(row);
    let story = story.filter(|story| story.place == row.place);
    if let Some(stall) = story.and_then(Story::longest_stall) {
        let waits = time((stall.to_us - stall.from_us) / 1e3);
        let cause = stall.cause.map(|cause| cause.clause());
        text += &match (stall.others, cause) {
            (0, Some(cause)) => {
                format!(" In the round shown below everyone waits {waits} for one flow that {cause}.")
            }
            (0, None) => format!(" In the round shown below everyone waits {waits} for one flow."),
            (n, Some(cause)) => {
                format!(" In the round shown below everyone waits {waits} for {} flows; the first {cause}.", n + 1)
            }
            (n, None) => format!(" In the round shown below everyone waits {waits} for {} flows.", n + 1),
        };
    }
    text
}

/// How long nothing comes in a round, where that is worth a word.
fn stands_still(row: &SummaryRow) -> String {
    match row.a_round(row.stalls) {
        stalls if stalls < 0.05 => String::new(),
        stalls => {
            let lost = time(row.a_round(row.stalled_ms));
            format!(" On average it stands still {} times, for {lost}.", count(stalls))
        }
    }
}

/// Rounds that the end cut off, where they had waited longer than others took.
fn cut_off(row: &SummaryRow) -> String {
    match (row.qct_ms.at_least, row.qct_ms.max) {
        (Some(_), Some(longest)) => {
            let [open, begun] = [row.rounds_open, row.rounds + row.rounds_open].map(count);
            format!(" {open} of {begun} rounds a run had not ended, having waited up to {}.", time(longest))
        }
        _ => String::new(),
    }
}

/// A 99th percentile far above the median.
fn tail(row: &SummaryRow) -> String {
    match (row.qct_ms.p50, row.qct_ms.p99) {
        (Some(p50), Some(p99)) if p99 >= 3.0 * p50 => {
            let least = if row.qct_ms.is_bound("p99") { "at least " } else { "" };
            format!(" The median is {}, the 99th percentile {least}{}.", time(p50), time(p99))
        }
        _ => String::new(),
    }
}
