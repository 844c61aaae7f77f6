//! A sentence a scheme: where it collapses, or how far it holds.

use anstyle::AnsiColor;
use fanin_lab::{Summary, SummaryRow};
use fanin_spec::Contender;

use crate::chart::{Scale, rounds, rows_of};
use crate::figures::{clean, count, time, wrap};

/// The sentences of all schemes, each from a line of its own, wrapped at `width`.
pub fn verdicts(contenders: &[Contender], summary: &Summary, width: usize) -> String {
    let scale = Scale::of(contenders);
    let mut text = String::new();
    for contender in contenders {
        let onset = summary.onset.0.iter().find(|(label, _)| *label == contender.label).and_then(|(_, n)| *n);
        let rows = rows_of(summary, &contender.label);
        let (head, rest) = match onset {
            Some(fan_in) => collapse(contender, &rows, fan_in, &scale),
            None => hold(&rows, &scale),
        };
        let colour = if onset.is_some() { AnsiColor::Red } else { AnsiColor::Green }.on_default().bold();
        let label = clean(&contender.label);
        let sentence = wrap(&format!("{label} {head}{rest}"), width, "  ");
        // The head is coloured after wrapping, which counts characters; it is at the start of the first line.
        let coloured = format!("{label} {head}");
        text += &match sentence.strip_prefix(&coloured) {
            Some(rest) => format!("{colour}{coloured}{colour:#}{rest}\n"),
            None => format!("{sentence}\n"),
        };
    }
    text
}

fn collapse(contender: &Contender, rows: &[&SummaryRow], fan_in: u32, scale: &Scale) -> (String, String) {
    let head = format!("collapses at {fan_in} senders");
    let recovery = recovery(rows, fan_in, scale);
    let Some(row) = rows.iter().find(|row| row.point.fan_in == fan_in) else { return (head, String::new()) };
    let before = rows.iter().filter(|r| r.point.fan_in < fan_in).map(|r| r.goodput_mbps.mean);
    let best = before.fold(0.0, f64::max);
    let fall = format!(": goodput falls from {} to {}", scale.show(best), scale.show_with_unit(row.goodput_mbps.mean));
    let timeouts = row.timeouts / rounds(row);
    let why = match row.qct_ms.mean {
        None => format!("no round ended, after {} timeouts a run", count(row.timeouts)),
        Some(mean) if timeouts >= 0.05 => format!(
            "a round takes {} on average and has {} retransmission timeouts of {} or more",
            time(mean),
            count(timeouts),
            contender.settings.tcp.rto_min
        ),
        Some(mean) => format!("a round takes {} on average, with hardly a retransmission timeout", time(mean)),
    };
    (head, format!("{fall}; {why}{recovery}"))
}

/// Goodput that falls and recovers has more than one onset, or none: that is said.
fn recovery(rows: &[&SummaryRow], fallen: u32, scale: &Scale) -> String {
    let before = rows.iter().filter(|r| r.point.fan_in < fallen).map(|r| r.goodput_mbps.mean);
    let best = before.fold(0.0, f64::max);
    let behind = rows.iter().find(|r| r.point.fan_in > fallen && r.goodput_mbps.mean >= best / 2.0);
    behind.map_or(String::new(), |row| {
        format!("; but it recovers to {} at {}", scale.show(row.goodput_mbps.mean), row.point.fan_in)
    })
}

/// The first fan-in at which goodput falls under half of an earlier best, where that is no onset since it recovers at
/// the next point.
fn dip(rows: &[&SummaryRow]) -> Option<u32> {
    let mut best = 0.0;
    for row in rows {
        if row.goodput_mbps.mean < best / 2.0 {
            return Some(row.point.fan_in);
        }
        best = best.max(row.goodput_mbps.mean);
    }
    None
}

