//! Every key of a scenario, with its default. Workloads and algorithms declare their settings in their own files; all others are
//! declared here.

mod bursts;
mod classes;
mod fabric;
mod key_value;
mod link;
mod mapreduce;
mod node;
mod run;
mod service;
mod tcp;
mod workload;

use std::sync::Arc;

use fanin_laws::settings::Key;
use fanin_units::{Bytes, QueueSize, Time};

use crate::declare::{KeyDoc, Section};
use crate::requests::Requests;
use crate::sizes::Sizes;
use crate::{Bursts, FAN_IN, Flows, Literal, Matrix, Plan, Pulls, Trace, laws};

pub use bursts::BurstShape;
pub use classes::Classes;
pub use fabric::{FabricKind, FabricSettings, Placement};
pub use key_value::{KeyValue, Popularity, Replica, ReplicaRacks, Route, ServerOrder, Windows};
pub use link::{Frames, Link};
pub use mapreduce::{MapReduce, Tell};
pub use node::{Host, HostQueue, Nic, Switch};
pub use run::{Faults, Measure, Run};
pub use service::Service;
pub use tcp::{MaxAckDelay, Tcp};
pub use workload::{Algorithm, Connections, Kind, Servers, Workload};

/// Default values of `sweep.fan_in`.
pub(crate) const FAN_INS: [u32; 7] = [2, 4, 8, 16, 32, 64, 128];

/// The section `[sweep]`: its keys are keys of other sections.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sweep;

impl Section for Sweep {
    const NAME: &'static str = "sweep";
    const DOC: &'static str = "Swept keys, each with its values: `fan_in`, or any key of a run with its section, such as \"workload.load\" = [\"20 %\", \"60 %\"]. Points are all combinations of values. The collapse point is searched along the first key that has several values.";
    const KEYS: &'static [&'static str] = &[FAN_IN];
    const WORKLOADS: &'static [&'static str] = &[];

    fn set(&mut self, _: &str, _: &Literal) -> Result<(), String> {
        unreachable!("an axis is not a setting")
    }

    fn value(&self, _: &str) -> (String, Option<f64>) {
        unreachable!("an axis is not a setting")
    }

    fn out_of_range(&self) -> Option<(&'static str, String)> {
        None
    }

    fn docs(&self) -> Vec<KeyDoc> {
        vec![KeyDoc {
            path: "sweep.fan_in".into(),
            form: "a list of whole numbers, such as [2, 4, 8]",
            range: None,
            default: Literal::List(FAN_INS.map(|n| Literal::Integer(n.into())).to_vec()).show(),
            doc: "Rising numbers of servers that respond (`workload.fan_in`); for an any-to-any workload, the hosts other than the client. The default applies if nothing is swept and nothing else sets the number.".into(),
            workloads: &[],
            need: None,
        }]
    }
}

/// Contents of the files that a scenario names.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Inputs {
    /// Flow list of a flows workload.
    pub flows: Option<Arc<Flows>>,
    /// Size distribution of Poisson flows.
    pub sizes: Option<Arc<Sizes>>,
    /// Bursts of a bursts workload.
    pub bursts: Option<Arc<Bursts>>,
    /// Bytes of an all-to-all between all hosts.
    pub matrix: Option<Arc<Matrix>>,
    /// Pulls of a pulls workload.
    pub pulls: Option<Arc<Pulls>>,
    /// Operations of a trace workload.
    pub trace: Option<Arc<Trace>>,
    /// Recorded requests of front ends.
    pub requests: Option<Arc<Requests>>,
    /// Placement plan of a key_value workload.
    pub plan: Option<Arc<Plan>>,
}

impl Inputs {
    /// Number of hosts in the file of flows, pulls, operations or bytes that a workload moves; `None` if none has one.
    pub(crate) fn hosts(&self, kind: Kind) -> Option<u32> {
        match kind {
            Kind::Flows => self.flows.as_ref().map(|flows| flows.hosts()),
            Kind::AllToAll => self.matrix.as_ref().map(|matrix| matrix.hosts()),
            Kind::Pulls => self.pulls.as_ref().map(|pulls| pulls.hosts()),
            Kind::Trace => self.trace.as_ref().map(|trace| trace.hosts()),
            _ => None,
        }
    }
}

