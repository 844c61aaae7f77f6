//! The swarms of one request: the tree of their hubs, who waited for whom, and how fast hubs sent.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use fanin_spec::{HubRow, HubSpeedRow, RunSpec, RunTables};

use super::points::round_to;
use crate::chart::DrawnChart;
use fanin_lab::figures::time;
use fanin_lab::place_of;

/// The slowest whole request of those that were watched.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub(super) struct Swarms {
    scheme: String,
    /// Where in the sweep, in words.
    at: String,
    seed: u64,
    /// When the request began in the run; every other time is since then.
    start_ms: f64,
    /// Until when times are drawn.
    length_ms: f64,
    /// The front end, and behind it each hub under the one that it sends to, those that end last first.
    nodes: Vec<SwarmNode>,
    /// Hubs that are not among these.
    left_out: usize,
    speeds: DrawnChart<'static>,
    /// The request in words: whom the front end waited for, and that one, and so on.
    says: String,
}

/// The front end or a hub.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
struct SwarmNode {
    host: String,
    rack: u32,
    /// How many hubs further the front end is; that of the front end is 0.
    depth: usize,
    /// Whether the front end waited for it last, or for one that waited for it.
    critical: bool,
    /// Servers that it had objects of itself, these objects, and all that came through it.
    servers: u64,
    own_objects: u64,
    objects: u64,
    /// When it was told, had all objects of its own servers, had all, and had sent all; when all that was where it sends to.
    told_ms: Option<f64>,
    own_ms: Option<f64>,
    last_ms: Option<f64>,
    left_ms: Option<f64>,
    end_ms: Option<f64>,
    /// Whom its last object came from.
    waited_for: Option<String>,
}

/// So many hubs are drawn, and the speeds of so many that send to the front end.
const SHOWN: usize = 40;
const CURVES: usize = 5;
/// Speeds are means over parts of the request, so long that a hub sends some packets in each: no more and no fewer than these.
const PACKETS: usize = 4;
const PARTS: [usize; 2] = [12, 60];

impl Swarms {
    /// `None` where nobody asked hubs.
    pub fn new(spec: &RunSpec, seen: &RunTables) -> Option<Swarms> {
        let of = |request: u32| seen.requests.iter().find(|row| row.request == request);
        let fronts = seen.hubs.iter().filter(|row| row.parent_host.is_none());
        let took = |row: &&HubRow| (of(row.request).and_then(|r| r.latency_ps), Reverse(row.request));
        let front = fronts.max_by_key(took)?;
        let hubs: Vec<&HubRow> =
            seen.hubs.iter().filter(|row| row.request == front.request && row.parent_host.is_some()).collect();
        let tree = Tree { front, hubs: &hubs, critical: critical(front, &hubs) };
        let began = front.told_ps?;
        let ends = hubs.iter().filter_map(|hub| hub.end_ps).chain(front.last_ps).max()?;
        let nodes = tree.nodes();
        let speeds: Vec<&HubSpeedRow> = seen.hub_speeds.iter().filter(|row| row.request == front.request).collect();
        let host = front.hub_host;
        let client_rate = spec.settings.link.client_rate.0.filter(|_| host == 0);
        let line = client_rate.unwrap_or(spec.settings.link.rate).0 as f64 / 1e6;
        Some(Swarms {
            scheme: spec.label.clone(),
            at: place_of(spec),
            seed: spec.seed,
            start_ms: round_to(began as f64 / 1e9, 1e-4),
            length_ms: ms(began, ends),
            left_out: hubs.len() + 1 - nodes.len(),
            nodes,
            speeds: tree.speeds(&speeds, (began, ends), line),
            says: tree.in_words(of(front.request).and_then(|row| row.latency_ps)),
        })
    }
}

struct Tree<'a> {
    front: &'a HubRow,
    hubs: &'a [&'a HubRow],
    /// The hubs that the front end waited for, one behind the other.
    critical: Vec<&'a HubRow>,
}

/// From the front end to the hub that its last object came from, and on.
fn critical<'a>(front: &HubRow, hubs: &[&'a HubRow]) -> Vec<&'a HubRow> {
    let by_host: BTreeMap<u64, &HubRow> = hubs.iter().map(|hub| (hub.hub_host.into(), *hub)).collect();
    // It has had its last object from itself where that was its own server's.
    let next = |of: &HubRow| of.last_host.filter(|&host| host != u64::from(of.hub_host));
    let hub =
        |of: &HubRow| next(of).and_then(|host| by_host.get(&host).copied()).filter(|hub| hub.end_ps <= of.last_ps);
    std::iter::successors(hub(front), |of| hub(of)).collect()
}

