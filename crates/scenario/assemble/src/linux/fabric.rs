//! A run's whole network as commands of Linux, by network namespace: hosts and switches of any fabric, joined by veth pairs.
//!
//! Each one-way link is the transmit queue of a device: a rate (htb) over the queue of its port. Link 7 is device `l7` in the namespace of
//! the node that sends on it. Host 5 has address 10.80.0.5, and switch 5 has 10.81.0.5. Every host has the TCP settings of servers and of
//! clients, since each may be both.

use core::net::Ipv4Addr;
use std::collections::BTreeSet;

use fanin_fabric::{Fabric, HostId, Link, LinkId, NodeId};
use fanin_spec::RunSpec;
use fanin_units::{Rate, Time};

use super::commands::{DELAYED_PACKETS, route, up};
use super::{Batch, Egress, Htb, LinuxHost, Qdisc, Unsupported, host, mtu, unsupported};
use crate::network;

/// Hashes of flows by which all equal-cost links are found.
const FLOWS: u64 = 256;

/// A network of hosts and switches.
#[derive(Clone, Debug, PartialEq)]
pub struct LinuxFabric {
    /// The network.
    pub fabric: Fabric,
    /// Largest IP packet in bytes.
    pub mtu: u64,
    /// Settings of every host.
    pub host: LinuxHost,
    /// The kernel's name of the congestion control.
    pub congestion_control: &'static str,
    /// Transmit queue of each link.
    pub links: Vec<Egress>,
    /// Ports that assign M21's windows, with the bytes that their flows share.
    pub allots: Vec<(LinkId, u64)>,
    /// Hosts that grant windows.
    pub grants: Vec<LinuxGrants>,
    /// Largest propagation delay of a link.
    pub delay: Time,
}

/// A host that grants windows to those who send to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinuxGrants {
    /// The link on which the host sends; its device receives, too.
    pub uplink: LinkId,
    /// Rate at which the host receives.
    pub rate: Rate,
    /// Bytes that may wait at the switch's port.
    pub queue: u64,
    /// Time after which unused windows count for nothing.
    pub idle: Time,
    /// Segments of a turn.
    pub turn: u32,
    /// Bytes of a segment.
    pub segment: u64,
}

/// A run's network as settings of Linux.
///
/// # Errors
/// The first setting without a counterpart in Linux, with the reason.
pub fn linux_fabric(spec: &RunSpec) -> Result<LinuxFabric, Unsupported> {
    unsupported::check_any(spec)?;
    let (fabric, mtu, s) = (network::fabric(spec), mtu(spec), &spec.settings);
    if let Some(host) = (0..fabric.hosts()).map(HostId).find(|&host| fabric.downlinks(host).count() > 1) {
        let value = format!("{} on {} edges", fabric.name(host.node()), fabric.downlinks(host).count());
        let why = "a host of the testbed has one link: keep one edge for each host, or simulate the scenario only";
        return Err(Unsupported::new("fabric.edges", value, why));
    }
    let queue = |link: &Link| match fabric.is_host(link.from) {
        true => Ok(Qdisc::of_host(s.host.buffer.0, mtu)),
        false => Qdisc::of_port(spec, link.rate, mtu),
    };
    let rate = |link: &Link| if fabric.is_host(link.to) { at_phase(link.rate, spec.seed) } else { link.rate };
    let egress = |link: &Link| Ok(Egress { rate: Htb::new(s, rate(link), mtu)?, queue: queue(link)? });
    let links = fabric.links().iter().map(egress).collect::<Result<_, Unsupported>>()?;
    let delay = fabric.links().iter().map(|link| link.delay).max().unwrap_or(Time::ZERO);
    let (host, congestion_control) = (host::any(spec), host::congestion_control(spec));
    let ports = fabric.link_ids().filter(|link| spec.scheme.m21 && !fabric.is_host(fabric.link(*link).from));
    let allots = ports.map(|link| (link, s.in_bytes(s.buffer_at(fabric.link(link).rate)))).collect();
    let grants = granting(spec, &fabric);
    Ok(LinuxFabric { fabric, mtu, host, congestion_control, links, allots, grants, delay })
}

/// Hosts that receive responses. Requests to servers fit into a segment, so that grants leave them alone.
fn granting(spec: &RunSpec, fabric: &Fabric) -> Vec<LinuxGrants> {
    let (s, params) = (&spec.settings, &spec.settings.laws.parts.grants);
    let clients: BTreeSet<u32> = (0..s.clients()).map(|client| s.client_host(client)).collect();
    let only_clients = s.workload.kind.many_to_one() && spec.scheme.fan_out.is_none();
    let hosts = (0..fabric.hosts()).filter(|host| spec.scheme.grants && (!only_clients || clients.contains(host)));
    let one = |host: u32| {
        let uplink = fabric.uplink(HostId(host));
        let rate = fabric.link(fabric.reverse(uplink)).rate;
        let (queue, idle, turn, segment) = (params.queue.0, params.idle, params.turn, s.tcp.mss.0);
        LinuxGrants { uplink, rate, queue, idle, turn, segment }
    };
    hosts.map(one).collect()
}

