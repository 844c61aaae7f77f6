//! Which replica of each object is asked, so that a query asks few servers and no server more than its part.
//! Sources: Chvátal, "A greedy heuristic for the set-covering problem" (Mathematics of Operations Research, 1979).
//! Law:     the server that has most of what is left of a query is asked for all of that, and so on until nothing is left; of
//!          servers that have as much, the one that was asked for least. One that was asked for more than `most` times the mean is
//!          passed over as long as others have something of the query. What no server below that has is asked in the same way
//!          of the others.
//! Units:   requests for objects; `most` in 1/256 of the mean.
//! Owns:    what each server was asked for. All counts are halved once they come to `MEMORY` a server, so that what was long ago
//!          does not count.
//! Departs: a server's `SLACK` first requests above the mean do not count, or the first query of all would find all servers full.
//! Checked: tests/placement/cover.rs; vectors/cover.json.

use crate::{Object, Placement, Server};

/// Requests a server beyond which counts are halved.
const MEMORY: u64 = 4_096;
/// Requests that a server may have above its part.
const SLACK: u64 = 32;

/// Whoever asks, with what it asked before.
#[derive(Clone, Debug)]
pub struct Cover {
    most_q8: u64,
    loads: Vec<u64>,
    total: u64,
    /// Of the query at hand: what each server has of what is left, and who has any.
    has: Vec<u32>,
    seen: Vec<Server>,
}

impl Cover {
    /// Nobody among so many servers was asked for anything; none is to be asked for more than so many times the mean.
    pub fn new(servers: usize, most_q8: u64) -> Cover {
        Cover { most_q8, loads: vec![0; servers], total: 0, has: vec![0; servers], seen: Vec::new() }
    }

    /// What each server was asked for, lately.
    pub fn loads(&self) -> &[u64] {
        &self.loads
    }

    /// The server that each object of a query is asked at, which are cleared and filled.
    pub fn ask(&mut self, query: &[Object], placement: &Placement, servers: &mut Vec<Server>) {
        self.choose(query.len(), |place| placement.homes(query[place]), servers);
    }

    /// The same of so many objects, whose homes are told by their places.
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

    /// Who is asked next.
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
