//! Hourly figures of hosts, and their summary (`fanin watch --summary`).

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::names::printable;
use crate::watch::figures::{Figures, PER_SECOND};
use crate::watch::row::Cause;

/// Seconds of an hour and of a day.
pub const HOUR: u64 = 3_600;
const DAY: u64 = 24 * HOUR;

/// Figures of an hour, or of a part of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HourRow {
    /// The host.
    pub host: String,
    /// Its network device.
    pub device: String,
    /// Its rack, if that is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rack: Option<String>,
    /// Begin of the hour, Unix time.
    pub start_s: u64,
    /// Time that was watched.
    pub watched_s: f64,
    /// The figures.
    #[serde(flatten)]
    pub figures: Figures,
}

/// Figures of a group of rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Group {
    /// Rack, host and device, hour of the day (UTC), or day.
    pub name: String,
    /// Time that was watched.
    pub watched_s: f64,
    /// The figures.
    #[serde(flatten)]
    pub figures: Figures,
}

/// A summary of hosts.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// By rack, if racks are set; most bursts first.
    pub racks: Vec<Group>,
    /// By host and device; most bursts first.
    pub hosts: Vec<Group>,
    /// By hour of the day, UTC.
    pub hours: Vec<Group>,
    /// By day.
    pub days: Vec<Group>,
}

/// Reads rows, one JSON object a line.
///
/// # Errors
/// Names the line that is no row.
pub fn read(name: &str, text: &str) -> Result<Vec<HourRow>, String> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let row = |(number, line)| {
        serde_json::from_str(line)
            .map_err(|error| format!("{name}, line {}: no row of `fanin watch --write`: {error}", number + 1))
    };
    lines.map(row).collect()
}

impl Summary {
    /// Joins rows.
    pub fn of(rows: &[HourRow]) -> Summary {
        let by = |name: &dyn Fn(&HourRow) -> Option<String>| {
            let mut groups: BTreeMap<String, Group> = BTreeMap::new();
            for (row, name) in rows.iter().filter_map(|row| Some((row, name(row)?))) {
                let group = groups.entry(name.clone()).or_insert(Group { name, ..Group::default() });
                group.watched_s += row.watched_s;
                group.figures.join(&row.figures);
            }
            groups.into_values().collect::<Vec<_>>()
        };
        let mut racks = by(&|row| row.rack.clone());
        let mut hosts = by(&|row| Some(format!("{} {}", row.host, row.device)));
        for groups in [&mut racks, &mut hosts] {
            groups.sort_by_key(|group| std::cmp::Reverse(group.figures.bursts));
        }
        let hours = by(&|row| Some(format!("{:02}:00", row.start_s % DAY / HOUR)));
        Summary { racks, hosts, hours, days: by(&|row| Some(day(row.start_s))) }
    }

    /// As a text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let tables = [("rack", &self.racks), ("host", &self.hosts), ("hour (UTC)", &self.hours), ("day", &self.days)];
        for (title, groups) in tables.into_iter().filter(|(_, groups)| !groups.is_empty()) {
            let _ = writeln!(
                text,
                "{title:<24} {:>8} {:>8} {:>11} {:>11} {:>10} {:>10} {:>9} {:>11}",
                "bursts", "an hour", "p50 fan-in", "p99 fan-in", "p99 ms", "resent", "timeouts", "waiting s"
            );
            groups.iter().for_each(|group| text += &line(group));
            text.push('\n');
        }
        let mut all = Figures::default();
        self.days.iter().for_each(|group| all.join(&group.figures));
        text += &services(&all);
        text += "fan-in of bursts\n";
        for (bound, count) in all.fan_in.buckets() {
            let _ = writeln!(text, "{:>12} {count:>10}", format!("to {bound}"));
        }
        text
    }
}

fn line(group: &Group) -> String {
    let Figures { bursts, resent, fan_in, duration, waits, .. } = &group.figures;
    let timeouts = waits.get(&Cause::Timeout).map_or(0, |waited| waited.count);
    let waiting: f64 = waits.values().map(|waited| waited.ms / 1e3).sum();
    format!(
        "{:<24} {bursts:>8} {:>8.1} {:>11} {:>11} {:>10.1} {resent:>10} {timeouts:>9} {waiting:>11.3}\n",
        printable(&group.name),
        *bursts as f64 / (group.watched_s / HOUR as f64).max(1e-9),
        fan_in.quantile(0.5),
        fan_in.quantile(0.99),
        duration.quantile(0.99) as f64 / PER_SECOND as f64 * 1e3,
    )
}

