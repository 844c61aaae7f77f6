//! Planning from a log of requests: plans from its first half, and evaluates on the second, which the plan has not seen.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fanin_placement::{
    Cluster, Cover, Edge, Kind, Object, Placement, Plan, PlanError, RequestLog, Resources, Server, TooLarge, plan,
    plan_groups,
};
use fanin_plan_files::placement;
use fanin_spec::{HostId, Requests, Settings};
use fanin_units::{Bytes, Time};
use serde_json::Value;

use crate::current_placement::{CurrentPlacement, StoredObjects, identity, lie};
use crate::draws::{Draws, Harmonic};
use crate::error::PlanningError;
use crate::memory::{Memory, Remembered};
use crate::requests::{Catalogue, Query, Reading, Spool, Tally, read};

/// Maximum number of requests for objects that the planner stores; queries of a longer log are sampled.
const KEPT: usize = 100_000_000;
/// Maximum number of simulated queries, the first ones of the second half.
const SIMULATED: usize = 1_000;

/// Options of a plan.
#[derive(Clone, Debug)]
pub struct PlanOptions {
    /// Placement algorithm.
    pub method: Kind,
    /// Current placement.
    pub current_placement: CurrentPlacement,
    /// Maximum bytes to move.
    pub budget: Option<Bytes>,
    /// Interval for planning again, if any.
    pub every: Option<Time>,
    /// Memory of earlier periods, for a planner that follows a front end's logs ([`CurrentPlacement::By`]).
    pub memory: Option<Arc<Memory>>,
}

impl Default for PlanOptions {
    fn default() -> PlanOptions {
        PlanOptions {
            method: Kind::Groups,
            current_placement: CurrentPlacement::Hashed,
            budget: None,
            every: None,
            memory: None,
        }
    }
}

/// A plan with its evaluation.
pub struct PlacementPlan {
    /// Contents of the log.
    pub tally: Tally,
    /// Its keys.
    pub catalogue: Catalogue,
    /// Numbers of queries that the plan was made from, and evaluated on.
    pub halves: [u64; 2],
    /// The plan; server 0 is the host `server1`.
    pub plan: Plan,
    /// Bytes of all objects that are moved.
    pub moved_bytes: u64,
    /// Bytes that enter or leave the server with most of either.
    pub most_moved_bytes: u64,
    /// Placement before the plan.
    pub(crate) before: StoredObjects,
    /// Placement after the plan.
    pub after: Placement,
    /// Description of the cluster, to detect plans for another one.
    pub cluster: Value,
    /// Effect on queries of the second half: before and after the plan.
    pub effects: [Effect; 2],
    /// The effect of moving popular objects only, for PICC's plan.
    pub popular: Option<Effect>,
    /// The effect of undoing the last plan, if there was one in the last period.
    pub undone: Option<Effect>,
    /// Keys without requests that return to the servers by their hashes.
    pub returned: u64,
    remembered: Option<Remembered>,
    /// Servers saved per query, in the first and second half of the unseen queries.
    pub saves: [f64; 2],
    /// Duration of the unseen queries.
    pub span: Time,
    /// Periods, if planned again.
    pub periods: Vec<Period>,
    /// Queries of the second half for simulation, with placements before and after the plan.
    pub requests: [Arc<Requests>; 2],
}

/// A period of a log after which a new plan is made from the period's queries.
#[derive(Clone, Debug, PartialEq)]
pub struct Period {
    /// Start of the period.
    pub begins: Time,
    /// Servers per query: with the initial placement, the first plan, and the latest plan.
    pub servers: [f64; 3],
    /// Bytes moved at the end of the period.
    pub moved_bytes: u64,
}

/// Distribution of queries over servers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effect {
    /// Number of queries by number of servers.
    pub queries: Vec<u64>,
    /// Number of requested objects by server.
    pub loads: Vec<u64>,
}

impl Effect {
    fn note(&mut self, servers: usize) {
        if self.queries.len() <= servers {
            self.queries.resize(servers + 1, 0);
        }
        self.queries[servers] += 1;
    }

