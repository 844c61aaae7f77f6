//! Page of a diagnosis: the findings, rounds over time, and the slowest round server by server.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use fanin_report::{Page, text};

use crate::{Diagnosis, EpisodeFound, Lane, Place, PointFound, Signature, Simulated};

/// Width of pictures.
const WIDTH: f64 = 960.0;
const LEFT: f64 = 130.0;
/// Maximum number of rounds drawn (an even selection and those with the longest idle times), and of servers.
const MOST: usize = 2_000;
const MOST_LANES: usize = 96;

/// The page, in one file without external resources.
pub fn page(found: &Diagnosis) -> String {
    let title = match found.verdict.incast {
        Some(true) => "Incast",
        Some(false) => "No harmful incast",
        None => "No verdict",
    };
    let mut body = format!(
        "<header>\n<p class=\"kicker\">fanin diagnose</p>\n<h1>{title}</h1>\n<p class=\"setting\">{}</p>\n</header>\n<main>\n",
        text(&found.verdict.says)
    );
    body += STYLE;
    body += &causes(found);
    body += &lost_by_server(found);
    body += &cautions(found);
    if !found.episodes.is_empty() {
        body += &section("Rounds over time", &over_time(&found.episodes));
    }
    if let Some((round, lanes)) = &found.slowest {
        let head = format!(
            "The slowest round by server: {} ms, starting at {:.6} s",
            three(round.took_s * 1e3),
            round.start_s
        );
        body += &section(&head, &by_server(round, lanes));
    }
    if found.points.len() > 1 {
        body += &section("Goodput by number of servers", &by_fan_in(&found.points, found.onset));
    }
    if let Some(scenario) = &found.sketch {
        body += &section(
            "The scenario",
            &format!("{}<pre tabindex=\"0\">{}</pre>", simulated(found), text(&scenario.text())),
        );
    }
    body += "</main>\n";
    Page { title: &format!("{title}: fanin"), body: &body, data: "" }.html()
}

/// A signature has the same colour in all pictures.
const STYLE: &str = "<style>.diag{width:100%;height:auto;font:12px sans-serif}.diag text{fill:currentColor}\
    .diag .axis{stroke:currentColor;stroke-opacity:.35}.diag .took{fill:#8a94a6}.diag .answer{fill:#4c8bd6}\
    .diag .wait{fill:#b8c0cc;fill-opacity:.6}.rto{fill:#d6493c}.tlp,.syn{fill:#e8836f}.recovery{fill:#f0b3a6}.link-fault{fill:#a34fbf}\
    .standing-queue{fill:#5c6bc0}.delayed-ack{fill:#d98e1f}.zero-window{fill:#c7a600}.client-stopped{fill:#8c7a2b}.slow-server{fill:#2f9e6e}.application-pause{fill:#8fd3b4}\
    .none{fill:#8a94a6}</style>\n";

/// The scenario's results beside the measured ones.
fn simulated(found: &Diagnosis) -> String {
    let one = |of: &Simulated| {
        let far = if found.far() == Some(of) { " Do not rely on this scenario." } else { "" };
        format!(
            "<p>With {} servers: {} Mbit/s simulated, {} measured ({:+.0} %).{far}</p>\n",
            of.fan_in,
            three(of.simulated_mbps),
            three(of.measured_mbps),
            100.0 * of.off()
        )
    };
    found.simulated.iter().map(one).collect()
}

/// The legend of these signatures' colours.
fn legend(mut all: Vec<Signature>) -> String {
    all.sort_unstable();
    all.dedup();
    let key = |why: &Signature| {
        let square = "<svg width=\"10\" height=\"10\" aria-hidden=\"true\"><rect width=\"10\" height=\"10\" class=";
        format!("{square}\"{0}\"/></svg> {0}", why.word())
    };
    all.iter().map(key).collect::<Vec<_>>().join(", ")
}

fn section(head: &str, inside: &str) -> String {
    format!("<section>\n<h2>{}</h2>\n{inside}\n</section>\n", text(head))
}

