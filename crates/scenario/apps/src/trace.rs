//! A trace: every rank's sends, receives, computations and collective operations, each as soon as those that it waits for have ended.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use fanin_driver::{Application, Driver, EndpointId, Meaning, Record, View, meanings};
use fanin_fabric::HostId;
use fanin_spec::{Progress, RunSpec, Trace as File, Work, Workload};
use fanin_tables::FlowKind;
use fanin_units::Time;

use crate::collective::{OfRanks, Step};
use crate::pool::Pool;
use crate::rows::{round_row, timeouts_since};
use crate::transfers::{Carried, Transfers};

meanings! {
    pub(crate) enum Timer {
        /// A processor has computed.
        Computed(number),
        End,
    }
}

/// A processor of a rank, and the computations that wait for it.
#[derive(Default)]
struct Processor {
    rank: u32,
    computes: Option<u32>,
    queue: VecDeque<u32>,
}

/// The half of a message that was there first: its receive, or its last byte.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Half {
    Neither,
    One,
}

/// What a transfer carries.
#[derive(Clone, Copy)]
enum Cargo {
    /// The message of a rank's operation.
    Message { rank: u32, number: u32 },
    /// A transfer of a collective operation.
    Part { collective: u32, number: u32 },
}

pub(crate) struct Trace {
    /// Absent only in a spec without a scenario: nothing happens then.
    file: Option<Arc<File>>,
    workload: Workload,
    progress: Progress,
    /// By rank and operation.
    halves: Vec<Vec<Half>>,
    processors: Vec<Processor>,
    /// The first processor of each rank.
    first: Vec<usize>,
    /// Operations that start at this instant.
    ready: VecDeque<(u32, u32)>,
    /// Operations that have not ended.
    left: usize,
    transfers: Transfers,
    /// Of each transfer.
    cargo: Vec<Cargo>,
    /// Collective operations that a rank has joined and that have not ended.
    collectives: BTreeMap<u32, OfRanks>,
    timeouts: Option<u64>,
    /// When the last operation ended.
    ended: Option<Time>,
}

impl Trace {
    pub fn new(spec: &RunSpec) -> Trace {
        let file = spec.settings.inputs.trace.clone();
        let ranks = file.as_ref().map_or(&[][..], |file| file.ranks());
        let (mut processors, mut first) = (Vec::new(), Vec::new());
        for (rank, operations) in (0..).zip(ranks) {
            first.push(processors.len());
            let cpu = |work: &Work| if let Work::Calc { cpu, .. } = work { Some(*cpu) } else { None };
            let last = operations.iter().filter_map(|operation| cpu(&operation.work)).max();
            let count = last.map_or(0, |last| last as usize + 1);
            processors.extend((0..count).map(|_| Processor { rank, ..Processor::default() }));
        }
        Trace {
            workload: spec.settings.workload.clone(),
            progress: Progress::new(ranks),
            halves: ranks.iter().map(|rank| vec![Half::Neither; rank.len()]).collect(),
            processors,
            first,
            ready: VecDeque::new(),
            left: ranks.iter().map(Vec::len).sum(),
            transfers: Transfers::new(Pool::new(spec.settings.connections_stand())),
            cargo: Vec::new(),
            collectives: BTreeMap::new(),
            timeouts: None,
            ended: None,
            file,
        }
    }

    /// Starts every operation that waits for nothing any more.
    fn go_on(&mut self, driver: &mut dyn Driver) {
        let Some(file) = self.file.clone() else { return };
        while let Some((rank, number)) = self.ready.pop_front() {
            let ready = &mut self.ready;
            self.progress.begins(rank, number, |other| ready.push_back((rank, other)));
            match file.ranks()[rank as usize][number as usize].work {
                Work::Calc { cpu, .. } => {
                    let place = self.first[rank as usize] + cpu as usize;
                    self.processors[place].queue.push_back(number);
                    self.compute(driver, &file, place);
                }
                Work::Send { to, bytes, .. } => {
                    self.cargo.push(Cargo::Message { rank, number });
                    self.transfers.start(driver, FlowKind::Message, HostId(rank), HostId(to), bytes);
                }
                Work::Receive => self.half_done(rank, number),
                Work::Collective(collective) => self.join(driver, &file, collective, rank, number),
            }
        }
        if self.left == 0 && self.ended.is_none() {
            self.ended = Some(driver.now());
            driver.round_ended(0);
            driver.finish();
        }
    }