    /// Load of the busiest server divided by the mean.
    pub fn busiest(&self) -> f64 {
        let most = self.loads.iter().max().copied().unwrap_or(0);
        most as f64 * self.loads.len() as f64 / self.loads.iter().sum::<u64>().max(1) as f64
    }

    /// Mean number of servers per query.
    pub fn mean(&self) -> f64 {
        let sum: u64 = self.queries.iter().zip(0u64..).map(|(n, servers)| n * servers).sum();
        sum as f64 / self.queries.iter().sum::<u64>().max(1) as f64
    }

    /// The percentile of the number of servers per query.
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

/// Plans for a cluster from request logs, one per server.
///
/// # Errors
/// [`PlanningError`].
pub fn make_plan(
    logs: &[PathBuf],
    reading: Reading,
    settings: &Settings,
    wish: &PlanOptions,
) -> Result<PlacementPlan, PlanningError> {
    let memory = wish.memory.as_deref();
    let mut catalogue = memory.map_or_else(Catalogue::default, Memory::catalogue);
    let mut spool = Spool::new()?;
    let tally = read(logs, reading, &mut catalogue, &mut |query| spool.put(&query))?;
    if tally.queries < 2 {
        return Err(PlanningError::Short(tally.queries));
    }
    let first = tally.queries.div_ceil(2);
    let cluster = cluster(settings)?;
    let replicas = settings.key_value.replicas as usize;
    let StoredObjects { placement: homes, told: known, servers } =
        lie(&wish.current_placement, &catalogue, &cluster, replicas)?;
    let [before, former] = memory.map_or_else(|| [homes.clone(), homes.clone()], |memory| memory.placements(&homes));
    let sizes: Vec<u64> = catalogue.sizes().map(u64::from).collect();
    let log = log_of_first(first, &mut spool, catalogue.len())?;
    let planner = Planner { cluster: &cluster, sizes: &sizes, settings, budget: wish.budget };
    let history = memory.and_then(Memory::history);
    let made = |kind| planner.plan(kind, &before, &log, history.as_deref()).map_err(|error| told(error, &catalogue));
    let plan = made(wish.method)?;
    let popular = if wish.method == Kind::Picc { Some(made(Kind::PiccNoCorrelation)?) } else { None };
    let mut after = moved(&before, &plan);

    let most_q8 = u64::from(settings.placements.groups.busiest) * 256 / 100;
    let asking = |placement| Asking::new(placement, cluster.racks.len(), most_q8);
    let mut ways = vec![asking(before.clone()), asking(after.clone())];
    ways.extend(popular.map(|plan| asking(moved(&before, &plan))));
    let undone = memory.is_some_and(Memory::has_former).then(|| asking(former.clone()));
    let with_undone = undone.is_some();
    ways.extend(undone);
    let mut unseen = Unseen::new(first, catalogue.len());
    unseen.read(&mut spool, &mut ways, tally.queries)?;
    let periods = match wish.every {
        Some(every) => Periods::new(&planner, wish.method, &before, every, most_q8).run(&mut spool, &catalogue)?,
        None => Vec::new(),
    };
    let mut effects: Vec<Effect> = ways.into_iter().map(|way| way.effect).collect();
    let undone = if with_undone { effects.pop() } else { None };
    let mut effects = effects.into_iter();
    let requests = [&before, &after].map(|placement| Arc::new(requests(&sizes, placement, &unseen.first_queries)));
    let remembered = memory.map(|memory| Remembered::new(memory, homes, former, &unseen.requested));
    Ok(PlacementPlan {
        requests,
        halves: [first, tally.queries - first],
        moved_bytes: planner.bytes(&plan).sum(),
        most_moved_bytes: planner.most_moved(&plan),
        cluster: identity(&cluster, replicas),
        saves: unseen.saves(),
        span: unseen.span(),
        plan,
        before: StoredObjects { placement: before, told: known, servers },
        returned: remembered.as_ref().map_or(0, |remembered| remembered.send_home(&mut after)),
        remembered,
        after,
        effects: [effects.next().unwrap_or_default(), effects.next().unwrap_or_default()],
        popular: effects.next(),
        undone,
        periods,
        tally,
        catalogue,
    })
}

/// The second half of a log's queries, for which plans are evaluated.
struct Unseen {
    /// Number of queries before them.
    first: u64,
    /// The first of them, by time, to be simulated.
    first_queries: Vec<Query>,
    /// Queries, and servers that the plan saves, in each half of them.
    saved: [(u64, i64); 2],
    times: Option<(Time, Time)>,
    /// Objects requested in either half of the log.
    requested: Vec<bool>,
}

impl Unseen {
    fn new(first: u64, objects: usize) -> Unseen {
        let requested = vec![false; objects];
        Unseen { first, first_queries: Vec::new(), saved: [(0, 0); 2], times: None, requested }
    }