fn cautions(found: &Diagnosis) -> String {
    if found.cautions.is_empty() && found.counters.is_empty() {
        return String::new();
    }
    let items: String =
        found.cautions.iter().chain(&found.counters).map(|line| format!("<li>{}</li>\n", text(line))).collect();
    section("Notes", &format!("<ul>\n{items}</ul>"))
}

/// The lost time by cause and by server, and where it was seen.
fn causes(found: &Diagnosis) -> String {
    if found.verdict.causes.is_empty() {
        return String::new();
    }
    let mut rows = String::new();
    for one in &found.verdict.causes {
        let servers = one.servers.iter().map(|of| format!("{}: {} ms", text(&of.server), three(of.stall_s * 1e3)));
        let _ = writeln!(
            rows,
            "<tr><td><svg width=\"{:.0}\" height=\"10\" aria-hidden=\"true\"><rect width=\"{:.0}\" height=\"10\" class=\"{}\"/></svg> {}</td>\
             <td>{:.0} %</td><td>{} ms</td><td>{}</td><td>{:.0} %</td><td>{}</td><td>{}</td></tr>",
            100.0 * one.share,
            100.0 * one.share,
            one.cause.signature().word(),
            one.cause.word(),
            100.0 * one.share,
            three(one.stall_s * 1e3),
            one.stalls,
            100.0 * one.confidence,
            servers.collect::<Vec<_>>().join("<br>"),
            text(&one.evidence)
        );
    }
    let places = found.inputs.iter().filter_map(|input| {
        let place = match input.place? {
            Place::Client => "at the client",
            Place::Server => "at a server",
        };
        Some(format!("{} was captured {place}.", text(&input.name)))
    });
    let head = "<tr><th>cause</th><th>share</th><th>lost time</th><th>stalls</th><th>confidence</th><th>servers</th><th>evidence</th></tr>";
    let table = format!("<table>\n{head}\n{rows}</table>\n<p>{}</p>", places.collect::<Vec<_>>().join(" "));
    section("Lost time by cause and server", &table)
}

/// A bar for each server that was waited for: the lost time, by signature.
fn lost_by_server(found: &Diagnosis) -> String {
    const ROW: f64 = 16.0;
    /// Space for the time on the right.
    const RIGHT: f64 = 80.0;
    let mut servers: BTreeMap<&str, BTreeMap<Signature, f64>> = BTreeMap::new();
    for stall in found.episodes.iter().flat_map(|one| &one.stalls).chain(&found.alone_stalls) {
        *servers.entry(&stall.server).or_default().entry(stall.signature).or_default() += stall.took_s;
    }
    let total = |times: &BTreeMap<Signature, f64>| times.values().fold(0.0, |sum, one| sum + one);
    let mut rows: Vec<(&str, f64, BTreeMap<Signature, f64>)> =
        servers.into_iter().map(|(server, times)| (server, total(&times), times)).collect();
    if rows.len() < 2 {
        return String::new();
    }
    rows.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
    let left_out: Vec<f64> = rows.split_off(rows.len().min(MOST_LANES)).iter().map(|row| row.1).collect();
    let most = rows[0].1.max(1e-9);
    let mut svg = open(ROW * rows.len() as f64 + 8.0, "Lost time by server");
    for (place, (server, whole, times)) in rows.iter().enumerate() {
        let (y, mut x) = (ROW * place as f64 + 4.0, LEFT);
        let name = |at: f64, anchor: &str, what: &str| {
            format!("<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>\n", y + 10.0, text(what))
        };
        svg += &name(LEFT - 8.0, "end", server);
        for (why, took_s) in times {
            let wide = took_s / most * (WIDTH - LEFT - RIGHT);
            let _ = writeln!(
                svg,
                "<rect class=\"{0}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{wide:.1}\" height=\"12\"><title>{1}: {2} ms, {0}</title></rect>",
                why.word(),
                text(server),
                three(took_s * 1e3)
            );
            x += wide;
        }
        svg += &name(x + 6.0, "start", &format!("{} ms", three(whole * 1e3)));
    }
    let more = match left_out.len() {
        0 => String::new(),
        count => format!(" {count} more servers: {} ms.", three(left_out.iter().fold(0.0, |sum, one| sum + one) * 1e3)),
    };
    let seen = rows.iter().flat_map(|row| row.2.keys().copied()).collect();
    section("Lost time by server", &format!("{svg}</svg>\n<p>Colours: {}.{more}</p>", legend(seen)))
}

