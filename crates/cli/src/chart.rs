//! The table of a comparison: goodput against fan-in, query times, and what is behind them.

use anstyle::{AnsiColor, Style};
use fanin_lab::{Summary, SummaryRow, setting};
use fanin_spec::Contender;

use crate::figures::{BOLD, GREY, bar, clean, count, three, time, two};

/// The first column: fan-in.
const LEFT: usize = 7;
/// A scheme's column without the line before it; four stand beside the first in 100 characters.
const COLUMN: usize = 22;
/// The line between columns.
const LINE: &str = "│";
/// A bar in a scheme's column.
const BAR: usize = 9;

const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default();
const NONE: Style = Style::new();

/// Draws the table in `width` characters: schemes side by side where they fit, else one below the other.
pub fn chart(contenders: &[Contender], summary: &Summary, width: usize) -> String {
    let scale = Scale::of(contenders);
    let note = match summary.rows.iter().any(|row| row.rounds == 0.0) {
        true => format!("{GREY}none: no round ended; counts are those of the whole run{GREY:#}\n"),
        false => String::new(),
    };
    let labels_fit = contenders.iter().all(|c| c.label.chars().count() < COLUMN);
    if labels_fit && LEFT + (COLUMN + 1) * contenders.len() <= width {
        side_by_side(contenders, summary, &scale) + &note
    } else {
        contenders.iter().map(|c| block(c, summary, &scale)).collect::<Vec<_>>().join("\n") + &note
    }
}

/// What was run: title, cluster, workload, seeds.
pub fn header(name: &str, title: Option<&str>, contenders: &[Contender]) -> String {
    let [cluster, workload] = setting(contenders);
    let title = clean(title.unwrap_or(name));
    format!("{BOLD}{title}{BOLD:#}\n{GREY}{cluster}\n{workload}{GREY:#}\n")
}

/// The unit of goodput and what a full bar stands for.
pub struct Scale {
    line_mbps: f64,
    unit_mbps: f64,
    unit: &'static str,
}

impl Scale {
    /// The scale that suits these clients' links.
    pub fn of(contenders: &[Contender]) -> Scale {
        let most = |c: &Contender| c.settings.sweep.fan_in.iter().map(|&n| c.settings.line_rate(n)).max().unwrap_or(1);
        let line_mbps = contenders.iter().map(most).max().unwrap_or(1) as f64 / 1e6;
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

    fn title(&self) -> String {
        let line = self.show(self.line_mbps);
        format!("{BOLD}goodput{BOLD:#}{GREY}, {}; a full bar is line rate, {line}", self.unit)
    }
}

/// The rows of one scheme, by fan-in.
fn rows_of<'a>(summary: &'a Summary, label: &str) -> Vec<&'a SummaryRow> {
    summary.rows.iter().filter(|row| row.scheme == label).collect()
}

fn side_by_side(contenders: &[Contender], summary: &Summary, scale: &Scale) -> String {
    let mut fan_ins: Vec<u32> = summary.rows.iter().map(|row| row.point.fan_in).collect();
    fan_ins.sort_unstable();
    fan_ins.dedup();
    let schemes: Vec<Vec<&SummaryRow>> = contenders.iter().map(|c| rows_of(summary, &c.label)).collect();
    let panel = |cell: &dyn Fn(&SummaryRow, &[&SummaryRow]) -> String| {
        let mut text = String::new();
        for fan_in in &fan_ins {
            text += &format!("{fan_in:>LEFT$}");
            for rows in &schemes {
                let row = rows.iter().find(|row| row.point.fan_in == *fan_in);
                let cell = row.map_or(" ".repeat(COLUMN), |row| cell(row, rows));
                text += &format!("{GREY}{LINE}{GREY:#}{cell}");
            }
            text.push('\n');
        }
        text
    };
    let names: String = contenders.iter().map(|c| format!("{LINE} {:<1$}", clean(&c.label), COLUMN - 1)).collect();
    let names = format!("{:LEFT$}{BOLD}{}{BOLD:#}\n", "", names.trim_end());
    let heads = format!("{LINE}{:>7}{:>5}{:>5}{:>5}", "p99", "rto", "drop", "mark").repeat(contenders.len());
    format!(
        "{}{}{GREY:#}\n{names}{}\n{BOLD}query time{BOLD:#}{GREY}, 99th percentile, and why: timeouts (rto), drops and \
         marks a round{GREY:#}\n{names}{GREY}{:>LEFT$}{heads}{GREY:#}\n{}",
        scale.title(),
        interval_note(summary),
        panel(&|row, rows| format!(" {}", goodput(row, rows, scale, BAR))),
        "senders",
        panel(&|row, _| why(row)),
    )
}

