//! Construction of the network: a star, a tree, or edges.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use fanin_fabric::{Edge, Fabric, HostId, Star, edges, star};
use fanin_units::{Bytes, Rate, Time};

use crate::{FabricKind, Invalid, PacketJitter, Settings};

/// Longest range of servers.
const RANGE_MAX: u32 = 100_000;
/// Maximum number of edges.
pub(crate) const EDGES_MAX: usize = 1_000_000;

/// An ACK without options at the IP layer.
pub const PURE_ACK: Bytes = Bytes(40);

impl Settings {
    /// The network: host 0 is the client, followed by the other participants and the hosts of background flows.
    ///
    /// # Errors
    /// An invalid or too small network, with a fix.
    pub fn network(&self) -> Result<Fabric, Invalid> {
        Ok(self.network_of(self.hosts())?)
    }

    /// The network of this many hosts, plus those of background flows.
    pub(crate) fn network_of(&self, hosts: u32) -> Result<Fabric, String> {
        let servers = hosts - 1 + self.workload.background;
        self.only_its_own_keys()?;
        match self.fabric.kind {
            FabricKind::Star => Ok(star(&Star {
                servers,
                rate: self.link.rate,
                client_rate: self.link.client_rate.0.unwrap_or(self.link.rate),
                delay: self.link.delay,
            })),
            FabricKind::LeafSpine | FabricKind::FatTree => self.of_tree(servers),
            FabricKind::Edges | FabricKind::Rails | FabricKind::Dragonfly => self.of_edges(servers),
        }
    }

    /// Round-trip time between the client and a server's host with empty queues: a packet of this size to the client, and a pure ACK
    /// back.
    pub fn round_trip(&self, fabric: &Fabric, host: HostId, packet: Bytes) -> Time {
        let one_way = |from, to, packet: Bytes| {
            let bytes = self.link.framing.on_wire(packet.0 as u32).into();
            let links = fabric.path(from, to);
            links.map(|link| link.delay.0 + link.rate.time_for(bytes).0).sum::<u64>()
        };
        Time(one_way(host, HostId::CLIENT, packet) + one_way(HostId::CLIENT, host, PURE_ACK))
    }

    /// The largest packet jitter in this network.
    pub fn packet_jitter(&self, fabric: &Fabric) -> Time {
        let full = self.link.framing.on_wire(self.full_packet().0 as u32);
        match self.host.packet_jitter {
            PacketJitter::None => Time::ZERO,
            PacketJitter::Transmission(share) => Time(share.part_of(fabric.slowest_rate().time_for(full.into()).0)),
            PacketJitter::UpTo(time) => time,
        }
    }

    /// Refuses keys of other kinds of fabric.
    fn only_its_own_keys(&self) -> Result<(), String> {
        let f = &self.fabric;
        let fat = &[FabricKind::FatTree][..];
        let tree = &[FabricKind::LeafSpine, FabricKind::FatTree][..];
        let spined = &[FabricKind::LeafSpine, FabricKind::FatTree, FabricKind::Rails][..];
        let racked = &[FabricKind::LeafSpine, FabricKind::FatTree, FabricKind::Rails, FabricKind::Dragonfly][..];
        let keys = [
            ("edges", !f.edges.is_empty(), &[FabricKind::Edges][..]),
            ("racks", f.racks.0.is_some(), racked),
            ("hosts_per_rack", f.hosts_per_rack.0.is_some(), racked),
            ("spines", f.spines.0.is_some(), spined),
            ("pods", f.pods.0.is_some(), &[FabricKind::FatTree, FabricKind::Dragonfly][..]),
            ("arity", f.arity.0.is_some(), fat),
            ("rails", f.rails.0.is_some(), &[FabricKind::Rails][..]),
            ("machine_rate", f.machine_rate.0.is_some(), &[FabricKind::Rails][..]),
            ("global_links", f.global_links.0.is_some(), &[FabricKind::Dragonfly][..]),
            ("uplink_rate", f.uplink_rate.0.is_some(), racked),
            ("oversubscription", f.oversubscription.0.is_some(), tree),
        ];
        match keys.iter().find(|(_, given, kinds)| *given && !kinds.contains(&f.kind)) {
            None => Ok(()),
            Some((key, _, kinds)) => {
                let kinds: Vec<String> = kinds.iter().map(|kind| format!("\"{}\"", kind.word())).collect();
                let kind = f.kind.word();
                Err(format!(
                    "a {kind} has no `fabric.{key}`: set `fabric.kind = {}`, or remove the key",
                    kinds.join(" or ")
                ))
            }
        }
    }

