//! What is behind a goodput: how a round spends its time at a point, in words.

use fanin_spec::{Cause, Variant};

use super::Seen;
use super::judgement::{State, judged};
use crate::figures::{count, shown, three, time};
use crate::{Axis, Squeezed, SummaryRow};

/// What a round is like at a point, and what was seen inside one.
pub(super) fn why(row: &SummaryRow, variant: &Variant, seen: Option<&Seen>) -> String {
    let begun = row.rounds + row.rounds_open;
    match row.qct_ms.mean {
        _ if begun == 0.0 => of_a_run(row),
        Some(mean) if row.rounds > 0.0 => of_a_round(row, mean, variant, seen) + &cut_off(row) + &tail(row),
        _ => {
            let waited = row.qct_ms.max.map_or(String::new(), |max| format!(" in {}", time(max)));
            format!(" No round ended{waited}, after {} timeouts a run.{}", count(row.timeouts), stands_still(row))
        }
    }
}

/// Who held the memory that a port found no room in; else how much of what the client's port may hold was taken.
pub(super) fn room(row: &SummaryRow, variant: &Variant) -> String {
    let settings = &variant.points[row.place].settings;
    if let Some(squeezed) = row.memories.as_ref().and_then(|memories| memories.squeezed.as_ref()) {
        let Squeezed { port, holder, holder_share, refused_packets, .. } = squeezed;
        return format!(
            " {holder} held {:.0} % of the shared memory as {} packets a run found no room at {port}.",
            100.0 * holder_share,
            count(*refused_packets)
        );
    }
    if row.clients > 1 || settings.switch.shared_buffer.0.is_some() {
        return String::new();
    }
    let (buffer, held) = (settings.client_buffer(), row.queue_max_bytes as f64);
    let share = 100.0 * held / settings.in_bytes(buffer).max(1) as f64;
    format!(" The queue at the client's port took at most {} % of its {}.", three(share), shown(buffer))
}

/// Where on a curve packets are dropped first, where some points before have no drop.
pub(super) fn first_drops(rows: &[&SummaryRow], axis: &Axis, searched: bool) -> String {
    match rows.iter().position(|row| row.drops > 0.0) {
        Some(place) if place > 0 && !searched => {
            format!(" The first drops of the sweep come {}.", axis.at(&axis.tick(rows[place])))
        }
        _ => String::new(),
    }
}

/// What a run without rounds is like.
fn of_a_run(row: &SummaryRow) -> String {
    let counts = [(row.timeouts, "timeouts"), (row.drops, "drops"), (row.marks, "marks")];
    let counts = counts.map(|(value, what)| format!("{} {what}", count(value))).join(", ");
    let lost = if row.lost > 0.0 { format!(", {} packets lost by faults", count(row.lost)) } else { String::new() };
    let fair = row.jain.map_or(String::new(), |jain| format!("; Jain's index of what they moved is {}", three(jain)));
    let still = match row.stalls {
        0.0 => String::new(),
        stalls => {
            format!(" The port stands still {}, for {} in all{}.", times(stalls), time(row.stalled_ms), causes(row))
        }
    };
    format!(" A run has {counts}{lost}{fair}.{still}")
}

fn of_a_round(row: &SummaryRow, mean: f64, variant: &Variant, seen: Option<&Seen>) -> String {
    let mean = format!("{}{}", if row.qct_ms.at_least.is_some() { "at least " } else { "" }, time(mean));
    let timeouts = row.a_round(row.timeouts);
    if timeouts < 0.05 {
        let still = stands_still(row) + &inside(row, seen);
        return format!(" A round takes {mean} on average, with {}.{still}", signs(row));
    }
    let rto_min = variant.points[row.place].settings.tcp.rto_min;
    let number = if count(timeouts) == "1.0" { "one timeout".into() } else { format!("{} timeouts", count(timeouts)) };
    let mut text = format!(" A round takes {mean} on average and has {number} of {rto_min} or more.");
    text += &stands_still(row);
    text + &inside(row, seen)
}

