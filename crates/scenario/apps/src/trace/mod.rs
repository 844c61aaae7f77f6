//! A trace: every rank's sends, receives, computations and collective operations, each as soon as those that it waits for have ended.

mod rank;
mod running;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use self::rank::{Doing, Rank};
use self::running::Running;
use fanin_driver::{Application, Driver, EndpointId, Meaning, Record, View, meanings};
use fanin_fabric::HostId;
use fanin_spec::{Progress, RunSpec, Trace as File, Work, Workload};
use fanin_tables::{CollectiveRow, FlowKind};
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

/// State of a receive and its message.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Receipt {
    /// Neither has started.
    Open,
    /// The receive has started, the message has not.
    Awaited,
    /// The message is on its way, the receive has not started.
    Sent,
    /// The message is on its way, and the receive has started.
    Moves,
    /// The message is there before the receive.
    Arrived,
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
    receipts: Vec<Vec<Receipt>>,
    /// When receives started whose messages have not.
    awaited: BTreeMap<(u32, u32), Time>,
    ranks: Vec<Rank>,
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
    collectives: BTreeMap<u32, Running>,
    ended_collectives: Vec<CollectiveRow>,
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
            receipts: ranks.iter().map(|rank| vec![Receipt::Open; rank.len()]).collect(),
            awaited: BTreeMap::new(),
            ranks: (0..).zip(ranks).map(|(host, operations)| Rank::new(host, operations.len())).collect(),
            processors,
            first,
            ready: VecDeque::new(),
            left: ranks.iter().map(Vec::len).sum(),
            transfers: Transfers::new(Pool::new(spec.settings.connections_stand())),
            cargo: Vec::new(),
            collectives: BTreeMap::new(),
            ended_collectives: Vec::new(),
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
                Work::Send { to, bytes, at } => {
                    self.message_starts(driver.now(), rank, to, at);
                    self.cargo.push(Cargo::Message { rank, number });
                    self.transfers.start(driver, FlowKind::Message, HostId(rank), HostId(to), bytes);
                }
                Work::Receive => self.receive(driver.now(), rank, number),
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
                self.end(driver.now(), rank, number);
                continue;
            }
            self.processors[place].computes = Some(number);
            self.ranks[rank as usize].begins(driver.now(), Doing::Computes);
            driver.after(driver.at_work(HostId(rank), time), Timer::Computed(place as u32).into());
        }
    }

    /// A rank's operation joins a collective one.
    fn join(&mut self, driver: &mut dyn Driver, file: &File, collective: u32, rank: u32, operation: u32) {
        let of = &file.collectives()[collective as usize];
        let (members, now) = (file.members(of), driver.now());
        let new = || {
            let of_ranks = OfRanks::new(of.kind, members, of.bytes, &self.workload);
            Running::new(collective, of, members.len(), of_ranks)
        };
        let running = self.collectives.entry(collective).or_insert_with(new);
        let joined = running.join(now, rank);
        let mut steps = Vec::new();
        let has_ended = running.of.join(rank, operation, &mut |step| steps.push(step));
        match joined {
            Some(waited) => {
                for &other in members.iter().filter(|&&other| other != rank) {
                    self.ranks[other as usize].ends(now, Doing::Waits);
                    self.ranks[other as usize].begins(now, Doing::Moves);
                }
                self.ranks[rank as usize].begins(now, Doing::Moves);
                self.ranks[rank as usize].delays(waited);
            }
            None => self.ranks[rank as usize].begins(now, Doing::Waits),
        }
        self.take(driver, collective, steps, has_ended);
    }

    /// A part of a collective operation has arrived.
    fn arrived(&mut self, driver: &mut dyn Driver, collective: u32, number: u32) {
        let Some(running) = self.collectives.get_mut(&collective) else { return };
        let mut steps = Vec::new();
        let has_ended = running.of.arrived(number, &mut |step| steps.push(step));
        self.take(driver, collective, steps, has_ended);
    }

    /// Takes steps of a collective operation, the last ones if it has ended.
    fn take(&mut self, driver: &mut dyn Driver, collective: u32, steps: Vec<Step>, has_ended: bool) {
        let mut last = 0;
        for step in steps {
            match step {
                Step::Send { number, from, to, bytes } => {
                    self.cargo.push(Cargo::Part { collective, number });
                    self.transfers.start(driver, FlowKind::Part, HostId(from), HostId(to), bytes);
                }
                Step::End { rank, operation } => {
                    last = rank;
                    self.ranks[rank as usize].ends(driver.now(), Doing::Moves);
                    self.end(driver.now(), rank, operation);
                }
            }
        }
        if has_ended && let Some(running) = self.collectives.remove(&collective) {
            self.ended_collectives.push(running.ended(driver.now(), last));
        }
    }

    /// A rank's message to a receive starts.
    fn message_starts(&mut self, now: Time, rank: u32, to: u32, at: u32) {
        self.ranks[rank as usize].begins(now, Doing::Moves);
        let receipt = &mut self.receipts[to as usize][at as usize];
        if *receipt == Receipt::Awaited {
            *receipt = Receipt::Moves;
            self.ranks[to as usize].ends(now, Doing::Waits);
            self.ranks[to as usize].begins(now, Doing::Moves);
            let since = self.awaited.remove(&(to, at)).unwrap_or(now);
            self.ranks[rank as usize].delays(now.since(since).0);
        } else {
            *receipt = Receipt::Sent;
        }
    }

    /// A receive starts; it ends if its message is there.
    fn receive(&mut self, now: Time, rank: u32, number: u32) {
        let receipt = &mut self.receipts[rank as usize][number as usize];
        match *receipt {
            Receipt::Arrived => self.end(now, rank, number),
            Receipt::Sent => {
                *receipt = Receipt::Moves;
                self.ranks[rank as usize].begins(now, Doing::Moves);
            }
            Receipt::Open | Receipt::Awaited | Receipt::Moves => {
                *receipt = Receipt::Awaited;
                self.awaited.insert((rank, number), now);
                self.ranks[rank as usize].begins(now, Doing::Waits);
            }
        }
    }

    /// A message's last byte arrives; its receive ends if it has started.
    fn message_arrives(&mut self, now: Time, rank: u32, number: u32) {
        let receipt = &mut self.receipts[rank as usize][number as usize];
        if std::mem::replace(receipt, Receipt::Arrived) == Receipt::Moves {
            self.ranks[rank as usize].ends(now, Doing::Moves);
            self.end(now, rank, number);
        }
    }

    fn end(&mut self, now: Time, rank: u32, number: u32) {
        self.left -= 1;
        self.ranks[rank as usize].operation_ends(now);
        let ready = &mut self.ready;
        self.progress.ends(rank, number, |other| ready.push_back((rank, other)));
    }
}