    /// The highest number of a server among the edges.
    pub(crate) fn named_servers(&self) -> Result<u32, String> {
        Ok(highest_server(&self.all_edges()?))
    }

    /// Total rate of a host's links if hosts have several; each edge may have a rate of its own.
    pub fn rate_of_several_links(&self, HostId(host): HostId) -> Option<Rate> {
        self.rates_of_several_links()?.get(&host).copied().map(Rate)
    }

    /// Total rate of each host's links in bits per second, by host; `None` unless a host has several.
    pub(crate) fn rates_of_several_links(&self) -> Option<BTreeMap<u32, u64>> {
        if !self.fabric.kind.has_edges() {
            return None;
        }
        let (mut rates, mut links) = (BTreeMap::new(), 0);
        for Edge { ends, rate, .. } in self.all_edges().ok()? {
            for host in ends.iter().filter_map(|name| if name == "client" { Some(0) } else { server(name) }) {
                let all: &mut u64 = rates.entry(host).or_default();
                *all = all.saturating_add(rate.0);
                links += 1;
            }
        }
        (links > rates.len()).then_some(rates)
    }

    fn all_edges(&self) -> Result<Vec<Edge>, String> {
        match self.fabric.kind {
            FabricKind::Rails => return self.rails(),
            FabricKind::Dragonfly => return self.dragonfly(),
            FabricKind::Star | FabricKind::LeafSpine | FabricKind::FatTree | FabricKind::Edges => {}
        }
        let mut list = Vec::new();
        for text in &self.fabric.edges {
            list.extend(self.edge(text).map_err(|what| format!("`fabric.edges`, \"{text}\": {what}"))?);
            if list.len() > EDGES_MAX {
                return Err(format!("`fabric.edges`: more than {EDGES_MAX} edges"));
            }
        }
        Ok(list)
    }

    fn of_edges(&self, servers: u32) -> Result<Fabric, String> {
        let list = self.all_edges()?;
        let named = highest_server(&list);
        if named < servers && self.fabric.kind != FabricKind::Edges {
            let kind = self.fabric.kind.word();
            return Err(format!(
                "the {kind} has {named} servers, but the scenario needs {servers}: lower the fan-in, or add racks"
            ));
        }
        if named < servers {
            return Err(format!(
                "`fabric.edges` has {named} servers, but the scenario needs {servers}: lower the fan-in, or add server{}",
                named + 1
            ));
        }
        let hosts: Vec<String> =
            std::iter::once("client".into()).chain((1..=named).map(|n| format!("server{n}"))).collect();
        let key = if self.fabric.kind == FabricKind::Edges { "fabric.edges" } else { "fabric" };
        edges(&hosts, &list).map_err(|what| format!("`{key}`: {what}"))
    }

    /// The edges of one text; several if it joins a range of servers to a switch.
    fn edge(&self, text: &str) -> Result<Vec<Edge>, String> {
        const FORM: &str = "use two nodes, then optionally a rate and a delay, such as \"tor1 core 10 Gbit/s 5 us\"";
        let mut words = text.split_whitespace();
        let (Some(one), Some(other)) = (words.next(), words.next()) else { return Err(FORM.into()) };
        let rest: Vec<&str> = words.collect();
        let of_client = [one, other].contains(&"client");
        let rate = if of_client { self.link.client_rate.0.unwrap_or(self.link.rate) } else { self.link.rate };
        let rate_of = |words: &[&str]| words.join(" ").parse::<Rate>().map_err(|why| format!("{why}; {FORM}"));
        let time_of = |words: &[&str]| words.join(" ").parse::<Time>().map_err(|why| format!("{why}; {FORM}"));
        let (rate, delay) = match rest.as_slice() {
            [] => (rate, self.link.delay),
            rest if rest[rest.len() - 1].ends_with("bit/s") => (rate_of(rest)?, self.link.delay),
            rest => match rest.iter().position(|word| word.ends_with("bit/s")) {
                Some(at) => (rate_of(&rest[..=at])?, time_of(&rest[at + 1..])?),
                None => (rate, time_of(rest)?),
            },
        };
        let (some, others) = (names(one)?, names(other)?);
        if some.len().saturating_mul(others.len()) > EDGES_MAX {
            return Err(format!("{} times {} edges: use at most {EDGES_MAX}", some.len(), others.len()));
        }
        let pairs = some.iter().flat_map(|a| others.iter().map(move |b| [a.clone(), b.clone()]));
        Ok(pairs.map(|ends| Edge { ends, rate, delay, length: 1 }).collect())
    }
}

