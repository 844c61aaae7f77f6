//! Multi-rooted trees: racks under spines, and pods under cores. Routing follows from numbers alone.
//!
//! Leaf-spine: one pod, no cores. Fat tree: Al-Fares, Loukissas and Vahdat, "A Scalable, Commodity Data Center Network Architecture"
//! (SIGCOMM 2008), section 3: each spine of a pod has its own cores, shared with the spines at the same position in other pods.

use fanin_units::{Rate, Time};

use crate::error::Error;
use crate::ids::{Link, NodeId, mix};

/// Parameters of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tree {
    /// Pods; cores join several pods.
    pub pods: u32,
    /// Racks per pod, each with a switch.
    pub racks: u32,
    /// Hosts per rack.
    pub hosts: u32,
    /// Spines per pod, each with a link to every rack of it.
    pub spines: u32,
    /// Cores per spine of a pod; none with a single pod.
    pub cores: u32,
    /// Placement of hosts.
    pub placement: Placement,
    /// Rate of the hosts' links.
    pub rate: Rate,
    /// Rate of host 0's link.
    pub client_rate: Rate,
    /// Rate of the links between racks and spines.
    pub uplink_rate: Rate,
    /// Rate of the links between spines and cores.
    pub core_rate: Rate,
    /// Delay of each link, one way.
    pub delay: Time,
}

/// Placement of hosts in racks, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Fill one rack after another.
    ByRack,
    /// Round robin over racks.
    Spread,
}

/// A switch by tier and number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tier {
    Rack(u32),
    Spine(u32),
    Core(u32),
}

/// Plans a tree. Nodes: hosts, racks' switches, spines pod by pod, cores spine by spine.
///
/// # Errors
/// The problem and its solution.
pub(crate) fn plan(tree: &Tree) -> Result<Plan, Error> {
    for (count, what) in
        [(tree.pods, "pod"), (tree.racks, "rack a pod"), (tree.hosts, "host a rack"), (tree.spines, "spine")]
    {
        if count == 0 {
            return Err(Error::Empty(what));
        }
    }
    if (tree.pods > 1) != (tree.cores > 0) {
        return Err(Error::Cores { pods: tree.pods, cores: tree.cores });
    }
    let wide = [tree.pods, tree.racks, tree.hosts].iter().try_fold(1u32, |all, &n| all.checked_mul(n));
    let core = [tree.pods, tree.spines, tree.racks.max(tree.cores)].iter().try_fold(1u32, |all, &n| all.checked_mul(n));
    match (wide, core) {
        (Some(hosts), Some(links)) if hosts <= LARGEST && links <= LARGEST => {}
        _ => return Err(Error::TooLarge(LARGEST)),
    }
    Ok(Plan { tree: *tree, hosts: tree.all_hosts(), switches: tree.switches() })
}

/// Maximum number of hosts, and of links between switches.
const LARGEST: u32 = 4_000_000;

impl Tree {
    fn all_racks(&self) -> u32 {
        self.pods * self.racks
    }

    fn all_spines(&self) -> u32 {
        self.pods * self.spines
    }

    fn all_hosts(&self) -> u32 {
        self.all_racks() * self.hosts
    }

    /// Rack of a host.
    #[inline]
    fn rack(&self, host: u32) -> u32 {
        match self.placement {
            Placement::ByRack => host / self.hosts,
            Placement::Spread => host % self.all_racks(),
        }
    }

    /// Rack of a host, and its position there.
    fn place(&self, host: u32) -> (u32, u32) {
        match self.placement {
            Placement::ByRack => (host / self.hosts, host % self.hosts),
            Placement::Spread => (host % self.all_racks(), host / self.all_racks()),
        }
    }

    /// Starts of the links into racks' switches, into spines and into cores.
    #[inline]
    fn rack_links(&self, rack: u32) -> u32 {
        self.all_hosts() + rack * (self.hosts + self.spines)
    }

    #[inline]
    fn spine_links(&self, spine: u32) -> u32 {
        self.rack_links(self.all_racks()) + spine * (self.racks + self.cores)
    }

    #[inline]
    fn core_links(&self, core: u32) -> u32 {
        self.spine_links(self.all_spines()) + core * self.pods
    }

    #[inline]
    fn tier(&self, switch: u32) -> Tier {
        let rack = switch - self.all_hosts();
        match rack.checked_sub(self.all_racks()) {
            None => Tier::Rack(rack),
            Some(spine) => spine.checked_sub(self.all_spines()).map_or(Tier::Spine(spine), Tier::Core),
        }
    }

