//! Estimates of a run's size and cost from its settings, and which setting is too large if the run cannot be done.

use fanin_fabric::HostId;
use fanin_units::Time;

use crate::facts::Moves;
use crate::{Scheme, Settings, WarmUp};

/// Estimated size of a run, a lower bound unless the run is cut short or stalls.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Volume {
    /// Hosts.
    pub hosts: f64,
    /// Connections over the whole run.
    pub connections: f64,
    /// Connections that are always open at once.
    pub open: f64,
    /// Rows of flows and queries if no round stalls.
    pub rows: f64,
    /// Rows if all rounds stall.
    pub least_rows: f64,
    /// Data packets.
    pub packets: f64,
    /// Random draws before the start.
    pub draws: f64,
    /// Bytes of the workload's memory at its start and by its end.
    pub held: [f64; 2],
}

/// Bytes of memory of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Memory {
    /// During the run.
    pub working: f64,
    /// For its tables, until the comparison is written.
    pub kept: f64,
}

/// Estimated resources of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Need {
    /// Memory if no round stalls.
    pub memory: Memory,
    /// Memory if all rounds stall; the minimum for the run.
    pub least: Memory,
    /// CPU time in seconds.
    pub cpu_s: f64,
}

/// Maximum number of connections; no machine can hold the rows of more.
const CONNECTIONS_MAX: f64 = 1e8;
/// Maximum number of draws: one per pair of hosts in a shuffle, one per fetch in a MapReduce job, including local ones.
const DRAWS_MAX: f64 = 1e9;
/// IP and TCP header bytes of a packet.
const HEADERS: u32 = 40;
/// Packets of one host's query and response: three of the handshake, request and response with their ACKs, two FINs.
const PACKETS_OF_A_QUERY: f64 = 9.0;

impl Settings {
    /// Estimates the size of a run with a scheme.
    pub fn volume(&self, scheme: &Scheme) -> Volume {
        let (w, facts) = (&self.workload, self.workload.kind.facts());
        let (n, hosts) = (f64::from(self.servers()) * f64::from(self.clients()), f64::from(self.hosts()));
        let Moves { flows, bytes, open, draws, held } = (facts.moves)(self);
        let lasts = self.lasts(bytes);
        let (payload, frame) = (self.packets(scheme).payload.0 as f64, self.wire_packet(scheme) as f64);
        let packets_of = |flows: f64, bytes: f64| flows.max(bytes / payload);
        let line = self.line_rate() as f64 * lasts / (8.0 * frame);
        let mut volume = Volume {
            hosts,
            connections: flows,
            open,
            rows: flows,
            least_rows: flows,
            packets: packets_of(flows, bytes),
            draws,
            held,
        };
        match () {
            () if facts.asks && facts.lasts => {
                // A round crosses the network twice, and its responses share the client's link.
                let round = (bytes + packets_of(n, bytes) * (frame - payload)) * 8.0;
                let least = (round / self.line_rate() as f64).max(4.0 * self.link.delay.as_secs_f64());
                let rounds = lasts / (least + w.pause.as_secs_f64());
                (volume.rows, volume.packets) = (rounds.ceil() * n, (rounds * packets_of(n, bytes)).min(line));
                // A collapse may leave almost no rounds.
                volume.least_rows = 0.0;
            }
            () if facts.endless => (volume.rows, volume.least_rows, volume.packets) = (0.0, 0.0, line),
            () => {}
        }
        let stands = facts.asks && self.connections_stand();
        if stands || facts.endless || facts.setup_rtts.is_some() {
            volume.open = n;
        }
        if facts.asks {
            volume.connections = if stands { n } else { volume.rows };
        }
        if w.background > 0 {
            volume.hosts += f64::from(w.background);
            volume.connections += f64::from(w.background);
            volume.open += f64::from(w.background);
            volume.packets = volume.packets.max(line);
        }
        if !w.kind.facts().poisson && w.load.0.is_some() {
            let (flows, bytes) = self.poisson(hosts, lasts);
            volume.connections += flows;
            (volume.rows, volume.least_rows) = (volume.rows + flows, volume.least_rows + flows);
            volume.packets += packets_of(flows, bytes);
        }
        if let Some(flows) = self.inputs.flows.as_ref() {
            let (listed, bytes) = (flows.list().len() as f64, self.listed_bytes());
            if !facts.listed {
                volume.connections += listed;
                (volume.rows, volume.least_rows) = (volume.rows + listed, volume.least_rows + listed);
                volume.packets += packets_of(listed, bytes);
            }
            if flows.list().iter().any(|flow| flow.bytes.is_none()) {
                volume.packets = volume.packets.max(line);
            }
        }
        if let Some(rate) = self.service.queries_per_s.0 {
            let asked = f64::from(rate) * lasts * f64::from(self.service.fan_out);
            volume.connections += asked;
            let queries = f64::from(rate) * lasts;
            (volume.rows, volume.least_rows) = (volume.rows + queries, volume.least_rows + queries);
            volume.packets += packets_of(asked, asked * self.service.answer.0 as f64);
        }
        volume
    }

