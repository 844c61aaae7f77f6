//! Co-location of related objects on groups of servers. A group has as many servers as there are replicas, each in its own rack, so any
//! server of a group has all its objects.
//! Sources: Kabiljo et al., "Social Hash Partitioner" (VLDB 2017), for the search; the choice of moves is this project's own.
//! Law:     servers form groups, first of the racks with most servers left, so that large capacities are together; servers with almost no
//!          capacity are left out. Objects are divided among groups (`levels`) so that no server gets more than `busiest` times the mean
//!          requests or its capacity; newer queries count more. One in `HELD` queries is held out: if these contact almost as many groups
//!          as independent draws would, nothing is related and nothing moves. An object moves if its part costs its queries less than its
//!          current server: in a part each of n objects of a query costs 1/n; at current servers each costs its share of greedy cover's
//!          server count. If most requests are for objects in groups, an earlier plan put them there, and an object leaves its group if
//!          that saves `keep` of its requests in servers. With one replica hashing also puts every object in a group; there the held-out
//!          queries show an earlier plan.
//!          If bytes to move are bounded, clusters with the largest saving per byte go first.
//! Units:   bytes, requests of a period; savings in 1/65,536 of a server.
//! Owns:    nothing.
//! Departs: an object whose own demand exceeds a server's share stays where it is.
//! Checked: tests/placement/groups.rs: capacities, racks and budgets hold; a log without structure moves nothing.

use core::cmp::Reverse;

use fanin_laws::settings::params;
use fanin_units::{Bytes, Share};

use crate::cover::Cover;
use crate::fan_out::{NOWHERE, UNIT};
use crate::hypergraph::Hypergraph;
use crate::levels::Task;
use crate::loads::{Demands, Loads};
use crate::moves::{Plan, PlanError, agree, gathering, in_order, wanted};
use crate::picc::Counts;
use crate::settle::at_homes;
use crate::{Cluster, Object, Placement, RequestLog, Resources, Server};

params! {
    /// Objects co-located on groups of servers, by local search on the probabilistic fan-out.
    groups {
        /// Maximum requests of a server, in per cent of the mean.
        #[range(105..=100_000, "at least one server has the mean or more")]
        busiest: u32 = 200,
        /// An object leaves its group if that saves a server for this share of its requests; larger values give steadier plans.
        keep: Share = Share::of(1, 4),
    }
}

/// Weight of the newest queries relative to the oldest in the search.
const NEWEST: u32 = 4;
/// One query in this many is held out for validation.
const HELD: usize = 8;
/// A group with n requests varies by about √n; this many standard deviations are kept free.
const SPREAD: u64 = 4;
/// Assumed number of groups per query.
const ASKS: u64 = 4;
/// If held-out queries contact less than this share, in 1/256, of the groups that independent draws would, objects are related.
const STRUCTURE: u64 = 230;
/// Minimum saving of a move.
const LEAST: i64 = UNIT as i64 / 2;
/// Minimum saving after an earlier plan.
const STEADY: i64 = 12 * LEAST;
/// Groups with less than this fraction of the median capacity are left out.
const WEAK: u64 = 8;
/// An object with at least this fraction of a group's capacity stays where it is.
const HEAVY: u64 = 8;

