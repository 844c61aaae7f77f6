//! Causes of a goodput: how a round spends its time at a point, in words.

use fanin_spec::Variant;
use fanin_tables::{Cause, Counter};
use fanin_units::Bytes;

use super::finding::Seen;
use super::judgement::{FAR, explains, judged};
use super::verdict::Verdict;
use crate::figures::{count, shown, three, time};
use crate::{Axis, Squeezed, SummaryRow};

/// Describes an average round at a point, with the sentence about a single run.
pub(super) fn why(row: &SummaryRow, variant: &Variant, seen: Option<&Seen>) -> String {
    let begun = row.rounds + row.rounds_open;
    match row.qct_ms.mean {
        _ if begun == 0.0 => of_a_run(row) + &paused(row),
        Some(mean) if row.rounds > 0.0 => {
            of_a_round(row, mean, variant, seen) + &paused(row) + &cut_off(row) + &tail(row) + &unmeasured(row)
        }
        _ => {
            let waited = row.qct_ms.max.map_or(String::new(), |max| format!(" in {}", time(max)));
            let timeouts = match row.measures(Counter::Timeouts) {
                true => format!(", after {} timeouts per run", count(row.timeouts)),
                false => String::new(),
            };
            format!(" No round ended{waited}{timeouts}.{}", idle(row)) + &paused(row) + &unmeasured(row)
        }
    }
}

/// The port that held most of a shared memory when packets were refused; otherwise the peak of the client's port.
pub(super) fn room(row: &SummaryRow, variant: &Variant) -> String {
    let settings = &variant.points[row.place].settings;
    if let Some(squeezed) = row.memories.as_ref().and_then(|memories| memories.squeezed.as_ref()) {
        let Squeezed { port, holder, holder_share, refused_packets, .. } = squeezed;
        return format!(
            " {holder} held {:.0} % of the shared memory when {port} refused {} packets per run.",
            100.0 * holder_share,
            count(*refused_packets)
        );
    }
    let shares = settings.switch.shared_buffer.0.is_some() && variant.scheme.is_tcp();
    let limit = settings.client_limit(&variant.scheme).filter(|_| !shares);
    let (Some(buffer), true) = (limit, row.clients <= 1 && row.measures(Counter::Queues)) else {
        return String::new();
    };
    let held = row.queue_max_bytes as f64;
    let share = 100.0 * held / settings.in_bytes(buffer).max(1) as f64;
    if variant.scheme.uet().is_some() && share > 100.0 {
        let held = Bytes(row.queue_max_bytes);
        return format!(
            " The queue at the client's port, with headers of trimmed packets, peaked at {held}. It trims beyond {}.",
            shown(buffer)
        );
    }
    format!(" The queue at the client's port peaked at {} % of its {}.", three(share), shown(buffer))
}

/// The kernel that the senders' TCP stands for, and how far measurements of it are from predictions past the collapse.
pub(super) fn real_tcp(row: &SummaryRow, variant: &Variant) -> String {
    let stack = variant.points[row.place].settings.tcp.profile.0.filter(|_| variant.scheme.is_tcp());
    let Some(stack) = stack.filter(|_| judged(row).verdict == Verdict::Collapsed) else { return String::new() };
    let measured = stack.factor_past_collapse().map_or(String::new(), |factor| {
        let factor = three(factor);
        format!(": past the collapse, its goodput was within a factor of {factor} of predictions at nine of ten measured points")
    });
    let changes = stack.changes_since().map_or(String::new(), |changes| {
        format!(". {changes}, which may change goodput by a factor of two: use \"linux\" for it")
    });
    let runs = row.goodput_range_mbps.filter(|range| range.p90 > 1.2 * range.p10).map_or(String::new(), |range| {
        format!(" Of single runs, four of five have {} to {} Mbit/s.", three(range.p10), three(range.p90))
    });
    format!(" `tcp.profile` stands for {}{measured}{changes}.{runs}", stack.kernel())
}

/// The first point of a curve with drops, unless that is its first point.
pub(super) fn first_drops(rows: &[&SummaryRow], axis: &Axis, searched: bool) -> String {
    match rows.iter().position(|row| row.drops > 0.0) {
        Some(place) if place > 0 && !searched => {
            format!(" Drops start {}.", axis.at(&axis.tick(rows[place])))
        }
        _ => String::new(),
    }
}

