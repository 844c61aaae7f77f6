//! Swarms of one request: the tree of hubs, the critical path, and the hubs' rates.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;

use fanin_spec::RunSpec;
use fanin_tables::{HubRow, HubSpeedRow, RunTables};

use super::points::round_to;
use crate::chart::DrawnChart;
use fanin_lab::figures::time;
use fanin_lab::place_of;

/// The slowest complete request among the watched ones.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub(super) struct Swarms {
    scheme: String,
    /// The sweep point, in words.
    at: String,
    seed: u64,
    /// When the request began in the run; all other times are relative to it.
    start_ms: f64,
    /// The end of the drawn time.
    length_ms: f64,
    /// The front end, then each hub after the one that it sends to, in descending order of end time.
    nodes: Vec<SwarmNode>,
    /// Number of hubs that are not shown.
    left_out: usize,
    speeds: DrawnChart<'static>,
    /// A description of the request and of its critical path.
    says: String,
}

/// The front end or a hub.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
struct SwarmNode {
    host: String,
    rack: u32,
    /// Number of hubs between it and the front end; 0 for the front end.
    depth: usize,
    /// Whether it is on the critical path: the front end waited for it last, directly or through other hubs.
    critical: bool,
    /// Servers whose objects it collects itself, these objects, and all objects sent through it.
    servers: u64,
    own_objects: u64,
    objects: u64,
    /// When it got its task, had all objects of its own servers, had all objects, and had sent all; when its receiver had all of them.
    told_ms: Option<f64>,
    own_ms: Option<f64>,
    last_ms: Option<f64>,
    left_ms: Option<f64>,
    end_ms: Option<f64>,
    /// The host that its last object came from.
    waited_for: Option<String>,
}

/// Maximum number of hubs, and of hubs whose rates are drawn.
const SHOWN: usize = 40;
const CURVES: usize = 5;
/// Rates are means over slices long enough for a hub to send some packets in each, within these limits.
const PACKETS: usize = 4;
const PARTS: [usize; 2] = [12, 60];

impl Swarms {
    /// `None` if no hubs were used.
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
            speeds: tree.speeds(&speeds, &(began..ends), line),
            says: tree.in_words(of(front.request).and_then(|row| row.latency_ps)),
        })
    }
}

struct Tree<'a> {
    front: &'a HubRow,
    hubs: &'a [&'a HubRow],
    /// The hubs on the critical path, from the front end on.
    critical: Vec<&'a HubRow>,
}

/// From the front end to the hub that sent its last object, and on.
fn critical<'a>(front: &HubRow, hubs: &[&'a HubRow]) -> Vec<&'a HubRow> {
    let by_host: BTreeMap<u64, &HubRow> = hubs.iter().map(|hub| (hub.hub_host.into(), *hub)).collect();
    // Its last object came from itself if it was its own server's.
    let next = |of: &HubRow| of.last_host.filter(|&host| host != u64::from(of.hub_host));
    let hub =
        |of: &HubRow| next(of).and_then(|host| by_host.get(&host).copied()).filter(|hub| hub.end_ps <= of.last_ps);
    std::iter::successors(hub(front), |of| hub(of)).collect()
}

impl<'a> Tree<'a> {
    fn nodes(&self) -> Vec<SwarmNode> {
        let mut shown: Vec<&HubRow> = self.hubs.to_vec();
        // A hub ends after those below it, so each is shown with its receiver.
        shown.sort_by_key(|hub| (Reverse(hub.end_ps), hub.hub_host));
        shown.truncate(SHOWN);
        let mut nodes = Vec::new();
        self.add(&mut nodes, &shown, self.front, 0);
        nodes
    }

    /// Adds a row and those below it.
    fn add(&self, nodes: &mut Vec<SwarmNode>, shown: &[&HubRow], of: &HubRow, depth: usize) {
        nodes.push(self.node(of, depth));
        // Data for the front end's host is for the front end, even if it is also a hub.
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

    /// The hubs that send to the front end itself, in descending order of end time.
    fn roots(&self) -> Vec<&'a HubRow> {
        let to_front = |hub: &&HubRow| hub.parent_host == Some(self.front.hub_host.into()) && hub.end_ps.is_some();
        let mut roots: Vec<&HubRow> = self.hubs.iter().copied().filter(to_front).collect();
        roots.sort_by_key(|hub| (Reverse(hub.end_ps), hub.hub_host));
        roots
    }