impl<'a> Tree<'a> {
    fn nodes(&self) -> Vec<SwarmNode> {
        let mut shown: Vec<&HubRow> = self.hubs.to_vec();
        // A hub ends after those below it, so that none is shown without the one that it sends to.
        shown.sort_by_key(|hub| (Reverse(hub.end_ps), hub.hub_host));
        shown.truncate(SHOWN);
        let mut nodes = Vec::new();
        self.add(&mut nodes, &shown, self.front, 0);
        nodes
    }

    /// A row and those below it.
    fn add(&self, nodes: &mut Vec<SwarmNode>, shown: &[&HubRow], of: &HubRow, depth: usize) {
        nodes.push(self.node(of, depth));
        // What is sent to the front end's host is for the front end, though it may be a hub, too.
        let below = |hub: &&&HubRow| hub.parent_host == Some(of.hub_host.into());
        for hub in shown.iter().filter(below).filter(|_| depth == 0 || of.hub_host != self.front.hub_host) {
            self.add(nodes, shown, hub, depth + 1);
        }
    }

    fn node(&self, of: &HubRow, depth: usize) -> SwarmNode {
        let since = |ps: Option<u64>| Some(ms(self.front.told_ps?, ps?));
        SwarmNode {
            host: name(of.hub_host.into()),
            rack: of.rack,
            depth,
            critical: depth == 0 || self.critical.iter().any(|hub| hub.hub_host == of.hub_host),
            servers: of.servers,
            own_objects: of.own_objects,
            objects: of.objects,
            told_ms: since(of.told_ps),
            own_ms: since(of.own_ps),
            last_ms: since(of.last_ps),
            left_ms: since(of.left_ps),
            end_ms: since(of.end_ps),
            waited_for: of.last_host.map(name),
        }
    }

    /// Those that send to the front end itself, the last first.
    fn roots(&self) -> Vec<&'a HubRow> {
        let to_front = |hub: &&HubRow| hub.parent_host == Some(self.front.hub_host.into()) && hub.end_ps.is_some();
        let mut roots: Vec<&HubRow> = self.hubs.iter().copied().filter(to_front).collect();
        roots.sort_by_key(|hub| (Reverse(hub.end_ps), hub.hub_host));
        roots
    }

    /// What those hubs send that send to the front end itself, and were told to, beside the rate of its link in Mbit/s.
    fn speeds(&self, rows: &[&HubSpeedRow], span: (u64, u64), line: f64) -> DrawnChart<'static> {
        let roots = self.roots();
        let of = |is: &dyn Fn(u32) -> bool| {
            rows.iter().copied().filter(|row| is(row.hub_host) && row.came_bytes > 0).collect::<Vec<_>>()
        };
        let all = of(&|host| roots.iter().any(|hub| hub.hub_host == host));
        let parts = (all.len() / roots.len().max(1) / PACKETS).clamp(PARTS[0], PARTS[1]);
        let part = |number: usize| round_to(number as f64 * ms(span.0, span.1) / parts as f64, 1e-6);
        let points = |rows: &[&HubSpeedRow]| {
            let speeds = means(rows, span, parts).into_iter().map(|mbps| round_to(mbps, 1e-2));
            (0..).map(part).zip(speeds).collect()
        };
        let mut drawn: Vec<(String, Vec<(f64, f64)>)> = vec![
            ("line rate".into(), vec![(0.0, line), (ms(span.0, span.1), line)]),
            ("told to all hubs".into(), told(rows, &roots, span)),
            ("from all hubs".into(), points(&all)),
        ];
        drawn.retain(|(_, points)| !points.is_empty());
        let curve = |hub: &&HubRow| (name(hub.hub_host.into()), points(&of(&|host| host == hub.hub_host)));
        drawn.extend(roots.iter().take(CURVES).map(curve));
        DrawnChart::over_time("time since the request began, ms", "speeds of hubs, Mbit/s", &drawn)
    }

    fn in_words(&self, took_ps: Option<u64>) -> String {
        let Tree { front, hubs, critical } = self;
        let took = took_ps.map_or("is cut off".into(), |ps| format!("takes {}", time(ps as f64 / 1e9)));
        let (roots, objects) = (self.roots().len(), front.objects);
        let mut text = format!(
            "Request {}, the slowest of those watched, {took}: {objects} objects through {} hubs, of which {roots} sent to the front end itself.",
            front.request,
            hubs.len(),
        );
        let mut who = "The front end".to_string();
        for of in [*front].iter().chain(critical) {
            let last = of.last_host.filter(|&host| host != u64::from(of.hub_host));
            let whom = last.map_or("what it had itself".into(), name);
            text += &format!("{} {who} waited for {whom}", if of.parent_host.is_none() { "" } else { "," });
            who = whom;
        }
        text + "." + &self.times_in_words().unwrap_or_default()
    }

    /// Where the time of what the front end waited for went: a hub had everything as the one below it had sent its last.
    fn times_in_words(&self) -> Option<String> {
        let first = self.critical.last()?;
        let between = |from: Option<u64>, to: Option<u64>| Some(to?.saturating_sub(from?));
        let sum = |of: fn(&HubRow) -> [Option<u64>; 2]| {
            self.critical.iter().map(|hub| between(of(hub)[0], of(hub)[1])).sum::<Option<u64>>()
        };
        let gathered = between(self.front.told_ps, first.last_ps)?;
        let [sent, on_the_way] = [sum(|hub| [hub.last_ps, hub.left_ps])?, sum(|hub| [hub.left_ps, hub.end_ps])?];
        let [gathered, sent, on_the_way] = [gathered, sent, on_the_way].map(|ps| time(ps as f64 / 1e9));
        let (who, they) =
            (name(first.hub_host.into()), if self.critical.len() == 1 { "it" } else { "one after another" });
        Some(format!(
            " {gathered} of it went until {who} had everything, {sent} while {they} sent on what it had, {on_the_way} on the way."
        ))
    }
}

