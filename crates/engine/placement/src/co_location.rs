//! Co-location of popular objects on few servers of their racks.
//! Sources: Wang and Shen, "Proactive Incast Congestion Control in a Datacenter Serving Web Applications" (INFOCOM 2018),
//!          section III-A, Algorithm 1.
//! Law:     the θ most requested objects are popular. In each rack, servers are co-location servers in order of falling weight
//!          W = Σ B_o F_o over their objects, until their free capacity covers the demand of the rack's popular objects in every
//!          resource. Objects already on one stay; the others go to the first with free capacity, or make the next server by weight
//!          with free capacity, possibly their current one, a co-location server.
//! Units:   bytes, requests of a period.
//! Owns:    nothing.
//! Departs: a server's capacity is for all its objects, popular or not, so none is overfilled, unless `picc.counts` is "popular", as
//!          printed; a server that was overfull before keeps its objects unless there is free capacity elsewhere. Each replica stays
//!          in its own rack and demands its share of the object's requests. All servers of a rack are equally near: the "nearest"
//!          is the first. Ties go to the lower number.
//! Checked: tests/placement/co_location.rs.

use core::cmp::Reverse;

use crate::loads::Loads;
use crate::{Move, Object, Reason, RequestLog, Resources, Server};

/// An object that no server of a rack could hold, even if empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge {
    /// The object.
    pub object: Object,
    /// Demand of each of its replicas.
    pub demand: Resources,
    /// The rack.
    pub rack: u32,
}

/// The most popular objects, by falling frequency.
pub(crate) fn popular(log: &RequestLog, theta: u32) -> Vec<Object> {
    let mut asked: Vec<Object> =
        (0..log.objects() as u32).map(Object).filter(|object| log.frequency(*object) > 0).collect();
    let rank = |object: &Object| (Reverse(log.frequency(*object)), *object);
    let theta = theta as usize;
    if asked.len() > theta {
        asked.select_nth_unstable_by_key(theta, rank);
        asked.truncate(theta);
    }
    asked.sort_unstable_by_key(rank);
    asked
}

/// Co-locates popular objects in each rack.
pub(crate) fn co_locate(loads: &mut Loads, popular: &[Object]) -> Result<(), TooLarge> {
    let mut lie: Vec<(u32, usize, Server)> = Vec::new();
    for (rank, object) in popular.iter().enumerate() {
        lie.extend(loads.placement.homes(*object).iter().map(|home| (loads.cluster.rack(*home), rank, *home)));
    }
    lie.sort_unstable();
    let servers = by_weight(loads);
    for lie in lie.chunk_by(|one, other| one.0 == other.0) {
        let rack = lie[0].0;
        let first = servers.partition_point(|server| loads.cluster.rack(*server) < rack);
        let servers = &servers[first..];
        let last = servers.partition_point(|server| loads.cluster.rack(*server) == rack);
        let lie: Vec<(Object, Server)> = lie.iter().map(|(_, rank, home)| (popular[*rank], *home)).collect();
        co_locate_in_rack(loads, &lie, &servers[..last]).map_err(|object| TooLarge {
            object,
            demand: loads.demands.of(object),
            rack,
        })?;
    }
    Ok(())
}

/// All servers by rack, and within it by falling weight.
fn by_weight(loads: &Loads) -> Vec<Server> {
    let mut weights = vec![0u64; loads.loads.len()];
    for object in loads.placement.all() {
        let asked = loads.demands.sizes[object.0 as usize].saturating_mul(loads.demands.log.frequency(object).into());
        for home in loads.placement.homes(object) {
            let weight = &mut weights[home.0 as usize];
            *weight = weight.saturating_add(asked);
        }
    }
    let mut servers: Vec<Server> = (0..weights.len() as u32).map(Server).collect();
    servers.sort_unstable_by_key(|server| (loads.cluster.rack(*server), Reverse(weights[server.0 as usize]), *server));
    servers
}

/// Co-locates a rack's popular objects; returns an object that no server could hold, if there is one.
fn co_locate_in_rack(loads: &mut Loads, lie: &[(Object, Server)], servers: &[Server]) -> Result<(), Object> {
    let fits = |object: Object, server: &Server| loads.demands.of(object).fits(loads.cluster.capacity(*server));
    if let Some((object, _)) = lie.iter().find(|(object, _)| !servers.iter().any(|server| fits(*object, server))) {
        return Err(*object);
    }
    let mut gathering = select(loads, lie, servers);
    for (object, home) in lie {
        let lies_well = loads.loads[home.0 as usize].fits(loads.cluster.capacity(*home));
        if lies_well && gathering.contains(home) {
            continue;
        }
        let to = |to| Move { object: *object, from: *home, to, reason: Reason::Popular };
        if gathering.iter().any(|server| loads.relocate(to(*server))) {
            continue;
        }
        // The current server is overfull only if no other has free capacity.
        let next = servers.iter().find(|server| if *server == home { lies_well } else { loads.relocate(to(**server)) });
        gathering.push(*next.unwrap_or(home));
    }
    Ok(())
}

/// The first servers whose free capacity, including their popular objects' demand, covers all popular objects of the rack.
fn select(loads: &Loads, lie: &[(Object, Server)], servers: &[Server]) -> Vec<Server> {
    let mut wanted = Resources::default();
    let mut theirs: Vec<(Server, Resources)> = Vec::with_capacity(lie.len());
    for (object, home) in lie {
        let demand = loads.demands.of(*object);
        wanted += demand;
        theirs.push((*home, demand));
    }
    theirs.sort_unstable_by_key(|(home, _)| *home);
    let mut room = Resources::default();
    let mut selected = Vec::new();
    for server in servers {
        if wanted.fits(&room) {
            break;
        }
        let at = theirs.partition_point(|(home, _)| home < server);
        let mut others = loads.loads[server.0 as usize];
        theirs[at..].iter().take_while(|(home, _)| home == server).for_each(|(_, demand)| others = others - *demand);
        room += *loads.cluster.capacity(*server) - others;
        selected.push(*server);
    }
    selected
}
