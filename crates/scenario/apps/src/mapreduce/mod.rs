//! A MapReduce job: maps over splits of a replicated file, a shuffle, reduces, a replicated output.
//!
//! After MRPerf (Wang, Butt, Pandey and Gupta, MASCOTS 2009) and Hadoop 1: a node requests work with its heartbeat; a split is
//! read from the node's own disk if a replica is stored there. Otherwise a node requests a split or a part of a map's output from
//! another one, which reads it from disk and sends it: these are packets. A node's tasks share its disk and have a core each.
//! Host 0 is the master: it has no tasks, and its messages are not simulated.

mod disk;
mod fetches;
mod placement;
mod tracker;

use fanin_driver::{Application, Driver, EndpointId, Meaning, Purpose, Record, Stream, View, meanings};
use fanin_fabric::HostId;
use fanin_spec::{MapReduce as Settings, RunSpec, Tell};
use fanin_tables::FlowKind;
use fanin_units::{Rate, Time};

use super::pool::Pool;
use super::transfers::{Carried, Transfers};
use crate::rows::round_row;
use disk::Disk;
use fetches::Fetches;
use placement::Placement;
use tracker::{Phase, Tracker};

meanings! {
    pub(crate) enum Timer {
        /// A task's step is done.
        Step(task),
        /// A fetch was delayed by its jitter.
        Fetch(put_off),
        /// A node's disk may have finished some work.
        Disk(node),
        /// A node reports.
        Heartbeat(node),
        End,
    }
}

/// Purpose of a transfer between nodes.
#[derive(Clone, Copy)]
enum Aim {
    Split(u32),
    /// A reduce's fetch, by its number among reduces.
    Fetch(u32),
    Replica(u32),
}

/// Work of a node's disk.
#[derive(Clone, Copy)]
enum DiskJob {
    /// A step of a task.
    Step(u32),
    /// Another node's request: a transfer.
    Serve(u32),
    /// A part of a map's output for a reduce on the same node.
    Local(u32),
}

pub(crate) struct MapReduce {
    settings: Settings,
    nodes: u32,
    seed: u64,
    request: u64,
    start_jitter: Time,
    duration: Time,
    tracker: Tracker,
    placement: Placement,
    /// Maps whose output reduces may fetch, since their nodes have reported it.
    available: Vec<bool>,
    /// By reduce.
    fetches: Vec<Fetches>,
    /// Writes of a reduce's output in progress: replicas and its own disk.
    writing: Vec<u32>,
    /// By node.
    disks: Vec<Disk>,
    disk_jobs: Vec<DiskJob>,
    jitter: Stream,
    steps: Stream,
    /// Fetches delayed by their jitter: the reduce, and the source node.
    put_off: Vec<(u32, HostId)>,
    transfers: Transfers,
    /// Purpose of each transfer.
    aims: Vec<Aim>,
    ended: Time,
}

impl MapReduce {
    pub fn new(spec: &RunSpec) -> MapReduce {
        let (mut settings, workload) = (spec.settings.mapreduce.clone(), &spec.settings.workload);
        let (nodes, maps) = (spec.fan_in, settings.maps);
        let reduces = settings.reduces.0.unwrap_or(nodes);
        let part = settings.input.0 / u64::from(maps) / u64::from(reduces);
        settings.parallel_fetches = settings.parallel_fetches.min(spec.settings.requests_in_flight(part));
        let mut order = Stream::new(spec.seed, Purpose::Task, 0);
        MapReduce {
            nodes,
            seed: spec.seed,
            request: workload.request.0,
            start_jitter: workload.start_jitter,
            duration: workload.duration,
            tracker: Tracker::new(nodes, maps, reduces),
            placement: Placement::new(spec.seed, nodes),
            available: vec![false; maps as usize],
            fetches: (0..reduces).map(|_| Fetches::new(maps, &mut order)).collect(),
            writing: vec![0; reduces as usize],
            disks: vec![Disk::default(); nodes as usize + 1],
            disk_jobs: Vec::new(),
            jitter: Stream::new(spec.seed, Purpose::Start, 0),
            steps: Stream::new(spec.seed, Purpose::Step, 0),
            put_off: Vec::new(),
            transfers: Transfers::new(Pool::new(spec.settings.connections_stand())),
            aims: Vec::new(),
            ended: Time::ZERO,
            settings,
        }
    }