/// Describes a run without rounds.
fn of_a_run(row: &SummaryRow) -> String {
    let counts = [
        (Counter::Timeouts, row.timeouts, "timeouts"),
        (Counter::Drops, row.drops, "drops"),
        (Counter::Marks, row.marks, "marks"),
    ];
    let counts = counts.iter().filter(|(counter, ..)| row.measures(*counter));
    let counts: Vec<String> = counts.map(|(_, value, what)| format!("{} {what}", count(*value))).collect();
    let counts = match counts.is_empty() {
        true => " The counters of a run are unknown".into(),
        false => format!(" A run has {}", counts.join(", ")),
    };
    let some = |value: f64, what: &str| if value > 0.0 { format!(", {} {what}", count(value)) } else { String::new() };
    let lost = some(row.card_drops, "packets dropped by receiving cards") + &some(row.lost, "packets lost by faults");
    let fair = row.jain.map_or(String::new(), |jain| format!("; Jain's index of their goodputs is {}", three(jain)));
    let still = match row.stalls {
        0.0 => String::new(),
        stalls => {
            format!(" The port is idle {}, {} in all{}.", times(stalls), time(row.stalled_ms), causes(row))
        }
    };
    format!("{counts}{lost}{fair}.{still}") + &unmeasured(row)
}

fn of_a_round(row: &SummaryRow, mean: f64, variant: &Variant, seen: Option<&Seen>) -> String {
    let mean = format!("{}{}", if row.qct_ms.at_least.is_some() { "at least " } else { "" }, time(mean));
    let timeouts = row.a_round(row.timeouts);
    if timeouts < 0.05 {
        let still = idle(row) + &inside(row, seen);
        return format!(" An average round takes {mean}{}.{still}", signs(row));
    }
    let least = variant.points[row.place].settings.least_timeout(&variant.scheme);
    let number = if count(timeouts) == "1.0" { "one timeout".into() } else { format!("{} timeouts", count(timeouts)) };
    // While others send, a connection's timeout is no idle time of the client: idle periods are then much shorter than a timeout.
    let overlap = row.stalls > 0.0 && row.stalled_ms / row.stalls * 2e9 < least.0 as f64;
    let of = if overlap { String::new() } else { format!(" of at least {least}") };
    let mut text = format!(" An average round takes {mean}, with {number}{of}.");
    text += &idle(row);
    text + &inside(row, seen)
}

/// The sentence about a run at this point, if any.
fn inside(row: &SummaryRow, seen: Option<&Seen>) -> String {
    seen.filter(|seen| seen.place == row.place).map_or(String::new(), |seen| format!(" {}", seen.says))
}

/// Drops, marks and timeouts of a round with almost no timeouts.
fn signs(row: &SummaryRow) -> String {
    let some = |value: f64, many: &str| match row.a_round(value) {
        0.0 => format!("no {many}"),
        few if few < 0.05 => format!("almost no {many}"),
        several => format!("{} {many}", count(several)),
    };
    let mut signs = Vec::new();
    if row.measures(Counter::Drops) {
        signs.push(some(row.drops, "drops"));
    }
    if row.lost > 0.0 {
        signs.push(some(row.lost, "packets lost by faults"));
    }
    if row.card_drops > 0.0 {
        signs.push(some(row.card_drops, "packets dropped by receiving cards"));
    }
    if row.measures(Counter::Marks) {
        signs.push(some(row.marks, "marks"));
    }
    if row.measures(Counter::Timeouts) {
        signs.push(if row.timeouts > 0.0 { "almost no timeouts".into() } else { "no timeouts".into() });
    }
    match signs.pop() {
        None => String::new(),
        Some(last) if signs.is_empty() => format!(", with {last}"),
        Some(last) => format!(", with {} and {last}", signs.join(", ")),
    }
}

/// The counters that the driver could not read.
fn unmeasured(row: &SummaryRow) -> String {
    let all = [
        (Counter::Timeouts, "timeouts"),
        (Counter::Drops, "drops"),
        (Counter::Marks, "marks"),
        (Counter::Stalls, "idle periods"),
        (Counter::Queues, "queues"),
    ];
    let names: Vec<&str> = all.iter().filter(|(counter, _)| !row.measures(*counter)).map(|(_, name)| *name).collect();
    if names.is_empty() { String::new() } else { format!(" Not measured: {}.", names.join(", ")) }
}

/// The idle time of a round, and its causes.
fn idle(row: &SummaryRow) -> String {
    match row.a_round(row.stalls) {
        0.0 => String::new(),
        // Few stalls may take most of the time.
        stalls if stalls < 0.05 => format!(
            " In {} rounds the client is idle {}, {} in all{}.",
            count(row.begun()),
            times(row.stalls),
            time(row.stalled_ms),
            causes(row)
        ),
        stalls => {
            let lost = time(row.a_round(row.stalled_ms));
            format!(" It is idle {}, {lost} in all{}.", times(stalls), causes(row))
        }
    }
}

