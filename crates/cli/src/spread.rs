//! Tables of any-to-any workloads: goodput, latency, and slowdown by size.

use fanin::{Axis, Latency, Pauses, Slowdown, Summary, SummaryRow, TIERS, Tier, Variant};

use crate::chart::Scale;
use crate::figures::{BOLD, GREY, clean, columns, count, cut, padded, three, time, wrap};

/// One line per scheme and point, instead of the chart of a many-to-one workload.
pub fn overview<'a>(variants: &[Variant], axis: &'a Axis, summary: &'a Summary, width: usize) -> String {
    let scale = Scale::of(variants);
    let goodput = format!("total goodput, {}", scale.unit());
    // A shuffle or job is one round, with a duration.
    let timed = summary.rows.iter().any(|row| row.rounds + row.rounds_open > 0.0);
    // All-reduces and all-to-alls have a bandwidth; lossless ports may pause links.
    let moved = summary.rows.iter().any(|row| row.bus_gbytes_per_s.is_some());
    let paused = summary.rows.iter().any(|row| row.pauses.is_some());
    let bounded = summary.rows.iter().any(|row| row.ideal_mbps.is_some());
    let least = |bound: bool| if bound { ">" } else { "" };
    let line = |row: &'a SummaryRow| {
        let took = row.qct_ms.mean.map(|mean| format!("{}{}", least(row.qct_ms.at_least.is_some()), time(mean)));
        let mut cells = vec![("scheme", clean(&row.scheme)), ("hosts", row.hosts.to_string())];
        cells.extend(axis.columns(row).map(|(key, value)| (key, clean(&value))));
        if timed {
            let p99 = row.qct_ms.p99.map(|p99| format!("{}{}", least(row.qct_ms.is_bound("p99")), time(p99)));
            cells.extend([("takes", took.unwrap_or("none".into())), ("takes p99", p99.unwrap_or("none".into()))]);
        }
        cells.extend([
            (goodput.as_str(), scale.show(row.goodput_mbps.mean)),
            ("", scale.known(row)),
            ("flow time p50", row.fct_ms.p50.map_or("none".into(), time)),
            ("p99", row.fct_ms.p99.map_or("none".into(), time)),
            ("jain", row.jain.map_or("none".into(), three)),
            ("timeouts", count(row.timeouts)),
            ("drops", count(row.drops)),
            ("marks", count(row.marks)),
        ]);
        cells.extend(moved.then(|| ("bus, GB/s", row.bus_gbytes_per_s.map_or("none".into(), |bus| three(bus.mean)))));
        let share = |ideal: f64| three(100.0 * row.goodput_mbps.mean / ideal);
        cells.extend(bounded.then(|| ("% of ideal", row.ideal_mbps.map_or("none".into(), share))));
        cells.extend(paused.then(|| ("pauses", count(row.pauses.as_ref().map_or(0.0, |pauses| pauses.count)))));
        cells.extend([("longest queue, B", row.queue_max_bytes.to_string())]);
        cells
    };
    let lines: Vec<Vec<(&str, String)>> = summary.rows.iter().map(line).collect();
    let head: Vec<&str> = lines.first().map_or(Vec::new(), |line| line.iter().map(|(name, _)| *name).collect());
    let rows: Vec<Vec<String>> =
        lines.into_iter().map(|line| line.into_iter().map(|(_, cell)| cell).collect()).collect();
    let keys = 2 + summary.rows.first().map_or(0, |row| axis.columns(row).count());
    if rows.is_empty() { String::new() } else { columns(&head, &rows, keys, width) }
}

/// Background traffic, if any: one line per scheme.
pub fn background(variants: &[Variant], summary: &Summary, width: usize) -> String {
    let (scale, axis) = (Scale::of(variants), Axis::of(variants));
    let line = |row: &SummaryRow| {
        let background = row.background?;
        let mut cells = place(row, row.servers, &axis);
        let counts = [background.timeouts, background.drops].map(count);
        cells.extend([clean(&row.scheme), scale.show(background.goodput_mbps)].into_iter().chain(counts));
        Some(cells)
    };
    let lines: Vec<_> = summary.rows.iter().filter_map(line).collect();
    if lines.is_empty() {
        return String::new();
    }
    let goodput = format!("goodput, {}", scale.unit());
    let head = heads(&["servers"], summary, &axis, &["scheme", &goodput, "timeouts", "drops"]);
    let table = columns(&head, &lines, head.len() - 3, width);
    title("background", " traffic, not included above; per run", width) + &table
}

