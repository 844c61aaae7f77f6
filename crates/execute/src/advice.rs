//! A plan from somebody's log of requests: made from its first half, and held against the second, which it has not seen.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use fanin_placement::{
    Cluster, Kind, Move, Object, Placement, Plan, PlanError, Reason, RequestLog, Server, TooLarge, ask, plan, scatter,
};
use fanin_spec::{HostId, Requests, Settings};
use fanin_units::Time;

use crate::draws::{Draws, Harmonic};
use crate::requests::{Catalogue, Query, Reading, Tally, Unread, read};

/// Requests for objects that the planner keeps; of a longer log queries are thinned out.
const KEPT: usize = 100_000_000;
/// Queries of the second half that are simulated at most, the first of it.
const SIMULATED: usize = 1_000;

/// What comes of a log.
pub struct Advice {
    /// What there was in it.
    pub tally: Tally,
    /// Its keys.
    pub catalogue: Catalogue,
    /// Queries that the plan was made from, and those that it was held against.
    pub halves: [u64; 2],
    /// The plan; server 0 is the host `server1`.
    pub plan: Plan,
    /// Bytes of all objects that are moved.
    pub moved_bytes: u64,
    /// How many servers a query of the second half asks: as it was, with popular objects gathered alone, and after the whole plan.
    pub effects: [Effect; 3],
    /// Queries of the second half, to be simulated, with where objects lie before the plan.
    pub requests: Arc<Requests>,
    /// The plan for the hosts of these.
    pub routed: Arc<fanin_spec::Plan>,
}

/// How many servers queries ask.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effect {
    /// By number of servers, how many queries ask so many.
    pub queries: Vec<u64>,
}

/// Why there is none.
#[derive(Debug, thiserror::Error)]
pub enum Unadvised {
    /// A log.
    #[error(transparent)]
    Log(#[from] Unread),
    /// It has too little.
    #[error(
        "it has {0} queries, and a plan is made from one half of them and held against the other: right would be more"
    )]
    Short(u64),
    /// The cluster.
    #[error("{0}")]
    Cluster(String),
    /// The plan.
    #[error("{0}")]
    Plan(String),
}

impl Effect {
    fn note(&mut self, servers: usize) {
        if self.queries.len() <= servers {
            self.queries.resize(servers + 1, 0);
        }
        self.queries[servers] += 1;
    }

    /// Servers a query.
    pub fn mean(&self) -> f64 {
        let sum: u64 = self.queries.iter().zip(0u64..).map(|(n, servers)| n * servers).sum();
        sum as f64 / self.queries.iter().sum::<u64>().max(1) as f64
    }

    /// The least number of servers that so many per cent of queries do not exceed.
    pub fn percentile(&self, percent: u64) -> usize {
        let wanted = (self.queries.iter().sum::<u64>() * percent).div_ceil(100);
        let mut seen = 0;
        let reaches = |n: &u64| {
            seen += n;
            seen >= wanted
        };
        self.queries.iter().position(reaches).unwrap_or(0)
    }
}

/// Plans for a cluster from logs of requests, one a server.
///
/// # Errors
/// [`Unadvised`].
pub fn advise(logs: &[PathBuf], reading: Reading, settings: &Settings) -> Result<Advice, Unadvised> {
    let mut catalogue = Catalogue::default();
    let tally = read(logs, reading, &mut catalogue, &mut |_| {})?;
    if tally.queries < 2 {
        return Err(Unadvised::Short(tally.queries));
    }
    let first = tally.queries.div_ceil(2);
    let cluster = cluster(settings)?;
    let before = lies(&catalogue, &cluster, settings.key_value.replicas as usize)?;
    let sizes: Vec<u64> = catalogue.sizes().map(u64::from).collect();

    let mut log = RequestLog::new(catalogue.len(), KEPT);
    let mut numbers = 0..;
    read(logs, reading, &mut catalogue, &mut |query| {
        if numbers.next().is_some_and(|number: u64| number < first) {
            log.add(query.time, query.keys.into_iter().map(Object));
        }
    })?;
    let picc = &settings.placements.picc;
    let made = |kind| plan(&cluster, &sizes, &before, &log, None, kind, picc).map_err(|error| told(error, &catalogue));
    let [popular, whole] = [made(Kind::PiccNoCorrelation)?, made(Kind::Picc)?];

    let mut asking = [&[][..], &popular.moves, &whole.moves].map(|moves| Asking::new(&before, moves));
    let mut unseen = Vec::new();
    let mut numbers = 0..;
    read(logs, reading, &mut catalogue, &mut |query| {
        if numbers.next().is_some_and(|number: u64| number >= first) {
            asking.iter_mut().for_each(|asking| asking.ask(&query));
            if unseen.len() < SIMULATED {
                unseen.push(query);
            }
        }
    })?;
    unseen.sort_by_key(|query: &Query| query.time);
    Ok(Advice {
        requests: Arc::new(requests(&sizes, &before, &unseen)),
        routed: Arc::new(routed(&whole.moves)?),
        halves: [first, tally.queries - first],
        moved_bytes: whole.moves.iter().map(|of| sizes[of.object.0 as usize]).sum(),
        plan: whole,
        effects: asking.map(|asking| asking.effect),
        tally,
        catalogue,
    })
}

