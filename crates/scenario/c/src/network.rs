//! A network that the caller builds, as the text of a scenario with edges.

use std::fmt::Write;

use fanin_spec::Scenario;

/// Most nodes, and most links.
const NODES_MAX: u32 = 1 << 20;
const LINKS_MAX: usize = 1_000_000;
/// Slowest and fastest link, bit/s, and the longest delay, 100 s.
const RATES: std::ops::RangeInclusive<u64> = 1_000..=1_000_000_000_000_000;
const DELAY_MAX_PS: u64 = 100_000_000_000_000;

struct Link {
    ends: [u32; 2],
    rate_bps: u64,
    delay_ps: u64,
}

/// Nodes, links and keys of a scenario so far.
pub struct Network {
    hosts: u32,
    switches: u32,
    links: Vec<Link>,
    /// As `key=value`.
    settings: Vec<String>,
}

impl Network {
    /// Hosts without links; `None` for fewer than two or too many.
    pub(crate) fn new(hosts: u32) -> Option<Network> {
        let network = Network { hosts, switches: 0, links: Vec::new(), settings: Vec::new() };
        (2..=NODES_MAX).contains(&hosts).then_some(network)
    }

    /// Adds a switch; returns its number as a node.
    pub(crate) fn add_switch(&mut self) -> Option<u32> {
        let node = self.hosts + self.switches;
        (node < NODES_MAX).then(|| {
            self.switches += 1;
            node
        })
    }

    /// Adds a link in both directions; returns whether its numbers are valid.
    pub(crate) fn add_link(&mut self, ends: [u32; 2], rate_bps: u64, delay_ps: u64) -> bool {
        let nodes = self.hosts + self.switches;
        let fits = ends[0] != ends[1] && ends.iter().all(|&end| end < nodes) && self.links.len() < LINKS_MAX;
        let fits = fits && RATES.contains(&rate_bps) && delay_ps <= DELAY_MAX_PS;
        if fits {
            self.links.push(Link { ends, rate_bps, delay_ps });
        }
        fits
    }

    /// Sets a key of the scenario, which is judged with the whole network.
    pub(crate) fn set(&mut self, key: &str, value: &str) {
        self.settings.push(format!("{key}={value}"));
    }

    /// The scenario of this network, with one scheme.
    pub(crate) fn scenario(&self, scheme: &str) -> Result<Scenario, String> {
        if let Some(odd) = scheme.chars().find(|c| c.is_control() || matches!(c, '"' | '\\')) {
            return Err(format!("the scheme's name has the character {odd:?}"));
        }
        // Of the workload only the number of its servers matters.
        let mut text =
            format!("schemes = [\"{scheme}\"]\n[sweep]\nfan_in = [{}]\n[workload]\nkind = \"long\"\n", self.hosts - 1);
        // Transports know the rate of their hosts' links.
        let of_hosts = self.links.iter().filter(|link| link.ends.iter().any(|&end| end < self.hosts));
        if let Some(fastest) = of_hosts.max_by_key(|link| link.rate_bps) {
            let _ =
                writeln!(text, "[link]\nrate = \"{} bit/s\"\ndelay = \"{} ps\"", fastest.rate_bps, fastest.delay_ps);
        }
        text += "[fabric]\nkind = \"edges\"\nedges = [\n";
        for Link { ends, rate_bps, delay_ps } in &self.links {
            let [one, other] = ends.map(|node| self.name(node));
            let _ = writeln!(text, "\"{one} {other} {rate_bps} bit/s {delay_ps} ps\",");
        }
        text += "]\n";
        let said = |problem: fanin_spec::Problem| problem.to_string();
        let mut scenario = Scenario::parse("network", &text).map_err(said)?;
        for setting in &self.settings {
            scenario.assign(&format!("fanin_network_set, {setting}"), setting).map_err(said)?;
        }
        Ok(scenario)
    }

    fn name(&self, node: u32) -> String {
        match node {
            0 => "client".into(),
            node if node < self.hosts => format!("server{node}"),
            node => format!("switch{}", node - self.hosts + 1),
        }
    }
}