macro_rules! settings {
    ($($field:ident: $section:ty,)*) => {
        /// Every setting, resolved for one scheme.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Settings {
            $(#[doc = concat!("Section `[", stringify!($field), "]`.")] pub $field: $section,)*
            /// Settings of congestion control and queue disciplines, declared in `fanin_laws`.
            pub laws: fanin_laws::Settings,
            /// Settings of request scheduling, declared in `fanin_fanout`.
            pub fan_outs: fanin_fanout::Settings,
            /// Settings of placements, declared in `fanin_placement`.
            pub placements: fanin_placement::Settings,
            /// Contents of the files that settings name.
            pub inputs: Inputs,
        }

        impl Settings {
            /// Sections declared by algorithms.
            pub fn of_laws(&self) -> Vec<&dyn fanin_laws::settings::Section> {
                [self.laws.sections(), self.fan_outs.sections(), self.placements.sections()].concat()
            }

            /// Names and descriptions of the sections.
            pub fn sections() -> Vec<(&'static str, &'static str)> {
                let mut sections = vec![$((<$section>::NAME, <$section>::DOC.trim_ascii())),*];
                let laws = Settings::default();
                sections.extend(laws.of_laws().iter().map(|section| (section.name(), section.says())));
                sections
            }

            /// The keys of a section, or `None` if the section is unknown.
            pub(crate) fn keys_of(section: &str) -> Option<Vec<&'static str>> {
                match section {
                    $(stringify!($field) => Some(<$section>::KEYS.to_vec()),)*
                    _ => {
                        let laws = Settings::default();
                        let law = laws.of_laws().into_iter().find(|law| law.name() == section)?;
                        Some(law.keys().iter().map(|key| key.name).collect())
                    }
                }
            }

            /// Sets an existing key.
            pub(crate) fn set(&mut self, section: &str, key: &str, literal: &Literal) -> Result<(), String> {
                match section {
                    $(stringify!($field) => self.$field.set(key, literal),)*
                    _ => {
                        let mut laws = self.laws.sections_mut();
                        laws.extend(self.fan_outs.sections_mut());
                        laws.extend(self.placements.sections_mut());
                        let law = laws.into_iter().find(|law| law.name() == section);
                        laws::set(law.expect("sections are looked up before they are set"), key, literal)
                    }
                }
            }

            /// A key's value as text, and its rank for ordering.
            pub(crate) fn value(&self, section: &str, key: &str) -> (String, Option<f64>) {
                match section {
                    $(stringify!($field) => self.$field.value(key),)*
                    _ => {
                        let law = self.of_laws().into_iter().find(|law| law.name() == section);
                        laws::value(law.expect("sections are looked up before they are asked for"), key)
                    }
                }
            }

            /// The first key whose value is out of range, and the reason. Considers only the named sections and those of the workloads.
            pub(crate) fn out_of_range(
                &self,
                looked_at: impl Fn(&str, &[&str]) -> bool,
            ) -> Option<(&'static str, String)> {
                $(if looked_at(<$section>::NAME, <$section>::WORKLOADS)
                    && let Some(wrong) = self.$field.out_of_range()
                {
                    return Some(wrong);
                })*
                let laws = self.of_laws().into_iter();
                laws.filter(|law| looked_at(law.name(), &[])).find_map(laws::out_of_range)
            }

            /// Every key with its form, documentation and current value.
            pub fn docs(&self) -> Vec<KeyDoc> {
                let mut docs = Vec::new();
                $(docs.extend(self.$field.docs());)*
                for law in self.of_laws() {
                    docs.extend(law.keys().iter().map(law_doc));
                }
                docs
            }
        }
    };
}

