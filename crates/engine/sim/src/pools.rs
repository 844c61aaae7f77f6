//! Memories shared by the ports of a switch.
//!
//! With eager departures, a queue is known as of its last arrival, and a memory's use is an upper bound. A packet that fits under
//! that bound fits. Before one is refused, ports are updated to the current time, the most outdated first, until the packet fits or
//! all are up to date: the bound is exact then. With lazy departures, a memory is updated at each.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fanin_fabric::{Fabric, LinkId, NodeId};
use fanin_laws::dynamic_threshold::DynamicThreshold;

use crate::link::Link;
use crate::network::Ports;

/// The memories of a network's switches.
#[derive(Clone)]
pub(crate) struct Pools {
    /// By switch number.
    pools: Vec<Pool>,
    /// By link.
    shares: Vec<Share>,
}

/// A switch's memory.
#[derive(Clone)]
struct Pool {
    law: DynamicThreshold,
    switch: NodeId,
    ports: Vec<LinkId>,
    /// Upper bound of its ports' use.
    used: u64,
    /// Ports with packets, each with a time before which none left since the last count.
    stale: BinaryHeap<Reverse<(u64, LinkId)>>,
}

/// A port's use of its switch's memory; a host's port has none.
#[derive(Clone, Copy)]
struct Share {
    bytes: u64,
    pool: u32,
    /// Whether it is listed as possibly outdated.
    listed: bool,
}

/// A switch's memory as seen by a probe: exact with lazy departures.
#[derive(Clone, Copy)]
pub(crate) struct Memory<'a> {
    pool: &'a Pool,
    shares: &'a [Share],
}

impl Memory<'_> {
    /// Its switch.
    pub fn switch(&self) -> NodeId {
        self.pool.switch
    }

    /// Size of the shared part.
    pub fn shared(&self) -> u64 {
        self.pool.law.shared()
    }

    /// Use of the shared part.
    pub fn used(&self) -> u64 {
        self.pool.used
    }

    /// Limit of one of its ports.
    pub fn threshold(&self, id: LinkId) -> u64 {
        self.pool.law.limit(self.shares[id.index()].bytes, self.pool.used)
    }

    /// Ports that use the shared part, and how much.
    pub fn holders(&self) -> impl Iterator<Item = (LinkId, u64)> {
        let held = self.pool.ports.iter().map(|&id| (id, self.shares[id.index()].bytes));
        held.filter(|&(_, bytes)| bytes > 0)
    }

    /// Whether a port shares it.
    pub fn is_of(&self, id: LinkId) -> bool {
        self.pool.ports.contains(&id)
    }
}

impl Pool {
    /// List a port if packets may leave it unnoticed.
    #[inline(never)]
    fn list(&mut self, share: &mut Share, id: LinkId, link: &Link) {
        if let Some(at) = link.leaves_unseen() {
            self.stale.push(Reverse((at, id)));
            share.listed = true;
        }
    }
}

impl Share {
    const OF_HOST: Share = Share { bytes: 0, pool: u32::MAX, listed: false };
}

impl Pools {
    /// The memories of a network whose switches share memory.
    pub fn new(of: &dyn Ports, fabric: &Fabric) -> Option<Box<Pools>> {
        let memory = of.memory()?;
        let mut ports: Vec<Vec<LinkId>> = Vec::new();
        let mut shares = vec![Share::OF_HOST; fabric.links().len()];
        for (id, share) in fabric.link_ids().zip(&mut shares).filter(|(id, _)| !fabric.is_host(fabric.link(*id).from)) {
            share.pool = fabric.link(id).from.0 - fabric.hosts();
            if ports.len() <= share.pool as usize {
                ports.resize(share.pool as usize + 1, Vec::new());
            }
            ports[share.pool as usize].push(id);
        }
        let pool = |(ports, number): (Vec<LinkId>, u32)| {
            let law = DynamicThreshold::new(&memory, ports.len() as u32);
            let law =
                law.unwrap_or_else(|| panic!("a shared memory of {memory:?} has no room for {} ports", ports.len()));
            Pool { law, switch: NodeId(fabric.hosts() + number), ports, used: 0, stale: BinaryHeap::new() }
        };
        Some(Box::new(Pools { pools: ports.into_iter().zip(0..).map(pool).collect(), shares }))
    }

