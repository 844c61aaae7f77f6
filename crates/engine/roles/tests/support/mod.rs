//! A cluster without a network: placement and settings.
#![allow(dead_code, reason = "each test file uses its own part")]

pub mod toy;
pub mod work;

use fanin_fanout::sicc::{self, Parts, Swarms};
use fanin_fanout::{Kind, Settings};
use fanin_roles::front_end::{Directory, Params, RequestMethod};
use fanin_roles::wire::{Numbered, Size};
use fanin_roles::{Node, Output, Outputs, hub};
use fanin_units::{Bytes, Rate, Time};

pub type Action = Output<Numbered, Size>;
pub type Out = Outputs<Numbered, Size>;

/// Placement: racks of equal size, two racks per router.
pub struct Cluster {
    pub a_rack: u32,
    /// By object.
    pub holders: Vec<Vec<Node>>,
    /// Servers of moved objects, in the same order; empty if none.
    pub homes: Vec<Vec<Node>>,
}

impl Cluster {
    /// A cluster with these machines per object.
    pub fn of(a_rack: u32, holders: &[&[u32]]) -> Cluster {
        let nodes = |holders: &&[u32]| holders.iter().copied().map(Node).collect();
        Cluster { a_rack, holders: holders.iter().map(nodes).collect(), homes: Vec::new() }
    }
}

impl Directory<Numbered> for Cluster {
    fn replicas(&self, &Numbered(object): &Numbered) -> &[Node] {
        &self.holders[object as usize]
    }

    fn rack(&self, Node(host): Node) -> u32 {
        host / self.a_rack
    }

    fn aggregation(&self, rack: u32) -> u32 {
        rack / 2
    }

    fn spare_io(&self, _: Node) -> u32 {
        0
    }

    fn size(&self, _: &Numbered) -> Option<u32> {
        None
    }

    fn is_moved(&self, &Numbered(object): &Numbered) -> bool {
        self.homes.get(object as usize).is_some_and(|homes| !homes.is_empty())
    }

    fn answers(&self, key: &Numbered, holder: Node) -> Node {
        let Numbered(object) = *key;
        let place = self.holders[object as usize].iter().position(|&node| node == holder);
        place.filter(|_| self.is_moved(key)).map_or(holder, |place| self.homes[object as usize][place])
    }
}

pub const MS: u64 = 1_000_000_000;

pub fn ms(ms: u64) -> Time {
    Time(ms * MS)
}

pub const FULL: Parts =
    Parts { swarms: Swarms::ByRack, tree: true, speed: true, packing: true, redirect: true, balanced: false };

/// A front end on machine 0 with direct requests.
pub fn asks_servers(kind: Kind) -> Params {
    let settings = Settings::default();
    let capacity = Rate(1_000_000_000);
    let window = kind.window(&settings, capacity).expect("it asks servers");
    let method = RequestMethod::Servers(window);
    Params {
        me: Node(0),
        epoch: 0,
        capacity,
        method,
        anew: false,
        most_bytes: None,
        together: false,
        cover: None,
        timeout: Some(ms(100)),
        tries: 3,
        agents: false,
    }
}

/// A front end on machine 0 with hubs, and this maximum number of roots.
pub fn asks_hubs(parts: Parts, bound: u32) -> Params {
    let settings = sicc::Params::default();
    Params {
        method: RequestMethod::Swarms { parts, settings, bound, packet: (1460, 78) },
        ..asks_servers(Kind::OneAll)
    }
}

pub fn hub_params(me: u32) -> hub::Params {
    hub::Params {
        me: Node(me),
        room: 1460,
        overhead: 78,
        packs: true,
        linger: Time::from_micros(100),
        window: Bytes(2_000),
        mean_object: Bytes(500),
        timeout: ms(50),
        forget: ms(60_000),
        limits: None,
        behind: Time::ZERO,
    }
}
