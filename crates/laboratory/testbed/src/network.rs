//! A run's network in namespaces of this machine.

use std::io;
use std::process::{Command, Stdio};

use fanin_assemble::{LinuxFabric, LinuxGrants, Qdisc, Red};
use fanin_fabric::{HostId, LinkId, NodeId};
use fanin_units::Time;
use serde_json::Value;

use crate::namespace::Namespace;
use crate::programs::{self, Needs, Programs};
use crate::trouble::Trouble;
use crate::{delays, netlink};

/// Delays up to this are left to the machine's own if the kernel has no netem: its hops take as long.
const OWN_DELAY: Time = Time::from_micros(50);

/// Namespaces of all nodes, by number. The network is gone when it is dropped, or when the process has ended in any way.
#[derive(Debug)]
pub struct LocalNetwork {
    /// Its description.
    pub plan: LinuxFabric,
    nodes: Vec<Namespace>,
    /// Whether its links have their propagation delays.
    delays: bool,
    /// Programs that the kernel lacks otherwise.
    programs: Option<Programs>,
    /// Where the thread was before.
    before: Namespace,
}

/// Packets dropped and marked at one port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounts {
    /// Packets sent.
    pub packets: u64,
    /// Bytes sent.
    pub bytes: u64,
    /// Packets dropped because the queue was full, or early.
    pub drops: u64,
    /// Packets marked.
    pub marks: u64,
}

impl LocalNetwork {
    /// Builds it.
    pub fn build(plan: LinuxFabric) -> Result<LocalNetwork, Trouble> {
        let before = Namespace::current()?;
        let nodes = (0..plan.nodes()).map(|_| Namespace::create()).collect::<Result<Vec<_>, _>>()?;
        let mut network = LocalNetwork { plan, nodes, delays: false, programs: None, before };
        network.delays = network.delays_packets()?;
        let needs = network.needs()?;
        for (node, namespace) in network.numbered() {
            namespace.batch("ip", &network.plan.pairs(node, |peer| network.nodes[peer.index()].path()))?;
        }
        for (node, namespace) in network.numbered() {
            let batch = network.plan.batch(node, network.delays);
            namespace.batch("ip", &batch.ip)?;
            namespace.batch("tc", &batch.tc)?;
            namespace.set(&batch.sysctls)?;
            network.set_delays(node, namespace)?;
        }
        network.programs = Programs::start(&needs)?;
        network.before.enter()?;
        Ok(network)
    }

    /// Programs that this kernel needs for the plan, which names them afterwards.
    fn needs(&mut self) -> Result<Needs, Trouble> {
        let mut needs = Needs::default();
        let law = self.plan.congestion_control;
        if let Some(loaded) = programs::loaded_name(law) {
            needs.controls.push(loaded);
            self.plan.congestion_control = loaded;
        }
        let links: Vec<LinkId> = self.plan.fabric.link_ids().collect();
        let has_red = self.nodes[0].has_queue("red limit 60000 min 5000 max 15000 avpkt 1000 burst 20 bandwidth 1mbit");
        for (link, egress) in links.iter().zip(&mut self.plan.links) {
            // A threshold of the instantaneous queue needs no average.
            if let (Qdisc::Red(Red { limit, min, max, ecn: true, .. }), false) = (egress.queue, has_red)
                && max == min + 1
            {
                egress.queue = Qdisc::Bfifo(limit);
                needs.marks.push((*link, min));
            }
        }
        needs.allots.clone_from(&self.plan.allots);
        let place = |(link, bytes): &(LinkId, u64)| {
            let node = self.plan.fabric.link(*link).from;
            format!("{}:{}:{bytes}", self.nodes[node.index()].path(), LinuxFabric::device(*link))
        };
        needs.places = [&needs.marks, &needs.allots].map(|ports| ports.iter().map(place).collect());
        if !needs.allots.is_empty() {
            needs.hosts = self.nodes[..self.plan.fabric.hosts() as usize].iter().map(Namespace::path).collect();
        }
        needs.grants = self.plan.grants.iter().map(|grants| self.granting(grants)).collect();
        Ok(needs)
    }

    /// A host that grants windows, as the program takes it.
    fn granting(&self, grants: &LinuxGrants) -> String {
        let LinuxGrants { uplink, rate, queue, idle, turn, segment } = *grants;
        let place = self.nodes[self.plan.fabric.link(uplink).from.index()].path();
        let (device, idle_ns) = (LinuxFabric::device(uplink), idle.0 / 1_000);
        format!("{place}:{device}:{}:{queue}:{idle_ns}:{turn}:{segment}", rate.0 / 8)
    }