    /// Bytes of a list's limited flows.
    pub(crate) fn listed_bytes(&self) -> f64 {
        let list = self.inputs.flows.as_ref().map_or(&[][..], |flows| flows.list());
        list.iter().filter_map(|flow| flow.bytes).map(|bytes| bytes as f64).sum()
    }

    /// Number of Poisson flows of these hosts in this time, and their bytes.
    pub(crate) fn poisson(&self, hosts: f64, seconds: f64) -> (f64, f64) {
        let Some(sizes) = &self.inputs.sizes else { return (0.0, 0.0) };
        let load = self.workload.load.0.map_or(0.0, |load| load.as_f64());
        let bytes = load * self.uplinks(hosts).0 * seconds / 8.0;
        (bytes / sizes.mean_bytes(), bytes)
    }

    /// Mean time between Poisson flows of the busiest host.
    pub(crate) fn least_poisson_gap_ps(&self) -> f64 {
        match (&self.inputs.sizes, self.workload.load.0) {
            (Some(sizes), Some(load)) => sizes.mean_bytes() * 8e12 / (load.as_f64() * self.uplinks(0.0).1),
            _ => f64::INFINITY,
        }
    }

    /// Total and largest rate of these hosts' links in bits per second. The client's may differ, and each may in a list of edges.
    fn uplinks(&self, hosts: f64) -> (f64, f64) {
        if self.fabric.edges.is_empty() {
            let usual = self.link.rate.0 as f64;
            let client = self.link.client_rate.0.map_or(usual, |client| client.0 as f64);
            return ((hosts - 1.0) * usual + client, usual.max(client));
        }
        let Ok(fabric) = self.network() else { return (0.0, 0.0) };
        let rates = (0..self.hosts()).map(|host| fabric.host_rate(HostId(host)).0 as f64);
        rates.fold((0.0, 0.0), |(all, most), rate| (all + rate, rate.max(most)))
    }

    /// Minimum duration of a run in seconds.
    fn lasts(&self, bytes: f64) -> f64 {
        match self.workload.kind.facts().lasts {
            true => self.given_s(),
            false => self.given_s().min(8.0 * bytes / self.line_rate() as f64),
        }
    }

    /// Configured duration in seconds, including the warm-up.
    pub fn given_s(&self) -> f64 {
        let warm_up = if let Some(WarmUp::For(time)) = self.workload.warm_up.0 { time } else { Time::ZERO };
        (self.workload.duration + warm_up).as_secs_f64()
    }

    /// Why no machine could hold the run, if so.
    pub(crate) fn too_much(&self, scheme: &Scheme) -> Option<String> {
        let volume = self.volume(scheme);
        if volume.connections > CONNECTIONS_MAX {
            return Some(format!("{:.0} connections", volume.connections));
        }
        (volume.draws > DRAWS_MAX).then(|| format!("{:.0} draws before the start", volume.draws))
    }

