//! Plans: feasible orders of moves, and errors.

use core::fmt;
use std::collections::VecDeque;

use crate::closeness::Edge;
use crate::cluster::{Cluster, Resources, Server};
use crate::co_location::TooLarge;
use crate::loads::Loads;
use crate::placement::{Move, Object, Placement};
use crate::request_log::RequestLog;

/// A plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// In an order that never exceeds a server's capacity or puts two replicas of an object in a rack.
    pub moves: Vec<Move>,
    /// The servers of popular objects, by index: section IV-C's gathering servers.
    pub gathering: Vec<Gathering>,
    /// Clusters of related objects.
    pub clusters: Vec<Vec<Object>>,
    /// Closeness of objects: the history for the next period.
    pub history: Vec<Edge>,
}

/// A server of popular objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gathering {
    /// The server.
    pub server: Server,
    /// Its counted load after the moves.
    pub load: Resources,
    /// Its capacity.
    pub capacity: Resources,
}

/// Reason why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanError {
    /// Invalid settings.
    Settings(String),
    /// Numbers of objects or servers disagree.
    Numbers(String),
    /// A rack has two replicas of an object.
    Together {
        /// The object.
        object: Object,
        /// The rack.
        rack: u32,
    },
    /// A popular object exceeds the capacity of every server of its rack.
    TooLarge(TooLarge),
    /// The total demand exceeds the total capacity.
    Short {
        /// Total demand.
        wanted: Resources,
        /// Total capacity.
        all: Resources,
    },
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanError::Settings(what) | PlanError::Numbers(what) => f.write_str(what),
            PlanError::Together { object, rack } => {
                write!(f, "object {} has two replicas in rack {rack}; put each in its own rack", object.0)
            }
            PlanError::TooLarge(TooLarge { object, demand, rack }) => {
                write!(f, "object {} is popular and demands from each of its servers {demand}: ", object.0)?;
                write!(f, "no server of rack {rack} has that capacity, even if empty")
            }
            PlanError::Short { wanted, all } => {
                write!(f, "the total demand on the servers is {wanted}, above their capacity of {all}")
            }
        }
    }
}

impl std::error::Error for PlanError {}

/// Servers, each once, with their loads.
pub(crate) fn gathering(loads: &Loads, servers: impl Iterator<Item = Server>) -> Vec<Gathering> {
    let mut gathers = vec![false; loads.loads.len()];
    servers.for_each(|home| gathers[home.0 as usize] = true);
    let server = |(server, load): (u32, &Resources)| {
        let server = Server(server);
        gathers[server.0 as usize].then(|| Gathering { server, load: *load, capacity: *loads.cluster.capacity(server) })
    };
    (0..).zip(&loads.loads).filter_map(server).collect()
}

/// Moves from current to planned servers, the most requested objects first.
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
    moves.sort_unstable_by_key(|of| (core::cmp::Reverse(loads.demands.log.frequency(of.object)), of.object));
    moves
}

/// Makes each move as soon as there is capacity, and returns them in that order.
pub(crate) fn in_order(loads: &mut Loads, wanted: Vec<Move>) -> Vec<Move> {
    let mut waiting: Vec<Vec<Move>> = vec![Vec::new(); loads.loads.len()];
    let mut next = VecDeque::from(wanted);
    let mut made = Vec::with_capacity(next.len());
    while let Some(of) = next.pop_front() {
        if loads.relocate(of) {
            made.push(of);
            // In order, before others.
            waiting[of.from.0 as usize].drain(..).rev().for_each(|of| next.push_front(of));
        } else {
            waiting[of.to.0 as usize].push(of);
        }
    }
    made
}

/// Checks that numbers agree, and that no rack has two replicas.
pub(crate) fn agree(
    cluster: &Cluster,
    sizes: &[u64],
    placement: &Placement,
    log: &RequestLog,
) -> Result<(), PlanError> {
    let (racks, capacities) = (cluster.racks.len(), cluster.capacities.len());
    if racks != capacities {
        return Err(PlanError::Numbers(format!("{racks} servers have a rack, but {capacities} have a capacity")));
    }
    let (placed, sized, logged) = (placement.objects(), sizes.len(), log.objects());
    if placed != sized || placed != logged {
        let what = format!(
            "{placed} objects have servers, {sized} a size, and the log has {logged}: the numbers must be equal"
        );
        return Err(PlanError::Numbers(what));
    }
    for object in placement.all() {
        let homes = placement.homes(object);
        if let Some(home) = homes.iter().find(|home| home.0 as usize >= racks) {
            let what = format!("object {} is on server {}, but there are only {racks} servers", object.0, home.0);
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