fn interval_note(summary: &Summary) -> String {
    let several = summary.rows.iter().any(|row| row.seeds > 1);
    if several { "; ± half of the 95 % interval".into() } else { String::new() }
}

fn block(contender: &Contender, summary: &Summary, scale: &Scale) -> String {
    let rows = rows_of(summary, &contender.label);
    let mut text = format!(
        "{BOLD}{}{BOLD:#}\n{GREY}{:>LEFT$} {:<32}{:>9}{:>9}{:>5}{:>5}{:>5}{GREY:#}\n",
        clean(&contender.label),
        "senders",
        format!("goodput, {} (bar: of {})", scale.unit, scale.show(scale.line_mbps)),
        "p50",
        "p99",
        "rto",
        "drop",
        "mark",
    );
    for row in &rows {
        let p50 = row.qct_ms.p50.map_or("none".into(), time);
        text += &format!("{:>LEFT$} {}{p50:>9}  {}\n", row.point.fan_in, goodput(row, &rows, scale, 20), why(row));
    }
    text
}

/// Under half of the largest mean at any smaller fan-in.
fn collapsed(row: &SummaryRow, rows: &[&SummaryRow]) -> bool {
    let before = rows.iter().filter(|r| r.point.fan_in < row.point.fan_in);
    before.map(|r| r.goodput_mbps.mean).any(|mean| row.goodput_mbps.mean < mean / 2.0)
}

/// Bar, mean, and half of the interval: `width + 12` characters.
fn goodput(row: &SummaryRow, rows: &[&SummaryRow], scale: &Scale, width: usize) -> String {
    let goodput = row.goodput_mbps;
    let colour = if collapsed(row, rows) { BAD } else { GOOD };
    let bar = bar(goodput.mean / scale.line_mbps, width);
    let half = match row.seeds {
        1 => String::new(),
        _ => format!("±{}", two((goodput.hi - goodput.lo) / 2.0 / scale.unit_mbps)),
    };
    format!("{colour}{bar} {:>5}{colour:#} {GREY}{half:<5}{GREY:#}", scale.show(goodput.mean))
}

/// The 99th percentile of query times, then timeouts, drops and marks a round: [`COLUMN`] characters.
fn why(row: &SummaryRow) -> String {
    let p99 = row.qct_ms.p99.map_or("none".into(), time);
    let cell = |value: f64, colour: Style| {
        let style = if value > 0.0 { colour } else { GREY };
        format!("{style}{:>5}{style:#}", count(row.a_round(value)))
    };
    format!("{p99:>7}{}{}{}", cell(row.timeouts, BAD), cell(row.drops, NONE), cell(row.marks, NONE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::comparison;

    const RENO: &[(u32, f64, f64, f64, f64, f64)] = &[
        (2, 905.3, 5.21, 0.0, 0.7, 0.0),
        (8, 871.0, 19.8, 0.02, 12.3, 0.0),
        (32, 112.4, 1_234.0, 2.13, 340.0, 0.0),
        (128, 96.0, 0.0, 41.0, 12_345.0, 0.0),
    ];
    const M21: &[(u32, f64, f64, f64, f64, f64)] =
        &[(2, 917.0, 4.7, 0.0, 0.0, 0.0), (8, 915.0, 18.5, 0.0, 0.0, 0.0), (32, 911.0, 74.2, 0.0, 0.0, 3.25)];

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn schemes_stand_side_by_side_where_they_fit() {
        let (contenders, summary) = comparison(&[("newreno", Some(32), RENO), ("newreno+m21", None, M21)]);
        insta::assert_snapshot!(plain(&chart(&contenders, &summary, 100)));
    }

    #[test]
    fn schemes_stand_one_below_the_other_where_they_do_not_fit() {
        let (contenders, summary) = comparison(&[("newreno", Some(32), RENO), ("newreno+m21", None, M21)]);
        insta::assert_snapshot!(plain(&chart(&contenders, &summary, 50)));
    }

    #[test]
    fn a_fall_is_red_and_the_rest_is_green() {
        let (contenders, summary) = comparison(&[("newreno", Some(32), RENO)]);
        let text = chart(&contenders, &summary, 100);
        let line = |fan_in: &str| text.lines().find(|l| l.starts_with(fan_in)).unwrap();
        assert!(line("      8").contains(&GOOD.to_string()) && line("     32").contains(&BAD.to_string()));
    }
}
