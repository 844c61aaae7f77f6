//! Placement of clusters.
//! Sources: Wang and Shen, "Proactive Incast Congestion Control in a Datacenter Serving Web Applications" (INFOCOM 2018),
//!          section III-B: on the co-location servers of its popular object, or on the server that has most of it.
//! Law:     a cluster has as many target servers as objects have replicas, each in its own rack: the servers of its most popular
//!          object, the anchor, if that is popular; else those that have most of it, preferably with capacity for all of it. Objects
//!          are taken by falling frequency: a replica on a target stays; one in a target's rack moves to that target; the others go to
//!          the remaining targets.
//! Units:   bytes, requests of a period.
//! Owns:    nothing.
//! Departs: the paper has one place per cluster and no replicas. No rack gets a second replica of an object at any time, in any order of
//!          moves: a target in whose rack the object has a replica gets no other. A cluster that does not fit moves as far as it fits;
//!          the rest stays, co-located in its rack if popular. Clusters go by the frequency of their most popular object. Ties go to
//!          the lower number.
//! Checked: tests/placement/settle.rs.

use core::cmp::Reverse;

use crate::loads::Loads;
use crate::{Move, Object, Reason, Resources, Server};

/// Moves clusters to their target servers as far as capacity allows.
pub(crate) fn settle(loads: &mut Loads, clusters: &[Vec<Object>], is_popular: impl Fn(Object) -> bool) {
    let rank = |log: &crate::RequestLog, object: Object| (Reverse(log.frequency(object)), object);
    let mut clusters = clusters.to_vec();
    for cluster in &mut clusters {
        cluster.sort_unstable_by_key(|object| rank(loads.demands.log, *object));
    }
    clusters.sort_unstable_by_key(|cluster| rank(loads.demands.log, cluster[0]));
    for cluster in clusters {
        let homes = match cluster[0] {
            anchor if is_popular(anchor) => loads.placement.homes(anchor).to_vec(),
            _ => most(loads, &cluster),
        };
        for object in cluster {
            at_homes(loads, object, &homes);
        }
    }
}

/// Servers that have most of a cluster, each in its own rack; those with capacity for all of it first.
fn most(loads: &Loads, cluster: &[Object]) -> Vec<Server> {
    let mut whole = Resources::default();
    let mut have: Vec<(Server, Object)> = Vec::new();
    for object in cluster {
        whole += loads.demands.of(*object);
        have.extend(loads.placement.homes(*object).iter().map(|home| (*home, *object)));
    }
    have.sort_unstable();
    let rank = |have: &[(Server, Object)]| {
        let server = have[0].0;
        let there = have.iter().fold(Resources::default(), |sum, (_, object)| sum + loads.demands.of(*object));
        (!loads.fits(whole - there, server), Reverse(have.len()), server)
    };
    let mut servers: Vec<_> = have.chunk_by(|one, other| one.0 == other.0).map(rank).collect();
    servers.sort_unstable();
    let mut homes: Vec<Server> = Vec::new();
    for (_, _, server) in servers {
        if homes.len() < loads.placement.replicas()
            && homes.iter().all(|home| loads.cluster.rack(*home) != loads.cluster.rack(server))
        {
            homes.push(server);
        }
    }
    homes
}

/// Moves an object's replicas to targets with free capacity.
pub(crate) fn at_homes(loads: &mut Loads, object: Object, homes: &[Server]) {
    let mut replicas = loads.placement.homes(object).to_vec();
    let mut left = homes.to_vec();
    left.retain(|home| {
        let rack = loads.cluster.rack(*home);
        let Some(here) = replicas.iter().position(|replica| loads.cluster.rack(*replica) == rack) else { return true };
        let from = replicas.swap_remove(here);
        if from != *home {
            loads.relocate(Move { object, from, to: *home, reason: Reason::Correlated });
        }
        false
    });
    for to in left {
        let Some(from) = replicas.last().copied() else { return };
        if loads.relocate(Move { object, from, to, reason: Reason::Correlated }) {
            replicas.pop();
        }
    }
}
