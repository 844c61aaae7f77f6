//! Flows between any two hosts: what they were given, and their slowdown by size.

use fanin_lab::{Slowdown, Summary, SummaryRow};
use fanin_spec::Contender;

use crate::chart::Scale;
use crate::figures::{BOLD, GREY, clean, columns, count, three, time};

/// A line a scheme: in place of the chart, where there is no fan-in to draw over.
pub fn overview(contenders: &[Contender], summary: &Summary) -> String {
    let scale = Scale::of(contenders);
    let head = [
        "scheme",
        "hosts",
        &format!("goodput of all, {}", scale.unit()),
        "flow time p50",
        "p99",
        "timeouts",
        "drops",
        "marks",
        "longest queue, B",
    ];
    let line = |row: &SummaryRow| {
        vec![
            clean(&row.scheme),
            (row.point.fan_in + 1).to_string(),
            scale.show(row.goodput_mbps.mean),
            row.fct_ms.p50.map_or("none".into(), time),
            row.fct_ms.p99.map_or("none".into(), time),
            count(row.timeouts),
            count(row.drops),
            count(row.marks),
            row.queue_max_bytes.to_string(),
        ]
    };
    columns(&head, &summary.rows.iter().map(line).collect::<Vec<_>>())
}

/// Slowdowns by fan-in, size and scheme; nothing where no flow has any.
pub fn slowdown(summary: &Summary) -> String {
    let mut fan_ins: Vec<u32> =
        summary.rows.iter().filter(|r| !r.slowdown.is_empty()).map(|r| r.point.fan_in).collect();
    fan_ins.sort_unstable();
    fan_ins.dedup();
    if fan_ins.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "{BOLD}slowdown{BOLD:#}{GREY} by size: a flow's time over the least time alone in the network{GREY:#}\n"
    );
    for fan_in in fan_ins {
        let rows: Vec<&SummaryRow> = summary.rows.iter().filter(|row| row.point.fan_in == fan_in).collect();
        let sizes = rows.iter().map(|row| row.slowdown.len()).max().unwrap_or(0);
        let hosts = format!("between {} hosts", fan_in + 1);
        let mut lines = Vec::new();
        for bucket in (0..sizes).filter_map(|i| rows.iter().find_map(|row| row.slowdown.get(i)).map(|b| (i, b.sizes))) {
            lines.push([vec![bucket.1.to_string()], vec![String::new(); 5]].concat());
            let of_schemes = rows.iter().filter_map(|row| row.slowdown.get(bucket.0).map(|b| line(row, b)));
            lines.extend(of_schemes);
        }
        text += &columns(&[&hosts, "flows", "unfinished", "mean", "p50", "p99"], &lines);
    }
    text
}

fn line(row: &SummaryRow, bucket: &Slowdown) -> Vec<String> {
    let times = |value: Option<f64>| value.map_or("none".into(), three);
    let (flows, unfinished) = (bucket.flows.to_string(), bucket.unfinished.to_string());
    let figures = [times(bucket.mean), times(bucket.p50), times(bucket.p99)];
    [format!("  {}", clean(&row.scheme)), flows, unfinished].into_iter().chain(figures).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::comparison;

    #[test]
    fn schemes_stand_below_one_another_in_each_bucket_of_sizes() {
        let curve: &[(u32, f64, f64, f64, f64, f64)] = &[(15, 905.3, 20.0, 0.0, 0.0, 0.0)];
        let (_, mut summary) = comparison(&[("newreno", None, curve), ("dctcp", None, curve)]);
        assert_eq!(slowdown(&summary), "");
        for (row, p99) in summary.rows.iter_mut().zip([Some(41.5), None]) {
            let bucket = Slowdown {
                sizes: "to 10 KB",
                over_bytes: 0,
                up_to_bytes: Some(10_000),
                flows: 120,
                unfinished: 3,
                mean: p99,
                p50: p99,
                p99,
            };
            row.slowdown.push(bucket);
        }
        let text = anstream::adapter::strip_str(&slowdown(&summary)).to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[1..],
            [
                "between 16 hosts  flows  unfinished  mean   p50   p99",
                "to 10 KB",
                "  newreno           120           3  41.5  41.5  41.5",
                "  dctcp             120           3  none  none  none",
            ]
        );
    }
}