    /// Reads `queries` queries; counts the servers of the later ones in each way, of which the first is before the plan, the second after it.
    fn read(&mut self, spool: &mut Spool, ways: &mut [Asking], queries: u64) -> Result<(), PlanningError> {
        let mut numbers = 0..;
        spool.each(|query| {
            query.keys.iter().for_each(|key| self.requested[*key as usize] = true);
            let Some(number) = numbers.next().filter(|number: &u64| *number >= self.first) else { return };
            let asked: Vec<usize> = ways.iter_mut().map(|way| way.ask(&query)).collect();
            let late = (number - self.first) * 2 >= queries - self.first;
            let (queries, servers) = &mut self.saved[usize::from(late)];
            *queries += 1;
            *servers += asked[0] as i64 - asked[1] as i64;
            let (begin, end) = self.times.get_or_insert((query.time, query.time));
            (*begin, *end) = ((*begin).min(query.time), (*end).max(query.time));
            if self.first_queries.len() < SIMULATED {
                self.first_queries.push(query);
            }
        })?;
        self.first_queries.sort_by_key(|query| query.time);
        Ok(())
    }

    fn saves(&self) -> [f64; 2] {
        self.saved.map(|(queries, servers)| servers as f64 / queries.max(1) as f64)
    }

    fn span(&self) -> Time {
        self.times.map_or(Time::ZERO, |(begin, end)| end.since(begin))
    }
}

/// The log of the first queries, for this many keys.
fn log_of_first(queries: u64, spool: &mut Spool, keys: usize) -> Result<RequestLog, PlanningError> {
    let mut log = RequestLog::new(keys, KEPT);
    let mut numbers = 0..;
    spool.each(|query| {
        if numbers.next().is_some_and(|number: u64| number < queries) {
            log.add(query.time, query.keys.into_iter().map(Object));
        }
    })?;
    Ok(log)
}

/// Planner for a cluster.
struct Planner<'a> {
    cluster: &'a Cluster,
    sizes: &'a [u64],
    settings: &'a Settings,
    budget: Option<Bytes>,
}

impl Planner<'_> {
    fn plan(
        &self,
        kind: Kind,
        placement: &Placement,
        log: &RequestLog,
        history: Option<&[Edge]>,
    ) -> Result<Plan, PlanError> {
        let settings = &self.settings.placements;
        match kind {
            Kind::Groups => plan_groups(self.cluster, self.sizes, placement, log, &settings.groups, self.budget),
            kind => {
                let mut plan = plan(self.cluster, self.sizes, placement, log, history, kind, &settings.picc)?;
                let mut left = self.budget.map_or(u64::MAX, |bytes| bytes.0);
                // Keep the plan's order: later moves may need memory that earlier ones free.
                let within = plan.moves.iter().take_while(|of| {
                    let bytes = self.sizes[of.object.0 as usize];
                    let fits = bytes <= left;
                    left = left.saturating_sub(bytes);
                    fits
                });
                let within = within.count();
                plan.moves.truncate(within);
                Ok(plan)
            }
        }
    }

    /// Bytes of each move.
    fn bytes(&self, plan: &Plan) -> impl Iterator<Item = u64> {
        plan.moves.iter().map(|of| self.sizes[of.object.0 as usize])
    }

    /// Bytes that enter or leave the server with most of either.
    fn most_moved(&self, plan: &Plan) -> u64 {
        let mut bytes = vec![[0u64; 2]; self.cluster.racks.len()];
        for of in &plan.moves {
            let size = self.sizes[of.object.0 as usize];
            bytes[of.from.0 as usize][0] += size;
            bytes[of.to.0 as usize][1] += size;
        }
        bytes.into_iter().flatten().max().unwrap_or(0)
    }
}