/// What stands in ms since a time.
fn ms(from_ps: u64, to_ps: u64) -> f64 {
    round_to(to_ps.saturating_sub(from_ps) as f64 / 1e9, 1e-6)
}

/// A host's name.
fn name(host: u64) -> String {
    if host == 0 { "client".into() } else { format!("server{host}") }
}

/// The mean speed of what came in each part of a time, in Mbit/s: it counts from what had come before it on.
fn means(came: &[&HubSpeedRow], (from, to): (u64, u64), parts: usize) -> Vec<f64> {
    let part = (to - from) as f64 / parts as f64;
    let mut bits = vec![0.0; parts];
    let mut before = 0.0;
    for row in came {
        let now = row.time_ps.clamp(from, to).saturating_sub(from) as f64;
        let per_ps = row.came_bytes as f64 * 8.0 / (now - before).max(1.0);
        for (number, bits) in bits.iter_mut().enumerate().skip((before / part) as usize) {
            let (begins, ends) = (number as f64 * part, (number + 1) as f64 * part);
            if begins > now {
                break;
            }
            *bits += per_ps * (now.min(ends) - before.max(begins)).max(0.0);
        }
        before = now;
    }
    bits.iter().map(|bits| bits / part * 1e6).collect()
}

/// The speeds that hubs were told together, those that still had something to send, in Mbit/s by ms.
fn told(rows: &[&HubSpeedRow], roots: &[&HubRow], (from, to): (u64, u64)) -> Vec<(f64, f64)> {
    let is_root = |host: u32| roots.iter().any(|hub| hub.hub_host == host);
    let told = rows
        .iter()
        .filter(|row| is_root(row.hub_host))
        .filter_map(|row| Some((row.time_ps, row.hub_host, row.assigned_bps?)));
    let over = roots.iter().filter_map(|hub| Some((hub.end_ps?, hub.hub_host, 0)));
    let mut all: Vec<(u64, u32, u64)> = told.chain(over).collect();
    all.sort_unstable_by_key(|(time, host, bps)| (*time, Reverse(*bps), *host));
    let mut by_hub: BTreeMap<u32, u64> = BTreeMap::new();
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (time, host, bps) in all {
        by_hub.insert(host, bps);
        let point = (ms(from, time.clamp(from, to)), by_hub.values().sum::<u64>() as f64 / 1e6);
        match points.last_mut() {
            Some(last) if last.0 == point.0 => *last = point,
            Some(last) if last.1 == point.1 => {}
            _ => points.push(point),
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use fanin_spec::RequestRow;

    use super::*;
    use crate::sample::run;

    const US: u64 = 1_000_000;

    /// A hub of a request that began at 10 us: told, own there, all there, of whom; left, there, in us since then.
    fn hub(host: u32, parent: u64, [told, own, last, of, left, end]: [u64; 6]) -> HubRow {
        let at = |us: u64| Some((us + 10) * US);
        HubRow {
            hub_host: host,
            parent_host: Some(parent),
            told_ps: at(told),
            own_ps: at(own),
            last_ps: at(last),
            last_host: Some(of),
            left_ps: at(left),
            end_ps: at(end),
            objects: 1,
            ..HubRow::default()
        }
    }

    /// The front end waits for host 8, that for 4, that for its server 5; 9 ends before, and nothing came through 7.
    fn seen() -> RunTables {
        let front = HubRow { parent_host: None, left_ps: None, end_ps: None, ..hub(0, 0, [0, 0, 100, 8, 0, 0]) };
        let nothing = HubRow { hub_host: 7, parent_host: Some(8), ..HubRow::default() };
        let hubs = vec![
            front,
            hub(4, 8, [2, 20, 20, 5, 50, 60]),
            nothing,
            hub(8, 0, [3, 30, 60, 4, 90, 100]),
            hub(9, 0, [4, 30, 30, 10, 40, 50]),
        ];
        let requests = vec![RequestRow { latency_ps: Some(100 * US), ..RequestRow::default() }];
        let speed = |us: u64, hub_host, came_bytes, mbps: u64| HubSpeedRow {
            time_ps: (us + 10) * US,
            hub_host,
            came_bytes,
            assigned_bps: Some(mbps * 1_000_000),
            ..HubSpeedRow::default()
        };
        let hub_speeds = vec![
            speed(0, 8, 0, 600),
            speed(0, 9, 0, 400),
            speed(50, 9, 1_000, 400),
            speed(60, 8, 0, 900),
            speed(100, 8, 5_000, 900),
        ];
        RunTables { hubs, requests, hub_speeds, ..RunTables::default() }
    }

    fn swarms(seen: &RunTables) -> Swarms {
        Swarms::new(&run("newreno", 16, 1), seen).expect("hubs")
    }

    #[test]
    fn hubs_stand_under_whom_they_send_to_the_last_first_and_whom_everyone_waited_for_is_marked() {
        let drawn = swarms(&seen());
        let rows: Vec<_> = drawn.nodes.iter().map(|node| (&*node.host, node.depth, node.critical)).collect();
        let expected = [
            ("client", 0, true),
            ("server8", 1, true),
            ("server4", 2, true),
            ("server7", 2, false),
            ("server9", 1, false),
        ];
        assert_eq!(rows, expected);
        assert_eq!((drawn.start_ms, drawn.length_ms, drawn.left_out), (0.01, 0.1, 0));
        let eighth = &drawn.nodes[1];
        assert_eq!((eighth.own_ms, eighth.last_ms, eighth.end_ms), (Some(0.03), Some(0.06), Some(0.1)));
        assert_eq!(drawn.nodes[3].waited_for, None);
    }

    #[test]
    fn the_words_follow_whom_was_waited_for_and_their_times_add_up_to_the_request_s() {
        let says = swarms(&seen()).says;
        assert_eq!(
            says,
            "Request 0, the slowest of those watched, takes 100 us: 1 objects through 4 hubs, of which 2 sent to the front end \
             itself. The front end waited for server8, server8 waited for server4, server4 waited for server5. 20.0 us of it \
             went until server4 had everything, 60.0 us while one after another sent on what it had, 20.0 us on the way."
        );
    }

    #[test]
    fn the_slowest_request_that_is_whole_is_told() {
        let mut seen = seen();
        for (request, latency_ps) in [(1, None), (2, Some(200 * US)), (3, Some(200 * US))] {
            let of = |row: &HubRow| HubRow { request, ..row.clone() };
            let hubs: Vec<_> = seen.hubs[..5].iter().map(of).collect();
            seen.hubs.extend(hubs);
            seen.requests.push(RequestRow { request, latency_ps, ..RequestRow::default() });
        }
        assert!(swarms(&seen).says.starts_with("Request 2, the slowest of those watched, takes 200 us"));
    }

    #[test]
    fn speeds_are_means_of_what_came_and_end_with_their_hubs() {
        let tables = seen();
        let rows: Vec<&HubSpeedRow> = tables.hub_speeds.iter().collect();
        let span = (10 * US, 110 * US);
        // 1,000 B in 50 us are 160 Mbit/s.
        let ninth: Vec<&HubSpeedRow> = rows.iter().copied().filter(|row| row.hub_host == 9).skip(1).collect();
        let speeds = means(&ninth, span, 5);
        let expected = [160.0, 160.0, 80.0, 0.0, 0.0];
        assert!(speeds.iter().zip(expected).all(|(mbps, right)| (mbps - right).abs() < 1e-6), "{speeds:?}");
        let roots = [&tables.hubs[3], &tables.hubs[4]];
        assert_eq!(told(&rows, &roots, span), [(0.0, 1_000.0), (0.05, 600.0), (0.06, 900.0), (0.1, 0.0)]);
    }

    #[test]
    fn of_very_many_hubs_those_that_end_last_are_shown_and_the_others_counted() {
        let mut seen = seen();
        seen.hubs.extend((100..200).map(|host| hub(host, 0, [1, 2, 2, 3, 3, 4])));
        let drawn = swarms(&seen);
        assert_eq!((drawn.nodes.len(), drawn.left_out), (41, 64));
        assert!(drawn.nodes.iter().any(|node| node.host == "server9") && drawn.nodes[1].host == "server8");
    }

    #[test]
    fn where_nobody_asked_hubs_there_is_no_tree() {
        assert!(Swarms::new(&run("newreno", 16, 1), &RunTables::default()).is_none());
    }
}
