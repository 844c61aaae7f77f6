//! Swarms: servers of a request by rack, with a hub and its backup.
//! Sources: Wang, Shen and Liu, "Swarm-based Incast Congestion Control" (SPAA 2017), section 3.1; Algorithm 1, lines 1 to 4;
//!          section 4.2 for swarms without proximity (SICC-NPS).
//! Law:     a swarm is a rack's target servers; its hub is the one with the most requested objects, or the most spare I/O; its backup is
//!          the other one with the most spare I/O. Without proximity: as many swarms of the same sizes, drawn from all targets.
//! Units:   objects, servers.
//! Owns:    the order of targets by swarm.
//! Departs: Algorithm 1 and the text of section 3.1 choose hubs differently: both are implemented. Of backups with equal spare I/O the
//!          one with more requested objects is chosen. Other ties go to the lower server.
//! Checked: vectors/swarm.json; tests/trajectories/swarm.txt.

use alloc::vec::Vec;
use core::ops::Range;

use fanin_laws::settings::words;

words! {
    /// Choice of a swarm's hub.
    Policy, "\"most-objects\" or \"spare-io\"" {
        /// The server with the most requested objects (Algorithm 1, line 4).
        MostObjects = "most-objects",
        /// The server with the most spare I/O (section 3.1).
        SpareIo = "spare-io",
    }
}

/// A server with objects of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Its number.
    pub server: u32,
    /// Its rack; rack numbers must be dense.
    pub rack: u32,
    /// Number of requested objects on it.
    pub objects: u32,
    /// Spare I/O capacity, in any unit.
    pub spare_io: u32,
}

/// Targets behind a hub, by index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Swarm {
    /// The hub's rack.
    pub rack: u32,
    /// The collecting target.
    pub hub: u32,
    /// Its replacement after a failure; none in a swarm of one.
    pub backup: Option<u32>,
    /// Its targets, hub and backup included, as positions in the order.
    pub members: Range<u32>,
    /// Number of requested objects.
    pub objects: u64,
}

/// A target with its rank, which no other one has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Ranked {
    rank: (u32, u32, u32),
    index: u32,
}

/// A swarm under construction: the best target as its hub, and the best two as backups.
#[derive(Clone, Copy, Debug)]
struct Tally {
    count: u32,
    objects: u64,
    hub: Option<Ranked>,
    backups: [Option<Ranked>; 2],
}

impl Tally {
    const EMPTY: Tally = Tally { count: 0, objects: 0, hub: None, backups: [None; 2] };

    #[inline]
    fn add(&mut self, target: &Target, index: u32, policy: Policy) {
        // The lower server first; the index separates equal numbers.
        let ranked = |one, other| Some(Ranked { rank: (one, other, !target.server), index });
        let hub = match policy {
            Policy::MostObjects => ranked(target.objects, 0),
            Policy::SpareIo => ranked(target.spare_io, 0),
        };
        let backup = ranked(target.spare_io, target.objects);
        self.count += 1;
        self.objects += u64::from(target.objects);
        self.hub = self.hub.max(hub);
        let [first, second] = self.backups;
        self.backups = if backup > first { [backup, first] } else { [first, second.max(backup)] };
    }

    /// The best backup that is not the hub.
    fn backup(&self) -> Option<u32> {
        self.backups.into_iter().flatten().map(|ranked| ranked.index).find(|index| Some(*index) != self.hub())
    }

    fn hub(&self) -> Option<u32> {
        self.hub.map(|ranked| ranked.index)
    }
}

/// Swarms of a request, with buffers that the next request reuses.
#[derive(Clone, Debug, Default)]
pub struct Swarms {
    swarms: Vec<Swarm>,
    order: Vec<u32>,
    /// By rack.
    tallies: Vec<Tally>,
    /// Position of a rack's next member.
    places: Vec<u32>,
}

impl Swarms {
    /// Forms swarms by rack, in the order of racks; members keep the order of `targets`.
    pub fn form(&mut self, targets: &[Target], policy: Policy) {
        self.tally(targets, policy);
        self.places.clear();
        let mut start = 0;
        for (rack, tally) in self.tallies.iter().enumerate() {
            self.places.push(start);
            if tally.count > 0 {
                self.swarms.push(swarm(rack as u32, tally, start));
                start += tally.count;
            }
        }
        self.order.resize(targets.len(), 0);
        for (index, target) in targets.iter().enumerate() {
            let place = &mut self.places[target.rack as usize];
            self.order[*place as usize] = index as u32;
            *place += 1;
        }
    }

    /// Forms swarms of the same sizes as by rack, with members drawn from all targets (SICC-NPS). `draw` returns a number below its
    /// argument.
    pub fn form_at_random(&mut self, targets: &[Target], policy: Policy, draw: &mut dyn FnMut(u32) -> u32) {
        self.tally(targets, policy);
        self.order.extend(0..targets.len() as u32);
        let mut start = 0;
        for size in self.tallies.iter().map(|tally| tally.count).filter(|count| *count > 0) {
            let mut tally = Tally::EMPTY;
            for place in start..start + size {
                let left = targets.len() as u32 - place;
                self.order.swap(place as usize, (place + draw(left)) as usize);
                let index = self.order[place as usize];
                tally.add(&targets[index as usize], index, policy);
            }
            let rack = tally.hub().map_or(0, |hub| targets[hub as usize].rack);
            self.swarms.push(swarm(rack, &tally, start));
            start += size;
        }
    }

    /// The swarms; each hub is in only one.
    pub fn swarms(&self) -> &[Swarm] {
        &self.swarms
    }

    /// Targets of a swarm.
    pub fn members(&self, swarm: &Swarm) -> &[u32] {
        &self.order[swarm.members.start as usize..swarm.members.end as usize]
    }

    fn tally(&mut self, targets: &[Target], policy: Policy) {
        self.swarms.clear();
        self.order.clear();
        self.tallies.clear();
        for (index, target) in targets.iter().enumerate() {
            let rack = target.rack as usize;
            if rack >= self.tallies.len() {
                self.tallies.resize(rack + 1, Tally::EMPTY);
            }
            self.tallies[rack].add(target, index as u32, policy);
        }
    }
}

fn swarm(rack: u32, tally: &Tally, start: u32) -> Swarm {
    let hub = tally.hub().unwrap_or_else(|| unreachable!("a swarm has a target"));
    Swarm { rack, hub, backup: tally.backup(), members: start..start + tally.count, objects: tally.objects }
}
