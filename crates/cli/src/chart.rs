//! Tables of a comparison: goodput along the sweep, query times and their causes.

use std::collections::BTreeMap;

use anstyle::{AnsiColor, Style};
use fanin::{Axis, Cause, Counter, Summary, SummaryRow, Variant, Verdict, line_mbps, setting, verdict_at};

use crate::figures::{BOLD, GREY, bar, clean, count, padded, range, shown, three, time, two, wrap};

/// Minimum width of the first column, the swept values.
const LEFT: usize = 7;
/// Width of a scheme's column without its separator; four fit into 100 characters.
const COLUMN: usize = 22;
/// Column separator.
const LINE: &str = "│";
/// Width of a bar.
const BAR: usize = 5;

const GOOD: Style = AnsiColor::Green.on_default();
const DOUBTFUL: Style = AnsiColor::Yellow.on_default();
const BAD: Style = AnsiColor::Red.on_default();
const NONE: Style = Style::new();

/// Draws the tables in `width` characters: as many schemes side by side as fit, the others below, and one set of tables per curve.
/// With `details`, adds a table of rounds and idle periods.
pub fn chart(variants: &[Variant], summary: &Summary, details: bool, width: usize) -> String {
    let (scale, axis) = (Scale::of(variants), Axis::of(variants));
    let ticks = summary.rows.iter().map(|row| shown(&clean(&axis.tick(row))));
    let left = ticks.chain([shown(&axis.title()), LEFT]).max().unwrap_or(LEFT);
    let labels_fit = variants.iter().all(|c| shown(&c.label) < COLUMN);
    let at_once = if labels_fit { (width.saturating_sub(left) / (COLUMN + 1)).max(1) } else { 1 };
    let mut curves: Vec<String> = Vec::new();
    for curve in summary.rows.iter().map(|row| axis.curve(row)) {
        if !curves.contains(&curve) {
            curves.push(curve);
        }
    }
    let parts = curves.iter().flat_map(|curve| {
        let panels = Panels { summary, scale: &scale, axis: &axis, curve, details, left, width };
        variants.chunks(at_once).map(move |some| panels.of(some))
    });
    parts.collect::<Vec<_>>().join("\n")
}

/// Header: title, cluster, workload, seeds, and notes.
pub fn header(name: &str, title: Option<&str>, variants: &[Variant], width: usize) -> String {
    let lines = setting(variants).map(|line| wrap(&line, width, "  "));
    let title = wrap(&clean(title.unwrap_or(name)), width, "");
    format!("{BOLD}{title}{BOLD:#}\n{GREY}{}{GREY:#}\n", lines.join("\n"))
}

/// Notes on all figures, one per line.
pub fn notes(summary: &Summary, width: usize) -> String {
    fanin::notes(summary).iter().map(|note| format!("{GREY}{}{GREY:#}\n", wrap(note, width, "  "))).collect()
}

/// Unit of goodput and scale of bars.
pub struct Scale {
    line_mbps: f64,
    unit_mbps: f64,
    unit: &'static str,
}

impl Scale {
    /// The scale for these clients' links.
    pub fn of(variants: &[Variant]) -> Scale {
        let line_mbps = line_mbps(variants);
        let (unit_mbps, unit) = if line_mbps >= 100_000.0 { (1e3, "Gbit/s") } else { (1.0, "Mbit/s") };
        Scale { line_mbps, unit_mbps, unit }
    }

    /// A goodput without its unit.
    pub fn show(&self, mbps: f64) -> String {
        three(mbps / self.unit_mbps)
    }

    /// The unit of goodput.
    pub fn unit(&self) -> &'static str {
        self.unit
    }

    /// The 95 % CI in at most nine characters: its half width, or a range if it is wide.
    pub fn known(&self, row: &SummaryRow) -> String {
        let goodput = row.goodput_mbps;
        match row.seeds_differ {
            None => String::new(),
            Some(false) => "same".into(),
            Some(true) if row.is_wide() => range(goodput.lo / self.unit_mbps, goodput.hi / self.unit_mbps),
            Some(true) => match two((goodput.hi - goodput.lo) / 2.0 / self.unit_mbps) {
                // Seeds do change results, but less than shown.
                nothing if nothing == "0" => "±<0.1".into(),
                half => format!("±{half}"),
            },
        }
    }
}

