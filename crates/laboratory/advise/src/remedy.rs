//! Possible changes to a cluster, each with a range of values.

mod rdma;
mod uet;

use core::fmt;

use fanin_assemble::route_window_holds;
use fanin_spec::{Base, Discipline, Fabric, FabricKind, Frames, HostId, Kind, Scheme, Settings, Transport, Variant};
use fanin_units::{Bytes, QueueSize, Rate, Time};

/// Keys that a change of the number of servers sets.
pub const SERVERS: &str = "sweep.fan_in";

/// Effort of a change, the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub enum Effort {
    /// A sysctl or a route's attribute on hosts, until the next change of them.
    #[serde(rename = "sysctl")]
    Sysctl,
    /// A setting of hosts' network cards.
    #[serde(rename = "network card")]
    Card,
    /// A setting of the application on the client.
    #[serde(rename = "application")]
    Application,
    /// A switch's configuration, usually in addition to the hosts'.
    #[serde(rename = "switch")]
    Switch,
    /// A program in hosts' kernels.
    #[serde(rename = "kernel program")]
    Kernel,
    /// Something to buy.
    #[serde(rename = "hardware")]
    Hardware,
}

impl fmt::Display for Effort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Effort::Sysctl => "sysctl",
            Effort::Card => "network card",
            Effort::Application => "application",
            Effort::Switch => "switch",
            Effort::Kernel => "kernel program",
            Effort::Hardware => "hardware",
        })
    }
}

/// One change.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The family that it is a level of; of a pair both.
    pub family: String,
    /// In words.
    pub says: String,
    /// Keys with their values.
    pub settings: Vec<(String, String)>,
    /// Another scheme.
    pub scheme: Option<String>,
    /// Effort.
    pub effort: Effort,
    /// Whether it can be made today.
    pub deployable: bool,
    /// Why it is not ranked among the others, if so.
    pub apart: Option<&'static str>,
}

impl Change {
    /// No change.
    pub fn none() -> Change {
        let (family, says) = ("today".into(), "no change".into());
        Change {
            family,
            says,
            settings: Vec::new(),
            scheme: None,
            effort: Effort::Sysctl,
            deployable: true,
            apart: None,
        }
    }

    /// Two changes together; `None` if they are of one family, or set different schemes.
    pub fn and(&self, other: &Change) -> Option<Change> {
        let same_key = |(key, _): &(String, String)| other.settings.iter().any(|(known, _)| known == key);
        if (self.scheme.is_some() && other.scheme.is_some()) || self.settings.iter().any(same_key) {
            return None;
        }
        Some(Change {
            family: format!("{}+{}", self.family, other.family),
            says: format!("{} and {}", self.says, other.says),
            settings: self.settings.iter().chain(&other.settings).cloned().collect(),
            scheme: self.scheme.clone().or_else(|| other.scheme.clone()),
            effort: self.effort.max(other.effort),
            deployable: self.deployable && other.deployable,
            apart: self.apart.or(other.apart),
        })
    }

    /// Its settings, as for `--set`.
    pub fn assignments(&self) -> impl Iterator<Item = String> + '_ {
        self.settings.iter().map(|(key, value)| format!("{key}={value}"))
    }

    /// Whether a flow without others gets less than the client's link carries: its window is below the bytes that fill the path.
    pub fn throttles_lone_flow(&self, today: &Settings) -> bool {
        let window = self.value("tcp.receive_window").and_then(|text| text.parse::<Bytes>().ok());
        window.is_some_and(|window| (window.0 as f64) < pipe_bytes(today))
    }

    /// The value that it sets a key to.
    pub fn value(&self, key: &str) -> Option<&str> {
        self.settings.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }
}