    /// Actual and assigned rates of the hubs that send to the front end itself, and its link's rate, in Mbit/s.
    fn speeds(&self, rows: &[&HubSpeedRow], span: &Range<u64>, line: f64) -> DrawnChart<'static> {
        let roots = self.roots();
        let of = |is: &dyn Fn(u32) -> bool| {
            rows.iter().copied().filter(|row| is(row.hub_host) && row.came_bytes > 0).collect::<Vec<_>>()
        };
        let all = of(&|host| roots.iter().any(|hub| hub.hub_host == host));
        let parts = (all.len() / roots.len().max(1) / PACKETS).clamp(PARTS[0], PARTS[1]);
        let part = |number: usize| round_to(number as f64 * ms(span.start, span.end) / parts as f64, 1e-6);
        let points = |rows: &[&HubSpeedRow]| {
            let speeds = means(rows, span, parts).into_iter().map(|mbps| round_to(mbps, 1e-2));
            (0..).map(part).zip(speeds).collect()
        };
        let mut drawn: Vec<(String, Vec<(f64, f64)>)> = vec![
            ("line rate".into(), vec![(0.0, line), (ms(span.start, span.end), line)]),
            ("assigned to all hubs".into(), assigned(rows, &roots, span)),
            ("sent by all hubs".into(), points(&all)),
        ];
        drawn.retain(|(_, points)| !points.is_empty());
        let curve = |hub: &&HubRow| (name(hub.hub_host.into()), points(&of(&|host| host == hub.hub_host)));
        drawn.extend(roots.iter().take(CURVES).map(curve));
        DrawnChart::over_time("time since the request began, ms", "rates of hubs, Mbit/s", &drawn)
    }

    fn in_words(&self, took_ps: Option<u64>) -> String {
        let Tree { front, hubs, critical } = self;
        let took = took_ps.map_or("did not finish".into(), |ps| format!("takes {}", time(ps as f64 / 1e9)));
        let (roots, objects) = (self.roots().len(), front.objects);
        let mut text = format!(
            "Request {}, the slowest watched one, {took}: {objects} objects through {} hubs, of which {roots} sent to the front end itself.",
            front.request,
            hubs.len(),
        );
        let mut who = "The front end".to_string();
        for of in [*front].iter().chain(critical) {
            let last = of.last_host.filter(|&host| host != u64::from(of.hub_host));
            let whom = last.map_or("its own objects".into(), name);
            text += &format!("{} {who} waited for {whom}", if of.parent_host.is_none() { "" } else { "," });
            who = whom;
        }
        text + "." + &self.times_in_words().unwrap_or_default()
    }

    /// Breaks down the time of the critical path: a hub has everything once the one below it has sent its last object.
    fn times_in_words(&self) -> Option<String> {
        let first = self.critical.last()?;
        let between = |from: Option<u64>, to: Option<u64>| Some(to?.saturating_sub(from?));
        let sum = |of: fn(&HubRow) -> [Option<u64>; 2]| {
            self.critical.iter().map(|hub| between(of(hub)[0], of(hub)[1])).sum::<Option<u64>>()
        };
        let gathered = between(self.front.told_ps, first.last_ps)?;
        let [sent, on_the_way] = [sum(|hub| [hub.last_ps, hub.left_ps])?, sum(|hub| [hub.left_ps, hub.end_ps])?];
        let [gathered, sent, on_the_way] = [gathered, sent, on_the_way].map(|ps| time(ps as f64 / 1e9));
        let (who, they) = (name(first.hub_host.into()), if self.critical.len() == 1 { "it" } else { "each in turn" });
        Some(format!(
            " Of this time, {gathered} passed until {who} had everything, {sent} while {they} sent it on, and {on_the_way} in transit."
        ))
    }
}