settings! {
    link: Link,
    fabric: FabricSettings,
    switch: Switch,
    host: Host,
    nic: Nic,
    classes: Classes,
    tcp: Tcp,
    workload: Workload,
    mapreduce: MapReduce,
    service: Service,
    bursts: BurstShape,
    key_value: KeyValue,
    faults: Faults,
    measure: Measure,
    sweep: Sweep,
    run: Run,
}

/// Documentation of a key in an algorithm's section.
fn law_doc(key: &Key) -> KeyDoc {
    KeyDoc {
        path: key.path.into(),
        form: laws::form(key.value),
        range: laws::range(key),
        default: laws::show(key.value),
        doc: key.says.to_string(),
        workloads: &[],
        need: None,
    }
}

impl Settings {
    /// Every key that affects results, one `key = value` line each; for a file, a digest of its contents.
    pub(crate) fn canonical(&self, keep: impl Fn(&str) -> bool) -> String {
        const NAMES_OF_FILES: [&str; 6] = [
            "workload.file",
            "workload.bursts",
            "workload.matrix",
            "workload.pulls",
            "workload.sizes",
            "key_value.placement",
        ];
        let mut text = String::new();
        for key in self.docs().iter().filter(|key| keep(&key.path) && !NAMES_OF_FILES.contains(&key.path.as_str())) {
            text += &format!("{} = {}\n", key.path, key.default);
        }
        if let Some(flows) = &self.inputs.flows {
            text += &format!("flows = {} between {}\n", flows.digest(), flows.hosts());
        }
        if let Some(bursts) = &self.inputs.bursts {
            text += &format!("bursts = {}\n", bursts.digest());
        }
        if let Some(matrix) = &self.inputs.matrix {
            text += &format!("matrix = {}\n", matrix.digest());
        }
        if let Some(pulls) = &self.inputs.pulls {
            text += &format!("pulls = {}\n", pulls.digest());
        }
        if let Some(trace) = &self.inputs.trace {
            text += &format!("trace = {}\n", trace.digest());
        }
        if let Some(sizes) = &self.inputs.sizes {
            text += &format!("sizes = {:?}\n", sizes.points().collect::<Vec<_>>());
        }
        if let Some(requests) = &self.inputs.requests {
            text += &format!("requests = {}\n", requests.digest());
        }
        if let Some(plan) = &self.inputs.plan {
            text += &format!("plan = {} of the places of seed {}\n", plan.digest(), self.run.first_seed);
        }
        text
    }

    /// The payload that fills a packet of `link.frames`, if that sets a size.
    pub(crate) fn mss_of_frames(&self) -> Option<Bytes> {
        self.link.frames.packet().map(|packet| Bytes(packet.0 - self.headers()))
    }

    /// Bytes of a data packet's IP and TCP headers and timestamps.
    pub(crate) fn headers(&self) -> u64 {
        if self.tcp.timestamps { 52 } else { 40 }
    }

    /// Bytes of a full data packet at the IP layer, without TCP options.
    pub fn full_packet(&self) -> Bytes {
        Bytes(self.tcp.mss.0 + 40)
    }

    /// Bytes that a full data packet occupies in a buffer.
    pub fn full_frame(&self) -> Bytes {
        Bytes(self.link.framing.frame(self.full_packet().0 as u32).into())
    }

    /// A queue size in bytes, counting packets as full frames.
    pub fn in_bytes(&self, size: QueueSize) -> u64 {
        match size {
            QueueSize::Bytes(bytes) => bytes,
            QueueSize::Packets(packets) => u64::from(packets).saturating_mul(self.full_frame().0),
        }
    }

    /// Number of hosts without those of background flows.
    pub fn hosts(&self) -> u32 {
        self.fabric.hosts.0.unwrap_or(self.taking_part())
    }

    /// Clients and servers of a many-to-one workload; otherwise the default number of hosts.
    pub(crate) fn taking_part(&self) -> u32 {
        let (clients, fan_in) = (self.clients(), self.workload.fan_in);
        match self.workload.servers {
            Servers::Same => fan_in.saturating_add(clients),
            Servers::Own => fan_in.saturating_add(1).saturating_mul(clients),
            Servers::Others => fan_in.saturating_add(1).max(clients),
        }
    }