    /// Copy the state of the switches, and of their ports, that are `own`.
    pub fn take_over(&mut self, from: &Pools, own: impl Fn(NodeId) -> bool) {
        for (pool, other) in self.pools.iter_mut().zip(&from.pools).filter(|(pool, _)| own(pool.switch)) {
            pool.clone_from(other);
            other.ports.iter().for_each(|port| self.shares[port.index()] = from.shares[port.index()]);
        }
    }

    /// Set the queue limit of a switch's port for a packet of `bytes`; returns whether it fits.
    #[inline(always)]
    pub fn make_room(&mut self, now: u64, id: LinkId, bytes: u32, links: &mut [Link]) -> bool {
        let link = &mut links[id.index()];
        link.bring_up(now);
        let (queue, share) = (link.queue_bytes(), &self.shares[id.index()]);
        let pool = &self.pools[share.pool as usize];
        let taken = pool.law.taken(queue);
        let limit = pool.law.limit(taken, pool.used - share.bytes + taken);
        link.set_limit(limit);
        queue + u64::from(bytes) <= limit || self.look_again(now, id, bytes, links)
    }

    /// Update ports to now until the packet fits or all are up to date.
    #[inline(never)]
    fn look_again(&mut self, now: u64, id: LinkId, bytes: u32, links: &mut [Link]) -> bool {
        self.count(id, &links[id.index()]);
        let (number, wanted) = (self.shares[id.index()].pool, links[id.index()].queue_bytes() + u64::from(bytes));
        loop {
            let (share, pool) = (self.shares[id.index()], &mut self.pools[number as usize]);
            let limit = pool.law.limit(share.bytes, pool.used);
            let stale = pool.stale.peek().filter(|Reverse((at, _))| wanted > limit && *at <= now);
            let Some(&Reverse((_, other))) = stale else {
                debug_assert!(wanted <= limit || self.is_exact(number, links), "refused because of stale memory use");
                links[id.index()].set_limit(limit);
                return wanted <= limit;
            };
            pool.stale.pop();
            self.shares[other.index()].listed = false;
            links[other.index()].bring_up(now);
            self.count(other, &links[other.index()]);
        }
    }

    /// Count a port's use, as its link knows it.
    #[inline(always)]
    pub fn count(&mut self, id: LinkId, link: &Link) {
        if link.queue_bytes() > 0 || self.shares[id.index()].bytes > 0 {
            self.count_anew(id, link);
        }
    }

    #[inline(never)]
    fn count_anew(&mut self, id: LinkId, link: &Link) {
        let share = &mut self.shares[id.index()];
        let Some(pool) = self.pools.get_mut(share.pool as usize) else { return };
        let bytes = pool.law.taken(link.queue_bytes());
        pool.used = pool.used - share.bytes + bytes;
        share.bytes = bytes;
        debug_assert!(pool.used <= pool.law.shared(), "more is given away than there is");
        if bytes > 0 && !share.listed {
            pool.list(share, id, link);
        }
    }

    /// The memory that a port shares; `None` for a host's.
    pub fn of(&self, id: LinkId) -> Option<Memory<'_>> {
        let pool = self.pools.get(self.shares[id.index()].pool as usize)?;
        Some(Memory { pool, shares: &self.shares })
    }

    /// A memory's use by its links, and as counted.
    fn sums(&self, pool: u32, links: &[Link]) -> [u64; 2] {
        let law = &self.pools[pool as usize].law;
        let ports = self.pools[pool as usize].ports.iter().map(|id| (&self.shares[id.index()], &links[id.index()]));
        ports.fold([0, 0], |[held, counted], (share, link)| {
            [held + law.taken(link.queue_bytes()), counted + share.bytes]
        })
    }

    /// Whether the counted use equals the links'.
    fn is_exact(&self, pool: u32, links: &[Link]) -> bool {
        self.sums(pool, links) == [self.pools[pool as usize].used; 2]
    }

    /// Conservation error of a memory, if any: links use at most the counted bytes, which are at most the memory's.
    pub fn broken(&self, links: &[Link]) -> Option<String> {
        (0..).zip(&self.pools).find_map(|(number, pool)| {
            let ([held, counted], shared) = (self.sums(number, links), pool.law.shared());
            let adds_up = held <= counted && counted == pool.used && counted <= shared;
            let what = || format!("{held} B held by ports, {counted} counted, {} used of {shared}", pool.used);
            (!adds_up).then(|| format!("switch {number}: {}", what()))
        })
    }
}
