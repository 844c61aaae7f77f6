//! The network of switches.

use crate::range::FAN_IN_MAX;
use crate::range::RATE_MAX;
use crate::range::RATE_MIN;
use fanin_units::Rate;

use crate::declare::{section, words};
use crate::setting::Optional;

words! {
    /// How hosts and switches are joined.
    FabricKind, "\"star\", \"leaf-spine\", \"fat-tree\" or \"edges\"" {
        /// One switch, each host on a link of its own.
        Star = "star",
        /// Racks, each with a switch that has a link to every spine; flows are spread over the spines by their hash.
        LeafSpine = "leaf-spine",
        /// Pods of racks under spines of their own, joined by cores: k-ary, or of any rack size and over-subscription.
        FatTree = "fat-tree",
        /// Any network of switches, given by its links; flows are spread over ways of equal length by their hash.
        Edges = "edges",
    }
}

words! {
    /// Which rack hosts are in, by their numbers.
    Placement, "\"by-rack\" or \"spread\"" {
        /// A rack is filled before the next one.
        ByRack = "by-rack",
        /// Each host goes into the rack after the last one's.
        Spread = "spread",
    }
}

section! {
    /// How hosts and switches are joined.
    FabricSettings in "fabric" {
        /// The form of the network.
        kind: FabricKind = FabricKind::Star,
        /// The links of an "edges" fabric: two nodes each, then a rate and a delay where they are not those of [link]. Hosts are client and server1, server2, ..., a range as server1..8; other names are switches.
        edges: Vec<String> = Vec::new(),
        /// Racks of a leaf-spine or fat-tree fabric, each with its switch.
        racks: Optional<u32> = Optional::NONE,
        /// Hosts in each rack; the client is the first host of the first rack.
        hosts_per_rack: Optional<u32> = Optional::NONE,
        /// Spines that every rack has a link to: of a leaf-spine fabric in all, of a fat tree in each pod.
        spines: Optional<u32> = Optional::NONE,
        /// Pods of a fat tree, over which its racks are shared evenly; each spine has as many cores as its pod has racks, on links of the uplinks' rate.
        pods: Optional<u32> = Optional::NONE,
        /// k of a k-ary fat tree: k pods of k/2 racks of k/2 hosts under k/2 spines, all links alike; in place of racks, hosts_per_rack, spines and pods.
        arity: Optional<u32> = Optional::NONE,
        /// Rate of each link between switches of a leaf-spine or fat-tree fabric; "none": what oversubscription makes it, else link.rate.
        #[range(RATE_MIN..=RATE_MAX)]
        uplink_rate: Optional<Rate> = Optional::NONE,
        /// The rate of a rack's hosts over that of its uplinks, as a whole number, from which uplink_rate follows.
        oversubscription: Optional<u32> = Optional::NONE,
        /// Links that fail, heal or change their rate, both directions: a time, two nodes, then down, up or a rate, such as "10 ms leaf1 spine1 down". What waits at a link that fails is lost; flows take the ways of equal length that are left, at once.
        changes: Vec<String> = Vec::new(),
        /// Hosts, the client among them: of a workload between any hosts those that take part, of others those that Poisson flows and a service are between; "none": as many as the workload asks for.
        #[needs(ANY_HOSTS)]
        #[range(2..=FAN_IN_MAX + 1)]
        hosts: Optional<u32> = Optional::NONE,
        /// Which rack of a leaf-spine or fat-tree fabric the next host is in.
        #[needs(RACKS)]
        placement: Placement = Placement::ByRack,
    }
}