impl Advice {
    /// The share of queries that ask at most so many servers, before and after, as SVG.
    pub fn picture(&self) -> String {
        const WIDTH: f64 = 640.0;
        const HEIGHT: f64 = 320.0;
        const LEFT: f64 = 48.0;
        const UNDER: f64 = 40.0;
        let most = self.effects.iter().map(|effect| effect.queries.len()).max().unwrap_or(1).max(2) - 1;
        let x = |servers: usize| LEFT + (WIDTH - LEFT - 16.0) * servers as f64 / most as f64;
        let y = |share: f64| 16.0 + (HEIGHT - UNDER - 16.0) * (1.0 - share);
        let line = |effect: &Effect| {
            let all = effect.queries.iter().sum::<u64>().max(1) as f64;
            let (mut seen, mut path) = (0, format!("M{:.1} {:.1}", x(0), y(0.0)));
            for servers in 0..=most {
                path += &format!("H{:.1}", x(servers));
                seen += effect.queries.get(servers).copied().unwrap_or(0);
                path += &format!("V{:.1}", y(seen as f64 / all));
            }
            path
        };
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
             font-size=\"12\" role=\"img\" aria-label=\"Servers that a query asks\">\n<rect width=\"100%\" height=\"100%\" \
             fill=\"#fff\"/>\n"
        );
        for percent in [0, 25, 50, 75, 100] {
            let at = y(f64::from(percent) / 100.0);
            svg += &format!("<path d=\"M{LEFT} {at:.1}H{:.1}\" stroke=\"#ddd\"/>", x(most));
            svg += &format!(
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{percent} %</text>\n",
                LEFT - 6.0,
                at + 4.0
            );
        }
        for servers in [0, most / 4, most / 2, most * 3 / 4, most] {
            svg += &format!(
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{servers}</text>\n",
                x(servers),
                HEIGHT - UNDER + 16.0
            );
        }
        let [before, _, after] = &self.effects;
        for (effect, colour, name, row) in [(before, "#b3261e", "before", 0.0), (after, "#1a5fb4", "after", 1.0)] {
            let path = line(effect);
            svg += &format!("<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\n");
            let (at, mean) = (HEIGHT - UNDER - 40.0 + 18.0 * row, effect.mean());
            svg += &format!(
                "<text x=\"{:.1}\" y=\"{at:.1}\" text-anchor=\"end\" fill=\"{colour}\">{name}: {mean:.1} on average</text>\n",
                x(most) - 8.0
            );
        }
        let middle = (LEFT + x(most)) / 2.0;
        let says = "servers that a query asks, and the share of queries that ask no more";
        svg + &format!(
            "<text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{says}</text>\n</svg>\n",
            HEIGHT - 6.0
        )
    }
}

/// How many servers queries ask once some moves are made.
struct Asking {
    placement: Placement,
    moved: Vec<bool>,
    draws: Draws,
    servers: Vec<Server>,
    effect: Effect,
}

impl Asking {
    fn new(before: &Placement, moves: &[Move]) -> Asking {
        let (mut placement, mut moved) = (before.clone(), vec![false; before.objects()]);
        for of in moves {
            placement.apply(of);
            moved[of.object.0 as usize] = true;
        }
        Asking { placement, moved, draws: Draws(1), servers: Vec::new(), effect: Effect::default() }
    }

