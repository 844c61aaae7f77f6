//! Poisson flows: every host, the client too, starts flows of random size to random other hosts, independently of what
//! is under way.

use std::sync::Arc;

use fanin_spec::{FlowKind, RunSpec, Sizes, WarmUp};
use fanin_units::Time;

use super::application::{App, END, Record, WARM, start_background};
use super::beside::Guest;
use super::transfers::Transfers;
use crate::probe::Probe;
use crate::streams::{Purpose, Stream};
use crate::world::World;

/// One host's draws.
struct Source {
    gaps: Stream,
    peers: Stream,
    sizes: Stream,
}

/// The sources and their flows, under whatever application.
pub(crate) struct Poisson {
    kind: FlowKind,
    load: f64,
    sizes: Option<Arc<Sizes>>,
    sources: Vec<Source>,
    /// No flow starts from then on.
    until: Time,
    transfers: Transfers,
}

/// Tokens of sources' timers have this bit; the rest is the host.
const SOURCE: u32 = 1 << 31;

impl Poisson {
    pub fn new(spec: &RunSpec, kind: FlowKind) -> Poisson {
        let source = |host| Source {
            gaps: Stream::new(spec.seed, Purpose::Gap, host),
            peers: Stream::new(spec.seed, Purpose::Peer, host),
            sizes: Stream::new(spec.seed, Purpose::Size, host),
        };
        Poisson {
            kind,
            load: spec.settings.workload.load.0.map_or(0.0, |load| load.as_f64()),
            sizes: spec.settings.inputs.sizes.clone(),
            sources: (0..spec.settings.hosts()).map(source).collect(),
            until: Time::NEVER,
            transfers: Transfers::default(),
        }
    }

    /// Waits for a host's next flow.
    fn wait<P: Probe>(&mut self, world: &mut World<P>, host: u32) {
        let Some(sizes) = &self.sizes else { return };
        let fabric = &world.net.fabric;
        let rate = fabric.links()[fabric.uplink(host) as usize].rate;
        // Payload alone is the load: headers and retransmissions come on top.
        let mean_gap_ps = sizes.mean_bytes() * 8e12 / (self.load * rate.0 as f64);
        let gap = self.sources[host as usize].gaps.exponential(mean_gap_ps);
        if world.now.saturating_add(gap) < self.until {
            world.after(gap, SOURCE | host);
        }
    }
}

impl<P: Probe> Guest<P> for Poisson {
    /// Every host begins.
    fn start(&mut self, world: &mut World<P>) {
        for host in 0..self.sources.len() as u32 {
            self.wait(world, host);
        }
    }

    fn owns_endpoint(&self, endpoint: u32) -> bool {
        self.transfers.own(endpoint)
    }

    fn owns_token(&self, token: u32) -> bool {
        token & SOURCE != 0 && ((token & !SOURCE) as usize) < self.sources.len()
    }

    fn awake(&mut self, world: &mut World<P>, endpoint: u32) {
        self.transfers.end(world, endpoint);
    }

    /// A host's flow starts.
    fn due(&mut self, world: &mut World<P>, token: u32) {
        let (host, hosts) = (token & !SOURCE, self.sources.len() as u32);
        let (Some(source), Some(sizes)) = (self.sources.get_mut(host as usize), &self.sizes) else { return };
        let other = source.peers.below(hosts - 1);
        let to = if other < host { other } else { other + 1 };
        let bytes = sizes.at(source.sizes.word());
        self.transfers.start(world, self.kind, (host, to), bytes);
        self.wait(world, host);
    }

    fn record(&self, world: &World<P>, begun_ps: u64, record: &mut Record) {
        record.flows.extend(self.transfers.rows(world, begun_ps));
    }
}

/// The poisson workload: flows start for the scenario's duration, and the run ends with the last byte of the last one.
pub(crate) struct Alone {
    poisson: Poisson,
    /// What was delivered by the end of the duration; `None` before.
    payload: Option<u64>,
    warm_up: Time,
    duration: Time,
}

/// The timer of what has not ended long after the last start.
const GIVE_UP: u32 = END - 1;
/// So many durations after the start.
const PATIENCE: u64 = 10;

impl Alone {
    pub fn new(spec: &RunSpec) -> Alone {
        let duration = spec.settings.workload.duration;
        let warm_up = match spec.settings.workload.warm_up.0 {
            Some(WarmUp::For(time)) => time,
            _ => Time::ZERO,
        };
        let until = warm_up.saturating_add(duration);
        let poisson = Poisson { until, ..Poisson::new(spec, FlowKind::Poisson) };
        Alone { poisson, payload: None, warm_up, duration }
    }
}

impl<P: Probe> App<P> for Alone {
    fn start(&mut self, world: &mut World<P>) {
        start_background(world);
        world.after(self.poisson.until, END);
        world.after(self.warm_up.saturating_add(self.duration.saturating_mul(PATIENCE)), GIVE_UP);
        if self.warm_up > Time::ZERO {
            world.after(self.warm_up, WARM);
        }
        self.poisson.start(world);
    }

    fn established(&mut self, _world: &mut World<P>, _endpoint: u32) {}

    fn awake(&mut self, world: &mut World<P>, endpoint: u32) {
        self.poisson.transfers.end(world, endpoint);
        world.done = self.payload.is_some() && self.poisson.transfers.missing == 0;
    }

    fn closed(&mut self, world: &mut World<P>, endpoint: u32) {
        world.close(endpoint);
    }

    fn due(&mut self, world: &mut World<P>, token: u32) {
        match token {
            END => {
                self.payload = Some(self.poisson.transfers.delivered(world));
                world.done = self.poisson.transfers.missing == 0;
            }
            WARM => world.measure_from_here(self.poisson.transfers.delivered(world)),
            GIVE_UP => world.done = true,
            token => self.poisson.due(world, token),
        }
    }

    fn record(&self, world: &World<P>) -> Record {
        Record {
            flows: self.poisson.transfers.rows(world, self.warm_up.0).collect(),
            payload_bytes: self.payload.unwrap_or_else(|| self.poisson.transfers.delivered(world)),
            // A run that is given up has ended after the duration, too.
            measured: world.now.since(self.warm_up).min(self.duration),
            ..Record::default()
        }
    }
}