/// Tables of some schemes, side by side.
struct Panels<'a> {
    summary: &'a Summary,
    scale: &'a Scale,
    axis: &'a Axis,
    /// Name of the curve; empty if there is only one.
    curve: &'a str,
    details: bool,
    left: usize,
    width: usize,
}

impl Panels<'_> {
    fn of(&self, variants: &[Variant]) -> String {
        let left = self.left;
        let own = |row: &&SummaryRow, label: &str| row.scheme == label && self.axis.curve(row) == self.curve;
        let rows = |label: &str| self.summary.rows.iter().filter(|row| own(row, label)).collect();
        let schemes: Vec<Vec<&SummaryRow>> = variants.iter().map(|c| rows(&c.label)).collect();
        let title = clean(&self.axis.title());
        let names: String =
            variants.iter().map(|c| format!("{LINE} {}", padded(&clean(&c.label), COLUMN - 1))).collect();
        let names = format!("{:left$}{BOLD}{}{BOLD:#}\n", "", names.trim_end());
        let heads = |first: &str| {
            let of = |variant: &Variant| format!("{LINE}{first:>7}{:>5}{:>5}{:>5}", "rto", lost(variant), "mark");
            let heads: String = variants.iter().map(of).collect();
            format!("{GREY}{}{title}{heads}{GREY:#}\n", " ".repeat(left - shown(&title)))
        };
        let has = |what: &str| variants.iter().any(|variant| lost(variant) == what);
        let lost = match (has("drop"), has("pfc"), has("lost")) {
            (true, true, false) => "drops or pauses (pfc)",
            (false, true, false) => "pauses (pfc)",
            (_, _, true) => "drops or, with PFC, pauses (lost)",
            _ => "drops",
        };
        let pauses =
            |row: &SummaryRow| variants.iter().any(|variant| variant.label == row.scheme && pauses(variant, row.place));
        let rounds = schemes.iter().flatten().any(|row| row.rounds + row.rounds_open > 0.0);
        let mut text = self.goodput_title() + &names + &self.panel(&schemes, &|row| format!(" {}", self.goodput(row)));
        text += "\n";
        if rounds {
            text += &self
                .title("query time", &format!(": p99 (>: at least), with timeouts (rto), {lost} and marks per round"));
            text += &(names.clone() + &heads("p99") + &self.panel(&schemes, &|row| why(row, pauses(row))));
            if self.details {
                let says =
                    " per run: started (all), unfinished (cut); idle periods per round: count (n), total time (idle)";
                text += "\n";
                text += &self.title("rounds", &(says.to_string() + &causes(schemes.iter().flatten())));
                let head =
                    format!("{LINE}{:>4}{:>4}{:>4}{:>6}{:>4}", "all", "cut", "n", "idle", "why").repeat(variants.len());
                text += &format!("{names}{GREY}{title:>left$}{head}{GREY:#}\n");
                text += &self.panel(&schemes, &stalls);
            }
        } else {
            text += &self.title("fairness", &format!(" (Jain's index), with timeouts (rto), {lost} and marks per run"));
            text += &(names + &heads("jain") + &self.panel(&schemes, &|row| of_a_run(row, pauses(row))));
        }
        text
    }

    fn goodput_title(&self) -> String {
        let line = self.scale.show(self.scale.line_mbps);
        let curve = if self.curve.is_empty() { String::new() } else { format!(" {}", clean(self.curve)) };
        let mut says = format!("{curve} in {} (full bar: line rate, {line})", self.scale.unit);
        let any = |of: &dyn Fn(&SummaryRow) -> bool| self.summary.rows.iter().any(of);
        if any(&|row| row.seeds_differ == Some(true)) {
            says += "; ± half width of the 95 % CI, wide intervals as a range";
        }
        if any(&|row| row.seeds_differ == Some(false)) {
            says += "; same: all seeds give this value";
        }
        self.title("goodput", &says)
    }

    /// A bold title and its legend, wrapped.
    fn title(&self, word: &str, says: &str) -> String {
        let text = wrap(&format!("{word}{says}"), self.width, "  ");
        let rest = text.strip_prefix(word).unwrap_or_default();
        format!("{BOLD}{word}{BOLD:#}{GREY}{rest}{GREY:#}\n")
    }

    /// One line per point, one cell per scheme.
    fn panel(&self, schemes: &[Vec<&SummaryRow>], cell: &dyn Fn(&SummaryRow) -> String) -> String {
        let mut points: BTreeMap<usize, String> = BTreeMap::new();
        for row in schemes.iter().flatten() {
            points.insert(row.place, clean(&self.axis.tick(row)));
        }
        let mut text = String::new();
        for (place, tick) in points {
            text += &(" ".repeat(self.left.saturating_sub(shown(&tick))) + &tick);
            for rows in schemes {
                let row = rows.iter().find(|row| row.place == place);
                text += &format!("{GREY}{LINE}{GREY:#}{}", row.map_or(" ".repeat(COLUMN), |row| cell(row)));
            }
            text.push('\n');
        }
        text
    }

    /// Bar, mean and interval: one character narrower than [`COLUMN`].
    fn goodput(&self, row: &SummaryRow) -> String {
        let colour = match verdict_at(row) {
            Verdict::Sustains => GOOD,
            Verdict::Collapsed => BAD,
            _ => DOUBTFUL,
        };
        let bar = bar(row.goodput_mbps.mean / self.scale.line_mbps, BAR);
        let (mean, known) = (self.scale.show(row.goodput_mbps.mean), self.scale.known(row));
        format!("{colour}{bar} {mean:>5}{colour:#} {GREY}{known:<9}{GREY:#}")
    }
}

