//! The tree of hubs: at most N of them send to the front end, the others to a hub nearby.
//! Sources: Wang, Shen and Liu, "Swarm-based Incast Congestion Control" (SPAA 2017), section 3.1: equation 1, Rules 1 and 2,
//!          Algorithm 1, lines 5 to 13.
//! Law:     while there are more than N roots: the one with the fewest objects in its tree, of those that are not alone under their
//!          aggregation router, becomes a child of the one with the next fewest there (Rule 1), which has no fewer (Rule 2); and as
//!          long as the parent has fewer than N children, the new child's own go over to it, the largest first.
//!          M = S_e/s B_u/B_d, N = M/m.
//! Units:   objects; hubs; N rounded down, at least 1.
//! Owns:    parents, children.
//! Departs: Algorithm 1 says nothing of a hub that is alone under its router, and does not end where all are: here it stays a
//!          root while there are others to link, and once all are alone, links go across routers, which in a fat tree are
//!          equally far from each other. M grows as the downlink slows, against section 4.3: "mended" turns its rates round.
//!          Rule 2 holds with equality allowed, and ties go to the lower hub. As printed, N bounds the children that are taken
//!          over and not those that are linked.
//! Checked: vectors/tree.json; tests/trajectories/tree.txt.

use alloc::collections::BinaryHeap;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::mem;

use fanin_laws::settings::words;
use fanin_units::{Bytes, Rate};

words! {
    /// How equation 1 is read.
    Bound, "\"printed\", \"mended\" or \"fixed\"" {
        /// As it is printed: more hubs the slower the downlink is.
        Printed = "printed",
        /// Its rates turned round: fewer hubs the slower the downlink is, as section 4.3 has it.
        Mended = "mended",
        /// Not at all: N is given.
        Fixed = "fixed",
    }
}

/// N: how many hubs may send to the front end at once, of each of `requests`. `buffer` is the edge switch's, `packet` the mean
/// size of one, `up` a server's part of the switch's uplinks, `down` the rate of the front end's link.
pub fn bound(reading: Bound, buffer: Bytes, packet: Bytes, up: Rate, down: Rate, requests: u32, fixed: u32) -> u32 {
    let (over, under) = match reading {
        Bound::Printed => (up, down),
        Bound::Mended => (down, up),
        Bound::Fixed => return fixed.max(1),
    };
    let whole = u128::from(buffer.0).saturating_mul(over.0.into());
    let part = (u128::from(packet.0) * u128::from(under.0)).saturating_mul(requests.into());
    let hubs = whole.checked_div(part).unwrap_or(1);
    u32::try_from(hubs).unwrap_or(u32::MAX).max(1)
}

/// A hub as the tree looks at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hub {
    /// The requested objects of its swarm.
    pub objects: u64,
    /// The aggregation router above its rack, by a number that is not much above the routers there are.
    pub aggregation: u32,
}

/// Who sends to whom. Hubs go by their place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    parents: Vec<Option<u32>>,
    children: Vec<Vec<u32>>,
    roots: Vec<u32>,
}

/// Roots with the objects of their trees, the smallest first; one that has grown since, or is none any more, is passed over.
type Queue = BinaryHeap<Reverse<(u64, u32)>>;

/// A tree under way.
struct Building {
    /// The objects of each hub's tree.
    objects: Vec<u64>,
    tree: Tree,
}

impl Tree {
    /// Algorithm 1, from its line 5 on: at most `most` roots, and at least one where there are hubs.
    pub fn build(hubs: &[Hub], most: u32) -> Tree {
        let count = hubs.len();
        let most = most.max(1) as usize;
        let tree = Tree { parents: vec![None; count], children: vec![Vec::new(); count], roots: Vec::new() };
        let mut building = Building { objects: hubs.iter().map(|hub| hub.objects).collect(), tree };
        if count > most {
            let routers: Vec<u32> = hubs.iter().map(|hub| hub.aggregation).collect();
            let left = building.link(&routers, count - most, most);
            building.link(&vec![0; count], left, most);
        }
        let mut tree = building.tree;
        tree.roots = (0..count as u32).filter(|hub| tree.parent(*hub).is_none()).collect();
        tree
    }

    /// To whom a hub sends; none: to the front end.
    pub fn parent(&self, hub: u32) -> Option<u32> {
        self.parents[hub as usize]
    }

    /// Who sends to a hub.
    pub fn children(&self, hub: u32) -> &[u32] {
        &self.children[hub as usize]
    }

    /// Those that send to the front end.
    pub fn roots(&self) -> &[u32] {
        &self.roots
    }

    /// How many hubs the longest way to the front end leads through: 1 where all are roots.
    pub fn depth(&self) -> u32 {
        let (mut level, mut depth) = (self.roots.clone(), 0);
        while !level.is_empty() {
            depth += 1;
            level = level.iter().flat_map(|hub| self.children(*hub)).copied().collect();
        }
        depth
    }
}

impl Building {
    /// Links up to `links` roots, each to another of its group: how many have found none.
    fn link(&mut self, groups: &[u32], mut links: usize, most: usize) -> usize {
        let count = groups.iter().max().map_or(0, |group| *group as usize + 1);
        let mut entries: Vec<Vec<Reverse<(u64, u32)>>> = vec![Vec::new(); count];
        for hub in (0..groups.len() as u32).filter(|hub| self.tree.parent(*hub).is_none()) {
            entries[groups[hub as usize] as usize].push(Reverse((self.objects[hub as usize], hub)));
        }
        let mut all: Queue = entries.iter().flatten().copied().collect();
        let mut within: Vec<Queue> = entries.into_iter().map(Queue::from).collect();
        while links > 0
            && let Some(child) = self.smallest(&mut all)
        {
            all.pop();
            // The smallest of all is the smallest of its group, too.
            let group = &mut within[groups[child as usize] as usize];
            self.smallest(group);
            group.pop();
            let Some(parent) = self.smallest(group) else { continue };
            let before = self.objects[parent as usize];
            self.adopt(parent, child, most);
            // By a child without objects it has not grown, and stands in the queues already.
            if self.objects[parent as usize] > before {
                let grown = Reverse((self.objects[parent as usize], parent));
                all.push(grown);
                group.push(grown);
            }
            links -= 1;
        }
        links
    }

    /// The smallest root of a queue, where it stays.
    fn smallest(&self, queue: &mut Queue) -> Option<u32> {
        while let Some(Reverse((objects, hub))) = queue.peek().copied() {
            if self.tree.parent(hub).is_none() && self.objects[hub as usize] == objects {
                return Some(hub);
            }
            queue.pop();
        }
        None
    }

    /// Algorithm 1, lines 9 to 12.
    fn adopt(&mut self, parent: u32, child: u32, most: usize) {
        let (parent_, child_) = (parent as usize, child as usize);
        let mut mine = mem::take(&mut self.tree.children[parent_]);
        let mut its = mem::take(&mut self.tree.children[child_]);
        mine.push(child);
        self.tree.parents[child_] = Some(parent);
        let whole = self.objects[child_];
        if mine.len() < most {
            its.sort_by_key(|hub| (self.objects[*hub as usize], Reverse(*hub)));
        }
        while mine.len() < most
            && let Some(last) = its.pop()
        {
            self.tree.parents[last as usize] = Some(parent);
            self.objects[child_] -= self.objects[last as usize];
            mine.push(last);
        }
        self.objects[parent_] += whole;
        self.tree.children[parent_] = mine;
        self.tree.children[child_] = its;
    }
}
