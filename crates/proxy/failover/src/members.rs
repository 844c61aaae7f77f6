//! The servers of a pool as all threads see them, and the servers of a key.

use fanin_proxy_routing::Router;

/// Phase of a server; see the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It is in use.
    Up,
    /// It has failed, and requests to it fail until all threads know.
    Leaving,
    /// Others are used, and changes are noted in its journal.
    Away,
    /// Others are used while the keys of its journal are deleted here.
    Joining,
    /// The same, while requests to it fail; only with `next`.
    Returning,
}

impl Phase {
    /// Its name for operators.
    pub fn word(self) -> &'static str {
        match self {
            Phase::Up => "up",
            Phase::Leaving => "leaving",
            Phase::Away => "away",
            Phase::Joining => "joining",
            Phase::Returning => "returning",
        }
    }
}

/// A server of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its phase.
    pub phase: Phase,
    /// Grows with each return: of a key's replicas, the one that has been up for longest is the primary, since it lacks nothing.
    pub rank: u64,
}

/// The servers of a pool. Who holds one relies on it: the next but one does not come into force before this is dropped.
#[derive(Clone, Debug)]
pub struct Members {
    /// Servers in the order of the settings.
    pub list: Vec<Member>,
    /// Servers per key.
    replicas: usize,
    /// Whether every key's primary is the server by its hash.
    is_by_hash: bool,
}

/// Servers of a key, by their numbers in the pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Route {
    /// Its value here is the key's value.
    pub primary: usize,
    /// Other servers that have the same value or none.
    pub copies: Vec<usize>,
    /// Servers that must delete the key when it changes: copies, and servers that join.
    pub deletes: Vec<usize>,
    /// Servers whose journals must have a changed key.
    pub absent: Vec<usize>,
}

impl Members {
    /// Servers with this number of replicas per key, of which others answer for one that is not up, or none do.
    pub fn new(list: Vec<Member>, replicas: usize, replaces: bool) -> Members {
        // Without replicas, ranks do not matter.
        let is_first = |member: &Member| member.phase == Phase::Up && (replicas == 1 || member.rank == 0);
        let is_by_hash = !replaces || list.iter().all(is_first);
        Members { list, replicas, is_by_hash }
    }

    /// Servers of a pool without failover.
    pub fn all_up(servers: usize) -> Members {
        Members::new(vec![Member { phase: Phase::Up, rank: 0 }; servers], 1, false)
    }

    /// Whether keys have replicas.
    pub fn has_replicas(&self) -> bool {
        self.replicas > 1
    }

    /// Phase of a server.
    pub fn phase(&self, server: usize) -> Phase {
        self.list[server].phase
    }

    /// The server that has a key's value. If it is not up, the key is not available.
    pub fn primary(&self, router: &Router, key: &[u8]) -> usize {
        if self.is_by_hash { router.server(key) } else { self.route(router, key).primary }
    }

    /// Servers of a key.
    pub fn route(&self, router: &Router, key: &[u8]) -> Route {
        match self.has_replicas() {
            true => self.among(&router.first_servers(key, self.replicas), &[], false),
            false => self.next(router, key),
        }
    }

    /// The first server on the ring that is not away.
    fn next(&self, router: &Router, key: &[u8]) -> Route {
        let (mut route, mut found) = (Route::default(), None);
        router.each_server(key, |server| {
            match self.phase(server) {
                Phase::Up | Phase::Leaving | Phase::Returning => found = Some(server),
                Phase::Joining => route.deletes.push(server),
                Phase::Away => {}
            }
            if found.is_none() {
                route.absent.push(server);
            }
            found.is_none()
        });
        route.primary = found.or(route.absent.first().copied()).unwrap_or(0);
        route
    }

