//! What any plan is made of: its moves in an order that can be, and why there is none.

use core::fmt;
use std::collections::VecDeque;

use crate::closeness::Edge;
use crate::cluster::{Cluster, Resources, Server};
use crate::gather::TooLarge;
use crate::loads::Loads;
use crate::placement::{Move, Object, Placement};
use crate::request_log::RequestLog;

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