/// Placement after a plan.
fn moved(before: &Placement, plan: &Plan) -> Placement {
    let mut placement = before.clone();
    plan.moves.iter().for_each(|of| placement.apply(of));
    placement
}

/// Replays a log period by period, planning again after each.
struct Periods<'a> {
    planner: &'a Planner<'a>,
    method: Kind,
    every: Time,
    /// Initial placement, after the first plan, and after the latest plan.
    ways: [Asking; 3],
    log: RequestLog,
    history: Option<Vec<Edge>>,
    begins: Time,
    done: Vec<Period>,
}

impl<'a> Periods<'a> {
    fn new(planner: &'a Planner<'a>, method: Kind, before: &Placement, every: Time, most_q8: u64) -> Periods<'a> {
        let ways = [(); 3].map(|()| Asking::new(before.clone(), planner.cluster.racks.len(), most_q8));
        let log = RequestLog::new(before.objects(), KEPT);
        Periods { planner, method, every, ways, log, history: None, begins: Time::ZERO, done: Vec::new() }
    }

    fn run(mut self, spool: &mut Spool, catalogue: &Catalogue) -> Result<Vec<Period>, PlanningError> {
        let mut wrong = None;
        spool.each(|query| {
            let passed = query.time.since(self.begins).0.checked_div(self.every.0).unwrap_or(0);
            if wrong.is_none() && passed > 0 {
                wrong = self.end().err();
                // Skips any number of periods without queries in constant time.
                self.begins += Time(passed * self.every.0);
            }
            self.ways.iter_mut().for_each(|way| {
                way.ask(&query);
            });
            self.log.add(query.time, query.keys.into_iter().map(Object));
        })?;
        match wrong {
            Some(error) => Err(told(error, catalogue)),
            None => {
                self.end().map_err(|error| told(error, catalogue))?;
                Ok(self.done)
            }
        }
    }

    /// Ends a period; one without queries changes nothing.
    fn end(&mut self) -> Result<(), PlanError> {
        let log = std::mem::replace(&mut self.log, RequestLog::new(self.ways[0].placement.objects(), KEPT));
        let effects = [0, 1, 2].map(|way| std::mem::take(&mut self.ways[way].effect));
        if log.seen() == 0 {
            return Ok(());
        }
        let now = self.ways[2].placement.clone();
        let plan = self.planner.plan(self.method, &now, &log, self.history.as_deref())?;
        let after = moved(&now, &plan);
        if self.done.is_empty() {
            self.ways[1].placement = after.clone();
        }
        self.ways[2].placement = after;
        let moved_bytes = self.planner.bytes(&plan).sum();
        self.done.push(Period { begins: self.begins, servers: effects.map(|effect| effect.mean()), moved_bytes });
        self.history = Some(plan.history);
        Ok(())
    }
}

/// Undoing the last plan must save more than this share of the servers of a query: less is noise.
const UNDOING_SAVES: f64 = 0.02;

/// A change of the placement after a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CarriedOut {
    /// The plan.
    Plan,
    /// The last plan is undone.
    Undoing,
}