    /// Sets the exact delays of a node's links.
    fn set_delays(&self, node: NodeId, namespace: &Namespace) -> Result<(), Trouble> {
        if !self.delays {
            return Ok(());
        }
        namespace.enter()?;
        let (socket, fabric) = (netlink::open()?, &self.plan.fabric);
        let links = fabric.link_ids().filter(|link| fabric.link(*link).from == node);
        for link in links.filter(|link| fabric.link(*link).delay > Time::ZERO) {
            delays::set(&socket, &LinuxFabric::device(link), fabric.link(link).delay)?;
        }
        Ok(())
    }

    /// Whether netem delays packets; not if the kernel lacks it and the delays are as short as the machine's own.
    fn delays_packets(&self) -> Result<bool, Trouble> {
        if self.plan.delay == Time::ZERO {
            return Ok(false);
        }
        match self.nodes[0].batch("tc", &["qdisc add dev lo root netem delay 1us".into()]) {
            Ok(()) => self.nodes[0].batch("tc", &["qdisc del dev lo root".into()]).map(|()| true),
            Err(_) if self.plan.delay <= OWN_DELAY => Ok(false),
            Err(Trouble::Lacks(why)) => {
                Err(Trouble::Lacks(format!("link.delay of {} needs the module sch_netem: {why}", self.plan.delay)))
            }
            Err(other) => Err(other),
        }
    }

    fn numbered(&self) -> impl Iterator<Item = (NodeId, &Namespace)> {
        (0..).map(NodeId).zip(&self.nodes)
    }

    /// A host's namespace.
    pub fn host(&self, host: HostId) -> &Namespace {
        &self.nodes[host.node().index()]
    }

    /// Differences from the scenario.
    pub fn notes(&self) -> Vec<String> {
        let delay = self.plan.delay;
        let lacks = !self.delays && delay > Time::ZERO;
        let note = format!("this kernel has no netem: links have the machine's own delay instead of {delay}");
        lacks.then_some(note).into_iter().collect()
    }

    /// Ports of switches: links, their devices, and the switches that send on them.
    pub fn switch_ports(&self) -> impl Iterator<Item = (LinkId, String, NodeId, &Namespace)> {
        let fabric = &self.plan.fabric;
        let links = fabric.link_ids().map(|link| (link, fabric.link(link).from));
        let links = links.filter(|(_, from)| !fabric.is_host(*from));
        links.map(|(link, from)| (link, LinuxFabric::device(link), from, &self.nodes[from.index()]))
    }

    /// Counts of every port of a switch.
    pub fn ports(&self) -> Result<Vec<(LinkId, PortCounts)>, Trouble> {
        let mut counts = Vec::new();
        for (node, namespace) in self.numbered().filter(|(node, _)| !self.plan.fabric.is_host(*node)) {
            namespace.enter()?;
            let output = Command::new("tc").args(["-s", "-j", "qdisc", "show"]).stderr(Stdio::null()).output()?;
            let rows: Vec<Value> = serde_json::from_slice(&output.stdout).map_err(io::Error::from)?;
            let links = self.plan.fabric.link_ids().filter(|link| self.plan.fabric.link(*link).from == node);
            counts.extend(links.map(|link| (link, port_counts(&rows, &LinuxFabric::device(link)))));
        }
        let marks = self.programs.as_ref().map(Programs::marks).transpose()?.unwrap_or_default();
        for (link, marks) in marks {
            counts.iter_mut().filter(|(other, _)| *other == link).for_each(|(_, count)| count.marks += marks);
        }
        self.before.enter()?;
        Ok(counts)
    }
}

/// Counts of a device's queue, which has handle 10 below its rate.
fn port_counts(rows: &[Value], device: &str) -> PortCounts {
    let of_device = |row: &&Value| row["dev"] == device && row["handle"] == "10:";
    let Some(row) = rows.iter().find(of_device) else { return PortCounts::default() };
    let number = |key: &str| row[key].as_u64().unwrap_or(0);
    PortCounts {
        packets: number("packets"),
        bytes: number("bytes"),
        drops: number("drops"),
        marks: number("marked") + number("ecn_mark"),
    }
}

impl Drop for LocalNetwork {
    fn drop(&mut self) {
        // The thread may be in one of the namespaces.
        let _ = self.before.enter();
    }
}