/// The effect of a full port on packets: it drops them, or pauses their senders.
fn lost(variant: &Variant) -> &'static str {
    let mut all = (0..variant.points.len()).map(|place| pauses(variant, place));
    let first = all.next().unwrap_or(false);
    match first {
        _ if all.any(|other| other != first) => "lost",
        true => "pfc",
        false => "drop",
    }
}

/// Whether full ports pause the workload's senders at a point.
fn pauses(variant: &Variant, place: usize) -> bool {
    variant.scheme.rdma().is_some() && variant.points.get(place).is_some_and(|at| at.settings.is_lossless())
}

/// The p99 of query times, then timeouts, drops and marks per round: [`COLUMN`] characters.
fn why(row: &SummaryRow, pauses: bool) -> String {
    let p99 = match row.qct_ms.p99 {
        None => "none".into(),
        Some(p99) if row.qct_ms.is_bound("p99") => format!(">{}", time(p99).replace(' ', "")),
        Some(p99) => time(p99),
    };
    format!("{p99:>7}{}", counts(row, pauses))
}

/// Jain's index, then timeouts, drops and marks per run.
fn of_a_run(row: &SummaryRow, pauses: bool) -> String {
    let jain = row.jain.map_or("none".into(), three);
    format!("{jain:>7}{}", counts(row, pauses))
}

/// Timeouts, drops or pauses, and marks per round or run.
fn counts(row: &SummaryRow, pauses: bool) -> String {
    let cell = |counter: Counter, value: f64, colour: Style| {
        let style = if value > 0.0 { colour } else { GREY };
        let text = if row.measures(counter) { count(row.a_round(value)) } else { "?".into() };
        format!("{style}{text:>5}{style:#}")
    };
    let lost = match pauses {
        true => row.pauses.as_ref().map_or(0.0, |pauses| pauses.count),
        false => row.drops,
    };
    let counts =
        [(Counter::Timeouts, row.timeouts, BAD), (Counter::Drops, lost, NONE), (Counter::Marks, row.marks, NONE)];
    counts.map(|(counter, value, colour)| cell(counter, value, colour)).concat()
}