    /// Routing rules of switches, by number.
    fn switches(&self) -> Vec<Switch> {
        let racks = (0..self.all_racks()).map(|at| {
            let first = self.spine_links(at / self.racks * self.spines) + at % self.racks;
            let up = Ways { first, count: self.spines, stride: self.racks + self.cores };
            Switch { first_rack: at, racks: 1, down: Down::Host, up }
        });
        let spines = (0..self.all_spines()).map(|at| {
            let first = self.all_hosts() + self.hosts + at % self.spines;
            let down = Down::Rack { first, stride: self.hosts + self.spines };
            let first = self.core_links(at % self.spines * self.cores) + at / self.spines;
            let up = Ways { first, count: self.cores, stride: self.pods };
            Switch { first_rack: at / self.spines * self.racks, racks: self.racks, down, up }
        });
        let cores = (0..self.spines * self.cores).map(|at| {
            let first = self.spine_links(at / self.cores) + self.racks + at % self.cores;
            let down = Down::Pod { first, stride: self.spines * (self.racks + self.cores) };
            Switch { first_rack: 0, racks: self.all_racks(), down, up: Ways::one(first) }
        });
        racks.chain(spines).chain(cores).collect()
    }

    fn name(&self, switch: u32) -> String {
        match (self.tier(switch), self.cores) {
            (Tier::Rack(n), 0) => format!("leaf{}", n + 1),
            (Tier::Rack(n), _) => format!("tor{}", n + 1),
            (Tier::Spine(n), 0) => format!("spine{}", n + 1),
            (Tier::Spine(n), _) => format!("agg{}", n + 1),
            (Tier::Core(n), _) => format!("core{}", n + 1),
        }
    }

    /// Every link, by receiver, then by sender.
    fn links(&self) -> Vec<Link> {
        let rack = |n: u32| self.all_hosts() + n;
        let spine = |n: u32| rack(self.all_racks()) + n;
        let core = |n: u32| spine(self.all_spines()) + n;
        let host_rate = |host: u32| if host == 0 { self.client_rate } else { self.rate };
        let link = |from, to, rate: Rate| Link { from: NodeId(from), to: NodeId(to), rate, delay: self.delay };
        let mut links = Vec::with_capacity(self.core_links(self.spines * self.cores) as usize);
        links.extend((0..self.all_hosts()).map(|host| link(rack(self.place(host).0), host, host_rate(host))));
        for at in 0..self.all_racks() {
            let host = |place| match self.placement {
                Placement::ByRack => at * self.hosts + place,
                Placement::Spread => place * self.all_racks() + at,
            };
            links.extend((0..self.hosts).map(|place| link(host(place), rack(at), host_rate(host(place)))));
            let first = at / self.racks * self.spines;
            links.extend((first..first + self.spines).map(|from| link(spine(from), rack(at), self.uplink_rate)));
        }
        for at in 0..self.all_spines() {
            let first = at / self.spines * self.racks;
            links.extend((first..first + self.racks).map(|from| link(rack(from), spine(at), self.uplink_rate)));
            let first = at % self.spines * self.cores;
            links.extend((first..first + self.cores).map(|from| link(core(from), spine(at), self.core_rate)));
        }
        for at in 0..self.spines * self.cores {
            let spines = (0..self.pods).map(|pod| pod * self.spines + at / self.cores);
            links.extend(spines.map(|from| link(spine(from), core(at), self.core_rate)));
        }
        links
    }
}

/// A tree with its switches' routing rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    tree: Tree,
    hosts: u32,
    switches: Vec<Switch>,
}

/// Routing rule of a switch: the racks below it, the link down to one of them, and those up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Switch {
    first_rack: u32,
    racks: u32,
    down: Down,
    up: Ways,
}

/// Links down from a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Down {
    /// Of a rack's switch: a host's link has the host's number.
    Host,
    /// Of a spine: by rack.
    Rack { first: u32, stride: u32 },
    /// Of a core: by pod.
    Pod { first: u32, stride: u32 },
}

impl Plan {
    /// Number of racks.
    pub fn racks(&self) -> u32 {
        self.tree.all_racks()
    }

    /// Pod of a host.
    pub fn pod(&self, host: u32) -> u32 {
        self.tree.rack(host) / self.tree.racks
    }

    /// Number of hosts.
    pub fn hosts(&self) -> u32 {
        self.hosts
    }

    /// Every link, by receiver, then by sender.
    pub fn links(&self) -> Vec<Link> {
        self.tree.links()
    }