/// Pauses of lossless ports, with the port that caused most of them.
pub(super) fn paused(row: &SummaryRow) -> String {
    let Some(pauses) = row.pauses.as_ref().filter(|pauses| pauses.count > 0.0) else { return String::new() };
    let deadlock = match pauses.deadlocked_runs {
        0 => String::new(),
        runs => format!(" {runs} of {} runs end in a deadlock of links that wait for one another.", row.seeds),
    };
    format!(
        " Switches pause links {} times per run, for {} % of senders' time, most often because of {}.{deadlock}",
        count(pauses.count),
        three(100.0 * pauses.share),
        pauses.cause
    )
}

fn times(number: f64) -> String {
    if count(number) == "1.0" { "once".into() } else { format!("{} times", count(number)) }
}

/// A cause in words. A timeout that no run counts has not expired by its end.
pub(super) fn named(row: &SummaryRow, cause: Cause) -> &'static str {
    match cause {
        Cause::Rto if row.timeouts == 0.0 && row.measures(Counter::Timeouts) => {
            "retransmission timeouts beyond the end of the run"
        }
        cause => cause.says(),
    }
}

/// Minimum share of the idle time for a cause to be named.
const WORTH_A_WORD: f64 = 0.05;

/// The cause whose idle time alone explains at least half of the deficit of a point that does not sustain its load.
pub(super) fn main_cause(row: &SummaryRow) -> Option<Cause> {
    let (cause, of) = row.stalls_by_cause.longest_first().into_iter().next()?;
    let bad = judged(row).verdict.is_impaired() && row.qct_ms.mean.is_some();
    (bad && explains(row, of.ms)).then_some(cause)
}

/// Causes of the idle time, with shares if there are several.
fn causes(row: &SummaryRow) -> String {
    let share = |ms: f64| ms / row.stalled_ms;
    let all = row.stalls_by_cause.longest_first();
    let worthy: Vec<_> = all.iter().filter(|(_, of)| share(of.ms) >= WORTH_A_WORD).collect();
    match worthy.as_slice() {
        [] => String::new(),
        [(cause, of)] if share(of.ms) > 1.0 - WORTH_A_WORD => format!(", waiting for {}", named(row, *cause)),
        several => {
            let told = several.iter().map(|(cause, of)| (of.ms, named(row, *cause)));
            let rest = row.stalled_ms - all.iter().map(|(_, of)| of.ms).sum::<f64>();
            let told = told.chain((share(rest) >= WORTH_A_WORD).then_some((rest, Cause::Unknown.says())));
            let told = told.map(|(ms, what)| format!("{:.0} % for {what}", 100.0 * share(ms)));
            format!(", waiting {}", told.collect::<Vec<_>>().join(", "))
        }
    }
}

/// The limit of a goodput that neither losses nor stalls explain.
pub(super) fn bound_by(row: &SummaryRow, variant: &Variant) -> String {
    if judged(row).verdict != Verdict::Slow {
        return String::new();
    }
    if row.marks > 0.0 {
        let what = if variant.scheme.rdma().is_some() { "rates" } else { "windows" };
        return format!(" Without losses or idle time, marks reduce its {what}.");
    }
    let Some(least) = row.least else {
        return " There are no losses and no idle time.".into();
    };
    let parts = [
        (least.round_trips_ms, "round trips"),
        (least.work_ms, "the servers' processing"),
        (least.requests_ms, "sending the requests"),
        (least.wire_ms, "its bytes on the wire"),
    ];
    let told = parts.iter().filter(|(ms, _)| *ms >= 0.01 * least.whole_ms);
    let told = told.map(|(ms, what)| format!("{} for {what}", time(*ms))).collect::<Vec<_>>().join(", ");
    format!(" Without losses or idle time, latency limits it: a round takes at least {}, {told}.", time(least.whole_ms))
}

/// Rounds that were unfinished at the end, if they had waited longer than the others took.
fn cut_off(row: &SummaryRow) -> String {
    match (row.qct_ms.at_least, row.qct_ms.max) {
        (Some(_), Some(longest)) => {
            let [open, begun] = [row.rounds_open, row.rounds + row.rounds_open].map(count);
            format!(" {open} of {begun} rounds per run were unfinished after up to {}.", time(longest))
        }
        _ => String::new(),
    }
}

/// A p99 far above the median.
fn tail(row: &SummaryRow) -> String {
    match (row.qct_ms.p50, row.qct_ms.p99) {
        (Some(p50), Some(p99)) if p99 >= FAR * p50 => {
            let least = if row.qct_ms.is_bound("p99") { "at least " } else { "" };
            format!(" The median is {}, p99 {least}{}.", time(p50), time(p99))
        }
        _ => String::new(),
    }
}