    /// Bytes of a split.
    fn split(&self) -> u64 {
        self.settings.input.0 / u64::from(self.tracker.maps)
    }

    /// Bytes that each reduce fetches of each map.
    fn part(&self) -> u64 {
        (self.split() / self.fetches.len() as u64).max(1)
    }

    /// Bytes that each reduce fetches in all.
    fn parts(&self) -> u64 {
        self.part() * u64::from(self.tracker.maps)
    }

    /// A node reports and requests work.
    fn heartbeat(&mut self, driver: &mut dyn Driver, node: HostId) {
        for map in 0..self.tracker.maps {
            let task = self.tracker.task(map);
            if task.phase == Phase::Done && task.node == node && !self.available[map as usize] {
                self.tell(driver, map);
            }
        }
        for _ in 0..self.settings.tasks_per_heartbeat {
            if let Some(map) = self.tracker.map_for(driver, &self.settings, &self.placement, node) {
                self.begin(driver, map, node);
            }
        }
        for _ in 0..self.settings.tasks_per_heartbeat {
            if let Some(reduce) = self.tracker.reduce_for(&self.settings, node) {
                self.begin(driver, reduce, node);
            }
        }
        driver.after(self.settings.heartbeat, Timer::Heartbeat(node.0).into());
    }

    /// Tell reduces that a map is done.
    fn tell(&mut self, driver: &mut dyn Driver, map: u32) {
        self.available[map as usize] = true;
        for reduce in 0..self.fetches.len() as u32 {
            self.fetch(driver, reduce);
        }
    }

    fn begin(&mut self, driver: &mut dyn Driver, number: u32, node: HostId) {
        self.tracker.begin(number, node, driver.now().0);
        let start = self.drawn(self.settings.task_start);
        driver.after(driver.at_work(node, start), Timer::Step(number).into());
    }

    /// A step's duration: log-normal with this median.
    fn drawn(&mut self, median: Time) -> Time {
        match self.settings.task_spread.as_f64() {
            0.0 => median,
            deviation => Time((median.0 as f64 * self.steps.log_normal(deviation)) as u64),
        }
    }

    /// A task's step is done: start its next phase.
    fn advance(&mut self, driver: &mut dyn Driver, number: u32) {
        let (now, is_map) = (driver.now().0, self.tracker.is_map(number));
        let task = self.tracker.task(number);
        match task.phase {
            Phase::Starting if is_map => self.read(driver, number),
            Phase::Starting => {
                task.phase = Phase::Shuffling;
                self.fetch(driver, number - self.tracker.maps);
            }
            Phase::Reading => {
                task.row.input_end_ps = now;
                self.work(driver, number, Phase::Mapping, self.split(), self.settings.map_rate);
            }
            Phase::Mapping => {
                task.row.work_end_ps = now;
                self.spill(driver, number);
            }
            Phase::Spilling => {
                self.tracker.finish(number, now);
                if self.settings.tell == Tell::AtOnce {
                    self.tell(driver, number);
                }
            }
            Phase::Merging => self.work(driver, number, Phase::Reducing, self.parts(), self.settings.reduce_rate),
            Phase::Reducing => {
                task.row.work_end_ps = now;
                self.write(driver, number);
            }
            Phase::Writing => self.written(driver, number),
            Phase::Waiting | Phase::Shuffling | Phase::Done => {}
        }
    }

    /// A map's output goes to disk; output that exceeds memory is merged there.
    fn spill(&mut self, driver: &mut dyn Driver, map: u32) {
        let bytes = self.split();
        let once = self.writing_time(bytes);
        let fits = bytes <= self.settings.sort_buffer.0;
        let merge = if fits { Time::ZERO } else { self.reading_time(bytes) + once };
        self.use_disk(driver, map, Phase::Spilling, once + merge);
    }

    /// A core works on a task.
    fn work(&mut self, driver: &mut dyn Driver, number: u32, phase: Phase, bytes: u64, rate: Rate) {
        let task = self.tracker.task(number);
        task.phase = phase;
        let node = task.node;
        let time = self.drawn(rate.time_for(bytes));
        driver.after(driver.at_work(node, time), Timer::Step(number).into());
    }