    fn ask(&mut self, query: &Query) {
        let objects: Vec<Object> = query.keys.iter().map(|key| Object(*key)).collect();
        let draws = &mut self.draws;
        ask(&objects, &self.placement, &self.moved, &mut |n| draws.below(n), &mut self.servers);
        self.effect.note(self.servers.len());
    }
}

/// The servers of a scenario's network; the host that asks is none.
fn cluster(settings: &Settings) -> Result<Cluster, Unadvised> {
    let fabric = settings.network().map_err(Unadvised::Cluster)?;
    let racks: Vec<u32> = (1..=settings.servers()).map(|host| fabric.rack(HostId(host))).collect();
    let capacities = vec![settings.capacity(); racks.len()];
    Ok(Cluster { racks, capacities })
}

/// Where keys lie: by their hashes.
fn lies(catalogue: &Catalogue, cluster: &Cluster, replicas: usize) -> Result<Placement, Unadvised> {
    let keys = (0..catalogue.len() as u32).map(|number| catalogue.key(number));
    scatter(keys, cluster, replicas).ok_or_else(|| {
        Unadvised::Cluster(format!(
            "`key_value.replicas` of {replicas}: each is to be in a rack of its own, and there are fewer racks with servers: right would \
             be fewer replicas or more `fabric.racks`"
        ))
    })
}

/// What is wrong, with the key's own name.
fn told(error: PlanError, catalogue: &Catalogue) -> Unadvised {
    match &error {
        PlanError::TooLarge(TooLarge { object, demand, .. }) => {
            let key = String::from_utf8_lossy(catalogue.key(object.0)).into_owned();
            Unadvised::Plan(format!(
                "`{key}` is popular and asks each server that has it for {demand}, which none can give: right would be more \
                 `picc.memory` or `picc.requests_per_s`, or more `key_value.replicas`"
            ))
        }
        _ => Unadvised::Plan(error.to_string()),
    }
}

/// Queries to be simulated, from the time of the first of them on.
fn requests(sizes: &[u64], placement: &Placement, queries: &[Query]) -> Requests {
    let zero = queries.first().map_or(Time::ZERO, |query| query.time);
    // Host 0 asks.
    let homes = placement.all().flat_map(|object| placement.homes(object).iter().map(|home| home.0 + 1)).collect();
    let mut requests = Requests::new(sizes.iter().map(|&bytes| bytes as u32).collect(), homes);
    for query in queries {
        requests.push(query.time.since(zero), query.keys.iter().copied());
    }
    requests
}

/// Moves between the hosts of a scenario, of which host 0 asks.
fn routed(moves: &[Move]) -> Result<fanin_spec::Plan, Unadvised> {
    let mut text = String::from("object,from,to,reason\n");
    for of in moves {
        let reason = if of.reason == Reason::Popular { "popular" } else { "correlated" };
        text += &format!("{},{},{},{reason}\n", of.object.0, of.from.0 + 1, of.to.0 + 1);
    }
    fanin_spec::Plan::parse("plan", &text).map_err(|problem| Unadvised::Plan(problem.to_string()))
}

/// A log to try a plan with, made up: 4,000 queries for pages of 20 objects, of which few are asked for often, and a fifth of a
/// query's objects are others.
///
/// # Errors
/// What the file system says.
pub fn demo(log: &mut impl Write) -> io::Result<()> {
    const OBJECTS: u32 = 5_000;
    const PAGES: u32 = 300;
    const PAGE: u32 = 20;
    let mut draws = Draws(1);
    let pages: Vec<u32> = (0..PAGES * PAGE).map(|_| draws.below(OBJECTS)).collect();
    let ranks = Harmonic::new(PAGES);
    writeln!(log, "time,query,key,size")?;
    for query in 0..4_000 {
        let first = ranks.draw(&mut draws) * PAGE as usize;
        for place in 0..PAGE as usize {
            let replaced = draws.below(5) == 0;
            let object = if replaced { draws.below(OBJECTS) } else { pages[first + place] };
            let size = 20 + object.wrapping_mul(7_919) % 1_005;
            writeln!(log, "{}.{:03},q{query},object:{object},{size}", query / 50, query % 50 * 20)?;
        }
    }
    Ok(())
}