/// First cells of a line: the number of participants and other swept values.
fn place(row: &SummaryRow, many: u32, axis: &Axis) -> Vec<String> {
    std::iter::once(many.to_string()).chain(axis.columns(row).map(|(_, value)| clean(&value))).collect()
}

/// Column heads: those `before` the swept keys, the swept keys, and those `behind`.
fn heads<'a>(before: &[&'a str], summary: &'a Summary, axis: &'a Axis, behind: &[&'a str]) -> Vec<&'a str> {
    let swept = summary.rows.first().into_iter().flat_map(|row| axis.columns(row)).map(|(key, _)| key);
    before.iter().copied().chain(swept).chain(behind.iter().copied()).collect()
}

/// A bold title and its legend, wrapped.
fn title(word: &str, says: &str, width: usize) -> String {
    let text = wrap(&format!("{word}{says}"), width, "  ");
    let rest = text.strip_prefix(word).unwrap_or_default();
    format!("{BOLD}{word}{BOLD:#}{GREY}{rest}{GREY:#}\n")
}

/// Latency of data packets by class, if measured: one line per class and scheme.
pub fn latency(axis: &Axis, summary: &Summary, width: usize) -> String {
    let mut found: Vec<(&SummaryRow, &Latency)> =
        summary.rows.iter().flat_map(|row| row.latency.iter().map(move |latency| (row, latency))).collect();
    // Stable order of schemes within a class.
    found.sort_by(|(row, one), (under, other)| (&one.class, row.place).cmp(&(&other.class, under.place)));
    let line = |&(row, Latency { class, packets, ms }): &(&SummaryRow, &Latency)| {
        let mut cells = vec![class.clone()];
        cells.extend(place(row, row.hosts, axis));
        cells.extend([clean(&row.scheme), count(*packets)]);
        cells.extend([ms.mean, ms.p50, ms.p99].map(|ms| ms.map_or("none".into(), time)));
        cells
    };
    let lines: Vec<_> = found.iter().map(line).collect();
    if lines.is_empty() {
        return String::new();
    }
    let head = heads(&["class", "hosts"], summary, axis, &["scheme", "packets", "mean", "p50", "p99"]);
    let table = columns(&head, &lines, head.len() - 4, width);
    title("latency", " of data packets, end to end", width) + &table
}

/// The background service, if any: one line per scheme.
pub fn service(axis: &Axis, summary: &Summary, width: usize) -> String {
    let line = |row: &SummaryRow| {
        let service = row.service?;
        let qct = service.qct_ms;
        let times = [(qct.mean, "max"), (qct.p50, "p50"), (qct.p99, "p99"), (qct.max, "max")];
        let mut cells = place(row, row.hosts, axis);
        cells.extend([clean(&row.scheme), count(service.queries), count(service.unfinished)]);
        let least = |name| if qct.is_bound(name) { ">" } else { "" };
        cells.extend(times.map(|(ms, name)| ms.map_or("none".into(), |ms| format!("{}{}", least(name), time(ms)))));
        Some(cells)
    };
    let lines: Vec<_> = summary.rows.iter().filter_map(line).collect();
    if lines.is_empty() {
        return String::new();
    }
    let head = heads(&["hosts"], summary, axis, &["scheme", "queries", "unfinished", "mean", "p50", "p99", "max"]);
    title("service", " in the background: times of its queries (>: at least)", width)
        + &columns(&head, &lines, head.len() - 6, width)
}

/// Ports by tier, if measured: one line per tier and scheme.
pub fn tiers(axis: &Axis, summary: &Summary, width: usize) -> String {
    let mut found: Vec<(&SummaryRow, &Tier)> =
        summary.rows.iter().flat_map(|row| row.tiers.iter().map(move |tier| (row, tier))).collect();
    // Stable order of schemes within a tier.
    found.sort_by_key(|(row, tier)| (TIERS.iter().position(|known| *known == tier.tier), row.place));
    let line = |&(row, tier): &(&SummaryRow, &Tier)| {
        let kilobytes = |bytes: f64| three(bytes / 1e3);
        let mut cells = vec![tier.tier.to_string()];
        cells.extend(place(row, row.hosts, axis));
        cells.extend([
            clean(&row.scheme),
            kilobytes(tier.queue_mean_bytes),
            kilobytes(tier.queue_p99_bytes as f64),
            kilobytes(tier.queue_max_bytes as f64),
            three(tier.busy_share * 100.0),
        ]);
        cells.extend([tier.drops_full, tier.drops_early, tier.drops_not_ect, tier.drops_down, tier.marks].map(count));
        cells
    };
    let lines: Vec<_> = found.iter().map(line).collect();
    if lines.is_empty() {
        return String::new();
    }
    let says =
        " by tier: queue in KB, mean over ports and time; p99 over time and maximum at the port where they are largest";
    let names = ["scheme", "queue", "p99", "longest", "busy, %", "drops: full", "early", "not ECT", "down", "marks"];
    let head = heads(&["tier", "hosts"], summary, axis, &names);
    title("ports", says, width) + &columns(&head, &lines, head.len() - names.len() + 1, width)
}

/// Shared memories, if measured.
pub fn memories(axis: &Axis, summary: &Summary, width: usize) -> String {
    let line = |row: &SummaryRow| {
        let memories = row.memories.as_ref()?;
        let percent = |share: f64| three(share * 100.0);
        let mut cells = place(row, row.hosts, axis);
        cells.push(clean(&row.scheme));
        cells.extend([memories.used_mean_share, memories.used_p99_share, memories.used_max_share].map(percent));
        cells.push(count(memories.refused_packets));
        let squeezed = memories.squeezed.as_ref();
        let [port, packets, elsewhere] = squeezed.map_or(["none".into(), String::new(), String::new()], |squeezed| {
            [clean(&squeezed.port), count(squeezed.refused_packets), percent(squeezed.elsewhere_share)]
        });
        cells.extend([packets, elsewhere, port]);
        Some(cells)
    };
    let lines: Vec<_> = summary.rows.iter().filter_map(line).collect();
    if lines.is_empty() {
        return String::new();
    }
    let says = " of switches: % in use, mean over switches and time; packets refused per run; packets refused at the port with the \
                most, and % of the memory in use that other ports held then";
    let names = ["scheme", "in use", "p99", "max", "refused", "there", "held, %", "port"];
    let head = heads(&["hosts"], summary, axis, &names);
    title("shared memory", says, width) + &columns(&head, &lines, head.len() - names.len() + 1, width)
}

/// Ranks of a trace: one line per point and scheme.
pub fn ranks(axis: &Axis, summary: &Summary, width: usize) -> String {
    let line = |row: &SummaryRow| {
        let ranks = row.ranks.as_ref()?;
        let mut cells = place(row, row.hosts, axis);
        cells.extend([clean(&row.scheme), time(ranks.exposed_ms)]);
        cells.push(ranks.hidden_share.map_or("none".into(), |share| three(share * 100.0)));
        cells.extend(ranks.slowest.as_ref().map_or(["none".into(), String::new(), String::new()], |slowest| {
            [slowest.host.to_string(), time(slowest.delays_ms), slowest.because.clone()]
        }));
        Some(cells)
    };
    let lines: Vec<_> = summary.rows.iter().filter_map(line).collect();
    if lines.is_empty() {
        return String::new();
    }
    let says = ": time of a rank in communication without computation; % of communication during computation; the rank for which the others                 waited longest, their time together, and its cause";
    let names = ["scheme", "exposed", "hidden, %", "slowest", "delays", "because of"];
    let head = heads(&["hosts"], summary, axis, &names);
    title("ranks", says, width) + &columns(&head, &lines, head.len() - names.len() + 1, width)
}

/// Pauses of lossless ports, if there were any: one line per point and scheme.
pub fn pauses(axis: &Axis, summary: &Summary, width: usize) -> String {
    let paused = || summary.rows.iter().filter_map(|row| row.pauses.as_ref().map(|pauses| (row, pauses)));
    let line = |(row, pauses): (&SummaryRow, &Pauses)| {
        let mut cells = place(row, row.servers, axis);
        cells.extend([clean(&row.scheme), count(pauses.count), three(100.0 * pauses.share), count(pauses.links)]);
        cells.extend([time(pauses.paused_ms), time(pauses.longest_ms)]);
        cells.extend([three(pauses.spread_share * 100.0), count(pauses.blocked_packets)]);
        cells.extend([three(pauses.cause_share * 100.0), clean(&pauses.cause)]);
        cells
    };
    let lines: Vec<_> = paused().map(line).collect();
    if lines.is_empty() {
        return String::new();
    }
    let says = ": links that switches paused, per run; share of senders' time; their pauses together, and the longest; share that spread from a \
                paused port; blocked packets that go elsewhere; the main cause";
    let names = ["scheme", "pauses", "time, %", "links", "paused", "longest", "spread, %", "blocked", "%", "cause"];
    let head = heads(&["servers"], summary, axis, &names);
    let mut text = title("pauses", says, width) + &columns(&head, &lines, head.len() - names.len() + 1, width);
    for (row, pauses) in paused().filter(|(_, pauses)| pauses.deadlocked_runs > 0) {
        let runs = format!("{} of {} runs of {} end", pauses.deadlocked_runs, row.seeds, clean(&row.scheme));
        text += &deadlock(&runs, &pauses.deadlock, width);
    }
    text
}

/// A line about runs that end with a cycle of paused links.
pub fn deadlock(runs_end: &str, cycle: &str, width: usize) -> String {
    wrap(&format!("deadlock: {runs_end} with links that wait for one another: {}", clean(cycle)), width, "  ") + "\n"
}

/// Width of the first column, the sizes.
const LEFT: usize = 16;
/// Width of a scheme's column with its separator.
const COLUMN: usize = 20;

/// Slowdowns by point and size, schemes side by side in `width` characters; empty without any.
pub fn slowdown(axis: &Axis, summary: &Summary, width: usize) -> String {
    let slowed: Vec<&SummaryRow> = summary.rows.iter().filter(|row| !row.slowdown.is_empty()).collect();
    let mut places: Vec<usize> = slowed.iter().map(|row| row.place).collect();
    places.sort_unstable();
    places.dedup();
    if places.is_empty() {
        return String::new();
    }
    let mut text = title("slowdown", " by size: a flow's time over its minimum in an empty network", width);
    for place in places {
        let rows: Vec<&SummaryRow> = slowed.iter().filter(|row| row.place == place).copied().collect();
        let swept =
            rows.first().into_iter().flat_map(|row| axis.columns(row)).map(|(key, value)| format!("{key} {value}"));
        let swept = clean(&swept.collect::<Vec<_>>().join(", "));
        if !swept.is_empty() {
            text += &format!("{BOLD}{swept}{BOLD:#}\n");
        }
        for rows in rows.chunks((width.saturating_sub(LEFT) / COLUMN).max(1)) {
            text += &block(rows);
        }
    }
    text
}

/// Some schemes at one point.
fn block(rows: &[&SummaryRow]) -> String {
    let hosts = rows.first().map_or(0, |row| row.hosts);
    let name = |row: &&SummaryRow| padded(&cut(&clean(&row.scheme), COLUMN - 2), COLUMN - 2);
    let names: String = rows.iter().map(|row| format!("│ {}", name(row))).collect();
    let heads = format!("│{:>7}{:>6}{:>6}", "mean", "p50", "p99").repeat(rows.len());
    let mut text = format!("{:LEFT$}{BOLD}{}{BOLD:#}\n", "", names.trim_end());
    text += &format!("{GREY}{:<LEFT$}{heads}{GREY:#}\n", format!("{hosts} hosts"));
    for (i, sizes) in rows[0].slowdown.iter().enumerate().map(|(i, bucket)| (i, bucket.sizes)) {
        let buckets: Vec<&Slowdown> = rows.iter().filter_map(|row| row.slowdown.get(i)).collect();
        if buckets.iter().all(|bucket| bucket.flows + bucket.unfinished == 0) {
            continue;
        }
        text += &format!("{sizes:<LEFT$}");
        for bucket in buckets {
            let times = |value: Option<f64>| value.map_or("none".into(), three);
            let [mean, p50, p99] = [bucket.mean, bucket.p50, bucket.p99].map(times);
            text += &format!("{GREY}│{GREY:#}{mean:>7}{p50:>6}{p99:>6}");
        }
        text.push('\n');
    }
    let flows = |row: &&SummaryRow| {
        let all = row.slowdown.first().map_or((0, 0), |all| (all.flows + all.unfinished, all.unfinished));
        let unfinished = if all.1 > 0 { format!(", {} open", all.1) } else { String::new() };
        format!("│ {:<1$}", format!("{}{unfinished}", all.0), COLUMN - 2)
    };
    let counts: String = rows.iter().map(flows).collect();
    text + &format!("{GREY}{:<LEFT$}{}{GREY:#}\n", "flows", counts.trim_end())
}

#[cfg(test)]
mod tests {
    use fanin_lab::stats::Interval;
    use fanin_lab::{Background, Memories, Ranks, SlowestRank, Spread, Squeezed};

    use super::*;
    use crate::sample::{Curve, CurvePoint, comparison};

    #[test]
    fn prints_background_traffic_on_its_own_line() {
        let curve: Curve = &[CurvePoint { fan_in: 8, goodput_mbps: 905.3, p99_ms: 20.0, ..CurvePoint::NO_LOSS }];
        let (variants, mut summary) = comparison(&[("newreno", None, curve)]);
        assert_eq!(background(&variants, &summary, 100), "");
        let beside = Background { goodput_mbps: 412.3, timeouts: 3.0, fast_retransmits: 9.0, drops: 61.0 };
        summary.rows[0].background = Some(beside);
        let plain = anstream::adapter::strip_str(&background(&variants, &summary, 100)).to_string();
        let last: Vec<&str> = plain.lines().last().unwrap().split_whitespace().collect();
        assert_eq!(last, ["8", "newreno", "412", "3.0", "61"]);
    }

    #[test]
    fn prints_durations_of_shuffles_if_known() {
        let curve: Curve = &[CurvePoint { fan_in: 15, goodput_mbps: 905.3, p99_ms: 2_310.0, ..CurvePoint::NO_LOSS }];
        let (variants, mut summary) = comparison(&[("newreno", None, curve)]);
        summary.rows[0].qct_ms.mean = Some(2_310.0);
        let axis = Axis::of(&variants);
        let plain =
            |summary: &Summary| anstream::adapter::strip_str(&overview(&variants, &axis, summary, 120)).to_string();
        assert!(plain(&summary).contains("takes") && plain(&summary).contains("2.31 s"), "{}", plain(&summary));
        summary.rows[0].qct_ms.at_least = Some("p50");
        assert!(plain(&summary).contains(">2.31 s"));
        summary.rows[0].rounds = 0.0;
        assert!(!plain(&summary).contains("takes"));
    }

    #[test]
    fn prints_bandwidths_and_pauses_where_there_are_any() {
        let curve: Curve = &[CurvePoint { fan_in: 15, goodput_mbps: 905.3, p99_ms: 20.0, ..CurvePoint::NO_LOSS }];
        let (variants, mut summary) = comparison(&[("newreno", None, curve), ("dctcp", None, curve)]);
        let axis = Axis::of(&variants);
        let words = |summary: &Summary| -> Vec<String> {
            let text = anstream::adapter::strip_str(&overview(&variants, &axis, summary, 200)).to_string();
            text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
        };
        assert!(!words(&summary)[0].contains("bus") && !words(&summary)[0].contains("pauses"));
        summary.rows[0].bus_gbytes_per_s = Some(Interval { mean: 11.3, lo: 11.0, hi: 11.6 });
        summary.rows[1].pauses = Some(Pauses { count: 7.0, ..Pauses::default() });
        let words = words(&summary);
        assert!(words[0].contains("marks bus, GB/s pauses longest queue, B"), "{}", words[0]);
        assert!(words[1].contains(" 11.3 0 ") && words[2].contains(" none 7.0 "), "{words:?}");
    }

    #[test]
    fn lists_latencies_by_class_and_scheme() {
        let curve: Curve = &[CurvePoint { fan_in: 3, goodput_mbps: 905.3, p99_ms: 20.0, ..CurvePoint::NO_LOSS }];
        let (_, mut summary) = comparison(&[("newreno", None, curve), ("dctcp", None, curve)]);
        assert_eq!(latency(&Axis::of(&[]), &summary, 100), "");
        let of = |class: &str, packets, mean| {
            let ms = Spread { mean: Some(mean), p50: Some(mean), p99: Some(2.0 * mean), ..Spread::default() };
            Latency { class: class.into(), packets, ms }
        };
        for (row, mean) in summary.rows.iter_mut().zip([0.0015, 0.003]) {
            row.latency = vec![of("background", 5.0, mean), of("fetch", 10.0, mean)];
        }
        let plain = anstream::adapter::strip_str(&latency(&Axis::of(&[]), &summary, 100)).to_string();
        let cells: Vec<Vec<&str>> = plain.lines().skip(2).map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(cells[0][..4], ["background", "4", "newreno", "5.0"]);
        assert_eq!(cells[1][..4], ["background", "4", "dctcp", "5.0"]);
        assert_eq!(cells[2], ["fetch", "4", "newreno", "10", "1.50", "us", "1.50", "us", "3.00", "us"]);
    }

    #[test]
    fn lists_tiers_in_path_order_by_scheme() {
        let curve: Curve = &[CurvePoint { fan_in: 15, goodput_mbps: 905.3, p99_ms: 20.0, ..CurvePoint::NO_LOSS }];
        let (_, mut summary) = comparison(&[("newreno", None, curve), ("dctcp", None, curve)]);
        assert_eq!(tiers(&Axis::of(&[]), &summary, 200), "");
        let tier = |tier, bytes: u64| Tier {
            tier,
            ports: 16.0,
            queue_mean_bytes: bytes as f64,
            queue_p99_bytes: 2 * bytes,
            queue_max_bytes: 3 * bytes,
            busy_share: 0.25,
            busiest_share: 0.5,
            wire_bytes: 1e6,
            drops_full: 7.0,
            drops_early: 0.0,
            drops_not_ect: 0.0,
            drops_down: 0.0,
            marks: 12_345.0,
        };
        for (row, bytes) in summary.rows.iter_mut().zip([30_000, 2_000]) {
            row.tiers = vec![tier("host up", 0), tier("switch down", bytes)];
        }
        let plain = anstream::adapter::strip_str(&tiers(&Axis::of(&[]), &summary, 200)).to_string();
        let cells: Vec<String> =
            plain.lines().skip(2).map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(cells[0], "host up 16 newreno 0 0 0 25.0 7.0 0 0 0 12k");
        assert_eq!(cells[3], "switch down 16 dctcp 2.00 4.00 6.00 25.0 7.0 0 0 0 12k");
    }

    #[test]
    fn names_the_port_that_lost_most_to_shared_memory() {
        let curve: Curve = &[CurvePoint { fan_in: 15, goodput_mbps: 905.3, p99_ms: 20.0, ..CurvePoint::NO_LOSS }];
        let (_, mut summary) = comparison(&[("newreno", None, curve), ("dctcp", None, curve)]);
        assert_eq!(memories(&Axis::of(&[]), &summary, 200), "");
        let room = Memories {
            switches: 1.0,
            used_mean_share: 0.25,
            used_p99_share: 0.5,
            used_max_share: 0.75,
            refused_packets: 0.0,
            squeezed: None,
        };
        let (port, holder) = ("switch>client".into(), "switch>server1".into());
        let squeezed = Squeezed { port, refused_packets: 40.0, elsewhere_share: 0.625, holder, holder_share: 0.5 };
        summary.rows[0].memories = Some(Memories { refused_packets: 70.0, squeezed: Some(squeezed), ..room.clone() });
        summary.rows[1].memories = Some(room);
        let plain = anstream::adapter::strip_str(&memories(&Axis::of(&[]), &summary, 200)).to_string();
        let cells: Vec<String> =
            plain.lines().skip(2).map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(cells, ["16 newreno 25.0 50.0 75.0 70 40 62.5 switch>client", "16 dctcp 25.0 50.0 75.0 0 none"]);
    }

    #[test]
    fn names_the_slowest_rank() {
        let curve: Curve = &[CurvePoint { fan_in: 15, goodput_mbps: 905.3, p99_ms: 20.0, ..CurvePoint::NO_LOSS }];
        let (_, mut summary) = comparison(&[("newreno", None, curve), ("dctcp", None, curve)]);
        assert_eq!(ranks(&Axis::of(&[]), &summary, 200), "");
        let (delays_ms, compute_ms) = (3.0, 9.0);
        let slowest =
            SlowestRank { host: 7, delays_ms, compute_ms, network_ms: 1.0, waiting_ms: 0.0, because: "compute".into() };
        summary.rows[0].ranks = Some(Ranks { exposed_ms: 2.5, hidden_share: Some(0.25), slowest: Some(slowest) });
        summary.rows[1].ranks = Some(Ranks::default());
        let plain = anstream::adapter::strip_str(&ranks(&Axis::of(&[]), &summary, 200)).to_string();
        let cells: Vec<String> =
            plain.lines().skip(2).map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(cells, ["16 newreno 2.50 ms 25.0 7 3.00 ms compute", "16 dctcp 0 us none none"]);
    }

    #[test]
    fn tells_pauses_and_deadlocks() {
        let curve: Curve = &[CurvePoint { fan_in: 15, goodput_mbps: 905.3, p99_ms: 20.0, ..CurvePoint::NO_LOSS }];
        let (_, mut summary) = comparison(&[("newreno", None, curve), ("dctcp", None, curve)]);
        assert_eq!(pauses(&Axis::of(&[]), &summary, 200), "");
        let of = Pauses {
            count: 40.0,
            links: 4.0,
            paused_ms: 3.0,
            longest_ms: 1.5,
            spread_share: 0.25,
            blocked_packets: 120.0,
            cause: "switch>client".into(),
            cause_share: 0.5,
            ..Pauses::default()
        };
        summary.rows[1].pauses = Some(Pauses { deadlocked_runs: 1, deadlock: "a>b b>a".into(), ..of });
        let plain = anstream::adapter::strip_str(&pauses(&Axis::of(&[]), &summary, 200)).to_string();
        let cells: Vec<String> =
            plain.lines().skip(2).map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(cells[0], "15 dctcp 40 0 4.0 3.00 ms 1.50 ms 25.0 120 50.0 switch>client");
        assert!(cells[1].contains("1 of 3 runs of dctcp") && cells[1].ends_with("a>b b>a"), "{cells:?}");
    }

    #[test]
    fn omits_sizes_without_flows() {
        let curve: Curve = &[CurvePoint { fan_in: 15, goodput_mbps: 905.3, p99_ms: 20.0, ..CurvePoint::NO_LOSS }];
        let (_, mut summary) = comparison(&[("newreno", None, curve), ("dctcp", None, curve)]);
        assert_eq!(slowdown(&Axis::of(&[]), &summary, 100), "");
        let bucket = |sizes, flows, unfinished, mean: Option<f64>| {
            let (over_bytes, up_to_bytes) = (0, None);
            Slowdown { sizes, over_bytes, up_to_bytes, flows, unfinished, mean, p50: mean, p99: mean.map(|m| 10.0 * m) }
        };
        for (row, mean) in summary.rows.iter_mut().zip([Some(4.15), None]) {
            let open = if mean.is_some() { 0 } else { 3 };
            row.slowdown = vec![
                bucket("all sizes", 120 - open, open, mean),
                bucket("to 10 KB", 120 - open, open, mean),
                bucket("over 1 MB", 0, 0, None),
            ];
        }
        let plain = |width| anstream::adapter::strip_str(&slowdown(&Axis::of(&[]), &summary, width)).to_string();
        let expected = "\
slowdown by size: a flow's time over its minimum in an empty network
                │ newreno           │ dctcp
16 hosts        │   mean   p50   p99│   mean   p50   p99
all sizes       │   4.15  4.15  41.5│   none  none  none
to 10 KB        │   4.15  4.15  41.5│   none  none  none
flows           │ 120               │ 120, 3 open
";
        assert_eq!(plain(100), expected);
        assert_eq!(plain(40).lines().count(), 2 + 2 * 5);
    }
}
