//! A period's plan: what is moved where, in which order, and what it leads to.
//! Sources: Wang and Shen, "Proactive Incast Congestion Control in a Datacenter Serving Web Applications" (INFOCOM 2018),
//!          section III-A and III-B.
//! Law:     popular objects are gathered, clusters of close ones settled; a replica that is to be elsewhere in the end is moved
//!          there at once. Moves of objects that are asked for most come first; one for which there is no room yet comes after
//!          one that makes room.
//! Units:   bytes, requests of a period.
//! Owns:    nothing: the next period is given this one's history, and the placement with the moves made.
//! Departs: objects that are to change places and find no room to pass stay where they are.
//! Checked: tests/placement/plans.rs: no server above what it can give, and no two replicas in a rack, move by move.

use core::fmt;
use std::collections::VecDeque;

use fanin_laws::settings::Section;

use crate::closeness::{Edge, UNIT, closeness};
use crate::cut_clusters::cut_clusters;
use crate::gather::{TooLarge, gather, popular};
use crate::loads::{Demands, Loads};
use crate::picc::Params;
use crate::settle::settle;
use crate::{Cluster, Kind, Move, Object, Placement, RequestLog, Resources, Server};

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// In an order in which no server is ever above what it can give, and no rack has two replicas of an object.
    pub moves: Vec<Move>,
    /// Who has popular objects, by number: section IV-C's gathering servers.
    pub gathering: Vec<Gathering>,
    /// The objects that are asked for together, cluster by cluster.
    pub clusters: Vec<Vec<Object>>,
    /// How close objects are: the next period's history.
    pub history: Vec<Edge>,
}

/// A server that has popular objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gathering {
    /// The server.
    pub server: Server,
    /// What is counted of all that lies there after the moves.
    pub load: Resources,
    /// What it can give.
    pub capacity: Resources,
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanError {
    /// Settings are not right.
    Settings(String),
    /// Numbers of objects or servers do not agree.
    Numbers(String),
    /// A rack has two replicas of an object.
    Together {
        /// The object.
        object: Object,
        /// The rack.
        rack: u32,
    },
    /// An object is popular, and no server of its rack could hold it.
    TooLarge(TooLarge),
    /// All servers together cannot give what is asked for.
    Short {
        /// What is asked for.
        wanted: Resources,
        /// What they can give.
        all: Resources,
    },
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanError::Settings(what) | PlanError::Numbers(what) => f.write_str(what),
            PlanError::Together { object, rack } => {
                write!(f, "object {} has two replicas in rack {rack}: each must lie in a rack of its own", object.0)
            }
            PlanError::TooLarge(TooLarge { object, demand, rack }) => {
                write!(f, "object {} is popular and asks each of its servers for {demand}: ", object.0)?;
                write!(f, "no server of rack {rack} can give that, were it empty")
            }
            PlanError::Short { wanted, all } => {
                write!(f, "the servers together are asked for {wanted}, and can give {all}")
            }
        }
    }
}

impl std::error::Error for PlanError {}

/// What is to be done after a period: `sizes` are objects' bytes, `history` is what the last plan left.
pub fn plan(
    cluster: &Cluster,
    sizes: &[u64],
    placement: &Placement,
    log: &RequestLog,
    history: Option<&[Edge]>,
    kind: Kind,
    settings: &Params,
) -> Result<Plan, PlanError> {
    check(cluster, sizes, placement, log, settings)?;
    let popular = popular(log, settings.theta);
    let unmoved = || {
        let demands = Demands { sizes, log, replicas: placement.replicas() as u64 };
        Loads::of(cluster, demands, placement, &popular, settings.counts)
    };
    let mut loads = unmoved();
    gather(&mut loads, &popular).map_err(PlanError::TooLarge)?;
    let mut plan = Plan { moves: Vec::new(), gathering: Vec::new(), clusters: Vec::new(), history: Vec::new() };
    if kind.correlates() {
        plan.history = closeness(log, history, settings);
        let clusters = cut_clusters(placement.objects(), &plan.history, u64::from(settings.w) * u64::from(UNIT));
        plan.clusters = clusters.into_iter().map(|cluster| cluster.into_iter().map(Object).collect()).collect();
        let mut is_popular = vec![false; placement.objects()];
        popular.iter().for_each(|object| is_popular[object.0 as usize] = true);
        settle(&mut loads, &plan.clusters, |object| is_popular[object.0 as usize]);
    }
    let mut now = unmoved();
    plan.moves = in_order(&mut now, wanted(placement, &loads));
    plan.gathering = gathering(&now, popular.iter().flat_map(|object| now.placement.homes(*object)).copied());
    Ok(plan)
}