impl Application for Trace {
    fn start(&mut self, driver: &mut dyn Driver) {
        driver.begin();
        driver.after(self.workload.duration, Timer::End.into());
        self.timeouts = driver.timeouts();
        if let Some(watch) = driver.watch() {
            self.ranks.iter_mut().for_each(|rank| rank.watch(watch));
        }
        self.ready.extend(self.progress.ready());
        self.go_on(driver);
    }

    fn received(&mut self, driver: &mut dyn Driver, _at: EndpointId, message: Meaning) {
        let (Carried::Flow(number), Some(file)) = (Carried::from(message), self.file.clone()) else { return };
        self.transfers.end(driver, number);
        match self.cargo[number as usize] {
            Cargo::Part { collective, number } => self.arrived(driver, collective, number),
            Cargo::Message { rank, number } => {
                self.ranks[rank as usize].ends(driver.now(), Doing::Moves);
                self.end(driver.now(), rank, number);
                if let Work::Send { to, at, .. } = file.ranks()[rank as usize][number as usize].work {
                    self.message_arrives(driver.now(), to, at);
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
                    self.ranks[rank as usize].ends(driver.now(), Doing::Computes);
                    self.end(driver.now(), rank, number);
                }
                self.compute(driver, &file, place as usize);
                self.go_on(driver);
            }
            _ => driver.finish(),
        }
    }

    fn ended_collectives(&self) -> &[CollectiveRow] {
        &self.ended_collectives
    }

    fn record(&self, view: &dyn View, record: &mut Record) {
        let timeouts = timeouts_since(view, self.timeouts);
        let took = self.ended.unwrap_or_else(|| view.now());
        record.queries.push(round_row(0, 0, took, self.ended.is_some(), timeouts));
        record.flows.extend(self.transfers.rows(view, 0));
        record.collectives.extend(self.ended_collectives.iter().cloned());
        record.collectives.extend(self.collectives.values().map(Running::cut_off));
        for rank in &self.ranks {
            let (row, series) = rank.rows_at(view.now());
            record.ranks.push(row);
            record.rank_series.extend(series);
        }
        record.payload_bytes = self.transfers.delivered(view);
        record.measured = view.now();
    }
}