/// Rounds started and unfinished per run, idle periods per round, their total time and main cause.
fn stalls(row: &SummaryRow) -> String {
    let stalls = row.a_round(row.stalls);
    let style = if stalls > 0.0 { BAD } else { GREY };
    let lost = if stalls > 0.0 { short_time(row.a_round(row.stalled_ms)) } else { "0".into() };
    let (begun, open) = (count(row.begun()), count(row.rounds_open));
    format!("{begun:>4}{open:>4}{style}{:>4}{lost:>6}{:>4}{style:#}", few(stalls), short_cause(row))
}

/// A count in at most three characters if it is small.
fn few(value: f64) -> String {
    count(value).replace("<0.1", "<.1")
}

/// The causes in a table, with their abbreviations; empty without any.
fn causes<'a>(rows: impl Iterator<Item = &'a &'a SummaryRow>) -> String {
    let mut causes: Vec<Cause> = rows.filter_map(|row| Some(row.stalls_by_cause.longest_first().first()?.0)).collect();
    causes.sort_unstable();
    causes.dedup();
    let told: Vec<String> = causes.iter().map(|cause| format!("{} ({})", cause.says(), short(*cause))).collect();
    if told.is_empty() { String::new() } else { format!(", main cause (why): {}", told.join(", ")) }
}

/// The main cause of idle time.
fn short_cause(row: &SummaryRow) -> &'static str {
    row.stalls_by_cause.longest_first().first().map_or("", |(cause, _)| short(*cause))
}

/// A cause in three characters.
fn short(cause: Cause) -> &'static str {
    match cause {
        Cause::Rto => "rto",
        Cause::Tlp => "tlp",
        Cause::Reordering => "reo",
        Cause::Syn => "syn",
        Cause::DelayedAck => "ack",
        Cause::ZeroWindow => "win",
        Cause::LinkFault => "lnk",
        Cause::Host => "hst",
        Cause::Application => "app",
        Cause::Unknown => "",
    }
}

/// A time in at most five characters.
fn short_time(ms: f64) -> String {
    match ms {
        ms if ms < 0.9995 => format!("{:.0}us", ms * 1e3),
        ms if ms < 999.5 => format!("{:.0}ms", ms),
        ms => format!("{}s", two(ms / 1e3)),
    }
}

#[cfg(test)]
mod tests {
    use fanin_lab::Precision;
    use fanin_lab::stats::Interval;

    use super::*;
    use crate::sample::{Curve, CurvePoint, comparison};

    const RENO: Curve = &[
        CurvePoint { fan_in: 2, goodput_mbps: 905.3, p99_ms: 5.21, drops: 0.7, ..CurvePoint::NO_LOSS },
        CurvePoint { fan_in: 8, goodput_mbps: 871.0, p99_ms: 19.8, timeouts: 0.02, drops: 12.3, ..CurvePoint::NO_LOSS },
        CurvePoint {
            fan_in: 32,
            goodput_mbps: 112.4,
            p99_ms: 1_234.0,
            timeouts: 2.13,
            drops: 340.0,
            ..CurvePoint::NO_LOSS
        },
        CurvePoint {
            fan_in: 128,
            goodput_mbps: 96.0,
            p99_ms: 0.0,
            timeouts: 41.0,
            drops: 12_345.0,
            ..CurvePoint::NO_LOSS
        },
    ];
    const M21: Curve = &[
        CurvePoint { fan_in: 2, goodput_mbps: 917.0, p99_ms: 4.7, ..CurvePoint::NO_LOSS },
        CurvePoint { fan_in: 8, goodput_mbps: 915.0, p99_ms: 18.5, ..CurvePoint::NO_LOSS },
        CurvePoint { fan_in: 32, goodput_mbps: 911.0, p99_ms: 74.2, marks: 3.25, ..CurvePoint::NO_LOSS },
    ];

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn schemes_are_side_by_side_if_they_fit() {
        let (variants, summary) = comparison(&[("newreno", Some(32), RENO), ("newreno+m21", None, M21)]);
        insta::assert_snapshot!(plain(&chart(&variants, &summary, true, 100)));
    }

