//! A trace: every rank's sends, receives and computations, each as soon as those that it waits for have ended.

use std::collections::VecDeque;
use std::sync::Arc;

use fanin_driver::{Application, Driver, EndpointId, Meaning, Record, View, meanings};
use fanin_fabric::HostId;
use fanin_spec::{Progress, RunSpec, Trace as File, Work};
use fanin_tables::FlowKind;
use fanin_units::Time;

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

pub(crate) struct Trace {
    /// Absent only in a spec without a scenario: nothing happens then.
    file: Option<Arc<File>>,
    duration: Time,
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
    /// Rank and operation of each transfer's send.
    send_of: Vec<(u32, u32)>,
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
            duration: spec.settings.workload.duration,
            progress: Progress::new(ranks),
            halves: ranks.iter().map(|rank| vec![Half::Neither; rank.len()]).collect(),
            processors,
            first,
            ready: VecDeque::new(),
            left: ranks.iter().map(Vec::len).sum(),
            transfers: Transfers::new(Pool::new(spec.settings.connections_stand())),
            send_of: Vec::new(),
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
                    self.send_of.push((rank, number));
                    self.transfers.start(driver, FlowKind::Message, HostId(rank), HostId(to), bytes);
                }
                Work::Receive => self.half_done(rank, number),
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
        driver.after(self.duration, Timer::End.into());
        self.timeouts = driver.timeouts();
        self.ready.extend(self.progress.ready());
        self.go_on(driver);
    }

    fn received(&mut self, driver: &mut dyn Driver, _at: EndpointId, message: Meaning) {
        let (Carried::Flow(number), Some(file)) = (Carried::from(message), self.file.clone()) else { return };
        self.transfers.end(driver, number);
        let (rank, send) = self.send_of[number as usize];
        self.end(rank, send);
        if let Work::Send { to, at, .. } = file.ranks()[rank as usize][send as usize].work {
            self.half_done(to, at);
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