    /// The query rate that saturates the links of all hosts.
    pub(crate) fn most_queries_per_s(&self) -> f64 {
        let v = &self.service;
        let headers = PACKETS_OF_A_QUERY * f64::from(self.link.framing.on_wire(HEADERS));
        let bytes = f64::from(v.fan_out) * ((v.answer.0 + v.request.0) as f64 + headers);
        let all = match self.rates_of_several_links() {
            Some(rates) => (0..self.hosts()).filter_map(|host| rates.get(&host)).map(|&rate| rate as f64).sum(),
            None => f64::from(self.hosts()) * self.link.rate.0 as f64,
        };
        all / (8.0 * bytes)
    }
}

/// A setting that scales a comparison.
struct Knob {
    path: &'static str,
    get: fn(&Settings) -> u64,
    set: fn(&mut Settings, u64),
}

const KNOBS: [Knob; 10] = [
    Knob {
        path: "workload.background",
        get: |s| s.workload.background.into(),
        set: |s, to| s.workload.background = to as u32,
    },
    Knob {
        path: "service.queries_per_s",
        get: |s| s.service.queries_per_s.0.map_or(0, u64::from),
        set: |s, to| s.service.queries_per_s.0 = Some(to as u32),
    },
    Knob { path: "run.seeds", get: |s| s.run.seeds.into(), set: |s, to| s.run.seeds = to as u32 },
    Knob { path: "workload.queries", get: |s| s.workload.queries.into(), set: |s, to| s.workload.queries = to as u32 },
    Knob {
        path: "mapreduce.reduces",
        get: |s| s.mapreduce.reduces.0.map_or(0, u64::from),
        set: |s, to| s.mapreduce.reduces.0 = Some(to as u32),
    },
    Knob { path: "mapreduce.maps", get: |s| s.mapreduce.maps.into(), set: |s, to| s.mapreduce.maps = to as u32 },
    Knob { path: "workload.fan_in", get: |s| s.workload.fan_in.into(), set: |s, to| s.workload.fan_in = to as u32 },
    // At least two.
    Knob {
        path: "fabric.hosts",
        get: |s| s.fabric.hosts.0.map_or(0, u64::from),
        set: |s, to| s.fabric.hosts.0 = Some(to.max(2) as u32),
    },
    Knob { path: "service.fan_out", get: |s| s.service.fan_out.into(), set: |s, to| s.service.fan_out = to as u32 },
    // In milliseconds, which is precise enough.
    Knob {
        path: "workload.duration",
        get: |s| s.workload.duration.0.div_ceil(Time::from_millis(1).0),
        set: |s, to| s.workload.duration = Time::from_millis(to),
    },
];

/// The first setting that can be lowered at all points to make them fit, with its largest value that does, as written in a scenario.
/// Points that become equal are merged.
pub fn what_would_fit(points: &[Settings], fits: &dyn Fn(&[Settings]) -> bool) -> Option<(&'static str, String)> {
    let with = |knob: &Knob, most: u64| {
        let mut points = points.to_vec();
        for settings in points.iter_mut().filter(|settings| (knob.get)(settings) > most) {
            (knob.set)(settings, most);
        }
        points.dedup();
        points
    };
    let largest = |knob: &Knob| points.iter().map(knob.get).max().unwrap_or(0);
    let knob = KNOBS.iter().find(|knob| largest(knob) > 1 && fits(&with(knob, 1)))?;
    let (mut fit, mut too_large) = (1, largest(knob));
    while too_large - fit > 1 {
        let middle = fit + (too_large - fit) / 2;
        if fits(&with(knob, middle)) { fit = middle } else { too_large = middle }
    }
    let points = with(knob, fit);
    let most = points.iter().max_by_key(|settings| (knob.get)(settings))?;
    let (section, key) = knob.path.split_once('.')?;
    Some((knob.path, most.value(section, key).0))
}