/// Words of `--remedies` with their meanings.
pub const FAMILIES: [(&str, &str); 43] = [
    ("rto-min", "the minimum retransmission timeout"),
    ("initial-window", "the initial window of a connection"),
    ("delayed-ack", "an ACK for every segment"),
    ("receive-window", "the receive window of the client"),
    ("grants", "windows that the client grants to connections that receive"),
    ("idle-restart", "whether a window survives a pause"),
    ("in-flight", "concurrent requests"),
    ("bytes-in-flight", "bytes requested and not received"),
    ("server-window", "a concurrency limit over servers"),
    ("placement", "popular and correlated objects on few servers (PICC)"),
    ("dctcp", "DCTCP over ports that mark above K"),
    ("red-ecn", "RED that marks"),
    ("red", "RED that drops"),
    ("alpha", "the share of a switch's free memory that a port may use"),
    ("jumbo", "frames of 9,000 bytes; packets of 4,096 bytes for RDMA"),
    ("mark-thresholds", "the queue from which lossless ports mark (K)"),
    ("mark-probability", "the share of packets that lossless ports mark"),
    ("min-rate", "the least rate of an RDMA sender"),
    ("cnp-interval", "the interval of congestion notifications (DCQCN)"),
    ("pfc-alpha", "the share of unused memory that a link may fill before it is paused"),
    ("trim-queue", "the queue above which ports trim"),
    ("trim-marks", "the part of its queue from which a trimming port marks"),
    ("delay-target", "the queueing delay that senders aim at (NSCC)"),
    ("first-window", "packets sent before the receiver's first report, over ports that trim"),
    ("withheld-acks", "how often Ultra Ethernet's receivers acknowledge"),
    ("resend-timeout", "Ultra Ethernet's retransmission timeout"),
    ("nscc", "Ultra Ethernet's window at the sender"),
    ("rccc", "Ultra Ethernet's credit from the receiver"),
    ("codel", "CoDel at the switch's ports"),
    ("gss", "gentle slow start"),
    ("m21", "a window assigned by the switch"),
    ("sicc", "swarms, hubs and a tree (SICC)"),
    ("dcqcn-window", "DCQCN with a window"),
    ("hpcc", "HPCC"),
    ("timely", "TIMELY"),
    ("rdma-dctcp", "DCTCP as a rate"),
    ("eqds", "EQDS"),
    ("ndp", "NDP"),
    ("buffer", "more memory in the switch"),
    ("link-rate", "faster links"),
    ("uplinks", "faster links between switches"),
    ("answer-size", "smaller responses"),
    ("servers", "fewer servers with larger responses"),
];

/// Limits of bytes that are requested and not received.
const BYTES_IN_FLIGHT: [u64; 6] = [250_000, 1_000_000, 2_000_000, 4_000_000, 8_000_000, 32_000_000];

/// Dynamic thresholds as switches have them: powers of two, with their exponents.
pub const ALPHAS: [(&str, i32); 7] = [("1/4", -2), ("1/2", -1), ("1", 0), ("2", 1), ("4", 2), ("8", 3), ("16", 4)];

/// The same for the memory of lossless ports.
pub const PFC_ALPHAS: [(&str, i32); 7] =
    [("1/64", -6), ("1/32", -5), ("1/16", -4), ("1/8", -3), ("1/4", -2), ("1/2", -1), ("1", 0)];

/// The ranges of one cluster.
struct Ranges<'a> {
    s: &'a Settings,
    scheme: Scheme,
    all: Vec<Change>,
}

/// All levels of all families, in the order of [`FAMILIES`]. Impossible ones are dropped when they are tried.
pub fn changes(today: &Variant) -> Vec<Change> {
    let (s, scheme) = (&today.points[0].settings, today.scheme);
    let mut ranges = Ranges { s, scheme, all: Vec::new() };
    match scheme.transport {
        Transport::Tcp => {
            ranges.hosts();
            ranges.objects();
            ranges.switch();
            ranges.laws();
        }
        Transport::Rdma(kind) => ranges.rdma(kind),
        Transport::Uet(kind) => ranges.uet(kind),
    }
    ranges.application();
    ranges.apart();
    let place = |change: &Change| FAMILIES.iter().position(|(word, _)| *word == change.family);
    ranges.all.sort_by_key(place);
    ranges.all
}