/// The highest number of a server among these edges; 0 without any.
fn highest_server(edges: &[Edge]) -> u32 {
    edges.iter().flat_map(|edge| edge.ends.iter()).filter_map(|name| server(name)).max().unwrap_or(0)
}

/// The nodes that a word names: one, or a range of servers.
fn names(word: &str) -> Result<Vec<String>, String> {
    if word.contains("..") {
        return Ok(servers_of(word)?.map(|n| format!("server{n}")).collect());
    }
    match word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-') {
        true => Ok(vec![word.into()]),
        false => Err(format!("`{word}` is not a valid name: use letters, digits, - and _")),
    }
}

/// The numbers of the servers that a word names: one, or a range.
pub(crate) fn servers_of(word: &str) -> Result<RangeInclusive<u32>, String> {
    let Some((first, last)) = word.split_once("..") else {
        return server(word)
            .map(|n| n..=n)
            .ok_or_else(|| format!("`{word}` is not a server, such as server3 or server1..8"));
    };
    match (server(first), last.parse::<u32>()) {
        (Some(first), Ok(last)) if first <= last && last - first < RANGE_MAX => Ok(first..=last),
        _ => Err(format!("`{word}` is not a range of servers, such as server1..8")),
    }
}

/// The number of a server's name.
fn server(name: &str) -> Option<u32> {
    name.strip_prefix("server")?.parse().ok().filter(|&n| n > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    fn on(edges: &[&str], kind: Kind) -> Settings {
        let mut settings = Settings::default();
        (settings.fabric.kind, settings.workload.kind, settings.workload.fan_in) = (FabricKind::Edges, kind, 2);
        settings.fabric.edges = edges.iter().map(ToString::to_string).collect();
        settings
    }

    #[test]
    fn rates_of_several_links_add_up() {
        const GBIT: u64 = 1_000_000_000;
        let edges = ["client a", "client b 4 Gbit/s", "server1..2 a", "server2 b 2 Gbit/s"];
        let [client, all] = [Kind::Barrier, Kind::Shuffle].map(|kind| on(&edges, kind).line_rate());
        assert_eq!((client, all), (5 * GBIT, 9 * GBIT));
        let settings = on(&edges, Kind::Barrier);
        assert_eq!(settings.rate_of_several_links(HostId(2)), Some(Rate(3 * GBIT)));
        let fabric = settings.network().expect("a network");
        assert!(
            (0..3).all(|host| settings.rate_of_several_links(HostId(host)) == Some(fabric.host_rate(HostId(host))))
        );
        assert_eq!(settings.capacities(&fabric, 2)[1], settings.usual_capacity(Rate(3 * GBIT)));
    }

    #[test]
    fn edges_rates_of_one_link_each_count_nowhere() {
        let edges = ["client a 4 Gbit/s", "server1..2 a"];
        assert_eq!(on(&edges, Kind::Barrier).line_rate(), Settings::default().link.rate.0);
        assert_eq!(on(&edges, Kind::Barrier).rate_of_several_links(HostId(0)), None);
    }

    #[test]
    fn faults_and_changes_name_hosts_with_several_links() {
        let mut settings = on(&["client a", "client a", "server1..2 a", "server1 b", "a b"], Kind::Barrier);
        settings.faults.hosts = vec!["1 ms server1 slows to 0.5".into()];
        settings.fabric.changes = vec!["2 ms client a#2 down".into()];
        let fabric = settings.network().expect("a network");
        assert_eq!(settings.host_faults(&fabric).map(|faults| faults.len()), Ok(1));
        let changes = settings.changes(&fabric).expect("a change");
        assert_eq!(changes[0].links.map(|link| fabric.link_name(link)), ["client>a#2", "a>client#2"]);
        settings.fabric.changes = vec!["2 ms client a#3 down".into()];
        let why = settings.changes(&fabric).expect_err("two links");
        assert_eq!(why, "`fabric.changes`, \"2 ms client a#3 down\": link 3 of `client` and `a`: there are 2");
    }
}