/// Plans by groups, with an optional limit of bytes to move.
///
/// # Errors
/// [`PlanError`] if numbers disagree, or objects demand more than all servers have.
pub fn plan_groups(
    cluster: &Cluster,
    sizes: &[u64],
    placement: &Placement,
    log: &RequestLog,
    settings: &Params,
    budget: Option<Bytes>,
) -> Result<Plan, PlanError> {
    agree(cluster, sizes, placement, log)?;
    let demands = || Demands { sizes, log, replicas: placement.replicas() as u64 };
    let bounded = bounded(cluster, placement, &demands(), settings)?;
    let groups = groups(&bounded, placement.replicas());
    // The final state must respect the bound; during the moves servers may use their full capacity.
    let roomy = Cluster { racks: cluster.racks.clone(), capacities: vec![Resources::MOST; cluster.racks.len()] };
    let mut loads = Loads::of(&roomy, demands(), placement, &[], Counts::All);
    let mut clusters = Vec::new();
    if !groups.is_empty() {
        let (homes, of_clusters) = Assignment::of(&loads, &bounded, &groups, settings).homes(budget);
        clusters = of_clusters;
        for (object, group) in homes {
            at_homes(&mut loads, object, &groups[group as usize]);
        }
    }
    let mut now = Loads::of(cluster, demands(), placement, &[], Counts::All);
    let moves = in_order(&mut now, wanted(placement, &loads));
    let gathering = gathering(&now, moves.iter().map(|of| of.to));
    Ok(Plan { moves, gathering, clusters, history: Vec::new() })
}

/// The servers with their bounded capacities.
fn bounded(
    cluster: &Cluster,
    placement: &Placement,
    demands: &Demands,
    settings: &Params,
) -> Result<Cluster, PlanError> {
    let all = cluster.capacities.iter().fold(Resources::default(), |sum, one| sum + *one);
    let each = |object| demands.of(object).times(placement.replicas() as u64);
    let wanted = placement.all().fold(Resources::default(), |sum, object| sum + each(object));
    if !wanted.fits(&all) {
        return Err(PlanError::Short { wanted, all });
    }
    let servers = cluster.capacities.iter().filter(|of| of.computing > 0).count().max(1) as u64;
    let bound = (u128::from(wanted.computing) * u128::from(settings.busiest) / 100 / u128::from(servers)) as u64;
    let most = |of: &Resources| Resources { computing: of.computing.min(bound), ..*of };
    Ok(Cluster { racks: cluster.racks.clone(), capacities: cluster.capacities.iter().map(most).collect() })
}

/// Forms groups with one server per replica, each in its own rack; leaves out servers with almost no capacity.
fn groups(cluster: &Cluster, replicas: usize) -> Vec<Vec<Server>> {
    let mut left: Vec<(u32, Vec<Server>)> = Vec::new();
    let mut servers: Vec<Server> = (0..cluster.racks.len() as u32).map(Server).collect();
    let room = |server: &Server| {
        let of = cluster.capacity(*server);
        (of.storage, of.computing, of.bandwidth)
    };
    servers.retain(|server| *cluster.capacity(*server) != Resources::default());
    // Servers with the largest capacity are taken first, from the end.
    servers.sort_unstable_by_key(|server| (cluster.rack(*server), room(server), Reverse(*server)));
    for theirs in servers.chunk_by(|one, other| cluster.rack(*one) == cluster.rack(*other)) {
        left.push((cluster.rack(theirs[0]), theirs.to_vec()));
    }
    let mut groups = Vec::new();
    loop {
        left.sort_unstable_by_key(|(rack, servers)| (Reverse(servers.len()), *rack));
        if left.len() < replicas || left[replicas - 1].1.is_empty() {
            return strong(cluster, groups);
        }
        groups.push(left[..replicas].iter_mut().filter_map(|(_, servers)| servers.pop()).collect());
    }
}

/// Groups that are not too weak (`WEAK`).
fn strong(cluster: &Cluster, groups: Vec<Vec<Server>>) -> Vec<Vec<Server>> {
    let middle = |get: fn(&Resources) -> u64| {
        let mut all: Vec<u64> = groups.iter().map(|group| get(&weakest(cluster, group))).collect();
        all.sort_unstable();
        all.get(all.len() / 2).map_or(0, |middle| middle / WEAK)
    };
    let enough = Resources::each(middle);
    groups.into_iter().filter(|group| enough.fits(&weakest(cluster, group))).collect()
}