impl PlacementPlan {
    /// Replaces the plan by one that undoes the last one, if queries since then would use fewer servers without it; returns whether it does.
    pub fn undo(&mut self) -> bool {
        let Some((remembered, undone)) = self.remembered.as_ref().zip(self.undone.as_ref()) else { return false };
        if undone.mean() >= self.effects[0].mean() * (1.0 - UNDOING_SAVES) {
            return false;
        }
        let moved = self.before.placement.all().filter(|object| {
            let [before, former] = [&self.before.placement, &remembered.former].map(|of| of.homes(*object));
            before != former
        });
        self.moved_bytes = moved.map(|object| u64::from(self.catalogue.size(object.0).unwrap_or(0))).sum();
        self.effects[1] = undone.clone();
        self.after = remembered.former.clone();
        (self.plan.moves, self.returned) = (Vec::new(), 0);
        true
    }

    /// Memory for the next period, if the plan is carried out or not; none for a plan without memory.
    pub fn memory(&self, carried_out: Option<CarriedOut>) -> Option<Memory> {
        let before = &self.before.placement;
        let places = match carried_out {
            None => [before; 2],
            Some(CarriedOut::Plan) => [&self.after, before],
            // It is not judged again.
            Some(CarriedOut::Undoing) => [&self.after; 2],
        };
        let history = (!self.plan.history.is_empty()).then_some(&self.plan.history[..]);
        Some(self.remembered.as_ref()?.memory(&self.catalogue, places, history))
    }

    /// Names of the servers, if known.
    pub fn servers(&self) -> &[String] {
        &self.before.servers
    }

    /// Cumulative distribution of servers per query, before and after, as SVG.
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
        let [before, after] = &self.effects;
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
        let says = "servers per query (cumulative share of queries)";
        svg + &format!(
            "<text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{says}</text>\n</svg>\n",
            HEIGHT - 6.0
        )
    }
}

/// Counts servers of queries for a placement.
struct Asking {
    placement: Placement,
    cover: Cover,
    servers: Vec<Server>,
    effect: Effect,
}

impl Asking {
    fn new(placement: Placement, servers: usize, most_q8: u64) -> Asking {
        Asking { placement, cover: Cover::new(servers, most_q8), servers: Vec::new(), effect: Effect::default() }
    }

    /// Number of servers for a query.
    fn ask(&mut self, query: &Query) -> usize {
        let objects: Vec<Object> = query.keys.iter().map(|key| Object(*key)).collect();
        self.cover.ask(&objects, &self.placement, &mut self.servers);
        self.effect.loads.resize(self.cover.loads().len(), 0);
        self.servers.iter().for_each(|server| self.effect.loads[server.0 as usize] += 1);
        self.servers.sort_unstable();
        self.servers.dedup();
        self.effect.note(self.servers.len());
        self.servers.len()
    }
}

/// The servers of a scenario's network, without the client.
fn cluster(settings: &Settings) -> Result<Cluster, PlanningError> {
    let fabric = settings.network().map_err(|invalid| PlanningError::Cluster(invalid.into()))?;
    let racks: Vec<u32> = (1..=settings.servers()).map(|host| fabric.rack(HostId(host))).collect();
    let capacities = settings.capacities(&fabric, settings.servers());
    Ok(Cluster { racks, capacities })
}

/// Description of a scenario's cluster in the `plan.json` of a planner that follows front ends: its memory has one server of each key.
///
/// # Errors
/// [`PlanningError::Cluster`].
pub fn identity_of(settings: &Settings) -> Result<Value, PlanningError> {
    let replicas = settings.key_value.replicas as usize;
    if replicas != 1 {
        return Err(PlanningError::Cluster(format!(
            "`key_value.replicas` of {replicas}: a planner that follows front ends moves keys with one replica; set it to 1, \
             or make each plan without --watch"
        )));
    }
    Ok(identity(&cluster(settings)?, replicas))
}

