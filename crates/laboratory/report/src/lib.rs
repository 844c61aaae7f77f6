//! HTML report of a comparison: findings, charts, and timelines of single runs.
//!
//! [`report`] collects the data from finished runs and watches one more run per scheme; [`Report::html`] writes the page.
//! Both depend only on scenario and seeds: no clock, no local path, the same bytes with any `--jobs`.

mod cdf;
mod chart;
mod classes;
mod heat;
mod html;
mod lane;
mod missing;
mod page;
mod paused;
mod paused_links;
mod phases;
mod points;
mod rank_chart;
mod rows;
#[cfg(test)]
mod sample;
mod stall;
mod swarms;
mod timeline;
mod window;

use core::sync::atomic::AtomicBool;

use fanin_spec::{RunSpec, Variant};
use fanin_tables::RunTables;

use fanin_lab::catalogue::{Part, Value};
use fanin_lab::{
    Axis, Broken, Finding, Manifest, Runner, Runs, Summary, SummaryRow, findings_with, line_mbps, notes, quoted,
    setting, sure_onsets,
};

use cdf::Cdf;
pub use chart::{Band, DrawnChart, DrawnCurve, Expected, Mark};
use classes::Classes;
use heat::Heat;
use paused_links::PausedLinks;
use phases::Phases;
use rank_chart::RankChart;
use rows::ReportRow;
use swarms::Swarms;
use timeline::Timeline;

pub use page::{Page, prose, text};

/// The data of the page; its JSON has this form.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Report {
    /// Schema version: 1.
    schema: u32,
    /// fanin's version.
    fanin: String,
    /// The scenario's title, else its file name.
    title: String,
    /// The scenario's file name.
    scenario: String,
    /// The hash of the resolved scenario: equal for equal settings.
    hash: String,
    /// The command, without options that do not affect results (threads, output folder).
    command: String,
    /// The scenario's text as it was read.
    scenario_text: String,
    /// The cluster; the workload and its seeds.
    setting: [String; 2],
    /// Notes on all figures.
    notes: Vec<String>,
    /// Whether many servers send to one client; otherwise there are no rounds, and no sweep is drawn.
    many_to_one: bool,
    /// The rate of the client's link, or the total of all hosts' links if flows have any destination.
    line_mbps: f64,
    /// Settings without effect, or with an unintended one.
    warnings: Vec<String>,
    /// Findings: of all schemes first, then scheme by scheme.
    findings: Vec<Finding>,
    /// The schemes, in command order.
    schemes: Vec<SchemeFacts>,
    /// The x axis: its title, and whether it is logarithmic.
    axis: AxisFacts,
    /// By scheme, then point.
    rows: Vec<ReportRow>,
    /// Columns of shares, the last ones in the table of points.
    shares: Vec<ShareColumn>,
    /// Distributions of times: by scheme, then point.
    cdfs: Vec<Cdf>,
    /// Timeline of one run per scheme; absent if its run could not be watched.
    stories: Vec<Timeline>,
    /// The hubs of one request in the same runs, for schemes with hubs.
    swarms: Vec<Swarms>,
    /// Phases of the job in the same runs, if the workload is one.
    phases: Vec<Phases>,
    /// Pauses of lossless ports in those runs, if there were any.
    paused_links: Vec<PausedLinks>,
    /// Traffic classes in those runs, if the scenario has any.
    classes: Vec<Classes>,
    /// Ports over time in those runs, if measured.
    heats: Vec<Heat>,
    /// Ranks over time in those runs, if the workload is a trace.
    rank_charts: Vec<RankChart>,
    /// HTML of a section below the first chart; empty without one.
    #[serde(skip)]
    section: String,
}

/// A scheme and its collapse points, one per curve, if the seeds decide it.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
struct SchemeFacts {
    label: String,
    /// Its hosts' transport: `tcp`, `rdma` or `uet`.
    transport: &'static str,
    onsets: Vec<usize>,
}

/// A column of shares from 0 to 1.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
struct ShareColumn {
    head: &'static str,
    /// Its path in a row: keys joined by dots.
    at: String,
}

/// The axis of the sweep.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
struct AxisFacts {
    title: String,
    log: bool,
}

/// Builds the report of a comparison. `runner` watches one more run per scheme; without one there are no timelines. A `stop` omits the remaining timelines.
///
/// # Errors
/// A watched run that broke an invariant.
pub fn report(
    runner: Option<&dyn Runner>,
    title: Option<&str>,
    variants: &[Variant],
    manifest: &Manifest,
    summary: &Summary,
    runs: Runs<'_>,
    stop: &AtomicBool,
) -> Result<Report, Broken> {
    let runs: Vec<(&RunSpec, &RunTables)> = runs.finished().collect();
    let many_to_one = variants.iter().any(|c| c.settings.workload.kind.many_to_one());
    // A timeline shows rounds at the client.
    let watched = runner.filter(|_| many_to_one);
    let inside = inside([runner, watched], summary, &runs, stop)?;
    let Inside { stories, swarms, phases, paused_links, classes, heats, rank_charts } = inside;
    let axis = Axis::of(variants);
    let xs = xs(&axis, &summary.rows);
    Ok(Report {
        schema: 1,
        fanin: manifest.version.clone(),
        title: title.unwrap_or(&summary.scenario).into(),
        scenario: summary.scenario.clone(),
        hash: summary.hash.clone(),
        command: command(&manifest.arguments),
        scenario_text: manifest.scenario_text.clone(),
        setting: setting(variants),
        notes: notes(summary),
        many_to_one,
        line_mbps: line_mbps(variants),
        warnings: summary.warnings.clone(),
        findings: findings_with(variants, summary, &stories.iter().filter_map(Timeline::seen).collect::<Vec<_>>()),
        schemes: variants
            .iter()
            .map(|c| SchemeFacts {
                label: c.label.clone(),
                transport: c.scheme.transport.word(),
                onsets: sure_onsets(c, summary),
            })
            .collect(),
        axis: AxisFacts { title: axis.title(), log: is_log(&axis, &xs) },
        rows: summary.rows.iter().zip(xs).map(|(row, x)| ReportRow::new(row, x, &axis, &runs)).collect(),
        shares: shares(&summary.rows),
        cdfs: summary.rows.iter().map(|row| Cdf::new(&row.scheme, row.place, &runs)).collect(),
        stories,
        swarms,
        phases,
        paused_links,
        classes,
        heats,
        rank_charts,
        section: String::new(),
    })
}