    /// The link on which a host sends.
    pub fn uplink(&self, host: u32) -> u32 {
        let (rack, place) = self.tree.place(host);
        self.tree.rack_links(rack) + place
    }

    /// Name of a switch.
    pub fn name(&self, switch: u32) -> String {
        self.tree.name(switch)
    }

    /// Tier of a switch's port to another node; nodes are numbered from below.
    pub fn tier(&self, switch: u32, to: u32) -> &'static str {
        match (self.tree.tier(switch), to > switch, self.tree.cores) {
            (Tier::Rack(_), true, 0) => "leaf up",
            (Tier::Rack(_), true, _) => "tor up",
            (Tier::Rack(_), false, 0) => "leaf down",
            (Tier::Rack(_), false, _) => "tor down",
            (Tier::Spine(_), true, _) => "agg up",
            (Tier::Spine(_), false, 0) => "spine down",
            (Tier::Spine(_), false, _) => "agg down",
            (Tier::Core(_), ..) => "core down",
        }
    }

    /// Next hop from a switch towards a host.
    #[inline]
    pub fn next_hop(&self, switch: u32, host: u32, flow_hash: impl FnOnce() -> u64) -> u32 {
        self.ways(switch, host).pick(switch, flow_hash)
    }

    /// All links from a switch towards a host.
    pub fn all_ways(&self, switch: u32, host: u32) -> impl Iterator<Item = u32> {
        let ways = self.ways(switch, host);
        (0..ways.count).map(move |n| ways.first + ways.stride * n)
    }

    /// Equal-cost links from a switch towards a host.
    #[inline]
    fn ways(&self, switch: u32, host: u32) -> Ways {
        let at = &self.switches[(switch - self.hosts) as usize];
        let rack = self.tree.rack(host);
        if rack.wrapping_sub(at.first_rack) >= at.racks {
            return at.up;
        }
        Ways::one(match at.down {
            Down::Host => host,
            Down::Rack { first, stride } => first + stride * rack,
            Down::Pod { first, stride } => first + stride * (rack / self.tree.racks),
        })
    }
}

/// Equivalent links: evenly spaced numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ways {
    first: u32,
    count: u32,
    stride: u32,
}

impl Ways {
    fn one(link: u32) -> Ways {
        Ways { first: link, count: 1, stride: 0 }
    }

