//! Poisson flows: every host, including the client, starts flows of random size to random other hosts, independently of flows
//! in progress.

use std::sync::Arc;

use fanin_driver::{Application, Driver, EndpointId, Meaning, Purpose, Record, Stream, View, meanings};
use fanin_fabric::HostId;
use fanin_spec::{RunSpec, Sizes, WarmUp};
use fanin_tables::FlowKind;
use fanin_units::Time;

use super::pool::Pool;
use super::transfers::{Carried, Transfers};

meanings! {
    pub(crate) enum Timer {
        /// A host's next flow starts.
        Start(host),
        WarmUp,
        /// Give up flows that have not ended long after the last start.
        GiveUp,
        End,
    }
}

/// One host's random streams.
struct Source {
    gaps: Stream,
    peers: Stream,
    sizes: Stream,
}

/// The sources and their flows, as background traffic of any workload.
pub(crate) struct Poisson {
    kind: FlowKind,
    load: f64,
    sizes: Option<Arc<Sizes>>,
    sources: Vec<Source>,
    /// No flow starts from this time on.
    until: Time,
    transfers: Transfers,
}

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
            transfers: Transfers::new(Pool::New),
        }
    }

    /// Schedule a host's next flow.
    fn wait(&mut self, driver: &mut dyn Driver, host: u32) {
        let Some(sizes) = &self.sizes else { return };
        // The load is payload only: headers and retransmissions are extra.
        let mean_gap_ps = sizes.mean_bytes() * 8e12 / (self.load * driver.rate(HostId(host)).0 as f64);
        let gap = self.sources[host as usize].gaps.exponential(mean_gap_ps);
        if driver.now().saturating_add(gap) < self.until {
            driver.after(gap, Timer::Start(host).into());
        }
    }

    /// Start a host's flow.
    fn start_flow(&mut self, driver: &mut dyn Driver, host: u32) {
        let hosts = self.sources.len() as u32;
        let (Some(source), Some(sizes)) = (self.sources.get_mut(host as usize), &self.sizes) else { return };
        let other = source.peers.below(hosts - 1);
        let to = if other < host { other } else { other + 1 };
        let bytes = sizes.at(source.sizes.word());
        self.transfers.start(driver, self.kind, HostId(host), HostId(to), bytes);
        self.wait(driver, host);
    }
}

impl Application for Poisson {
    /// Start all hosts.
    fn start(&mut self, driver: &mut dyn Driver) {
        for host in 0..self.sources.len() as u32 {
            self.wait(driver, host);
        }
    }

    fn received(&mut self, driver: &mut dyn Driver, _at: EndpointId, message: Meaning) {
        if let Carried::Flow(number) = Carried::from(message) {
            self.transfers.end(driver, number);
        }
    }

    fn due(&mut self, driver: &mut dyn Driver, timer: Meaning) {
        if let Timer::Start(host) = Timer::from(timer) {
            self.start_flow(driver, host);
        }
    }

    fn record(&self, view: &dyn View, record: &mut Record) {
        record.flows.extend(self.transfers.rows(view, view.measured_from().0));
    }
}

/// The poisson workload: flows start for the scenario's duration, and the run ends with the last byte of the last one.
pub(crate) struct Alone {
    poisson: Poisson,
    /// Bytes delivered by the end of the duration; `None` before.
    payload: Option<u64>,
    warm_up: Time,
    duration: Time,
}

/// Durations after the start at which flows are given up.
const GIVE_UP_AFTER: u64 = 10;

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

    /// End the run if no flow is in progress and none will start.
    fn end_if_whole(&self, driver: &mut dyn Driver) {
        if self.payload.is_some() && self.poisson.transfers.missing == 0 {
            driver.finish();
        }
    }
}

impl Application for Alone {
    fn start(&mut self, driver: &mut dyn Driver) {
        driver.begin();
        driver.after(self.poisson.until, Timer::End.into());
        let patience = self.duration.saturating_mul(GIVE_UP_AFTER);
        driver.after(self.warm_up.saturating_add(patience), Timer::GiveUp.into());
        if self.warm_up > Time::ZERO {
            driver.after(self.warm_up, Timer::WarmUp.into());
        }
        Application::start(&mut self.poisson, driver);
    }

    fn received(&mut self, driver: &mut dyn Driver, at: EndpointId, message: Meaning) {
        Application::received(&mut self.poisson, driver, at, message);
        self.end_if_whole(driver);
    }

    fn due(&mut self, driver: &mut dyn Driver, timer: Meaning) {
        match Timer::from(timer) {
            Timer::Start(host) => self.poisson.start_flow(driver, host),
            Timer::WarmUp => driver.measure_from_here(self.poisson.transfers.delivered(driver)),
            Timer::GiveUp => driver.finish(),
            Timer::End => {
                self.payload = Some(self.poisson.transfers.delivered(driver));
                self.end_if_whole(driver);
            }
        }
    }

    fn foresees(&self, timer: Meaning) -> bool {
        matches!(Timer::from(timer), Timer::Start(_))
    }

    fn ends_when_all_is_there(&self) -> bool {
        self.payload.is_some()
    }

    fn record(&self, view: &dyn View, record: &mut Record) {
        record.flows.extend(self.poisson.transfers.rows(view, self.warm_up.0));
        record.payload_bytes = self.payload.unwrap_or_else(|| self.poisson.transfers.delivered(view));
        // A run that is given up also ended its measured time with the duration.
        record.measured = view.now().since(self.warm_up).min(self.duration);
    }
}
