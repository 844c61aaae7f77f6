//! Tree of hubs: at most N of them send to the front end, the others to a hub nearby.
//! Sources: Wang, Shen and Liu, "Swarm-based Incast Congestion Control" (SPAA 2017), section 3.1: equation 1, Rules 1 and 2,
//!          Algorithm 1, lines 5 to 13.
//! Law:     while there are more than N roots: the one with the fewest objects in its tree, of those with others under their aggregation
//!          router, becomes a child of the one with the next fewest there (Rule 1), which has no fewer (Rule 2); while the parent has
//!          fewer than N children, it takes over the new child's own, the largest first.
//!          M = S_e/s B_u/B_d, N = M/m, where m is the mean number of concurrent requests so far.
//! Units:   objects; hubs; M and N rounded down, at least 1.
//! Owns:    parents, children.
//! Departs: Algorithm 1 does not cover a hub that is alone under its router, and does not end if all are: here it stays a root while
//!          there are others to link, and once all are alone, links cross routers, which are equally distant in a fat tree. M grows as
//!          the downlink slows, against section 4.3: "mended" inverts its rates. Rule 2 allows equality, and ties go to the lower hub.
//!          As printed, N bounds the children that are taken over, not those that are linked.
//! Checked: vectors/tree.json; tests/trajectories/tree.txt.

use alloc::collections::BinaryHeap;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::mem;

use fanin_laws::settings::words;
use fanin_units::{Bytes, Rate};

words! {
    /// Interpretation of equation 1.
    Bound, "\"printed\", \"mended\" or \"fixed\"" {
        /// As printed: more hubs on a slower downlink.
        Printed = "printed",
        /// With inverted rates: fewer hubs on a slower downlink, as in section 4.3.
        Mended = "mended",
        /// None: N is fixed.
        Fixed = "fixed",
    }
}

/// M: number of hubs that may send to the front end at once (equation 1); `fixed` if it is. `buffer` is the edge switch's, `packet` the
/// mean packet size, `up` a server's share of the switch's uplinks, `down` the rate of the front end's link.
pub fn bound(reading: Bound, buffer: Bytes, packet: Bytes, up: Rate, down: Rate, fixed: u32) -> u32 {
    let (over, under) = match reading {
        Bound::Printed => (up, down),
        Bound::Mended => (down, up),
        Bound::Fixed => return fixed.max(1),
    };
    let whole = u128::from(buffer.0).saturating_mul(over.0.into());
    let part = u128::from(packet.0) * u128::from(under.0);
    let hubs = whole.checked_div(part).unwrap_or(1);
    u32::try_from(hubs).unwrap_or(u32::MAX).max(1)
}

/// m: mean number of a front end's requests under way when one begins, that one included, since the front end began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Concurrency {
    begun: u64,
    under_way: u64,
}

impl Concurrency {
    /// Counts a request that begins; `under_way` includes it.
    pub fn begin(&mut self, under_way: u32) {
        self.begun += 1;
        self.under_way += u64::from(under_way.max(1));
    }

    /// N = M/m: the hubs of one request.
    pub fn share(&self, hubs: u32) -> u32 {
        let share = u128::from(hubs) * u128::from(self.begun) / u128::from(self.under_way.max(1));
        u32::try_from(share).unwrap_or(hubs).clamp(1, hubs.max(1))
    }
}

/// A hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hub {
    /// Number of requested objects of its swarm.
    pub objects: u64,
    /// The aggregation router above its rack; router numbers must be dense.
    pub aggregation: u32,
}

/// Parents of hubs, by index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    parents: Vec<Option<u32>>,
    children: Vec<Vec<u32>>,
    roots: Vec<u32>,
}

/// Roots by the objects of their trees, the smallest first; outdated entries are skipped.
type Queue = BinaryHeap<Reverse<(u64, u32)>>;

/// A tree under construction.
struct Building {
    /// Objects of each hub's tree.
    objects: Vec<u64>,
    tree: Tree,
}

impl Tree {
    /// Algorithm 1 from line 5: builds a tree with at most `most` roots, and at least one if there are hubs.
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

    /// Parent of a hub; none: the front end.
    pub fn parent(&self, hub: u32) -> Option<u32> {
        self.parents[hub as usize]
    }

    /// Children of a hub.
    pub fn children(&self, hub: u32) -> &[u32] {
        &self.children[hub as usize]
    }

    /// Hubs that send to the front end.
    pub fn roots(&self) -> &[u32] {
        &self.roots
    }

    /// Number of hubs on the longest path to the front end: 1 if all are roots.
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
    /// Links up to `links` roots, each to another of its group; returns how many were not linked.
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
            // A child without objects changes nothing, and the parent is in the queues already.
            if self.objects[parent as usize] > before {
                let grown = Reverse((self.objects[parent as usize], parent));
                all.push(grown);
                group.push(grown);
            }
            links -= 1;
        }
        links
    }

    /// Peeks at the smallest root of a queue.
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
            its.sort_unstable_by_key(|hub| (self.objects[*hub as usize], Reverse(*hub)));
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