/// Charts of one run of each scheme.
#[derive(Default)]
struct Inside {
    stories: Vec<Timeline>,
    swarms: Vec<Swarms>,
    phases: Vec<Phases>,
    paused_links: Vec<PausedLinks>,
    classes: Vec<Classes>,
    heats: Vec<Heat>,
    rank_charts: Vec<RankChart>,
}

/// Chooses a run of each scheme and watches it again: `ranks` for the ranks of a trace, `rounds` for a timeline.
fn inside(
    [ranks, rounds]: [Option<&dyn Runner>; 2],
    summary: &Summary,
    runs: &[(&RunSpec, &RunTables)],
    stop: &AtomicBool,
) -> Result<Inside, Broken> {
    let mut all = Inside::default();
    for (label, _) in &summary.onset.0 {
        let rows: Vec<_> = summary.rows.iter().filter(|row| row.scheme == *label).collect();
        let Some((spec, tables)) = timeline::choose(runs, label, &rows) else { continue };
        if let Some(runner) = rounds
            && let Some((window, seen)) = timeline::look(runner, spec, tables, stop)?
        {
            all.stories.push(Timeline::new(spec, window, &seen));
            all.swarms.extend(Swarms::new(spec, &seen));
        }
        if let Some(runner) = ranks {
            all.rank_charts.extend(RankChart::look(runner, spec, tables, stop)?);
        }
        all.phases.extend(Phases::new(spec, tables));
        all.paused_links.extend(PausedLinks::new(spec, tables));
        all.classes.extend(Classes::new(spec, tables));
        all.heats.extend(Heat::new(spec, tables));
    }
    Ok(all)
}

/// The columns of shares with a value in some row.
fn shares(rows: &[SummaryRow]) -> Vec<ShareColumn> {
    let cells: Vec<Vec<Value>> = rows.iter().map(SummaryRow::cells).collect();
    let told = |(place, _): &(usize, Part)| cells.iter().any(|row| matches!(row[*place], Value::Real(Some(_))));
    let shown = SummaryRow::columns().into_iter().enumerate().filter(told);
    shown.filter_map(|(_, part)| Some(ShareColumn { head: part.head?, at: part.json })).collect()
}

/// The x of each row: its number, or for other values the index of the value.
fn xs(axis: &Axis, rows: &[SummaryRow]) -> Vec<f64> {
    let numbers: Option<Vec<f64>> = rows.iter().map(|row| axis.number(row)).collect();
    let mut ticks: Vec<String> = Vec::new();
    let step = |row| {
        let tick = axis.tick(row);
        let known = ticks.iter().position(|seen| *seen == tick);
        known.unwrap_or_else(|| {
            ticks.push(tick);
            ticks.len() - 1
        }) as f64
            + 1.0
    };
    numbers.unwrap_or_else(|| rows.iter().map(step).collect())
}

/// Numbers of senders use a logarithmic axis; so do other values that span a decade.
fn is_log(axis: &Axis, xs: &[f64]) -> bool {
    let least = xs.iter().copied().fold(f64::INFINITY, f64::min);
    let most = xs.iter().copied().fold(0.0, f64::max);
    axis.doubles() || (least > 0.0 && most >= 10.0 * least)
}

/// The command, quoted for a shell, without options that do not affect results.
fn command(arguments: &[String]) -> String {
    const WITH_VALUE: [&str; 3] = ["--jobs", "--out", "--on"];
    const ALONE: [&str; 2] = ["--json", "--no-cache"];
    let mut text = String::from("fanin");
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let name = argument.split('=').next().unwrap_or_default();
        if WITH_VALUE.contains(&name) {
            if name == argument {
                arguments.next();
            }
        } else if !ALONE.contains(&argument.as_str()) {
            text.push(' ');
            text += &quoted(argument);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(arguments: &[&str]) -> String {
        command(&arguments.iter().map(|a| a.to_string()).collect::<Vec<_>>())
    }

    #[test]
    fn command_omits_options_that_do_not_affect_results() {
        let command = said(&["compare", "a.toml", "--jobs", "2", "--out=d", "--seeds", "3", "--out", "e", "--json"]);
        assert_eq!(command, "fanin compare a.toml --seeds 3");
    }

    #[test]
    fn command_is_quoted_for_a_shell() {
        assert_eq!(
            said(&["compare", "my file.toml", "--set", "link.rate='1 Gbit/s'", ""]),
            r#"fanin compare 'my file.toml' --set 'link.rate='\''1 Gbit/s'\''' ''"#
        );
    }
}
