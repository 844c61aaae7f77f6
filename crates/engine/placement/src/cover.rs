//! Choice of each object's replica, so that a query contacts few servers and no server gets more than its share.
//! Sources: Chvátal, "A greedy heuristic for the set-covering problem" (Mathematics of Operations Research, 1979).
//! Law:     the server with the most remaining objects of a query gets all of these, and so on until none remain; ties go to the
//!          server with fewer earlier requests. A server with more than `most` times the mean requests is skipped as long as others
//!          have remaining objects. Objects that only such servers have are then requested there in the same way.
//! Units:   requests for objects; `most` in 1/256 of the mean.
//! Owns:    request counts of the servers. All are halved when they reach `MEMORY` per server, so old requests stop counting.
//! Departs: the first `SLACK` requests of a server above the mean do not count, or the first query would find all servers full.
//! Checked: tests/placement/cover.rs; vectors/cover.json.

use crate::{Object, Placement, Server};

/// Mean requests per server at which counts are halved.
const MEMORY: u64 = 4_096;
/// Requests that a server may have above its share.
const SLACK: u64 = 32;

/// A client with its request counts.
#[derive(Clone, Debug)]
pub struct Cover {
    most_q8: u64,
    loads: Vec<u64>,
    total: u64,
    /// Remaining objects of the current query per server, and the servers that have any.
    has: Vec<u32>,
    seen: Vec<Server>,
}

impl Cover {
    /// A cover without requests; no server may have more than this multiple of the mean.
    pub fn new(servers: usize, most_q8: u64) -> Cover {
        Cover { most_q8, loads: vec![0; servers], total: 0, has: vec![0; servers], seen: Vec::new() }
    }

    /// Recent requests per server.
    pub fn loads(&self) -> &[u64] {
        &self.loads
    }

    /// Chooses the server of each object of a query; clears and fills `servers`.
    pub fn ask(&mut self, query: &[Object], placement: &Placement, servers: &mut Vec<Server>) {
        self.choose(query.len(), |place| placement.homes(query[place]), servers);
    }

    /// The same for objects whose servers a function returns.
    pub fn choose<'a>(&mut self, objects: usize, homes: impl Fn(usize) -> &'a [Server], servers: &mut Vec<Server>) {
        servers.clear();
        servers.resize(objects, NOBODY);
        for place in 0..objects {
            for home in homes(place) {
                let has = &mut self.has[home.0 as usize];
                if *has == 0 {
                    self.seen.push(*home);
                }
                *has += 1;
            }
        }
        let mut left = objects;
        while left > 0 {
            let Some(server) = self.next() else { break };
            let asked = self.has[server.0 as usize];
            for (place, asked) in servers.iter_mut().enumerate() {
                if *asked == NOBODY && homes(place).contains(&server) {
                    *asked = server;
                    homes(place).iter().for_each(|home| self.has[home.0 as usize] -= 1);
                }
            }
            left -= asked as usize;
            self.loads[server.0 as usize] += u64::from(asked);
            self.total += u64::from(asked);
        }
        self.seen.clear();
        if self.total >= MEMORY * self.loads.len() as u64 {
            self.loads.iter_mut().for_each(|load| *load /= 2);
            self.total = self.loads.iter().sum();
        }
    }

    /// The next server to request from.
    fn next(&self) -> Option<Server> {
        let rank = |server: &&Server| {
            let (has, load) = (self.has[server.0 as usize], self.loads[server.0 as usize]);
            (!self.is_full(**server), has, core::cmp::Reverse((load, **server)))
        };
        self.seen.iter().filter(|server| self.has[server.0 as usize] > 0).max_by_key(rank).copied()
    }

    fn is_full(&self, server: Server) -> bool {
        let servers = self.loads.len() as u64;
        let load = u128::from(self.loads[server.0 as usize] * servers) << 8;
        load > u128::from(self.most_q8) * u128::from(self.total + SLACK * servers)
    }
}

const NOBODY: Server = Server(u32::MAX);