/// The error with the key's own name.
fn told(error: PlanError, catalogue: &Catalogue) -> PlanningError {
    match &error {
        PlanError::TooLarge(TooLarge { object, demand, .. }) => {
            let key = String::from_utf8_lossy(catalogue.key(object.0)).into_owned();
            PlanningError::Plan(format!(
                "`{key}` is popular and asks each server that has it for {demand}, which none can give: use more \
                 `picc.memory` or `picc.requests_per_s`, or more `key_value.replicas`"
            ))
        }
        PlanError::Short { wanted, all } => PlanningError::Plan(short(wanted, all)),
        PlanError::Together { object, .. } => {
            let key = String::from_utf8_lossy(catalogue.key(object.0)).into_owned();
            PlanningError::Plan(format!("`{key}`: {error}"))
        }
        _ => PlanningError::Plan(error.to_string()),
    }
}

/// Which capacities are insufficient, and by how much.
fn short(wanted: &Resources, all: &Resources) -> String {
    let short = [
        ("picc.memory", "bytes", wanted.storage, all.storage),
        ("picc.requests_per_s", "requests in a period", wanted.computing, all.computing),
        ("link.rate", "bytes to send in a period", wanted.bandwidth, all.bandwidth),
    ];
    let told = short.into_iter().filter(|(_, _, wanted, all)| wanted > all).map(|(key, what, wanted, all)| {
        format!("`{key}`: all servers need {wanted} {what} but have {all}, {} too few", wanted - all)
    });
    told.collect::<Vec<_>>().join("; ")
}

/// Queries to simulate, starting at the first one's time.
fn requests(sizes: &[u64], placement: &Placement, queries: &[Query]) -> Requests {
    let zero = queries.first().map_or(Time::ZERO, |query| query.time);
    // Host 0 is the client.
    let homes = placement.all().flat_map(|object| placement.homes(object).iter().map(|home| home.0 + 1)).collect();
    let mut requests = Requests::new(sizes.iter().map(|&bytes| bytes as u32).collect(), homes);
    for query in queries {
        requests.push(query.time.since(zero), query.keys.iter().copied());
    }
    requests
}

/// Writes the table of the placement after a plan, with each replica's previous server if known; returns the digest of its bytes. A plan
/// with memory lists only keys that are not where their hashes say, before it or after it.
///
/// # Errors
/// Errors of the file system.
pub fn write_placement(path: &Path, advice: &PlacementPlan) -> std::io::Result<String> {
    let mut writer = placement::Writer::create(path)?;
    for object in advice.after.all() {
        let key = advice.catalogue.key(object.0);
        if let Some(remembered) = &advice.remembered {
            let elsewhere =
                |of: &Placement| Some(of.homes(object)[0]).filter(|server| *server != remembered.home(object));
            let [was, server] =
                [&advice.before.placement, &advice.after].map(|of| elsewhere(of).map(|server| server.0));
            if (was, server) != (None, None) {
                writer.write(key, server, was)?;
            }
            continue;
        }
        let told = advice.before.told[object.0 as usize];
        for (home, was) in advice.after.homes(object).iter().zip(advice.before.placement.homes(object)) {
            writer.write(key, Some(home.0), told.then_some(was.0))?;
        }
    }
    writer.finish()
}

/// An artificial log for trying a plan: 4,000 queries for pages of 40 objects, a few of them popular; 5 % of a query's objects are
/// random. The responses exceed a port's buffer, and arrive at once if they come from many servers.
///
/// # Errors
/// Errors of the file system.
pub fn demo(log: &mut impl Write) -> io::Result<()> {
    const OBJECTS: u32 = 4_800;
    const PAGES: u32 = 100;
    const PAGE: u32 = 40;
    let mut draws = Draws(1);
    let ranks = Harmonic::new(PAGES);
    writeln!(log, "time,query,key,size")?;
    for query in 0..4_000 {
        let first = ranks.draw(&mut draws) as u32 * PAGE;
        for place in 0..PAGE {
            let object = if draws.below(20) == 0 { draws.below(OBJECTS) } else { first + place };
            let size = 1_000 + object.wrapping_mul(7_919) % 4_000;
            writeln!(log, "{}.{:03},q{query},object:{object},{size}", query / 50, query % 50 * 20)?;
        }
    }
    Ok(())
}