impl Ranges<'_> {
    fn add(&mut self, family: &str, effort: Effort, says: String, settings: &[(&str, String)]) -> &mut Change {
        let settings = settings.iter().map(|(key, value)| ((*key).into(), value.clone())).collect();
        let change = Change { family: family.into(), says, settings, effort, ..Change::none() };
        self.all.push(change);
        self.all.last_mut().expect("it has just been added")
    }

    /// Another algorithm that cannot be had today.
    fn not_available(&mut self, family: &str, scheme: String, says: &str) -> &mut Change {
        let change = self.add(family, Effort::Kernel, says.into(), &[]);
        (change.scheme, change.deployable, change.apart) = (Some(scheme), false, Some("not available today"));
        change
    }

    fn apart_as(&mut self, family: &str, why: &'static str, effort: Effort, says: String, set: &[(&str, String)]) {
        self.add(family, effort, says, set).apart = Some(why);
    }

    /// Settings of a host's sysctl or route.
    fn hosts(&mut self) {
        let tcp = &self.s.tcp.clone();
        for ms in [100, 50, 20, 10, 5, 2, 1].into_iter().map(Time::from_millis).filter(|t| *t < tcp.rto_min) {
            self.add(
                "rto-min",
                Effort::Sysctl,
                format!("RTOmin of {ms} on {}", self.senders()),
                &[("tcp.rto_min", ms.to_string())],
            );
        }
        for segments in [1_u32, 2, 3, 5, 10, 20, 40].into_iter().filter(|n| *n != tcp.initial_window) {
            let noun = if segments == 1 { "segment" } else { "segments" };
            let says = format!("an initial window of {segments} {noun} on {}", self.senders());
            self.add("initial-window", Effort::Sysctl, says, &[("tcp.initial_window", segments.to_string())]);
        }
        if tcp.delayed_ack > 1 {
            let says = format!("quick ACKs (one per segment) at {}", self.receivers());
            self.add("delayed-ack", Effort::Sysctl, says, &[("tcp.delayed_ack", "1".into())]);
        }
        self.receive_windows();
        self.grants();
        let (says, value) = match tcp.idle_restart {
            true => ("windows that survive a pause, on", "false"),
            false => ("window restart after idle time on", "true"),
        };
        let says = format!("{says} {}", self.senders());
        self.add("idle-restart", Effort::Sysctl, says, &[("tcp.idle_restart", value.into())]);
    }

    /// From an even share of pipe and queue up and down.
    fn receive_windows(&mut self) {
        let mss = self.s.tcp.mss.0;
        let share = (self.capacity() / f64::from(self.s.requested_servers().max(1)) / mss as f64).max(1.0);
        // A receiver with delayed ACKs needs space for a second segment.
        let mut segments: Vec<u64> =
            [0.5, 1.0, 2.0, 4.0, 8.0].iter().map(|f| (share * f).round().max(2.0) as u64).collect();
        segments.sort_unstable();
        segments.dedup();
        for window in segments.into_iter().map(|n| Bytes(n * mss)).filter(|w| *w < self.s.tcp.receive_window) {
            let says = format!("a receive window of {window} ({} segments) at {}", window.0 / mss, self.receivers());
            let effort = if route_window_holds(self.s) { Effort::Sysctl } else { Effort::Application };
            self.add("receive-window", effort, says, &[("tcp.receive_window", window.to_string())]);
        }
    }

    /// Windows granted by the client, which may leave up to half of the port's buffer in the queue.
    fn grants(&mut self) {
        if self.scheme.sets_receive_windows() || self.s.workload.kind == Kind::KeyValue {
            return;
        }
        let (buffer, frame) = (self.s.in_bytes(self.s.client_buffer()), self.s.full_frame().0);
        let scheme = format!("{}+grants", self.scheme);
        for queue in [8, 4, 2].map(|part| Bytes(buffer / part)).into_iter().filter(|queue| queue.0 >= frame) {
            let says = format!(
                "windows granted by {}, with a queue of {queue}, by a program in the kernel (fanin kernel)",
                self.receivers()
            );
            let mut settings = vec![("grants.queue", queue.to_string()), ("grants.turn", "1".into())];
            if self.s.tcp.delayed_ack > 1 {
                // Turns pass with ACKs.
                settings.push(("tcp.delayed_ack", "1".into()));
            }
            let change = self.add("grants", Effort::Kernel, says, &settings);
            change.scheme = Some(scheme.clone());
        }
    }

    /// Bytes that pipe and queue hold.
    fn capacity(&self) -> f64 {
        let queue = self.s.in_bytes(self.s.client_buffer());
        queue as f64 + pipe_bytes(self.s)
    }

    /// Hosts that receive, in words.
    fn receivers(&self) -> &'static str {
        if self.s.workload.kind.many_to_one() { "the client" } else { "all hosts" }
    }

    /// Hosts that send, in words.
    fn senders(&self) -> &'static str {
        if self.s.workload.kind.many_to_one() { "the servers" } else { "all hosts" }
    }

    /// Settings of the application on the hosts that request.
    fn application(&mut self) {
        let w = &self.s.workload;
        let (kind, limit) = (w.kind, w.bytes_in_flight.0);
        // Responses of a barrier are alike, so that their number says the same.
        if matches!(kind, Kind::MapReduce | Kind::Pulls) {
            let levels = BYTES_IN_FLIGHT.into_iter().filter(|bytes| limit.is_none_or(|limit| *bytes < limit.0));
            for bytes in levels.map(Bytes) {
                let says = format!("at most {bytes} requested and not received");
                let set = [("workload.bytes_in_flight", bytes.to_string())];
                self.add("bytes-in-flight", Effort::Application, says, &set);
            }
        }
        let now = self.s.workload.in_flight.0.unwrap_or(self.s.requested_servers());
        if matches!(kind, Kind::Barrier | Kind::WebSearch | Kind::AllToAll | Kind::Pulls) {
            for k in halves(now) {
                let says = format!("at most {k} concurrent requests");
                self.add("in-flight", Effort::Application, says, &[("workload.in_flight", k.to_string())]);
            }
        }
    }

    /// Requests of a key-value client, and where objects are.
    fn objects(&mut self) {
        if self.s.workload.kind == Kind::KeyValue {
            for (word, says) in [
                ("sw", "a concurrency limit over servers, halved when responses are late"),
                ("ictcp-window", "a concurrency limit over servers, sized by used bandwidth"),
            ] {
                self.add("server-window", Effort::Application, says.into(), &[]).scheme = Some(word.into());
            }
            // The rest of the buffer is for headers and other traffic.
            let budget = Bytes(self.s.in_bytes(self.s.port_buffer()) * 3 / 4);
            let set = [("workload.bytes_in_flight", budget.to_string())];
            for (word, says) in
                [("one-all", "at most"), ("ictcp-window", "a concurrency limit sized by used bandwidth, and at most")]
            {
                let says = format!("{says} {budget} on their way from all servers");
                self.add("server-window", Effort::Application, says, &set).scheme = Some(word.into());
            }
            for k in halves(self.s.servers()) {
                let says = format!("a concurrency limit of at most {k} servers");
                let set = [("sliding_window.most", k.to_string())];
                self.add("server-window", Effort::Application, says, &set).scheme = Some("sw".into());
            }
            let says = "popular and correlated objects on few servers (PICC)".into();
            self.add("placement", Effort::Application, says, &[]).scheme = Some("picc".into());
            self.not_available("sicc", "sicc".into(), "swarms and hubs (SICC)").effort = Effort::Application;
        }
    }

    /// Settings of a switch.
    fn switch(&mut self) {
        if self.s.switch.shared_buffer.0.is_some() {
            let alpha = self.s.switch.alpha;
            for (value, _) in ALPHAS.iter().filter(|(value, _)| value.parse() != Ok(alpha)) {
                let says = format!("alpha of {value} at the switch");
                self.add("alpha", Effort::Switch, says, &[("switch.alpha", (*value).into())]);
            }
        }
        if self.s.link.frames != Frames::Jumbo {
            let headers = if self.s.tcp.timestamps { 52 } else { 40 };
            let set = [("link.frames", "jumbo".into()), ("tcp.mss", format!("{} B", 9000 - headers))];
            self.add("jumbo", Effort::Switch, "jumbo frames everywhere".into(), &set);
        }
    }

    /// Other algorithms at hosts and ports.
    fn laws(&mut self) {
        let Scheme { base, discipline, ecn, gss, m21, .. } = self.scheme;
        let usual = [Base::NewReno, Base::Cubic].contains(&base);
        let plain = discipline == Discipline::DropTail && !ecn && !gss && !m21 && !self.scheme.sets_receive_windows();
        if !usual || !plain || self.s.workload.kind == Kind::KeyValue {
            return;
        }
        let pipe = (pipe_bytes(self.s) / self.s.full_frame().0 as f64).ceil().max(1.0);
        let least = (pipe / 7.0).ceil().max(5.0) as u32;
        for k in [1, 2, 4, 8].map(|f| least * f) {
            let says = format!("DCTCP at both ends, with marking above {k} packets at ports");
            let change = self.add("dctcp", Effort::Switch, says, &[("ecn_threshold.k", format!("{k} packets"))]);
            change.scheme = Some("dctcp".into());
        }
        let own = self.scheme.to_string();
        for least in [least, 4 * least] {
            let thresholds =
                [("red.min_th", format!("{least} packets")), ("red.max_th", format!("{} packets", 3 * least))];
            for (family, what, scheme) in
                [("red-ecn", "marks", format!("{own}+red+ecn")), ("red", "drops", format!("{own}+red"))]
            {
                let says = format!("RED that {what} from {least} packets on");
                self.add(family, Effort::Switch, says, &thresholds).scheme = Some(scheme);
            }
        }
        let says = format!("gentle slow start on {}, a program in their kernels (fanin kernel)", self.senders());
        self.add("gss", Effort::Kernel, says, &[]).scheme = Some(format!("{own}+gss"));
        for (family, scheme, says) in [
            ("codel", format!("{own}+codel"), "CoDel at the switch's ports, which switches do not have"),
            ("m21", format!("{own}+m21"), "a window assigned by the switch (M21)"),
        ] {
            self.not_available(family, scheme, says);
        }
    }

    /// Purchases, and changes of the workload itself.
    fn apart(&mut self) {
        // A port that trims needs no more memory than its queue, which is a setting.
        let times: &[u64] = if self.scheme.uet().is_some() { &[] } else { &[2, 4, 16] };
        for &factor in times {
            let (key, value) = match self.s.switch.shared_buffer.0 {
                Some(memory) => ("switch.shared_buffer", Bytes(memory.0.saturating_mul(factor)).to_string()),
                None => ("switch.buffer", multiplied(self.s.switch.buffer, factor).to_string()),
            };
            let says = format!("a switch with {factor}× the memory ({value})");
            self.apart_as("buffer", "hardware", Effort::Hardware, says, &[(key, value)]);
        }
        let rate = self.s.link.rate;
        let faster = [10, 25, 40, 100, 200, 400].map(|g| Rate(g * 1_000_000_000)).into_iter().filter(|r| *r > rate);
        for rate in faster.take(2) {
            let mut set = vec![("link.rate", rate.to_string())];
            if self.s.link.client_rate.0.is_some() {
                set.push(("link.client_rate", "none".into()));
            }
            self.apart_as("link-rate", "link rate", Effort::Hardware, format!("links of {rate}"), &set);
        }
        let up = self.s.fabric.uplink_rate.0.unwrap_or(rate);
        if matches!(self.s.fabric.kind, FabricKind::LeafSpine | FabricKind::FatTree) {
            let value = Rate(up.0.saturating_mul(2)).to_string();
            let set = [("fabric.oversubscription", "none".into()), ("fabric.uplink_rate", value.clone())];
            self.apart_as("uplinks", "link rate", Effort::Hardware, format!("links of {value} between switches"), &set);
        }
        let (w, n) = (self.s.workload.clone(), self.s.servers());
        if !w.kind.many_to_one() {
            return;
        }
        let answer = w.fragment.0.map(|fragment| ("workload.fragment", fragment));
        if let Some((key, bytes)) = answer.or(w.block.0.map(|block| ("workload.block", block))) {
            for part in [2, 4].into_iter().filter(|part| bytes.0 / part > 0) {
                let value = Bytes(bytes.0 / part).to_string();
                let says = format!("responses {part}× smaller ({value}), and more of them");
                self.apart_as("answer-size", "response size", Effort::Application, says, &[(key, value)]);
            }
        }
        // Fewer servers in all change nothing of a stripe.
        for part in [2, 4].into_iter().filter(|part| n / part > 1 && w.stripe.0.is_none()) {
            let fewer = n / part;
            let mut set = vec![(SERVERS, format!("[{fewer}]"))];
            if let Some(fragment) = w.fragment.0 {
                set.push(("workload.fragment", Bytes(fragment.0 * u64::from(part)).to_string()));
            }
            let says = format!("{fewer} servers instead of {n}, with larger responses");
            self.apart_as("servers", "number of servers", Effort::Application, says, &set);
        }
    }
}