impl LinuxFabric {
    /// Address of a node.
    pub fn address(&self, node: NodeId) -> Ipv4Addr {
        let hosts = self.fabric.hosts();
        let (network, number) = if node.0 < hosts { (80, node.0) } else { (81, node.0 - hosts) };
        let [_, _, high, low] = number.to_be_bytes();
        Ipv4Addr::new(10, network, high, low)
    }

    /// Packets that a link's delay holds at most.
    pub const DELAYED_PACKETS: u32 = DELAYED_PACKETS;

    /// Name of the device that sends on a link.
    pub fn device(link: LinkId) -> String {
        format!("l{}", link.0)
    }

    /// Number of nodes.
    pub fn nodes(&self) -> u32 {
        self.fabric.links().iter().map(|link| link.from.0 + 1).max().unwrap_or(0)
    }

    /// Lines of `ip -batch` that join a node to its neighbours of higher numbers; `place` is a namespace as `ip` takes it.
    pub fn pairs(&self, node: NodeId, place: impl Fn(NodeId) -> String) -> Vec<String> {
        let ends = self.links_from(node).filter(|link| self.fabric.link(*link).to > node);
        let pair = |link: LinkId| {
            let (own, peer) = (Self::device(link), Self::device(self.fabric.reverse(link)));
            format!("link add {own} type veth peer name {peer} netns {}", place(self.fabric.link(link).to))
        };
        ends.map(pair).collect()
    }

    /// Commands of a node whose devices exist; with `delays`, netem delays packets at each link.
    pub fn batch(&self, node: NodeId, delays: bool) -> Batch {
        let mut ip = vec!["link set lo up".to_string()];
        ip.push(format!("addr add {}/32 dev lo", self.address(node)));
        ip.extend(self.links_from(node).map(|link| up(&Self::device(link), self.mtu)));
        let (routes, sysctls) = match self.fabric.is_host(node) {
            true => (self.host_routes(HostId(node.0)), self.host.sysctls()),
            false => self.switch(node),
        };
        ip.extend(routes);
        let tc = self.links_from(node).flat_map(|link| self.queues(link, delays)).collect();
        Batch { namespace: self.fabric.name(node), ip, tc, sysctls }
    }

    fn links_from(&self, node: NodeId) -> impl Iterator<Item = LinkId> {
        self.fabric.link_ids().filter(move |link| self.fabric.link(*link).from == node)
    }

    fn queues(&self, link: LinkId, delays: bool) -> Vec<String> {
        let (device, egress, delay) = (Self::device(link), &self.links[link.index()], self.fabric.link(link).delay);
        let micros = delay.0.div_ceil(Time::from_micros(1).0);
        if !delays || micros == 0 {
            return egress.tc(&device);
        }
        let netem = format!("qdisc add dev {device} root handle 2: netem delay {micros}us limit {DELAYED_PACKETS}");
        [vec![netem], egress.tc_below(&device, "parent 2:1")].concat()
    }

    /// A host has one link, to its switch.
    fn host_routes(&self, host: HostId) -> Vec<String> {
        let uplink = self.fabric.uplink(host);
        let (switch, device) = (self.fabric.link(uplink).to, Self::device(uplink));
        let path =
            format!("default via {} dev {device} onlink src {}", self.address(switch), self.address(host.node()));
        vec![route(&path, &self.host.route)]
    }

    /// Routes and sysctls of a switch, which knows every host, by one link or several.
    fn switch(&self, switch: NodeId) -> (Vec<String>, Vec<String>) {
        let mut sysctls = vec!["net.ipv4.ip_forward=1".to_string()];
        let into = self.fabric.link_ids().find(|link| self.fabric.link(*link).to == switch);
        let Some(into) = into else { return (Vec::new(), sysctls) };
        let routes: Vec<String> = (0..self.fabric.hosts()).map(|host| self.switch_route(into, HostId(host))).collect();
        // A kernel without multipath routes does not have the setting.
        sysctls.extend(routes.iter().any(|route| route.contains("nexthop")).then(|| MULTIPATH_BY_FLOW.to_string()));
        (routes, sysctls)
    }

    fn switch_route(&self, into: LinkId, host: HostId) -> String {
        let ways: BTreeSet<LinkId> = (0..FLOWS)
            .map(|hash| self.fabric.next_hop(into, host, || hash.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
            .collect();
        let way = |link: LinkId| {
            let (next, device) = (self.fabric.link(link).to, Self::device(link));
            format!("via {} dev {device} onlink", self.address(next))
        };
        let address = self.address(host.node());
        match ways.iter().copied().collect::<Vec<_>>().as_slice() {
            [only] => format!("route add {address}/32 {}", way(*only)),
            several => {
                let hops: Vec<String> = several.iter().map(|link| format!("nexthop {}", way(*link))).collect();
                format!("route add {address}/32 {}", hops.join(" "))
            }
        }
    }
}

/// The rate of a host's port in a run: seeds differ by up to 0.8 %, so that a point is measured at five phases of its packets.
fn at_phase(rate: Rate, seed: u64) -> Rate {
    Rate(rate.0 / 1_000 * (1_000 - 2 * (seed % 5)))
}

/// Choose among links of equal cost by addresses and ports.
const MULTIPATH_BY_FLOW: &str = "net.ipv4.fib_multipath_hash_policy=1";