fn three(value: f64) -> String {
    fanin_lab::figures::three(value)
}

/// An even selection of rounds, and the longest idle ones.
fn chosen(episodes: &[EpisodeFound]) -> Vec<&EpisodeFound> {
    if episodes.len() <= MOST {
        return episodes.iter().collect();
    }
    let mut longest: Vec<&EpisodeFound> = episodes.iter().collect();
    longest.sort_by(|a, b| b.stall_s.total_cmp(&a.stall_s));
    longest.truncate(MOST / 2);
    longest.extend(episodes.iter().step_by(episodes.len() / (MOST / 2) + 1));
    longest
}

/// A bar for each round: its height is the round's time, the coloured part its idle time by cause.
fn over_time(episodes: &[EpisodeFound]) -> String {
    const HEIGHT: f64 = 260.0;
    let end = episodes.iter().map(|one| one.start_s + one.took_s).fold(1e-9, f64::max);
    let begin = episodes.first().map_or(0.0, |one| one.start_s);
    let most = episodes.iter().map(|one| one.took_s).fold(1e-9, f64::max);
    let x = |at: f64| LEFT + (at - begin) / (end - begin).max(1e-9) * (WIDTH - LEFT - 10.0);
    let y = |took: f64| took / most * (HEIGHT - 40.0);
    let mut svg = open(HEIGHT, "Rounds over time: duration and idle time of each");
    for one in chosen(episodes) {
        let (left, wide) = (x(one.start_s), (x(one.start_s + one.took_s) - x(one.start_s)).max(1.0));
        let title = format!(
            "{} servers at {:.6} s: {} ms instead of {} ms; {}",
            one.fan_in,
            one.start_s,
            three(one.took_s * 1e3),
            three(one.should_s * 1e3),
            one.signature.says()
        );
        for (class, part) in [("took", one.took_s), (one.signature.word(), one.stall_s)] {
            if part > 0.0 {
                let _ = writeln!(
                    svg,
                    "<rect class=\"{class}\" x=\"{left:.1}\" y=\"{:.1}\" width=\"{wide:.1}\" height=\"{:.1}\"><title>{}</title></rect>",
                    HEIGHT - 25.0 - y(part),
                    y(part),
                    text(&title)
                );
            }
        }
    }
    svg += &axis(HEIGHT, &format!("{} ms", three(most * 1e3)), [begin, end]);
    let stalled = episodes.iter().filter(|one| one.stall_s > 0.0).map(|one| one.signature).collect();
    let colours = format!("Grey: duration of a round; coloured: its idle time, by cause: {}.", legend(stalled));
    format!("{svg}</svg>\n<p>{colours}</p>")
}