/// What was seen inside a run at this point.
fn inside(row: &SummaryRow, seen: Option<&Seen>) -> String {
    seen.filter(|seen| seen.place == row.place).map_or(String::new(), |seen| format!(" {}", seen.says))
}

/// What a round met where it has hardly a timeout: `no` is said of nothing at all.
fn signs(row: &SummaryRow) -> String {
    let some = |value: f64, one: &str, many: &str| match row.a_round(value) {
        0.0 => format!("no {many}"),
        few if few < 0.05 => format!("hardly {one}"),
        several => format!("{} {many}", count(several)),
    };
    let mut signs = vec![some(row.drops, "a drop", "drops")];
    if row.lost > 0.0 {
        signs.push(some(row.lost, "a packet lost by faults", "packets lost by faults"));
    }
    signs.push(some(row.marks, "a mark", "marks"));
    signs.push(if row.timeouts > 0.0 { "hardly a timeout".into() } else { "no timeout".into() });
    let last = signs.pop().unwrap_or_default();
    format!("{} and {last}", signs.join(" and "))
}

/// How long nothing comes in a round, and what for, where that is worth a word.
fn stands_still(row: &SummaryRow) -> String {
    match row.a_round(row.stalls) {
        0.0 => String::new(),
        // Few stalls may take most of the time.
        stalls if stalls < 0.05 => format!(
            " In {} rounds it stands still {}, for {} in all{}.",
            count(row.begun()),
            times(row.stalls),
            time(row.stalled_ms),
            causes(row)
        ),
        stalls => {
            let lost = time(row.a_round(row.stalled_ms));
            format!(" On average it stands still {}, for {lost}{}.", times(stalls), causes(row))
        }
    }
}

fn times(number: f64) -> String {
    if count(number) == "1.0" { "once".into() } else { format!("{} times", count(number)) }
}

/// A cause of less than this share of the time is not named.
const WORTH_A_WORD: f64 = 0.05;

/// What stalls were for: `, for timeouts (RTO)`, with shares where there are several.
fn causes(row: &SummaryRow) -> String {
    let share = |ms: f64| ms / row.stalled_ms;
    let all = row.stalls_by_cause.longest_first();
    let named: Vec<_> = all.iter().filter(|(_, of)| share(of.ms) >= WORTH_A_WORD).collect();
    match named.as_slice() {
        [] => String::new(),
        [(cause, of)] if share(of.ms) > 1.0 - WORTH_A_WORD => format!(": it waits for {}", cause.says()),
        several => {
            let told = several.iter().map(|(cause, of)| (of.ms, cause.says()));
            let rest = row.stalled_ms - all.iter().map(|(_, of)| of.ms).sum::<f64>();
            let told = told.chain((share(rest) >= WORTH_A_WORD).then_some((rest, Cause::Unknown.says())));
            let told = told.map(|(ms, what)| format!("{:.0} % for {what}", 100.0 * share(ms)));
            format!(": it waits {}", told.collect::<Vec<_>>().join(", "))
        }
    }
}

/// What binds a goodput that neither losses nor stalls explain.
pub(super) fn bound_by(row: &SummaryRow) -> String {
    if judged(row).state != State::Slow {
        return String::new();
    }
    if row.marks > 0.0 {
        return " Nothing is lost and nothing stands still: it is slow, and windows are cut by marks.".into();
    }
    let Some(least) = row.least else {
        return " Nothing is lost and nothing stands still: it is slow.".into();
    };
    let parts = [
        (least.round_trips_ms, "round trips"),
        (least.work_ms, "the servers' work"),
        (least.requests_ms, "sending the requests"),
        (least.wire_ms, "its bytes on the wire"),
    ];
    let told = parts.iter().filter(|(ms, _)| *ms >= 0.01 * least.whole_ms);
    let told = told.map(|(ms, what)| format!("{} for {what}", time(*ms))).collect::<Vec<_>>().join(", ");
    format!(
        " Nothing is lost and nothing stands still: it is slow, bound by latency. At the least a round takes {} here, {told}.",
        time(least.whole_ms)
    )
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
