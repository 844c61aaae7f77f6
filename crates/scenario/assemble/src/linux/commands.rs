//! A setup as lines of `ip -batch` and `tc -batch` and arguments of `sysctl`, by network namespace.
//!
//! Addresses and names: server i has 10.91.i.1 and the router 10.91.i.254 on device `ri`; the client has 10.91.254.1 on `eth0`, and the router
//! 10.91.254.254 on `to_client`. Namespaces are `router`, `client`, and `h1`, `h2`, … with `eth0`, or `servers` with `s1`, `s2`, …
//!
//! No device joins segments (`gso_max_segs 1`), since a queue's packets are to be a link's. `ethtool -K DEVICE tso off gso off gro off` has to turn
//! off the other offloads.

use std::fmt::Write as _;

use fanin_units::Time;

use super::{Egress, LinuxHost, LinuxSetup, MTU, RouteAttribute, Sysctl};

/// Packets of a queue that delays: more than a link can have under way.
pub(super) const DELAYED_PACKETS: u32 = 100_000;

/// Where servers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Namespaces {
    /// Each server has a network namespace.
    Own,
    /// All servers are in one, each with a routing table by its address: a namespace takes its time to make.
    Shared,
}

/// Commands of one network namespace, without the programs' names. All namespaces have to exist, and the router's commands come first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Name of the namespace.
    pub namespace: String,
    /// Lines of `ip -batch`.
    pub ip: Vec<String>,
    /// Lines of `tc -batch`.
    pub tc: Vec<String>,
    /// Sysctls.
    pub sysctls: Vec<String>,
}

impl Egress {
    /// Lines of `tc -batch` for a device: the rate, and the queue below it as handle 10.
    pub fn tc(&self, device: &str) -> Vec<String> {
        self.tc_below(device, "root")
    }

    /// The same below another queue of the device.
    pub(super) fn tc_below(&self, device: &str, parent: &str) -> Vec<String> {
        vec![
            format!("qdisc add dev {device} {parent} handle 1: htb default 1"),
            format!("class add dev {device} parent 1: classid 1:1 {}", self.rate),
            format!("qdisc add dev {device} parent 1:1 handle 10: {}", self.queue),
        ]
    }
}

impl LinuxSetup {
    /// Commands of every namespace, the router's first.
    pub fn batches(&self, namespaces: Namespaces) -> Vec<Batch> {
        let mut batches = vec![self.router(namespaces)];
        batches.extend(match namespaces {
            Namespaces::Own => (1..=self.servers).map(|i| self.own(i)).collect(),
            Namespaces::Shared => vec![self.shared()],
        });
        batches.push(self.client());
        batches
    }

    fn router(&self, namespaces: Namespaces) -> Batch {
        let mut ip = vec!["link set lo up".to_string()];
        let mut tc = self.client_port.tc("to_client");
        let mut join = |device: &str, peer: &str, network: u32| {
            ip.push(format!("link add {device} type veth peer name {peer}"));
            ip.push(format!("addr add 10.91.{network}.254/24 dev {device}"));
            ip.push(self.up(device));
        };
        join("to_client", "eth0 netns client", 254);
        for i in 1..=self.servers {
            let peer = match namespaces {
                Namespaces::Own => format!("eth0 netns h{i}"),
                Namespaces::Shared => format!("s{i} netns servers"),
            };
            join(&format!("r{i}"), &peer, i);
            if self.round_trip > Time::ZERO {
                let delay = self.round_trip.0 / Time::from_micros(1).0;
                tc.push(format!("qdisc add dev r{i} root netem delay {delay}us limit {DELAYED_PACKETS}"));
            }
        }
        Batch { namespace: "router".into(), ip, tc, sysctls: vec!["net.ipv4.ip_forward=1".into()] }
    }

    fn own(&self, server: u32) -> Batch {
        let mut ip = vec!["link set lo up".to_string(), self.up("eth0")];
        ip.push(format!("addr add 10.91.{server}.1/24 dev eth0"));
        ip.push(route(&format!("default via 10.91.{server}.254"), &self.server.route));
        let tc = self.server_link.tc("eth0");
        Batch { namespace: format!("h{server}"), ip, tc, sysctls: self.server.sysctls() }
    }

    fn shared(&self) -> Batch {
        let (mut ip, mut tc) = (vec!["link set lo up".to_string()], Vec::new());
        for i in 1..=self.servers {
            let (device, table) = (format!("s{i}"), 1_000 + i);
            ip.push(self.up(&device));
            ip.push(format!("addr add 10.91.{i}.1/24 dev {device}"));
            let path = format!("default via 10.91.{i}.254 dev {device} table {table}");
            ip.push(route(&path, &self.server.route));
            ip.push(format!("rule add from 10.91.{i}.1 lookup {table}"));
            tc.extend(self.server_link.tc(&device));
        }
        Batch { namespace: "servers".into(), ip, tc, sysctls: self.server.sysctls() }
    }

    fn client(&self) -> Batch {
        let mut ip = vec!["link set lo up".to_string(), self.up("eth0"), "addr add 10.91.254.1/24 dev eth0".into()];
        ip.push(route("default via 10.91.254.254", &self.client.route));
        Batch { namespace: "client".into(), ip, tc: Vec::new(), sysctls: self.client.sysctls() }
    }

    fn up(&self, device: &str) -> String {
        up(device, self.mtu)
    }
}

/// A device comes up with its MTU, without joining segments.
pub(super) fn up(device: &str, mtu: u64) -> String {
    let mtu = if mtu == MTU { String::new() } else { format!("mtu {mtu} ") };
    format!("link set {device} {mtu}gso_max_segs 1 up")
}

impl LinuxHost {
    pub(super) fn sysctls(&self) -> Vec<String> {
        self.sysctls.iter().map(Sysctl::to_string).collect()
    }
}

pub(super) fn route(path: &str, attributes: &[RouteAttribute]) -> String {
    let mut line = format!("route add {path}");
    for attribute in attributes {
        let _ = write!(line, " {attribute}");
    }
    line
}