    /// Number of clients; each runs its own rounds.
    pub fn clients(&self) -> u32 {
        if self.workload.kind.facts().many_clients { self.workload.clients } else { 1 }
    }

    /// Whether clients are servers, too.
    pub fn clients_serve(&self) -> bool {
        self.workload.servers == Servers::Others
    }

    /// The host number of a client; the first client is host 0.
    pub fn client_host(&self, client: u32) -> u32 {
        match self.workload.servers {
            Servers::Same if client > 0 => self.workload.fan_in + client,
            Servers::Own => client * (self.workload.fan_in + 1),
            Servers::Same | Servers::Others => client,
        }
    }

    /// The host number of a client's server.
    pub fn server_host(&self, client: u32, server: u32) -> u32 {
        match self.workload.servers {
            Servers::Same => server + 1,
            Servers::Own => self.client_host(client) + 1 + server,
            Servers::Others => (client + 1 + server) % self.taking_part(),
        }
    }

    /// Servers per client; for an any-to-any workload, all hosts but the client.
    pub fn servers(&self) -> u32 {
        if self.workload.kind.many_to_one() { self.workload.fan_in } else { self.hosts() - 1 }
    }

    /// Servers that a client requests from in a round.
    pub fn requested_servers(&self) -> u32 {
        self.workload.stripe.0.map_or(self.servers(), |stripe| stripe.min(self.servers()))
    }

    /// The largest possible throughput of a workload in bits per second: the total rate of its clients' links, or of all hosts' links.
    pub fn line_rate(&self) -> u64 {
        if let Some(rates) = self.rates_of_several_links() {
            let rate = |host: u32| rates.get(&host).copied().unwrap_or(0);
            return match self.workload.kind.many_to_one() {
                true => (0..self.clients()).map(|client| rate(self.client_host(client))).sum(),
                false => (0..self.hosts()).map(rate).sum(),
            };
        }
        let client = self.link.client_rate.0.unwrap_or(self.link.rate).0;
        match self.workload.kind.many_to_one() {
            true => client.saturating_add(self.link.rate.0.saturating_mul((self.clients() - 1).into())),
            false => client.saturating_add(self.link.rate.0.saturating_mul(self.servers().into())),
        }
    }

    /// Mean time between requests of a front end whose requests do not wait for one another.
    pub fn request_interval(&self) -> Option<Time> {
        self.key_value.within.0.map(|within| Time(within.0 / u64::from(self.workload.queries.max(1))))
    }

    /// Whether connections persist and carry several responses.
    pub fn connections_stand(&self) -> bool {
        self.workload.connections.stand(self.workload.kind.facts().stands)
    }

    /// Round trips before a response's first byte if each response needs a new connection.
    pub fn setup_rtts(&self) -> Option<f64> {
        let facts = self.workload.kind.facts();
        match facts.asks {
            // One for the handshake, one for the request and the first byte.
            true => (!self.connections_stand()).then_some(2.0),
            false => facts.setup_rtts,
        }
    }

    /// How many responses of this size `workload.bytes_in_flight` allows at once, at least one.
    pub fn requests_in_flight(&self, bytes: u64) -> u32 {
        let allowed = |limit: Bytes| (limit.0 / bytes.max(1)).clamp(1, u32::MAX.into()) as u32;
        self.workload.bytes_in_flight.0.map_or(u32::MAX, allowed)
    }

    /// Size of a server's response with `fan_in` servers; the first `block % fan_in` servers send one byte more.
    pub fn answer(&self, fan_in: u32, server: u32) -> Bytes {
        match (self.workload.fragment.0, self.workload.block.0) {
            (Some(fragment), _) => fragment,
            (None, Some(Bytes(block))) => {
                let (share, rest) = (block / u64::from(fan_in), block % u64::from(fan_in));
                Bytes(share + u64::from(u64::from(server) < rest))
            }
            (None, None) => Bytes(0),
        }
    }
}