    fn reading_time(&self, bytes: u64) -> Time {
        self.settings.disk_read.time_for(bytes)
    }

    fn writing_time(&self, bytes: u64) -> Time {
        self.settings.disk_write.time_for(bytes)
    }

    /// A task's next step uses the disk.
    fn use_disk(&mut self, driver: &mut dyn Driver, number: u32, phase: Phase, work: Time) {
        let task = self.tracker.task(number);
        task.phase = phase;
        let node = task.node;
        self.queue_at_disk(driver, node, work, DiskJob::Step(number));
    }

    fn queue_at_disk(&mut self, driver: &mut dyn Driver, node: HostId, work: Time, job: DiskJob) {
        let work = driver.at_work(node, self.drawn(work));
        self.disk_jobs.push(job);
        self.disks[node.0 as usize].start(driver.now(), work, self.disk_jobs.len() as u32 - 1);
        self.await_disk(driver, node);
    }

    /// Set a timer for the disk; it is early, and finds nothing done, if more work started meanwhile.
    fn await_disk(&self, driver: &mut dyn Driver, node: HostId) {
        if let Some(due) = self.disks[node.0 as usize].due() {
            driver.after(due.since(driver.now()), Timer::Disk(node.0).into());
        }
    }

    fn look_at_disk(&mut self, driver: &mut dyn Driver, node: HostId) {
        let mut any = false;
        while let Some(job) = self.disks[node.0 as usize].done(driver.now()) {
            any = true;
            match self.disk_jobs[job as usize] {
                DiskJob::Step(task) => self.advance(driver, task),
                DiskJob::Serve(transfer) => self.transfers.answer(driver, transfer),
                DiskJob::Local(reduce) => self.fetched(driver, reduce, node),
            }
        }
        if any {
            self.await_disk(driver, node);
        }
    }

    /// A map reads its split.
    fn read(&mut self, driver: &mut dyn Driver, map: u32) {
        let node = self.tracker.task(map).node;
        let holder = self.placement.nearest(driver, map, node);
        if holder == node {
            return self.use_disk(driver, map, Phase::Reading, self.reading_time(self.split()));
        }
        self.tracker.task(map).phase = Phase::Reading;
        self.ask(driver, FlowKind::Split, holder, node, self.split(), Aim::Split(map));
    }

    /// Start as many of a reduce's fetches as allowed.
    fn fetch(&mut self, driver: &mut dyn Driver, reduce: u32) {
        let number = self.tracker.maps + reduce;
        let node = self.tracker.task(number).node;
        if self.tracker.task(number).phase != Phase::Shuffling {
            return;
        }
        while self.fetches[reduce as usize].under_way() < self.settings.parallel_fetches {
            let (available, tasks) = (&self.available, &self.tracker.tasks);
            let at = |map: u32| available[map as usize].then(|| tasks[map as usize].node);
            let Some(from) = self.fetches[reduce as usize].begin_next(self.settings.fetches_per_node, at) else {
                break;
            };
            self.tracker.task(number).row.shuffle_start_ps.get_or_insert(driver.now().0);
            if from == node {
                self.queue_at_disk(driver, node, self.reading_time(self.part()), DiskJob::Local(reduce));
                continue;
            }
            match self.jitter.up_to(self.start_jitter) {
                Time::ZERO => self.request(driver, reduce, from),
                jitter => {
                    self.put_off.push((reduce, from));
                    driver.after(jitter, Timer::Fetch(self.put_off.len() as u32 - 1).into());
                }
            }
        }
    }

    /// A reduce requests its part of a map's output from a node.
    fn request(&mut self, driver: &mut dyn Driver, reduce: u32, from: HostId) {
        let node = self.tracker.task(self.tracker.maps + reduce).node;
        self.ask(driver, FlowKind::Fetch, from, node, self.part(), Aim::Fetch(reduce));
    }