/// Some servers, each once, with what is asked of them.
pub(crate) fn gathering(loads: &Loads, servers: impl Iterator<Item = Server>) -> Vec<Gathering> {
    let mut gathers = vec![false; loads.loads.len()];
    servers.for_each(|home| gathers[home.0 as usize] = true);
    let server = |(server, load): (u32, &Resources)| {
        let server = Server(server);
        gathers[server.0 as usize].then(|| Gathering { server, load: *load, capacity: *loads.cluster.capacity(server) })
    };
    (0..).zip(&loads.loads).filter_map(server).collect()
}

/// The moves from where replicas are to where they are to be, of those first that are asked for most.
pub(crate) fn wanted(placement: &Placement, loads: &Loads) -> Vec<Move> {
    let mut moves = Vec::new();
    for object in placement.all() {
        let homes = placement.homes(object).iter().zip(loads.placement.homes(object));
        for (replica, (from, to)) in homes.enumerate() {
            if from != to {
                let reason = loads.reasons[object.0 as usize * placement.replicas() + replica];
                moves.push(Move { object, from: *from, to: *to, reason });
            }
        }
    }
    moves.sort_by_key(|of| (core::cmp::Reverse(loads.demands.log.frequency(of.object)), of.object));
    moves
}

/// Makes moves, each as soon as there is room for it, and returns them as they were made.
pub(crate) fn in_order(loads: &mut Loads, wanted: Vec<Move>) -> Vec<Move> {
    let mut waiting: Vec<Vec<Move>> = vec![Vec::new(); loads.loads.len()];
    let mut next = VecDeque::from(wanted);
    let mut made = Vec::with_capacity(next.len());
    while let Some(of) = next.pop_front() {
        if loads.relocate(of) {
            made.push(of);
            // In their order, before others.
            waiting[of.from.0 as usize].drain(..).rev().for_each(|of| next.push_front(of));
        } else {
            waiting[of.to.0 as usize].push(of);
        }
    }
    made
}

fn check(
    cluster: &Cluster,
    sizes: &[u64],
    placement: &Placement,
    log: &RequestLog,
    settings: &Params,
) -> Result<(), PlanError> {
    let wrong = |what: String| Err(PlanError::Settings(what));
    if settings.theta == 0 {
        return wrong("picc.theta is 0, and nothing would be popular: it must be at least 1".into());
    }
    if settings.w == 0 || settings.strongest == 0 {
        return wrong("picc.w or picc.strongest is 0: each must be at least 1".into());
    }
    if let Some(refusal) = settings.refuses() {
        return wrong(format!("{}: {}", refusal.paths.join(" and "), refusal.what));
    }
    agree(cluster, sizes, placement, log)
}

/// Whether numbers agree, and no rack has two replicas of an object.
pub(crate) fn agree(
    cluster: &Cluster,
    sizes: &[u64],
    placement: &Placement,
    log: &RequestLog,
) -> Result<(), PlanError> {
    let (racks, capacities) = (cluster.racks.len(), cluster.capacities.len());
    if racks != capacities {
        return Err(PlanError::Numbers(format!("{racks} servers have a rack, but {capacities} a capacity")));
    }
    let (lie, sized, logged) = (placement.objects(), sizes.len(), log.objects());
    if lie != sized || lie != logged {
        let what =
            format!("{lie} objects have servers, {sized} a size, and the log is over {logged}: all must be as many");
        return Err(PlanError::Numbers(what));
    }
    for object in placement.all() {
        let homes = placement.homes(object);
        if let Some(home) = homes.iter().find(|home| home.0 as usize >= racks) {
            let what = format!("object {} lies at server {}, but there are {racks} servers", object.0, home.0);
            return Err(PlanError::Numbers(what));
        }
        for (place, home) in homes.iter().enumerate() {
            let rack = cluster.rack(*home);
            if homes[..place].iter().any(|other| cluster.rack(*other) == rack) {
                return Err(PlanError::Together { object, rack });
            }
        }
    }
    Ok(())
}