    /// A processor that is idle computes the next one; those that take no time are done at once.
    fn compute(&mut self, driver: &mut dyn Driver, file: &File, place: usize) {
        while self.processors[place].computes.is_none()
            && let Some(number) = self.processors[place].queue.pop_front()
        {
            let rank = self.processors[place].rank;
            let Work::Calc { time, .. } = file.ranks()[rank as usize][number as usize].work else { return };
            if time == Time::ZERO {
                self.end(rank, number);
                continue;
            }
            self.processors[place].computes = Some(number);
            driver.after(driver.at_work(HostId(rank), time), Timer::Computed(place as u32).into());
        }
    }

    /// A rank's operation joins a collective one.
    fn join(&mut self, driver: &mut dyn Driver, file: &File, collective: u32, rank: u32, operation: u32) {
        let of = &file.collectives()[collective as usize];
        let new = || OfRanks::new(of.kind, file.members(of), of.bytes, &self.workload);
        let running = self.collectives.entry(collective).or_insert_with(new);
        let mut steps = Vec::new();
        running.join(rank, operation, &mut |step| steps.push(step));
        self.take(driver, collective, steps);
    }

    /// A part of a collective operation has arrived.
    fn arrived(&mut self, driver: &mut dyn Driver, collective: u32, number: u32) {
        let Some(running) = self.collectives.get_mut(&collective) else { return };
        let mut steps = Vec::new();
        if running.arrived(number, &mut |step| steps.push(step)) {
            self.collectives.remove(&collective);
        }
        self.take(driver, collective, steps);
    }

    /// Takes steps of a collective operation.
    fn take(&mut self, driver: &mut dyn Driver, collective: u32, steps: Vec<Step>) {
        for step in steps {
            match step {
                Step::Send { number, from, to, bytes } => {
                    self.cargo.push(Cargo::Part { collective, number });
                    self.transfers.start(driver, FlowKind::Part, HostId(from), HostId(to), bytes);
                }
                Step::End { rank, operation } => self.end(rank, operation),
            }
        }
    }

    /// A receive has started, or its message has arrived: the second of them ends it.
    fn half_done(&mut self, rank: u32, number: u32) {
        let half = &mut self.halves[rank as usize][number as usize];
        match std::mem::replace(half, Half::One) {
            Half::Neither => {}
            Half::One => self.end(rank, number),
        }
    }

    fn end(&mut self, rank: u32, number: u32) {
        self.left -= 1;
        let ready = &mut self.ready;
        self.progress.ends(rank, number, |other| ready.push_back((rank, other)));
    }
}

impl Application for Trace {
    fn start(&mut self, driver: &mut dyn Driver) {
        driver.begin();
        driver.after(self.workload.duration, Timer::End.into());
        self.timeouts = driver.timeouts();
        self.ready.extend(self.progress.ready());
        self.go_on(driver);
    }

    fn received(&mut self, driver: &mut dyn Driver, _at: EndpointId, message: Meaning) {
        let (Carried::Flow(number), Some(file)) = (Carried::from(message), self.file.clone()) else { return };
        self.transfers.end(driver, number);
        match self.cargo[number as usize] {
            Cargo::Part { collective, number } => self.arrived(driver, collective, number),
            Cargo::Message { rank, number } => {
                self.end(rank, number);
                if let Work::Send { to, at, .. } = file.ranks()[rank as usize][number as usize].work {
                    self.half_done(to, at);
                }
            }
        }
        self.go_on(driver);
    }

    fn due(&mut self, driver: &mut dyn Driver, timer: Meaning) {
        match (Timer::from(timer), self.file.clone()) {
            (Timer::Computed(place), Some(file)) => {
                let processor = &mut self.processors[place as usize];
                if let Some(number) = processor.computes.take() {
                    let rank = processor.rank;
                    self.end(rank, number);
                }
                self.compute(driver, &file, place as usize);
                self.go_on(driver);
            }
            _ => driver.finish(),
        }
    }

    fn record(&self, view: &dyn View, record: &mut Record) {
        let timeouts = timeouts_since(view, self.timeouts);
        let took = self.ended.unwrap_or_else(|| view.now());
        record.queries.push(round_row(0, 0, took, self.ended.is_some(), timeouts));
        record.flows.extend(self.transfers.rows(view, 0));
        record.payload_bytes = self.transfers.delivered(view);
        record.measured = view.now();
    }
}