    #[test]
    fn other_schemes_follow_below() {
        let (variants, summary) = comparison(&[("newreno", Some(32), RENO), ("newreno+m21", None, M21)]);
        insta::assert_snapshot!(plain(&chart(&variants, &summary, true, 50)));
    }

    #[test]
    fn collapses_are_red_and_sustained_points_green() {
        let (variants, summary) = comparison(&[("newreno", Some(32), RENO)]);
        let text = chart(&variants, &summary, true, 100);
        let line = |fan_in: &str| text.lines().find(|l| l.starts_with(fan_in)).unwrap();
        assert!(line("      8").contains(&GOOD.to_string()) && line("     32").contains(&BAD.to_string()));
    }

    #[test]
    fn lines_fit_the_terminal_and_columns_stay_apart() {
        let (variants, mut summary) = comparison(&[("newreno", Some(32), RENO), ("newreno+m21", None, M21)]);
        summary.rows[2].goodput_mbps = Interval { mean: 112.4, lo: 8.0, hi: 604.0 };
        summary.rows[3].goodput_mbps = Interval { mean: 23_904.0, lo: 11_111.0, hi: 24_444.0 };
        for width in 50..=120 {
            let text =
                plain(&(header("x", Some("A title"), &variants, width) + &chart(&variants, &summary, true, width)));
            for line in text.lines() {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
            assert!(text.contains(" 112 8.0-604") && text.contains("23904 11k-24k"), "{text}");
        }
    }

    #[test]
    fn marks_lower_bounds_and_unfinished_rounds() {
        let (variants, mut summary) = comparison(&[("newreno", Some(32), RENO)]);
        let row = &mut summary.rows[0];
        (row.rounds_open, row.stalls, row.stalled_ms) = (1.0, 1.0, 2_200.0);
        (row.qct_ms.p99, row.qct_ms.at_least) = (Some(2_000.0), Some("p95"));
        let text = plain(&chart(&variants, &summary, true, 100));
        assert!(text.contains("      2│ >2.00s"), "{text}");
        assert!(text.contains("      2│  11 1.0 0.1 200ms"), "{text}");
    }

    #[test]
    fn notes_runs_without_randomness() {
        let (variants, mut summary) = comparison(&[("newreno", Some(32), RENO)]);
        assert_eq!(notes(&summary, 100), "");
        summary.rows[0].seeds_differ = Some(false);
        let text = plain(&chart(&variants, &summary, true, 100));
        assert!(
            text.contains("905 same") && text.contains("same: all seeds give this value") && !text.contains("±0 "),
            "{text}"
        );
        summary.rows.iter_mut().for_each(|row| row.seeds_differ = Some(false));
        assert_eq!(plain(&notes(&summary, 100)), "nothing is random: all seeds give the same run\n");
    }

    #[test]
    fn notes_a_precision_that_was_not_reached() {
        let (_, mut summary) = comparison(&[("newreno", Some(32), RENO)]);
        summary.precision = Some(Precision { wanted: 0.02, reached: 0.0415 });
        let expected = "precision not reached: 4.15 % (2.00 % requested) with the maximum number of seeds\n";
        assert_eq!(plain(&notes(&summary, 100)), expected);
    }

    #[test]
    fn long_flows_have_no_rounds_table() {
        let (variants, mut summary) = comparison(&[("newreno", Some(32), RENO)]);
        summary.rows.iter_mut().for_each(|row| (row.rounds, row.rounds_open) = (0.0, 0.0));
        let text = plain(&chart(&variants, &summary, true, 100));
        assert!(!text.contains("p99") && !text.contains("round") && text.contains("fairness"), "{text}");
    }
}