/// Time since a start, in ms.
fn ms(from_ps: u64, to_ps: u64) -> f64 {
    round_to(to_ps.saturating_sub(from_ps) as f64 / 1e9, 1e-6)
}

/// A host's name.
fn name(host: u64) -> String {
    if host == 0 { "client".into() } else { format!("server{host}") }
}

/// The mean rate of the arrivals in each slice, in Mbit/s.
fn means(came: &[&HubSpeedRow], span: &Range<u64>, parts: usize) -> Vec<f64> {
    let (from, to) = (span.start, span.end);
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

/// The total assigned rate of hubs with data left to send, in Mbit/s by ms.
fn assigned(rows: &[&HubSpeedRow], roots: &[&HubRow], span: &Range<u64>) -> Vec<(f64, f64)> {
    let (from, to) = (span.start, span.end);
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
    use fanin_tables::RequestRow;

    use super::*;
    use crate::sample::run;

    const US: u64 = 1_000_000;

    /// A hub of a request that began at 10 us: assigned, own complete, all complete, last sender; sent, end, in us since then.
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

    /// The front end waits for host 8, which waits for 4, which waits for its server 5; 9 ends earlier, and 7 forwards nothing.
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
    fn hubs_follow_their_receiver_and_the_critical_path_is_marked() {
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
    fn description_follows_the_critical_path_and_adds_up() {
        let says = swarms(&seen()).says;
        assert_eq!(
            says,
            "Request 0, the slowest watched one, takes 100 us: 1 objects through 4 hubs, of which 2 sent to the front end \
             itself. The front end waited for server8, server8 waited for server4, server4 waited for server5. Of this time, \
             20.0 us passed until server4 had everything, 60.0 us while each in turn sent it on, and 20.0 us in transit."
        );
    }

    #[test]
    fn describes_the_slowest_complete_request() {
        let mut seen = seen();
        for (request, latency_ps) in [(1, None), (2, Some(200 * US)), (3, Some(200 * US))] {
            let of = |row: &HubRow| HubRow { request, ..row.clone() };
            let hubs: Vec<_> = seen.hubs[..5].iter().map(of).collect();
            seen.hubs.extend(hubs);
            seen.requests.push(RequestRow { request, latency_ps, ..RequestRow::default() });
        }
        assert!(swarms(&seen).says.starts_with("Request 2, the slowest watched one, takes 200 us"));
    }

    #[test]
    fn rates_are_means_of_arrivals_and_end_with_their_hubs() {
        let tables = seen();
        let rows: Vec<&HubSpeedRow> = tables.hub_speeds.iter().collect();
        let span = 10 * US..110 * US;
        // 1,000 B in 50 us are 160 Mbit/s.
        let ninth: Vec<&HubSpeedRow> = rows.iter().copied().filter(|row| row.hub_host == 9).skip(1).collect();
        let speeds = means(&ninth, &span, 5);
        let expected = [160.0, 160.0, 80.0, 0.0, 0.0];
        assert!(speeds.iter().zip(expected).all(|(mbps, right)| (mbps - right).abs() < 1e-6), "{speeds:?}");
        let roots = [&tables.hubs[3], &tables.hubs[4]];
        assert_eq!(assigned(&rows, &roots, &span), [(0.0, 1_000.0), (0.05, 600.0), (0.06, 900.0), (0.1, 0.0)]);
    }

    #[test]
    fn shows_the_hubs_that_end_last_and_counts_the_others() {
        let mut seen = seen();
        seen.hubs.extend((100..200).map(|host| hub(host, 0, [1, 2, 2, 3, 3, 4])));
        let drawn = swarms(&seen);
        assert_eq!((drawn.nodes.len(), drawn.left_out), (41, 64));
        assert!(drawn.nodes.iter().any(|node| node.host == "server9") && drawn.nodes[1].host == "server8");
    }

    #[test]
    fn runs_without_hubs_have_no_tree() {
        assert!(Swarms::new(&run("newreno", 16, 1), &RunTables::default()).is_none());
    }
}
