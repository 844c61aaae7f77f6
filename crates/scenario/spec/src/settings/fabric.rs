//! Settings of the network of switches.

use crate::range::FAN_IN_MAX;
use crate::range::RATE_MAX;
use crate::range::RATE_MIN;
use fanin_units::Rate;

use crate::declare::{section, words};
use crate::setting::{FilePath, Optional};

words! {
    /// Topology of hosts and switches.
    FabricKind, "\"star\", \"leaf-spine\", \"fat-tree\" or \"edges\"" {
        /// One switch; each host has its own link to it.
        Star = "star",
        /// Racks, each with a switch that links to every spine; flows are hashed over the spines.
        LeafSpine = "leaf-spine",
        /// Pods of racks under their own spines, joined by cores: k-ary, or with any rack size and oversubscription.
        FatTree = "fat-tree",
        /// Any network of switches, given as a list of links; flows are hashed over paths of equal length.
        Edges = "edges",
    }
}

words! {
    /// Assignment of hosts to racks, in the order of their numbers.
    Placement, "\"by-rack\" or \"spread\"" {
        /// Fill each rack before the next.
        ByRack = "by-rack",
        /// Put each host into the rack after the previous host's.
        Spread = "spread",
    }
}

section! {
    /// Network topology.
    FabricSettings in "fabric" {
        /// Topology of the network.
        kind: FabricKind = FabricKind::Star,
        /// htsim's topology file (.topo): a leaf-spine or fat-tree fabric, with the rates and the delay of its links. It replaces kind, the other keys of its shape, link.rate and link.delay.
        topology: Optional<FilePath> = Optional::NONE,
        /// Links of an "edges" fabric: two nodes, then optionally a rate and a delay, such as "tor1 spine1 40 Gbit/s". These override [link]. Hosts are client and server1, server2, ..., or a range such as server1..8; other names are switches. A host on several edges has that number of links, each with a queue of its own: each flow uses one of those on a shortest path, by its hash, and no path leads through a host. The second link between the same host and switch is named tor1>server1#2.
        edges: Vec<String> = Vec::new(),
        /// Number of racks of a leaf-spine or fat-tree fabric; each has one switch.
        racks: Optional<u32> = Optional::NONE,
        /// Hosts in each rack; the client is the first host of the first rack.
        hosts_per_rack: Optional<u32> = Optional::NONE,
        /// Spines that every rack links to: the total of a leaf-spine fabric, or the number per pod of a fat tree.
        spines: Optional<u32> = Optional::NONE,
        /// Pods of a fat tree. Racks are divided evenly among pods; each spine links to as many cores as its pod has racks, at the uplinks' rate.
        pods: Optional<u32> = Optional::NONE,
        /// k of a k-ary fat tree: k pods of k/2 racks of k/2 hosts under k/2 spines, with identical links. Replaces racks, hosts_per_rack, spines and pods.
        arity: Optional<u32> = Optional::NONE,
        /// Rate of each link between switches of a leaf-spine or fat-tree fabric; "none": derived from oversubscription, or else link.rate.
        #[range(RATE_MIN..=RATE_MAX)]
        uplink_rate: Optional<Rate> = Optional::NONE,
        /// Total rate of a rack's hosts divided by the total rate of its uplinks, a whole number; it determines uplink_rate.
        oversubscription: Optional<u32> = Optional::NONE,
        /// Links that fail, recover or change their rate, in both directions: a time, two nodes, then down, up or a rate, such as "10 ms leaf1 spine1 down"; "server1 tor1#2" is the second of several links between the same nodes. Packets queued at a failing link are lost; flows move at once to the remaining paths of equal length.
        changes: Vec<String> = Vec::new(),
        /// Number of hosts, including the client: the participants of an any-to-any workload, or the hosts that Poisson flows and a service run between; "none": as many as the workload needs.
        #[needs(AnyHosts)]
        #[range(2..=FAN_IN_MAX + 1)]
        hosts: Optional<u32> = Optional::NONE,
        /// Assignment of hosts to racks in a leaf-spine or fat-tree fabric.
        #[needs(Racks)]
        placement: Placement = Placement::ByRack,
    }
}