/// Services, most bytes of bursts first.
fn services(figures: &Figures) -> String {
    let mut rows: Vec<_> = figures.services.iter().collect();
    if rows.is_empty() {
        return String::new();
    }
    rows.sort_by_key(|(_, served)| std::cmp::Reverse(served.bytes));
    let mut text = format!("{:<48} {:>8} {:>11} {:>8} {:>11}\n", "service", "bursts", "MiB", "waits", "waiting s");
    for (name, served) in rows {
        let (mib, wait_s) = (served.bytes as f64 / f64::from(1 << 20), served.wait_ms / 1e3);
        let name = printable(name);
        let _ = writeln!(text, "{name:<48} {:>8} {mib:>11.1} {:>8} {wait_s:>11.3}", served.bursts, served.waits);
    }
    text + "\n"
}

/// Date of a Unix time (proleptic Gregorian calendar, days since 1 March of year 0).
fn day(unix_s: u64) -> String {
    let days = unix_s / DAY + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year}-{month:02}-{:02}", of_year - (153 * from_march + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::burst::Burst;
    use crate::watch::row::{BurstRow, Receiver};

    fn hour(host: &str, start_s: u64, fan_ins: &[u64]) -> HourRow {
        let mut figures = Figures::default();
        for fan_in in fan_ins {
            let burst = Burst { fan_in: *fan_in, bytes: 9, packets: 3, resent: 1, ..Burst::default() };
            let row = BurstRow {
                start_s: 0.0,
                duration_ms: 2.0,
                peak_mbit: 0.0,
                link_mbit: 1,
                rate_is_assumed: false,
                burst,
                receivers: vec![Receiver {
                    service: "web.service".into(),
                    cgroup: "/web.service".into(),
                    bytes: 1 << 19,
                }],
            };
            figures.burst(&row);
        }
        let rack = (host == "b").then(|| "r1".into());
        HourRow { host: host.into(), device: "eth0".into(), rack, start_s, watched_s: 1_800.0, figures }
    }

    #[test]
    fn hosts_hours_and_days_are_joined() {
        let rows = [hour("a", 3_600, &[4]), hour("b", 3_600, &[32, 33, 2]), hour("a", DAY + 3_600, &[1])];
        let text: String = rows.iter().map(|row| serde_json::to_string(row).unwrap() + "\n").collect();
        let read = read("rows", &text).unwrap();
        assert_eq!(read, rows);
        let summary = Summary::of(&read);
        let figures =
            |groups: &[Group]| groups.iter().map(|one| (one.name.clone(), one.figures.bursts)).collect::<Vec<_>>();
        assert_eq!(figures(&summary.hosts), [("b eth0".to_string(), 3), ("a eth0".to_string(), 2)]);
        assert_eq!(figures(&summary.hours), [("01:00".to_string(), 5)]);
        assert_eq!(figures(&summary.days), [("1970-01-01".to_string(), 4), ("1970-01-02".to_string(), 1)]);
        assert_eq!(figures(&summary.racks), [("r1".to_string(), 3)]);
        let text = summary.text();
        assert!(
            text.contains("web.service                                             5         2.5        0       0.000"),
            "{text}"
        );
        assert!(text.contains("b eth0                          3      6.0          32          64"), "{text}");
        assert!(text.contains("to 64          1"), "{text}");
    }

    #[test]
    fn dates_follow_the_calendar() {
        let dates = [0, 951_782_400, 951_868_800, 1_735_603_200, 1_796_031_897].map(day);
        assert_eq!(dates, ["1970-01-01", "2000-02-29", "2000-03-01", "2024-12-31", "2026-11-30"]);
    }

    #[test]
    fn line_that_is_no_row_is_named() {
        let wrong = read("x.jsonl", "\n{}\n").unwrap_err();
        assert!(wrong.starts_with("x.jsonl, line 2: no row of `fanin watch --write`"), "{wrong}");
    }
}