/// A lane for each server: from its request to its first byte, its response, and its idle periods.
fn by_server(round: &EpisodeFound, lanes: &[Lane]) -> String {
    const ROW: f64 = 14.0;
    let mut lanes: Vec<&Lane> = lanes.iter().collect();
    lanes.sort_by(|a, b| b.done_s.total_cmp(&a.done_s));
    let left_out = lanes.len().saturating_sub(MOST_LANES);
    lanes.truncate(MOST_LANES);
    let height = ROW * lanes.len() as f64 + 35.0;
    let x = |at: f64| LEFT + at / round.took_s.max(1e-9) * (WIDTH - LEFT - 10.0);
    let mut svg = open(height, "The slowest round by server: request, response and idle periods");
    for (place, lane) in lanes.iter().enumerate() {
        let y = ROW * place as f64 + 4.0;
        let _ = writeln!(
            svg,
            "<text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 8.0,
            y + 9.0,
            text(&lane.server)
        );
        let spans = [("wait", lane.asked_s, lane.first_s), ("answer", lane.first_s, lane.done_s)];
        let waits = lane.waits.iter().map(|(from, to, why)| (why.word(), *from, *to));
        for (class, from, to) in spans.into_iter().chain(waits) {
            let _ = writeln!(
                svg,
                "<rect class=\"{class}\" x=\"{:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"10\"><title>{}: {} to {} ms{}</title></rect>",
                x(from),
                (x(to) - x(from)).max(0.5),
                text(&lane.server),
                three(from * 1e3),
                three(to * 1e3),
                if class == "answer" {
                    format!(", {} bytes, {} segments lost", lane.bytes, lane.lost)
                } else {
                    format!(": {class}")
                }
            );
        }
    }
    svg += &axis(height, "", [0.0, round.took_s]);
    svg += "</svg>";
    let waits = lanes.iter().flat_map(|lane| lane.waits.iter().map(|wait| wait.2)).collect();
    let more = if left_out > 0 { format!(" {left_out} more servers responded earlier.") } else { String::new() };
    format!(
        "{svg}\n<p>Grey: waiting for the first byte; blue: response; other colours: idle, by cause: {}.{more}</p>",
        legend(waits)
    )
}

fn by_fan_in(points: &[PointFound], onset: Option<u32>) -> String {
    const HEIGHT: f64 = 220.0;
    let most = points.iter().map(|point| point.goodput_mbps).fold(1e-9, f64::max);
    let wide = (WIDTH - LEFT - 10.0) / points.len() as f64;
    let mut svg = open(HEIGHT, "Goodput by number of servers");
    for (place, point) in points.iter().enumerate() {
        let (x, high) = (LEFT + wide * place as f64, point.goodput_mbps / most * (HEIGHT - 60.0));
        let class = if point.stalled > 0.5 { "rto" } else { "answer" };
        let _ = writeln!(
            svg,
            "<rect class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{high:.1}\"><title>{} servers: {} Mbit/s in {} rounds</title></rect>\
             <text x=\"{:.1}\" y=\"{:.0}\">{}</text>",
            x + 2.0,
            HEIGHT - 35.0 - high,
            (wide - 4.0).max(1.0),
            point.fan_in,
            three(point.goodput_mbps),
            point.episodes,
            x + 2.0,
            HEIGHT - 18.0,
            point.fan_in
        );
    }
    svg += "</svg>";
    let says = onset.map_or("The capture shows no collapse point.".into(), |onset| {
        format!("The collapse point is {onset} servers.")
    });
    format!(
        "{svg}\n<p>Maximum: {} Mbit/s. Red: more than half of the rounds stalled; blue: fewer. {says}</p>",
        three(most)
    )
}

fn open(height: f64, label: &str) -> String {
    format!("<svg class=\"diag\" viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" aria-label=\"{}\">\n", text(label))
}

/// The time axis with its ends in seconds, and the label of the full height.
fn axis(height: f64, top: &str, [from, to]: [f64; 2]) -> String {
    let y = height - 24.0;
    format!(
        "<line class=\"axis\" x1=\"{LEFT}\" y1=\"{y}\" x2=\"{}\" y2=\"{y}\"/><text x=\"{LEFT}\" y=\"{}\">{from:.6} s</text>\
         <text x=\"{}\" y=\"{}\" text-anchor=\"end\">{to:.6} s</text><text x=\"{}\" y=\"14\" text-anchor=\"end\">{}</text>\n",
        WIDTH - 10.0,
        height - 8.0,
        WIDTH - 10.0,
        height - 8.0,
        LEFT - 8.0,
        text(top)
    )
}
