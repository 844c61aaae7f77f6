//! How much a run has to hold and to do, as its settings tell before anything is run, and which setting is too large where
//! that cannot be.

use fanin_fabric::HostId;
use fanin_units::Time;

use crate::facts::Moves;
use crate::{Settings, WarmUp};

/// What a run takes. Counts are rough, and no less than this unless the run is cut short or stalls.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Volume {
    /// Hosts.
    pub hosts: f64,
    /// Connections over the whole run.
    pub connections: f64,
    /// Those of them that are open at once whatever happens.
    pub open: f64,
    /// Rows of flows and queries, where no round stalls.
    pub rows: f64,
    /// And where all do.
    pub least_rows: f64,
    /// Data packets.
    pub packets: f64,
    /// Draws made before it begins.
    pub draws: f64,
    /// Bytes that the workload holds from the beginning, and those that it has come to hold by its end.
    pub held: [f64; 2],
}

/// Bytes of memory that a run takes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Memory {
    /// While it is run.
    pub working: f64,
    /// By its tables, which stay until the comparison is written.
    pub kept: f64,
}

/// What a run asks of the machine; rough.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Need {
    /// Where no round stalls.
    pub memory: Memory,
    /// Where all do: with less it cannot be done.
    pub least: Memory,
    /// Seconds of CPU time.
    pub cpu_s: f64,
}

/// No run has more connections: with their rows, no machine holds them.
const CONNECTIONS_MAX: f64 = 1e8;
/// A shuffle draws for every pair of hosts, those that send nothing too; a MapReduce job for every fetch, those from a node's own disk too.
const DRAWS_MAX: f64 = 1e9;
/// Bytes of a packet besides its payload: headers of IP and TCP.
const HEADERS: u32 = 40;
/// Packets of a query to one host and its answer: three of the handshake, request and answer with their ACKs, two FINs.
const PACKETS_OF_A_QUERY: f64 = 9.0;

impl Settings {
    /// What a run takes.
    pub fn volume(&self) -> Volume {
        let w = &self.workload;
        let (n, hosts) = (f64::from(self.servers()) * f64::from(self.clients()), f64::from(self.hosts()));
        let facts = w.kind.facts();
        let Moves { flows, bytes, draws, held } = (facts.moves)(self);
        let lasts = self.lasts(bytes);
        let packets_of = |flows: f64, bytes: f64| flows.max(bytes / self.tcp.mss.0 as f64);
        let line = self.line_rate() as f64 * lasts / (8.0 * self.frame());
        let mut volume = Volume {
            hosts,
            connections: flows,
            open: 0.0,
            rows: flows,
            least_rows: flows,
            packets: packets_of(flows, bytes),
            draws,
            held,
        };
        match () {
            () if facts.asks && facts.lasts => {
                // A round crosses the network twice, and its answers follow one another at the client's link.
                let round = (bytes + packets_of(n, bytes) * (self.frame() - self.tcp.mss.0 as f64)) * 8.0;
                let least = (round / self.line_rate() as f64).max(4.0 * self.link.delay.as_secs_f64());
                let rounds = lasts / (least + w.pause.as_secs_f64());
                (volume.rows, volume.packets) = (rounds.ceil() * n, (rounds * packets_of(n, bytes)).min(line));
                // A collapse may leave next to no rounds.
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

    /// What the flows of a list send, but for those without an end.
    pub(crate) fn listed_bytes(&self) -> f64 {
        let list = self.inputs.flows.as_ref().map_or(&[][..], |flows| flows.list());
        list.iter().filter_map(|flow| flow.bytes).map(|bytes| bytes as f64).sum()
    }

    /// Poisson flows of so many hosts in so many seconds, and their bytes.
    pub(crate) fn poisson(&self, hosts: f64, seconds: f64) -> (f64, f64) {
        let Some(sizes) = &self.inputs.sizes else { return (0.0, 0.0) };
        let load = self.workload.load.0.map_or(0.0, |load| load.as_f64());
        let bytes = load * self.uplinks(hosts).0 * seconds / 8.0;
        (bytes / sizes.mean_bytes(), bytes)
    }

    /// The mean time between Poisson flows of the host that begins them most often.
    pub(crate) fn least_poisson_gap_ps(&self) -> f64 {
        match (&self.inputs.sizes, self.workload.load.0) {
            (Some(sizes), Some(load)) => sizes.mean_bytes() * 8e12 / (load.as_f64() * self.uplinks(0.0).1),
            _ => f64::INFINITY,
        }
    }

    /// What the links of so many hosts carry, and the fastest of them, bits a second: the client's may differ, and each in a list
    /// of edges.
    fn uplinks(&self, hosts: f64) -> (f64, f64) {
        if self.fabric.edges.is_empty() {
            let usual = self.link.rate.0 as f64;
            let client = self.link.client_rate.0.map_or(usual, |client| client.0 as f64);
            return ((hosts - 1.0) * usual + client, usual.max(client));
        }
        let Ok(fabric) = self.network() else { return (0.0, 0.0) };
        let rates = (0..self.hosts()).map(|host| fabric.link(fabric.uplink(HostId(host))).rate.0 as f64);
        rates.fold((0.0, 0.0), |(all, most), rate| (all + rate, rate.max(most)))
    }

    /// Seconds that a run lasts at the least.
    fn lasts(&self, bytes: f64) -> f64 {
        match self.workload.kind.facts().lasts {
            true => self.given_s(),
            false => self.given_s().min(8.0 * bytes / self.line_rate() as f64),
        }
    }

    /// Seconds that it is given, with its warm-up.
    pub(crate) fn given_s(&self) -> f64 {
        let warm_up = if let Some(WarmUp::For(time)) = self.workload.warm_up.0 { time } else { Time::ZERO };
        (self.workload.duration + warm_up).as_secs_f64()
    }

    /// A full frame on the wire.
    fn frame(&self) -> f64 {
        f64::from(self.link.framing.on_wire(self.full_packet().0 as u32))
    }

    /// What no machine could hold of a run, if anything.
    pub(crate) fn too_much(&self) -> Option<String> {
        let volume = self.volume();
        if volume.connections > CONNECTIONS_MAX {
            return Some(format!("{:.0} connections", volume.connections));
        }
        (volume.draws > DRAWS_MAX).then(|| format!("{:.0} draws before it begins", volume.draws))
    }

    /// The queries a second whose packets fill the links of all hosts, with the fewest of them.
    pub(crate) fn most_queries_per_s(&self) -> f64 {
        let v = &self.service;
        let headers = PACKETS_OF_A_QUERY * f64::from(self.link.framing.on_wire(HEADERS));
        let bytes = f64::from(v.fan_out) * ((v.answer.0 + v.request.0) as f64 + headers);
        f64::from(self.hosts()) * self.link.rate.0 as f64 / (8.0 * bytes)
    }
}

/// A setting by which a comparison grows.
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
    // Two at least.
    Knob {
        path: "fabric.hosts",
        get: |s| s.fabric.hosts.0.map_or(0, u64::from),
        set: |s, to| s.fabric.hosts.0 = Some(to.max(2) as u32),
    },
    Knob { path: "service.fan_out", get: |s| s.service.fan_out.into(), set: |s, to| s.service.fan_out = to as u32 },
    // In milliseconds, which are fine enough for what is too long.
    Knob {
        path: "workload.duration",
        get: |s| s.workload.duration.0.div_ceil(Time::from_millis(1).0),
        set: |s, to| s.workload.duration = Time::from_millis(to),
    },
];

/// The first setting that alone can be lowered so far at all points that they fit, with the largest value that does: as a
/// scenario has it. Points that become the same are one.
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