    /// A node reads requested data from its disk.
    fn serve(&mut self, driver: &mut dyn Driver, transfer: u32) {
        let (node, bytes) = self.transfers.source(transfer);
        self.queue_at_disk(driver, node, self.reading_time(bytes), DiskJob::Serve(transfer));
    }

    fn fetched(&mut self, driver: &mut dyn Driver, reduce: u32, from: HostId) {
        self.fetches[reduce as usize].end(from);
        if !self.fetches[reduce as usize].are_done(self.tracker.maps) {
            return self.fetch(driver, reduce);
        }
        let number = self.tracker.maps + reduce;
        self.tracker.task(number).row.input_end_ps = driver.now().0;
        let both = self.writing_time(self.parts()) + self.reading_time(self.parts());
        self.use_disk(driver, number, Phase::Merging, both);
    }

    /// Write the output to the node's disk and to its replicas in parallel.
    fn write(&mut self, driver: &mut dyn Driver, number: u32) {
        let (reduce, node) = (number - self.tracker.maps, self.tracker.task(number).node);
        let bytes = self.parts();
        let others = self.settings.output_replicas.min(self.nodes) - 1;
        self.writing[reduce as usize] = 1 + others;
        self.use_disk(driver, number, Phase::Writing, self.writing_time(bytes));
        for _ in 0..others {
            let to = self.placement.replica_of(node);
            self.aims.push(Aim::Replica(number));
            self.transfers.start(driver, FlowKind::Replica, node, to, bytes);
        }
    }

    fn written(&mut self, driver: &mut dyn Driver, number: u32) {
        let left = &mut self.writing[(number - self.tracker.maps) as usize];
        *left -= 1;
        if *left > 0 {
            return;
        }
        self.tracker.finish(number, driver.now().0);
        if self.tracker.is_done() {
            self.ended = driver.now();
            driver.round_ended(0);
            driver.finish();
        }
    }

    fn ask(&mut self, driver: &mut dyn Driver, kind: FlowKind, from: HostId, to: HostId, bytes: u64, aim: Aim) {
        self.aims.push(aim);
        self.transfers.ask(driver, kind, from, to, bytes, self.request);
    }
}

impl Application for MapReduce {
    fn start(&mut self, driver: &mut dyn Driver) {
        driver.begin();
        driver.after(self.duration, Timer::End.into());
        for _ in 0..self.tracker.maps {
            self.placement.add_split(driver, self.settings.replicas);
        }
        let spread = self.settings.heartbeat_spread.0.unwrap_or(self.settings.heartbeat);
        for node in 1..=self.nodes {
            let first = Stream::new(self.seed, Purpose::Start, node).up_to(spread);
            driver.after(first, Timer::Heartbeat(node).into());
        }
    }

    fn received(&mut self, driver: &mut dyn Driver, _at: EndpointId, message: Meaning) {
        let number = match Carried::from(message) {
            Carried::Request(number) => return self.serve(driver, number),
            Carried::Flow(number) => number,
        };
        self.transfers.end(driver, number);
        match self.aims[number as usize] {
            Aim::Split(map) => self.advance(driver, map),
            Aim::Fetch(reduce) => self.fetched(driver, reduce, self.transfers.source(number).0),
            Aim::Replica(task) => self.written(driver, task),
        }
    }

    fn due(&mut self, driver: &mut dyn Driver, timer: Meaning) {
        match Timer::from(timer) {
            Timer::Step(number) => self.advance(driver, number),
            Timer::Fetch(put_off) => {
                let (reduce, from) = self.put_off[put_off as usize];
                self.request(driver, reduce, from);
            }
            Timer::Disk(node) => self.look_at_disk(driver, HostId(node)),
            Timer::Heartbeat(node) => self.heartbeat(driver, HostId(node)),
            Timer::End => driver.finish(),
        }
    }

    fn record(&self, view: &dyn View, record: &mut Record) {
        let finished = self.tracker.is_done();
        let took = if finished { self.ended } else { view.now() };
        record.queries.push(round_row(0, 0, took, finished, view.timeouts()));
        record.flows.extend(self.transfers.rows(view, 0));
        record.payload_bytes = self.transfers.delivered(view);
        record.measured = took;
        record.tasks = self.tracker.tasks.iter().map(|task| task.row.clone()).collect();
    }
}