fn hold(rows: &[&SummaryRow], scale: &Scale) -> (String, String) {
    let Some(last) = rows.last() else { return ("has no finished run".into(), String::new()) };
    let (fan_in, goodput) = (last.point.fan_in, last.goodput_mbps.mean);
    if rows.len() == 1 {
        return (
            format!("moves {} with {fan_in} senders", scale.show_with_unit(goodput)),
            "; one fan-in shows no onset".into(),
        );
    }
    let best = rows.iter().map(|row| row.goodput_mbps.mean).fold(0.0, f64::max);
    let timeouts = last.timeouts / rounds(last);
    let of = if goodput < 0.9 * best { format!(", of {} at best", scale.show(best)) } else { String::new() };
    let why = if timeouts >= 0.05 { format!(", with {} timeouts a round", count(timeouts)) } else { String::new() };
    if let Some(dip) = dip(rows) {
        let recovery = recovery(rows, dip, scale);
        let there = rows.iter().find(|row| row.point.fan_in == dip).map_or(0.0, |row| row.goodput_mbps.mean);
        return (format!("falls to {} at {dip} senders", scale.show_with_unit(there)), recovery);
    }
    let head = format!("holds to {fan_in}, the largest fan-in tried");
    // A scheme that waits for timeouts from the first point on has no better one to fall from.
    let waits = rows.iter().all(|row| row.timeouts / rounds(row) >= 0.5);
    let doubt = if waits { "; but every fan-in has timeouts: an onset may lie below the smallest" } else { "" };
    (head, format!(": {} there{of}{why}{doubt}", scale.show_with_unit(goodput)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Curve, comparison};

    fn verdict(onset: Option<u32>, curve: Curve) -> String {
        let (contenders, summary) = comparison(&[("newreno", onset, curve)]);
        anstream::adapter::strip_str(&verdicts(&contenders, &summary, 200)).to_string()
    }

    #[test]
    fn a_collapse_names_its_onset_the_fall_and_the_timeouts() {
        let curve: Curve = &[(8, 905.3, 20.0, 0.0, 0.0, 0.0), (16, 212.0, 406.0, 2.13, 50.0, 0.0)];
        assert_eq!(
            verdict(Some(16), curve),
            "newreno collapses at 16 senders: goodput falls from 905 to 212 Mbit/s; a round takes 203 ms on average \
             and has 2.1 retransmission timeouts of 200 ms or more\n"
        );
    }

    #[test]
    fn a_collapse_in_which_no_round_ends_says_so() {
        let curve: Curve = &[(8, 905.3, 20.0, 0.0, 0.0, 0.0), (16, 12.0, 0.0, 41.0, 50.0, 0.0)];
        assert!(verdict(Some(16), curve).ends_with("no round ended, after 410 timeouts a run\n"));
    }

    #[test]
    fn a_scheme_that_holds_says_how_far_and_how_well() {
        let well: Curve = &[(8, 905.3, 20.0, 0.0, 0.0, 0.0), (128, 900.0, 300.0, 0.0, 0.0, 0.0)];
        assert_eq!(verdict(None, well), "newreno holds to 128, the largest fan-in tried: 900 Mbit/s there\n");
        let worse: Curve = &[(8, 905.3, 20.0, 0.0, 0.0, 0.0), (128, 500.0, 300.0, 0.1, 0.0, 0.0)];
        assert!(verdict(None, worse).ends_with(": 500 Mbit/s there, of 905 at best, with 0.1 timeouts a round\n"));
    }

    #[test]
    fn what_waits_for_timeouts_everywhere_is_not_said_to_hold_without_a_doubt() {
        let curve: Curve = &[(32, 200.0, 400.0, 3.0, 0.0, 0.0), (64, 190.0, 800.0, 5.0, 0.0, 0.0)];
        assert!(verdict(None, curve).contains("an onset may lie below the smallest"));
    }

    #[test]
    fn goodput_that_falls_and_recovers_is_said_to() {
        let curve: Curve =
            &[(8, 905.3, 20.0, 0.0, 0.0, 0.0), (16, 212.0, 406.0, 0.0, 0.0, 0.0), (32, 800.0, 100.0, 0.0, 0.0, 0.0)];
        assert_eq!(verdict(None, curve), "newreno falls to 212 Mbit/s at 16 senders; but it recovers to 800 at 32\n");
        let longer: Curve = &[curve[0], curve[1], (24, 200.0, 406.0, 0.0, 0.0, 0.0), curve[2]];
        assert!(verdict(Some(16), longer).ends_with("; but it recovers to 800 at 32\n"));
    }

    #[test]
    fn one_fan_in_shows_no_onset() {
        let curve: Curve = &[(32, 200.0, 400.0, 0.0, 0.0, 0.0)];
        assert_eq!(verdict(None, curve), "newreno moves 200 Mbit/s with 32 senders; one fan-in shows no onset\n");
    }
}