    /// The link that a hash selects at a switch.
    #[inline]
    fn pick(self, switch: u32, hash: impl FnOnce() -> u64) -> u32 {
        if self.count == 1 {
            return self.first;
        }
        let draw = mix(hash() ^ u64::from(switch)) >> 32;
        self.first + self.stride * ((draw * u64::from(self.count)) >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Edge, Fabric, HostId, LinkId, Star, TIERS, edges, star, tree};
    use proptest::prelude::*;

    const GBIT: Rate = Rate(1_000_000_000);

    fn shape([pods, racks, hosts, spines, cores]: [u32; 5], placement: Placement) -> Tree {
        let (cores, delay) = (if pods == 1 { 0 } else { cores }, Time::from_micros(5));
        let (rate, client_rate, uplink_rate, core_rate) = (GBIT, GBIT, GBIT, GBIT);
        Tree { pods, racks, hosts, spines, cores, placement, rate, client_rate, uplink_rate, core_rate, delay }
    }

    fn trees() -> impl Strategy<Value = Tree> {
        let counts = (1..5u32, 1..5u32, 1..6u32, 1..5u32, 1..5u32);
        (counts, prop::sample::select(vec![Placement::ByRack, Placement::Spread]))
            .prop_map(|((a, b, c, d, e), placement)| shape([a, b, c, d, e], placement))
    }

    /// Nodes on a flow's path, sender and receiver included.
    fn nodes(fabric: &Fabric, from: u32, to: u32, hash: u64) -> Vec<u32> {
        let links: Vec<&Link> = fabric.way(HostId(from), HostId(to), hash).map(|link| fabric.link(link)).collect();
        assert!(links.windows(2).all(|pair| pair[0].to == pair[1].from), "a switch sends over its own links");
        [from].into_iter().chain(links.iter().map(|link| link.to.0)).collect()
    }

    proptest! {
        #![proptest_config(fanin_testing::cases(256))]

        #[test]
        fn every_host_reaches_every_other_by_the_shortest_path(shape in trees(), hash: u64) {
            let fabric = tree(&shape).expect("it fits");
            let hosts = 0..fabric.hosts();
            for (from, to) in hosts.clone().flat_map(|a| hosts.clone().map(move |b| (a, b))).filter(|(a, b)| a != b) {
                let racks = [from, to].map(|host| shape.place(host).0);
                let links = match racks.map(|rack| rack / shape.racks) {
                    _ if racks[0] == racks[1] => 2,
                    [one, other] if one == other => 4,
                    _ => 6,
                };
                let nodes = nodes(&fabric, from, to, hash);
                prop_assert_eq!((nodes.last(), nodes.len()), (Some(&to), links + 1), "{:?}", nodes);
            }
        }

        #[test]
        fn links_are_numbered_by_receiver_then_sender(shape in trees()) {
            let fabric = tree(&shape).expect("it fits");
            prop_assert!(fabric.links().is_sorted_by(|a, b| (a.to, a.from) < (b.to, b.from)));
            for host in (0..fabric.hosts()).map(HostId) {
                prop_assert_eq!(fabric.reverse(fabric.uplink(host)), fabric.downlink(host));
                prop_assert_eq!(fabric.link(fabric.uplink(host)).from, host.node());
                prop_assert_eq!(fabric.link(fabric.downlink(host)).to, host.node());
            }
        }
    }

    #[test]
    fn flows_spread_evenly_over_equal_paths() {
        let fabric = tree(&shape([4, 4, 4, 4, 4], Placement::ByRack)).expect("it fits");
        let mut through = std::collections::BTreeMap::new();
        let flows = 16_000;
        for flow in 0..flows {
            let nodes = nodes(&fabric, 0, 63, 7 ^ flow);
            *through.entry(nodes[3]).or_insert(0u64) += 1;
        }
        let expected = flows as f64 / 16.0;
        let chi_squared: f64 =
            through.values().map(|&n| (n as f64 - expected) * (n as f64 - expected) / expected).sum();
        assert_eq!(through.len(), 16, "a core each");
        // 15 degrees of freedom: the value is above 37.7 once in a thousand.
        assert!(chi_squared < 37.7, "chi-squared of {chi_squared}: {through:?}");
    }

    #[test]
    fn packets_pass_tiers_in_order() {
        let tiers = |fabric: &Fabric, from: u32, to: u32| {
            let way = fabric.way(HostId(from), HostId(to), 7);
            let tiers: Vec<&str> = way.map(|link| fabric.tier(link)).collect();
            assert!(tiers.is_sorted_by_key(|tier| TIERS.iter().position(|known| known == tier).expect("a tier")));
            tiers
        };
        let leaf_spine = tree(&shape([1, 2, 3, 2, 0], Placement::ByRack)).expect("it fits");
        assert_eq!(tiers(&leaf_spine, 0, 5), ["host up", "leaf up", "spine down", "leaf down"]);
        let fat = tree(&shape([2, 2, 2, 2, 2], Placement::ByRack)).expect("it fits");
        assert_eq!(tiers(&fat, 0, 7), ["host up", "tor up", "agg up", "core down", "agg down", "tor down"]);
        let (rate, delay) = (Rate(1_000_000_000), Time::ZERO);
        let star = star(&Star { servers: 3, rate, client_rate: rate, delay });
        assert_eq!(tiers(&star, 1, 0), ["host up", "switch down"]);
        let edge = |ends: [&str; 2]| Edge { ends: ends.map(String::from), rate, delay, length: 1 };
        let list = [edge(["a", "left"]), edge(["left", "right"]), edge(["b", "right"])];
        let line = edges(&["a".into(), "b".into()], &list).expect("one network");
        assert_eq!(tiers(&line, 0, 1), ["host up", "switch to switch", "switch down"]);
    }

    #[test]
    fn switches_have_names_by_their_tier() {
        let name = |shape: [u32; 5], link: usize| {
            let fabric = tree(&self::shape(shape, Placement::Spread)).expect("it fits");
            fabric.link_name(LinkId((fabric.links().len() - link) as u32))
        };
        assert_eq!([1, 5].map(|link| name([1, 2, 3, 2, 0], link)), ["leaf2>spine2", "spine2>leaf2"]);
        assert_eq!([1, 9].map(|link| name([2, 2, 2, 2, 2], link)), ["agg4>core4", "core4>agg4"]);
    }

    #[test]
    fn builds_tree_of_150_000_hosts() {
        let fabric = tree(&shape([50, 50, 60, 4, 50], Placement::ByRack)).expect("it fits");
        assert_eq!(fabric.hosts(), 150_000);
        // Both directions: hosts, 4 spines per rack, 50 cores per spine.
        assert_eq!(fabric.links().len(), 2 * (150_000 + 2_500 * 4 + 200 * 50));
    }
}
