//! Bursts into the client: randomly drawn servers each send a part of the burst's bytes, independently of earlier bursts. Bursts
//! begin for the scenario's duration, and the run ends with the last byte of the last one.

use std::sync::Arc;

use fanin_driver::{Application, Driver, EndpointId, Meaning, Purpose, Record, Stream, View, meanings};
use fanin_fabric::HostId;
use fanin_spec::{Burst, BurstShape, Bursts as Table, RunSpec};
use fanin_tables::{FlowKind, FlowRow, QueryRow};
use fanin_units::{Rate, Time};

use super::pool::Pool;
use super::transfers::{Carried, Transfers};
use crate::rows::{round_row, timeouts_since};

meanings! {
    pub(crate) enum Timer {
        /// The next burst begins.
        Begin,
        /// Give up bursts that have not ended long after the last one began.
        GiveUp,
        End,
    }
}

/// Durations after the start at which bursts are given up.
const GIVE_UP_AFTER: u64 = 10;

/// Where bursts come from.
enum Shapes {
    Table(Arc<Table>),
    /// A generator: its settings, and the rate of the client's link.
    Generator(BurstShape, Rate),
    /// Only in a spec without a scenario: nothing is sent then.
    None,
}

impl Shapes {
    fn new(spec: &RunSpec) -> Shapes {
        let settings = &spec.settings;
        match (&settings.inputs.bursts, settings.bursts.spacing.0) {
            (Some(table), _) => Shapes::Table(table.clone()),
            (None, Some(_)) => Shapes::Generator(settings.bursts.clone(), Rate(settings.line_rate())),
            (None, None) => Shapes::None,
        }
    }

    /// The burst of a number, from zero.
    fn at(&self, number: u64, draws: &mut Stream) -> Option<Burst> {
        match self {
            Shapes::Table(table) => Some(table.at(number, || draws.word())),
            Shapes::Generator(shape, rate) => {
                let follows = number > 0 && draws.falls_into(shape.clustering);
                let gap = if follows { shape.cluster_gap } else { shape.spacing.0? };
                let gap = draws.exponential(gap.0 as f64);
                let fan_in = 1 + draws.below(2 * shape.height - 1);
                let bytes = rate.bytes_in(draws.exponential(shape.width.0 as f64));
                Some(Burst { gap, fan_in, bytes: bytes.max(fan_in.into()) })
            }
            Shapes::None => None,
        }
    }
}

/// A started burst.
struct Begun {
    start: Time,
    timeouts: Option<u64>,
    /// Its unfinished flows.
    missing: u32,
    row: Option<QueryRow>,
}

pub(crate) struct Bursts {
    shapes: Shapes,
    duration: Time,
    draws: Stream,
    peers: Stream,
    /// All servers; a burst uses the first ones after a partial shuffle.
    servers: Vec<u32>,
    next: Option<Burst>,
    bursts: Vec<Begun>,
    transfers: Transfers,
    /// Burst of each flow.
    burst_of: Vec<u32>,
    /// No more bursts begin.
    over: bool,
}

impl Bursts {
    pub fn new(spec: &RunSpec) -> Bursts {
        Bursts {
            shapes: Shapes::new(spec),
            duration: spec.settings.workload.duration,
            draws: Stream::new(spec.seed, Purpose::Burst, 0),
            peers: Stream::new(spec.seed, Purpose::Peer, 0),
            servers: (0..spec.fan_in).collect(),
            next: None,
            bursts: Vec::new(),
            transfers: Transfers::new(Pool::new(spec.settings.connections_stand())),
            burst_of: Vec::new(),
            over: false,
        }
    }

    /// Schedule the next burst.
    fn wait(&mut self, driver: &mut dyn Driver) {
        let Some(burst) = self.shapes.at(self.bursts.len() as u64, &mut self.draws) else { return };
        self.next = Some(burst);
        driver.after(burst.gap, Timer::Begin.into());
    }

    fn begin(&mut self, driver: &mut dyn Driver) {
        let Some(burst) = self.next.filter(|_| !self.over) else { return };
        // Drawn bursts may have fewer bytes than servers.
        let senders = u64::from(burst.fan_in).min(burst.bytes) as usize;
        let number = self.bursts.len() as u32;
        self.bursts.push(Begun {
            start: driver.now(),
            timeouts: driver.timeouts(),
            missing: senders as u32,
            row: None,
        });
        if self.transfers.missing == 0 {
            driver.rest(HostId::CLIENT, Time::ZERO);
        }
        let (share, rest) = (burst.bytes / senders as u64, burst.bytes % senders as u64);
        for place in 0..senders {
            let other = place + self.peers.below((self.servers.len() - place) as u32) as usize;
            self.servers.swap(place, other);
            let bytes = share + u64::from((place as u64) < rest);
            let from = HostId::server(self.servers[place]);
            self.burst_of.push(number);
            self.transfers.start(driver, FlowKind::Answer, from, HostId::CLIENT, bytes);
        }
        self.wait(driver);
    }

    fn query(&self, view: &dyn View, number: usize, whole: bool) -> QueryRow {
        let burst = &self.bursts[number];
        let took = view.now().since(burst.start);
        round_row(number as u32, burst.start.0, took, whole, timeouts_since(view, burst.timeouts))
    }

    /// Each burst, complete or cut off.
    fn queries(&self, view: &dyn View) -> impl Iterator<Item = QueryRow> {
        let row =
            |(number, burst): (usize, &Begun)| burst.row.clone().unwrap_or_else(|| self.query(view, number, false));
        self.bursts.iter().enumerate().map(row)
    }
}

impl Application for Bursts {
    fn start(&mut self, driver: &mut dyn Driver) {
        driver.begin();
        driver.await_responses(&[HostId::CLIENT], Time::ZERO);
        driver.rest(HostId::CLIENT, Time::NEVER);
        driver.after(self.duration, Timer::End.into());
        driver.after(self.duration.saturating_mul(GIVE_UP_AFTER), Timer::GiveUp.into());
        self.wait(driver);
    }

    fn received(&mut self, driver: &mut dyn Driver, _at: EndpointId, message: Meaning) {
        let Carried::Flow(flow) = Carried::from(message) else { return };
        self.transfers.end(driver, flow);
        let number = self.burst_of[flow as usize] as usize;
        self.bursts[number].missing -= 1;
        if self.bursts[number].missing == 0 {
            self.bursts[number].row = Some(self.query(driver, number, true));
            driver.round_ended(number as u32);
        }
        if self.transfers.missing == 0 {
            driver.rest(HostId::CLIENT, Time::NEVER);
            if self.over {
                driver.finish();
            }
        }
    }

    fn due(&mut self, driver: &mut dyn Driver, timer: Meaning) {
        match Timer::from(timer) {
            Timer::Begin => self.begin(driver),
            Timer::GiveUp => driver.finish(),
            Timer::End => {
                self.over = true;
                if self.transfers.missing == 0 {
                    driver.finish();
                }
            }
        }
    }

    fn record(&self, view: &dyn View, record: &mut Record) {
        let rows = self.transfers.rows(view, 0).zip(&self.burst_of);
        record.flows.extend(rows.map(|(row, &burst)| FlowRow { round: Some(burst.into()), ..row }));
        record.queries.extend(self.queries(view));
        record.payload_bytes = self.transfers.delivered(view);
        record.measured = view.now();
    }
}