/// Capacity of each server of a group.
fn weakest(cluster: &Cluster, group: &[Server]) -> Resources {
    group.iter().fold(Resources::MOST, |least, server| least.least(*cluster.capacity(*server)))
}

/// Assignment of objects to groups.
struct Assignment<'a> {
    loads: &'a Loads<'a>,
    log: &'a RequestLog,
    groups: &'a [Vec<Server>],
    settings: &'a Params,
    /// The requested objects, and the index of each object among them.
    asked: Vec<Object>,
    nodes: Vec<u32>,
    /// Current group of each.
    current: Vec<u32>,
    demands: Vec<Resources>,
    capacities: Vec<Resources>,
    /// Whether most requests are for objects that an earlier plan grouped; these preferably stay.
    steady: bool,
}

impl<'a> Assignment<'a> {
    fn of(loads: &'a Loads<'a>, cluster: &Cluster, groups: &'a [Vec<Server>], settings: &'a Params) -> Assignment<'a> {
        let (log, placement) = (loads.demands.log, &loads.placement);
        let mut rest = vec![Resources::default(); loads.cluster.racks.len()];
        let (mut asked, mut nodes) = (Vec::new(), vec![NOWHERE; placement.objects()]);
        let most = groups.iter().map(|group| weakest(cluster, group)).fold(Resources::MOST, Resources::least);
        for object in placement.all() {
            let demand = loads.demands.of(object);
            if log.frequency(object) > 0 && demand.fits(&most) {
                nodes[object.0 as usize] = asked.len() as u32;
                asked.push(object);
            } else {
                placement.homes(object).iter().for_each(|home| rest[home.0 as usize] += demand);
            }
        }
        // The group of each first server.
        let mut first = vec![NOWHERE; loads.cluster.racks.len()];
        let in_groups: Vec<Vec<Server>> = groups.iter().map(|group| sorted(group)).collect();
        in_groups.iter().zip(0..).for_each(|(group, number)| first[group[0].0 as usize] = number);
        let current = |object: &Object| {
            let homes = sorted(placement.homes(*object));
            let group = first[homes[0].0 as usize];
            if group != NOWHERE && in_groups[group as usize] == homes { group } else { NOWHERE }
        };
        let queries = (log.seen() * ASKS / groups.len() as u64).max(1);
        let margin = 256 * 256 / u128::from(256 + 256 * SPREAD / queries.isqrt());
        let room = |group: &Vec<Server>| {
            let room = |server: &Server| *cluster.capacity(*server) - rest[server.0 as usize];
            let all = group.iter().map(room).fold(Resources::MOST, Resources::least);
            Resources { computing: ((u128::from(all.computing) * margin) >> 8) as u64, ..all }
        };
        let current: Vec<u32> = asked.iter().map(current).collect();
        let demands: Vec<Resources> = asked.iter().map(|object| loads.demands.of(*object)).collect();
        let requests = |of: &Resources| of.computing;
        let gathered = demands.iter().zip(&current).filter(|(_, group)| **group != NOWHERE).map(|(of, _)| requests(of));
        let most_in_groups = gathered.sum::<u64>() * 2 > demands.iter().map(requests).sum();
        let mut assignment = Assignment {
            current,
            demands,
            steady: false,
            capacities: groups.iter().map(room).collect(),
            loads,
            log,
            groups,
            settings,
            asked,
            nodes,
        };
        // With one replica a single server is a group, so hashing also puts every object in one.
        let by_hash_too = placement.replicas() == 1;
        assignment.steady =
            most_in_groups && (!by_hash_too || assignment.belongs_together(&assignment.current, |_| true));
        assignment
    }

    /// Objects to move into a group, in order, and the clusters.
    fn homes(&self, budget: Option<Bytes>) -> (Vec<(Object, u32)>, Vec<Vec<Object>>) {
        let node = |object: Object| Some(self.nodes[object.0 as usize]).filter(|node| *node != NOWHERE);
        let graph = |holds: bool| {
            // Relations change over time: newer queries count more.
            let age = |query: usize| 1 + (NEWEST - 1) * query as u32 / self.log.kept() as u32;
            let weight = |query: usize| if holds && self.holds(query) { 0 } else { age(query) };
            Hypergraph::of(self.log, self.asked.len(), node, weight)
        };
        let Some(parts) = self.parts(graph) else { return (Vec::new(), Vec::new()) };
        let saved = self.saved(&parts);
        let mut wanted: Vec<u32> =
            (0..self.asked.len() as u32).filter(|node| self.is_wanted(*node, &parts, &saved)).collect();
        // Without a limit all are moved, in any order.
        let of = match budget {
            Some(_) => self.task(&graph(false)).clusters(&parts),
            None => parts.clone(),
        };
        wanted.sort_by_key(|node| of[*node as usize]);
        let mut clusters: Vec<(i64, u64, Vec<u32>)> = Vec::new();
        for cluster in wanted.chunk_by(|one, other| of[*one as usize] == of[*other as usize]) {
            let bytes = cluster.iter().map(|node| self.bytes(*node, parts[*node as usize])).sum();
            let gain: i64 = cluster.iter().map(|node| saved[*node as usize]).sum();
            clusters.push((gain, bytes, cluster.to_vec()));
        }
        // Objects without a size count as one byte, since a ratio to zero has no order.
        let size = |bytes: u64| i128::from(bytes.max(1));
        clusters.sort_by(|(gain, bytes, _), (other, others, _)| {
            (i128::from(*other) * size(*bytes)).cmp(&(i128::from(*gain) * size(*others)))
        });
        let mut left = budget.map_or(u64::MAX, |bytes| bytes.0);
        clusters.retain(|(_, bytes, _)| match left.checked_sub(*bytes) {
            Some(rest) => {
                left = rest;
                true
            }
            None => false,
        });
        let homes = clusters.iter().flat_map(|(_, _, nodes)| nodes);
        let homes = homes.map(|node| (self.asked[*node as usize], parts[*node as usize])).collect();
        let objects = |(_, _, nodes): &(_, _, Vec<u32>)| nodes.iter().map(|node| self.asked[*node as usize]).collect();
        (homes, clusters.iter().map(objects).collect())
    }

    /// Whether a query is held out.
    fn holds(&self, query: usize) -> bool {
        self.log.kept() >= HELD && query % HELD == HELD - 1
    }

    fn task<'b>(&'b self, graph: &'b Hypergraph) -> Task<'b> {
        Task { graph, demands: &self.demands, capacities: &self.capacities }
    }

    /// The parts of all objects, starting from the current ones if most requests are for grouped objects; none if nothing is related.
    fn parts(&self, graph: impl Fn(bool) -> Hypergraph) -> Option<Vec<u32>> {
        if self.steady {
            return Some(self.task(&graph(false)).keep(self.current.clone(), self.settings.keep.in_q(8).into()));
        }
        let parts = self.task(&graph(true)).part();
        let unseen = |query| self.holds(query) || self.log.kept() < HELD;
        self.belongs_together(&parts, unseen).then(|| self.task(&graph(false)).polish(parts))
    }

    /// Whether the counted queries contact fewer groups than independent draws from the grouped objects would.
    fn belongs_together(&self, parts: &[u32], counted: impl Fn(usize) -> bool) -> bool {
        let mut requests = vec![0u64; self.groups.len()];
        let in_parts = self.demands.iter().zip(parts).filter(|(_, part)| **part != NOWHERE);
        in_parts.for_each(|(demand, part)| requests[*part as usize] += demand.computing);
        let all = requests.iter().sum::<u64>().max(1);
        let mut sizes: Vec<u64> = Vec::new();
        let (mut asked, mut groups) = (0u64, Vec::new());
        for query in (0..self.log.kept()).filter(|query| counted(*query)) {
            groups.clear();
            groups.extend(self.log.query(query).iter().filter_map(|object| {
                let node = self.nodes[object.0 as usize];
                parts.get(node as usize).copied().filter(|part| *part != NOWHERE)
            }));
            let size = groups.len();
            if sizes.len() <= size {
                sizes.resize(size + 1, 0);
            }
            sizes[size] += 1;
            groups.sort_unstable();
            groups.dedup();
            asked += groups.len() as u64;
        }
        // Per group, in 1/2^32: the probability that none of n draws is in it.
        let mut expected = 0u128;
        for requests in requests {
            let other = (u128::from(all - requests) << 32) / u128::from(all);
            let mut none = 1u128 << 32;
            for queries in &sizes {
                expected += u128::from(*queries) * ((1 << 32) - none);
                none = (none * other) >> 32;
            }
        }
        u128::from(asked) << 8 < (expected >> 32) * u128::from(STRUCTURE)
    }

    /// Savings in servers of each object in its part, together with the others that move.
    fn saved(&self, parts: &[u32]) -> Vec<i64> {
        let mut cover = Cover::new(self.loads.cluster.racks.len(), u64::from(self.settings.busiest) * 256 / 100);
        let mut servers = Vec::new();
        // Cost of an object of each query at its current servers.
        let mut cost = |query: usize| {
            let objects = self.log.query(query);
            cover.ask(objects, &self.loads.placement, &mut servers);
            servers.sort_unstable();
            servers.dedup();
            servers.len() as i64 * UNIT as i64 / objects.len().max(1) as i64
        };
        let costs: Vec<i64> = (0..self.log.kept()).map(&mut cost).collect();
        let mut goes = vec![true; self.asked.len()];
        let mut saved = vec![0i64; self.asked.len()];
        let mut counts = vec![0i64; self.groups.len()];
        for _ in 0..3 {
            saved.fill(0);
            for (query, cost) in costs.iter().enumerate() {
                let nodes = || {
                    self.log
                        .query(query)
                        .iter()
                        .map(|object| self.nodes[object.0 as usize])
                        .filter(|node| *node != NOWHERE)
                };
                let part = |node: u32| parts[node as usize] as usize;
                nodes().filter(|node| goes[*node as usize]).for_each(|node| counts[part(node)] += 1);
                for node in nodes() {
                    let others = counts[part(node)] - i64::from(goes[node as usize]);
                    saved[node as usize] += cost - UNIT as i64 / (others + 1);
                }
                nodes().for_each(|node| counts[part(node)] = 0);
            }
            for (node, goes) in goes.iter_mut().enumerate() {
                *goes = saved[node] >= self.least() || self.current[node] == parts[node];
            }
        }
        saved
    }

    /// Whether an object should move to its part.
    fn is_wanted(&self, node: u32, parts: &[u32], saved: &[i64]) -> bool {
        let (current, part) = (self.current[node as usize], parts[node as usize]);
        // Leaving a group was worthwhile before; and servers with one of the most requested objects have no free capacity.
        let heavy = self.demands[node as usize].computing * HEAVY > self.capacities[part as usize].computing;
        current != part && (current != NOWHERE || heavy || saved[node as usize] >= self.least())
    }

    /// Minimum saving of a move.
    fn least(&self) -> i64 {
        if self.steady { STEADY } else { LEAST }
    }

    /// Bytes to move, over all replicas.
    fn bytes(&self, node: u32, group: u32) -> u64 {
        let homes = self.loads.placement.homes(self.asked[node as usize]);
        let there = homes.iter().filter(|home| self.groups[group as usize].contains(home)).count();
        self.demands[node as usize].storage * (homes.len() - there) as u64
    }
}

fn sorted(servers: &[Server]) -> Vec<Server> {
    let mut servers = servers.to_vec();
    servers.sort_unstable();
    servers
}
