//! Settings of the network of switches.

use crate::range::FAN_IN_MAX;
use crate::range::RATE_MAX;
use crate::range::RATE_MIN;
use fanin_units::Rate;

use crate::declare::{section, words};
use crate::setting::{FilePath, Optional};

words! {
    /// Topology of hosts and switches.
    FabricKind, "\"star\", \"leaf-spine\", \"fat-tree\", \"rails\", \"dragonfly\" or \"edges\"" {
        /// One switch; each host has its own link to it.
        Star = "star",
        /// Racks, each with a switch that links to every spine; flows are hashed over the spines.
        LeafSpine = "leaf-spine",
        /// Pods of racks under their own spines, joined by cores: k-ary, or with any rack size and oversubscription.
        FatTree = "fat-tree",
        /// Machines of several hosts (GPUs), each on the switches of its own rail; these link to every spine.
        Rails = "rails",
        /// Groups of racks whose switches link to one another, joined by global links between every two groups.
        Dragonfly = "dragonfly",
        /// Any network of switches, given as a list of links; flows are hashed over paths of equal length.
        Edges = "edges",
    }
}

impl FabricKind {
    /// Whether its network is built from edges, which paths follow by their lengths.
    pub(crate) fn has_edges(self) -> bool {
        matches!(self, FabricKind::Edges | FabricKind::Rails | FabricKind::Dragonfly)
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
        /// Number of racks of a leaf-spine, fat-tree or dragonfly fabric; each has one switch. Of a "rails" fabric, the number of rail switches: a multiple of rails.
        racks: Optional<u32> = Optional::NONE,
        /// Hosts in each rack, or at each rail switch; the client is the first host of the first rack.
        hosts_per_rack: Optional<u32> = Optional::NONE,
        /// Spines that every rack or rail switch links to: all of a leaf-spine or "rails" fabric, or those of a fat tree's pod.
        spines: Optional<u32> = Optional::NONE,
        /// Pods of a fat tree, or groups of a dragonfly. Racks are divided evenly among them; each spine of a fat tree links to as many cores as its pod has racks, at the uplinks' rate.
        pods: Optional<u32> = Optional::NONE,
        /// k of a k-ary fat tree: k pods of k/2 racks of k/2 hosts under k/2 spines, with identical links. Replaces racks, hosts_per_rack, spines and pods.
        arity: Optional<u32> = Optional::NONE,
        /// Rails of a "rails" fabric: the number of hosts (GPUs) of a machine. Host i of every machine is on rail i. Machines fill the switches in the order of their numbers.
        rails: Optional<u32> = Optional::NONE,
        /// Rate of each host's link to the switch inside its machine, for traffic within the machine; "none": machines have no such switch, and that traffic crosses the rails.
        #[range(RATE_MIN..=RATE_MAX)]
        machine_rate: Optional<Rate> = Optional::NONE,
        /// Links of each switch of a dragonfly to other groups. Racks in a group times these links are a multiple of the other groups: every two groups have the same number of links.
        global_links: Optional<u32> = Optional::NONE,
        /// Rate of each link between switches; "none": derived from oversubscription, or else link.rate.
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
