//! Locations of objects: initially, then as moved by a plan, with a link at each old location.

use std::collections::BTreeMap;

use fanin_placement::{Move, Object, Placement, Server};
use fanin_roles::Node;
use fanin_spec::Route;

/// The servers of every object's replicas, and links.
pub(super) struct Places {
    replicas: usize,
    /// Location of each replica.
    homes: Vec<Node>,
    /// Where it is requested, if that differs.
    asked: Option<Vec<Node>>,
    /// Objects with a moved replica.
    moved: Vec<bool>,
    /// By old location and object, the new location.
    links: BTreeMap<(Node, u32), Node>,
}

impl Places {
    /// Without moves.
    pub fn unmoved(placement: &Placement) -> Places {
        let objects = placement.objects();
        let homes: Vec<Node> = (0..objects as u32).flat_map(|object| nodes(placement, object)).collect();
        let replicas = homes.len() / objects.max(1);
        Places { replicas, homes, asked: None, moved: vec![false; objects], links: BTreeMap::new() }
    }

    /// After these moves in order, which are valid; objects are requested by this route.
    pub fn routed(mut placement: Placement, moves: &[Move], route: Route) -> Places {
        let mut places = Places::unmoved(&placement);
        for of in moves {
            placement.apply(of);
            let (Object(object), from, to) = (of.object, Node(of.from.0), Node(of.to.0));
            places.link(object, from, to);
        }
        let homes = Places::unmoved(&placement).homes;
        let old = std::mem::replace(&mut places.homes, homes);
        places.asked = Some(old).filter(|_| route == Route::Links && !moves.is_empty());
        places
    }

    /// A replica has arrived at its new location.
    pub fn moved(&mut self, of: &Move, route: Route) {
        if route == Route::Links {
            self.asked.get_or_insert_with(|| self.homes.clone());
        }
        let (Object(object), from, to) = (of.object, Node(of.from.0), Node(of.to.0));
        let first = object as usize * self.replicas;
        if let Some(home) = self.homes[first..first + self.replicas].iter_mut().find(|home| **home == from) {
            *home = to;
        }
        self.link(object, from, to);
    }

    /// Link an object's old location to the new one, which has the object itself and no link.
    fn link(&mut self, object: u32, from: Node, to: Node) {
        self.links.insert((from, object), to);
        self.links.remove(&(to, object));
        self.moved[object as usize] = true;
    }

    /// Locations of replicas, with hosts as servers.
    pub fn placement(&self) -> Placement {
        Placement::new(self.replicas, self.homes.iter().map(|home| Server(home.0)).collect())
    }

    /// The servers at which an object is requested, one per replica.
    pub fn asked(&self, object: u32) -> &[Node] {
        self.of(self.asked.as_ref().unwrap_or(&self.homes), object)
    }

    /// The servers that store it, in the same order.
    pub fn homes(&self, object: u32) -> &[Node] {
        self.of(&self.homes, object)
    }

    /// Whether one of its replicas was moved.
    pub fn is_moved(&self, object: u32) -> bool {
        self.moved[object as usize]
    }

    /// A server's links: objects and their locations.
    pub fn links(&self, at: Node) -> impl Iterator<Item = (u32, Node)> {
        self.links.range((at, 0)..=(at, u32::MAX)).map(|(&(_, object), &to)| (object, to))
    }

    fn of<'a>(&self, nodes: &'a [Node], object: u32) -> &'a [Node] {
        let first = object as usize * self.replicas;
        &nodes[first..first + self.replicas]
    }
}

fn nodes(placement: &Placement, object: u32) -> impl Iterator<Item = Node> {
    placement.homes(Object(object)).iter().map(|home| Node(home.0))
}

#[cfg(test)]
mod tests {
    use fanin_placement::Reason;

    use super::*;

    fn moves(of: &[(u32, u32, u32)]) -> Vec<Move> {
        let one = |&(object, from, to)| Move {
            object: Object(object),
            from: Server(from),
            to: Server(to),
            reason: Reason::Popular,
        };
        of.iter().map(one).collect()
    }

    /// Two objects of two replicas each.
    fn after(of: &[(u32, u32, u32)], route: Route) -> Places {
        let placement = Placement::new(2, [1, 3, 2, 5].map(Server).to_vec());
        Places::routed(placement, &moves(of), route)
    }

    fn links(places: &Places) -> Vec<(u32, u32, u32)> {
        let of = |at| places.links(Node(at)).map(move |(object, to)| (at, object, to.0));
        (0..7).flat_map(of).collect()
    }

    #[test]
    fn moves_leave_links() {
        let by_links = after(&[(0, 3, 4), (0, 1, 2)], Route::Links);
        assert_eq!((by_links.asked(0), by_links.homes(0)), (&[Node(1), Node(3)][..], &[Node(2), Node(4)][..]));
        assert_eq!(links(&by_links), [(1, 0, 2), (3, 0, 4)]);
        assert_eq!((by_links.is_moved(0), by_links.is_moved(1)), (true, false));
        assert_eq!((by_links.asked(1), by_links.homes(1)), (&[Node(2), Node(5)][..], &[Node(2), Node(5)][..]));
        let directly = after(&[(0, 3, 4), (0, 1, 2)], Route::Direct);
        assert_eq!(directly.asked(0), [Node(2), Node(4)]);
    }

    #[test]
    fn links_chain_and_disappear_on_return() {
        let on = after(&[(0, 3, 4), (0, 4, 6)], Route::Links);
        assert_eq!((on.homes(0), links(&on)), (&[Node(1), Node(6)][..], vec![(3, 0, 4), (4, 0, 6)]));
        let back = after(&[(0, 3, 4), (0, 4, 3)], Route::Links);
        assert_eq!((back.homes(0), links(&back)), (&[Node(1), Node(3)][..], vec![(4, 0, 3)]));
    }
}