/// Halves of a number, down to one.
fn halves(of: u32) -> impl Iterator<Item = u32> {
    core::iter::successors(Some(of / 2), |k| Some(k / 2)).take_while(|k| *k > 0)
}

/// A round trip of a full packet from the first server to the client and back, in an idle network.
pub fn round_trip(s: &Settings) -> Time {
    let network: Option<Fabric> = s.network().ok();
    network.map_or(Time(0), |fabric| s.round_trip(&fabric, HostId(1), s.full_packet()))
}

/// Bytes that the client's link sends in that time.
pub fn pipe_bytes(s: &Settings) -> f64 {
    let rate = s.link.client_rate.0.unwrap_or(s.link.rate);
    rate.0 as f64 / 8.0 * round_trip(s).as_secs_f64()
}

fn multiplied(size: QueueSize, factor: u64) -> QueueSize {
    match size {
        QueueSize::Bytes(bytes) => QueueSize::Bytes(bytes.saturating_mul(factor)),
        QueueSize::Packets(packets) => QueueSize::Packets(packets.saturating_mul(factor as u32)),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Families that are offered for a scheme, with whether any sets a key of TCP.
    fn families(text: &str) -> (BTreeSet<String>, bool) {
        let scenario = fanin_spec::Scenario::parse("my.toml", text).unwrap();
        let all = changes(&scenario.variants().unwrap()[0]);
        let of_tcp = all.iter().flat_map(|change| &change.settings).any(|(key, _)| key.starts_with("tcp."));
        (all.into_iter().map(|change| change.family).collect(), of_tcp)
    }

    #[test]
    fn each_transport_has_its_own_remedies() {
        let rack = "[link]\nrate = \"100 Gbit/s\"\n[switch]\nbuffer = \"1 MB\"\n[workload]\nfragment = \"64 KB\"\n[sweep]\nfan_in = [8]\n";
        let of = |scheme: &str| families(&format!("schemes = [\"{scheme}\"]\n{rack}"));
        for (scheme, has, lacks) in [
            ("newreno", "rto-min", "pfc-alpha"),
            ("dcqcn", "cnp-interval", "alpha"),
            ("dcqcn", "mark-thresholds", "rto-min"),
            ("hpcc", "min-rate", "mark-thresholds"),
            ("nscc", "trim-marks", "buffer"),
            ("rccc", "first-window", "delay-target"),
        ] {
            let (families, of_tcp) = of(scheme);
            assert!(families.contains(has) && !families.contains(lacks), "{scheme}: {families:?}");
            assert!(families.contains("in-flight"), "{scheme}");
            assert_eq!(of_tcp, scheme == "newreno");
        }
    }

    #[test]
    fn fixed_windows_throttle_a_lone_flow_and_grants_do_not() {
        let rack = "schemes = [\"newreno\"]\n[link]\nrate = \"10 Gbit/s\"\ndelay = \"20 us\"\n[switch]\nbuffer = \"1 MB\"\n[workload]\nfragment = \"64 KB\"\n[sweep]\nfan_in = [64]\n";
        let scenario = fanin_spec::Scenario::parse("my.toml", rack).unwrap();
        let today = &scenario.variants().unwrap()[0];
        let all = changes(today);
        let of = |family: &'static str| all.iter().filter(move |change| change.family == family);
        let settings = &today.points[0].settings;
        assert!(of("receive-window").any(|change| change.throttles_lone_flow(settings)));
        let queues: Vec<&str> = of("grants").filter_map(|change| change.value("grants.queue")).collect();
        assert_eq!(queues, ["125 KB", "250 KB", "500 KB"]);
        assert!(of("grants").all(|change| !change.throttles_lone_flow(settings) && change.deployable));
        assert!(!families(&rack.replace("newreno", "newreno+grants")).0.contains("grants"));
    }

    #[test]
    fn every_change_is_of_a_known_family() {
        let known: BTreeSet<&str> = FAMILIES.iter().map(|(word, _)| *word).collect();
        assert_eq!(known.len(), FAMILIES.len());
        for scheme in ["cubic", "dcqcn", "timely", "nscc", "rccc", "eqds", "ndp"] {
            let (families, _) = families(&format!("schemes = [\"{scheme}\"]\n[workload]\nfragment = \"64 KB\"\n"));
            assert!(families.iter().all(|family| known.contains(family.as_str())), "{families:?}");
        }
    }
}
