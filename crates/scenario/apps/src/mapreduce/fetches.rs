//! Order and limits of a reduce's fetches of all maps' output.

use fanin_driver::Stream;
use fanin_fabric::HostId;

/// A reduce's fetches.
pub(super) struct Fetches {
    /// Maps not fetched yet, in fetch order.
    wanted: Vec<u32>,
    /// Source nodes of fetches in progress, one entry per fetch.
    from: Vec<HostId>,
    done: u32,
}

impl Fetches {
    /// For this many maps, in random order.
    pub fn new(maps: u32, order: &mut Stream) -> Fetches {
        let mut wanted: Vec<u32> = (0..maps).collect();
        for last in (1..maps).rev() {
            wanted.swap(last as usize, order.below(last + 1) as usize);
        }
        Fetches { wanted, from: Vec::new(), done: 0 }
    }

    /// Number of fetches in progress.
    pub fn under_way(&self) -> u32 {
        self.from.len() as u32
    }

    /// Begin the next one, of the first wanted map with available output, with at most `a_node` at a time from one node; `at`
    /// returns the node with a map's output, if available. Returns the source node.
    pub fn begin_next(&mut self, a_node: u32, at: impl Fn(u32) -> Option<HostId>) -> Option<HostId> {
        let has_room = |node: &HostId| (self.from.iter().filter(|&from| from == node).count() as u32) < a_node;
        let can_be_had = |&map: &u32| at(map).filter(has_room);
        let (place, node) = self.wanted.iter().enumerate().find_map(|(place, map)| Some((place, can_be_had(map)?)))?;
        self.wanted.remove(place);
        self.from.push(node);
        Some(node)
    }

    /// A fetch from this node is complete.
    pub fn end(&mut self, from: HostId) {
        if let Some(place) = self.from.iter().position(|&node| node == from) {
            self.from.swap_remove(place);
        }
        self.done += 1;
    }

    /// Whether all are complete: none wanted, none in progress.
    pub fn are_done(&self, maps: u32) -> bool {
        self.done == maps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanin_driver::Purpose;

    #[test]
    fn fetches_respect_limit_per_node() {
        let mut fetches = Fetches::new(4, &mut Stream::new(1, Purpose::Task, 0));
        let on_two_nodes = |map: u32| Some(HostId(1 + map % 2));
        let mut begun: Vec<HostId> = std::iter::from_fn(|| fetches.begin_next(1, on_two_nodes)).collect();
        begun.sort_unstable();
        assert_eq!(begun, [HostId(1), HostId(2)], "one of each node");
        fetches.end(HostId(1));
        assert_eq!(fetches.begin_next(1, |_| None), None, "nothing can be had");
        assert_eq!(fetches.begin_next(1, on_two_nodes), Some(HostId(1)));
        fetches.end(HostId(1));
        fetches.end(HostId(2));
        assert_eq!((fetches.begin_next(1, on_two_nodes), fetches.are_done(4)), (Some(HostId(2)), false));
        fetches.end(HostId(2));
        assert!(fetches.are_done(4));
    }
}