    /// Servers of a key with replicas on these servers, one of which is the primary, and with copies on others, which are read or not.
    pub fn among(&self, homes: &[usize], others: &[usize], are_read: bool) -> Route {
        let mut route = Route::default();
        let in_use = homes.iter().filter(|home| matches!(self.phase(**home), Phase::Up | Phase::Leaving));
        let oldest = in_use.copied().min_by_key(|home| self.list[*home].rank);
        route.primary = oldest.unwrap_or(homes[0]);
        let all = homes.iter().map(|home| (*home, true)).chain(others.iter().map(|other| (*other, are_read)));
        for (server, is_read) in all.filter(|(server, _)| Some(*server) != oldest) {
            match self.phase(server) {
                Phase::Up => {
                    route.copies.extend(is_read.then_some(server));
                    route.deletes.push(server);
                }
                Phase::Joining | Phase::Returning => route.deletes.push(server),
                Phase::Leaving | Phase::Away => route.absent.push(server),
            }
        }
        route
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Phase::*;
    use fanin_proxy_routing::{Hash, Placement, Weighted};

    /// Route of a key whose servers on the ring are 0, 1, 2, 3 after renaming, with these phases and ranks.
    fn route(states: [(Phase, u64); 4], replicas: usize) -> Route {
        let servers: Vec<Weighted> = (0..4).map(|server| Weighted { name: format!("s{server}"), weight: 1 }).collect();
        let router = Router::new(Placement::WORDS[0].1, Hash::Fnv1a64, &servers);
        let mut order = Vec::new();
        router.each_server(b"key", |server| {
            order.push(server);
            true
        });
        let mut list = [Member { phase: Up, rank: 0 }; 4];
        order.iter().zip(states).for_each(|(server, (phase, rank))| list[*server] = Member { phase, rank });
        let route = Members::new(list.into(), replicas, true).route(&router, b"key");
        let renamed = |server: usize| order.iter().position(|other| *other == server).unwrap();
        let all = |servers: Vec<usize>| servers.into_iter().map(renamed).collect();
        Route {
            primary: renamed(route.primary),
            copies: all(route.copies),
            deletes: all(route.deletes),
            absent: all(route.absent),
        }
    }

    #[test]
    fn next_server_on_ring_replaces_those_away() {
        let none = Vec::new;
        for (phases, primary, deletes, absent) in [
            ([Up, Up, Up, Up], 0, none(), none()),
            ([Leaving, Up, Up, Up], 0, none(), none()),
            ([Away, Up, Up, Up], 1, none(), vec![0]),
            ([Away, Away, Up, Up], 2, none(), vec![0, 1]),
            ([Joining, Away, Up, Up], 2, vec![0], vec![0, 1]),
            ([Returning, Up, Up, Up], 0, none(), none()),
            ([Away, Returning, Up, Up], 1, none(), vec![0]),
            ([Away, Away, Away, Away], 0, none(), vec![0, 1, 2, 3]),
        ] {
            let expected = Route { primary, copies: none(), deletes, absent };
            assert_eq!(route(phases.map(|phase| (phase, 0)), 1), expected, "{phases:?}");
        }
    }

    #[test]
    fn replica_that_was_up_for_longest_is_primary() {
        let none = Vec::new;
        for (states, primary, copies, deletes, absent) in [
            ([(Up, 0), (Up, 0), (Up, 0)], 0, vec![1, 2], vec![1, 2], none()),
            ([(Up, 2), (Up, 1), (Up, 3)], 1, vec![0, 2], vec![0, 2], none()),
            ([(Leaving, 0), (Up, 0), (Up, 0)], 0, vec![1, 2], vec![1, 2], none()),
            ([(Away, 0), (Up, 0), (Leaving, 0)], 1, none(), none(), vec![0, 2]),
            ([(Joining, 0), (Up, 5), (Up, 4)], 2, vec![1], vec![0, 1], none()),
            ([(Away, 0), (Away, 0), (Away, 0)], 0, none(), none(), vec![0, 1, 2]),
        ] {
            let expected = Route { primary, copies, deletes, absent };
            let [one, two, three] = states;
            assert_eq!(route([one, two, three, (Up, 0)], 3), expected, "{states:?}");
        }
    }
}
