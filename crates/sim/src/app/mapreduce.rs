//! A MapReduce job: maps over splits of a replicated file, a shuffle, reduces, a replicated output.
//!
//! After MRPerf (Wang, Butt, Pandey and Gupta, MASCOTS 2009) and Hadoop 1: a node asks for work with its heartbeat; a split is
//! read from the own disk where a replica lies there. A node asks another one for a split or a part of a map's output, which
//! that one reads from its disk and sends: these are packets. A node's tasks share its disk and have a core each. Host 0 keeps
//! house: it has no tasks, and its messages are not simulated.

use fanin_spec::{FlowKind, MapReduce as Settings, QueryRow, RunSpec, TaskRow, Tell};
use fanin_units::{Rate, Time};

use super::application::{App, END, Record, start_background};
use super::disk::Disk;
use super::transfers::Transfers;
use crate::probe::Probe;
use crate::streams::{Purpose, Stream};
use crate::world::World;

/// Tokens: tasks' own timers are their numbers; these bits tell the others.
const HEARTBEAT: u32 = 1 << 30;
const DISK: u32 = 1 << 29;
const FETCH: u32 = 1 << 28;
const NUMBER: u32 = FETCH - 1;

/// Where a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nobody has it.
    Waiting,
    /// Its process starts.
    Starting,
    /// A map reads its split.
    Reading,
    /// A map's function runs.
    Mapping,
    /// A map's output goes to disk.
    Spilling,
    /// A reduce fetches its part of every map's output.
    Shuffling,
    /// It sorts what it has.
    Merging,
    /// A reduce's function runs.
    Reducing,
    /// A reduce's output goes to disks.
    Writing,
    /// Done.
    Done,
}

struct Task {
    phase: Phase,
    /// The node that works on it: a host.
    node: u32,
    row: TaskRow,
}

/// A reduce's fetches.
#[derive(Clone, Default)]
struct Shuffle {
    /// Maps not fetched yet, in the order that it would.
    wanted: Vec<u32>,
    /// Nodes that it fetches from now, one entry a fetch.
    from: Vec<u32>,
    fetched: u32,
}

/// What a transfer between nodes is for.
#[derive(Clone, Copy)]
enum Purposed {
    Split(u32),
    /// A reduce's, by its number among reduces.
    Fetch(u32),
    Replica(u32),
}

/// What a node's disk works on.
#[derive(Clone, Copy)]
enum DiskJob {
    /// A step of a task.
    Step(u32),
    /// What another node asked for: a transfer.
    Serve(u32),
    /// A part of a map's output for a reduce on the same node.
    Local(u32),
}

pub(crate) struct MapReduce {
    settings: Settings,
    nodes: u32,
    /// Maps first, reduces after them.
    tasks: Vec<Task>,
    maps: u32,
    /// The nodes that hold each split.
    replicas: Vec<Vec<u32>>,
    /// Maps whose output reduces may fetch: their nodes have said so.
    available: Vec<bool>,
    shuffles: Vec<Shuffle>,
    /// Replicas of a reduce's output under way, and its own disk.
    writing: Vec<u32>,
    /// By node: slots in use.
    map_slots: Vec<u32>,
    reduce_slots: Vec<u32>,
    /// By node.
    disks: Vec<Disk>,
    disk_jobs: Vec<DiskJob>,
    placement: Stream,
    jitter: Stream,
    steps: Stream,
    /// Fetches that are put off by their jitter, by token: the reduce, and the node that it fetches from.
    put_off: Vec<(u32, u32)>,
    transfers: Transfers,
    purposes: Vec<Purposed>,
    done_maps: u32,
    done_reduces: u32,
    ended: Time,
}

impl MapReduce {
    pub fn new(spec: &RunSpec) -> MapReduce {
        let settings = spec.settings.mapreduce.clone();
        let (nodes, maps) = (spec.fan_in, settings.maps);
        let reduces = settings.reduces.0.unwrap_or(nodes);
        let task = |number: u32| {
            let (kind, number) = if number < maps { ("map", number) } else { ("reduce", number - maps) };
            Task { phase: Phase::Waiting, node: 0, row: TaskRow { kind: kind.into(), number, ..TaskRow::default() } }
        };
        let mut order = Stream::new(spec.seed, Purpose::Task, 0);
        let shuffle = |_| Shuffle { wanted: shuffled(maps, &mut order), ..Shuffle::default() };
        MapReduce {
            nodes,
            maps,
            tasks: (0..maps + reduces).map(task).collect(),
            replicas: Vec::new(),
            available: vec![false; maps as usize],
            shuffles: (0..reduces).map(shuffle).collect(),
            writing: vec![0; reduces as usize],
            map_slots: vec![0; nodes as usize + 1],
            reduce_slots: vec![0; nodes as usize + 1],
            disks: vec![Disk::default(); nodes as usize + 1],
            disk_jobs: Vec::new(),
            placement: Stream::new(spec.seed, Purpose::Placement, 0),
            jitter: Stream::new(spec.seed, Purpose::Start, 0),
            steps: Stream::new(spec.seed, Purpose::Step, 0),
            put_off: Vec::new(),
            transfers: Transfers::default(),
            purposes: Vec::new(),
            done_maps: 0,
            done_reduces: 0,
            ended: Time::ZERO,
            settings,
        }
    }

    /// Bytes of a split.
    fn split(&self) -> u64 {
        self.settings.input.0 / u64::from(self.maps)
    }

    /// Bytes that each reduce fetches of each map.
    fn part(&self) -> u64 {
        (self.split() / self.shuffles.len() as u64).max(1)
    }

    /// HDFS: the first replica anywhere, the second in another rack, the third beside the second, others anywhere.
    fn place<P: Probe>(&mut self, world: &World<P>, first: u32) -> Vec<u32> {
        let mut chosen = vec![first];
        while (chosen.len() as u32) < self.settings.replicas.min(self.nodes) {
            let rack = |host: u32| world.rack(host);
            let fits = |node: u32, strict: bool| {
                let right_rack = match chosen.len() {
                    1 => rack(node) != rack(first),
                    2 => rack(node) == rack(chosen[1]),
                    _ => true,
                };
                !chosen.contains(&node) && (right_rack || !strict)
            };
            let strictly: Vec<u32> = (1..=self.nodes).filter(|&node| fits(node, true)).collect();
            let candidates = if strictly.is_empty() {
                (1..=self.nodes).filter(|&node| fits(node, false)).collect()
            } else {
                strictly
            };
            chosen.push(candidates[self.placement.below(candidates.len() as u32) as usize]);
        }
        chosen
    }

    /// A node reports and asks for work.
    fn heartbeat<P: Probe>(&mut self, world: &mut World<P>, node: u32) {
        for map in 0..self.maps {
            let task = &self.tasks[map as usize];
            if task.phase == Phase::Done && task.node == node && !self.available[map as usize] {
                self.tell(world, map);
            }
        }
        for _ in 0..self.settings.tasks_per_heartbeat {
            if self.map_slots[node as usize] < self.settings.map_slots
                && let Some(map) = self.nearest_map(world, node)
            {
                self.map_slots[node as usize] += 1;
                self.begin(world, map, node);
            }
        }
        let slow_start = self.settings.slow_start.in_q(16) as u64 * u64::from(self.maps);
        for _ in 0..self.settings.tasks_per_heartbeat {
            if self.reduce_slots[node as usize] < self.settings.reduce_slots
                && u64::from(self.done_maps) << 16 >= slow_start
                && let Some(reduce) = self.waiting_reduce()
            {
                self.reduce_slots[node as usize] += 1;
                self.begin(world, reduce, node);
            }
        }
        world.after(self.settings.heartbeat, HEARTBEAT | node);
    }

    /// Reduces get to know that a map is done.
    fn tell<P: Probe>(&mut self, world: &mut World<P>, map: u32) {
        self.available[map as usize] = true;
        for reduce in 0..self.shuffles.len() as u32 {
            self.fetch(world, reduce);
        }
    }

    /// The waiting map whose split lies nearest: on the node, in its rack, anywhere.
    fn nearest_map<P: Probe>(&self, world: &World<P>, node: u32) -> Option<u32> {
        let waiting = (0..self.maps).filter(|&map| self.tasks[map as usize].phase == Phase::Waiting);
        waiting.min_by_key(|&map| {
            let holders = &self.replicas[map as usize];
            match () {
                () if holders.contains(&node) => 0,
                () if holders.iter().any(|&holder| world.rack(holder) == world.rack(node)) => 1,
                () => 2,
            }
        })
    }

    fn waiting_reduce(&self) -> Option<u32> {
        (self.maps..self.tasks.len() as u32).find(|&task| self.tasks[task as usize].phase == Phase::Waiting)
    }

    fn begin<P: Probe>(&mut self, world: &mut World<P>, number: u32, node: u32) {
        let task = &mut self.tasks[number as usize];
        (task.node, task.phase) = (node, Phase::Starting);
        (task.row.node, task.row.start_ps) = (node, world.now.0);
        let start = self.spread(self.settings.task_start);
        world.after(start, number);
    }

    /// A step's time: log-normal with this median.
    fn spread(&mut self, median: Time) -> Time {
        match self.settings.task_spread.as_f64() {
            0.0 => median,
            deviation => Time((median.0 as f64 * self.steps.log_normal(deviation)) as u64),
        }
    }

    /// A task's timer is due: its next phase.
    fn advance<P: Probe>(&mut self, world: &mut World<P>, number: u32) {
        let task = &mut self.tasks[number as usize];
        match task.phase {
            Phase::Starting if number < self.maps => self.read(world, number),
            Phase::Starting => {
                task.phase = Phase::Shuffling;
                self.fetch(world, number - self.maps);
            }
            Phase::Reading => {
                task.row.input_end_ps = world.now.0;
                self.work(world, number, Phase::Mapping, self.split(), self.settings.map_rate);
            }
            Phase::Mapping => {
                task.row.work_end_ps = world.now.0;
                let bytes = self.split();
                let once = self.writing_time(bytes);
                let merge =
                    if bytes > self.settings.sort_buffer.0 { self.reading_time(bytes) + once } else { Time::ZERO };
                self.use_disk(world, number, Phase::Spilling, once + merge);
            }
            Phase::Spilling => {
                let node = task.node;
                self.finish(world, number);
                self.done_maps += 1;
                self.map_slots[node as usize] -= 1;
                if self.settings.tell == Tell::AtOnce {
                    self.tell(world, number);
                }
            }
            Phase::Merging => {
                let bytes = self.part() * u64::from(self.maps);
                self.work(world, number, Phase::Reducing, bytes, self.settings.reduce_rate);
            }
            Phase::Reducing => {
                task.row.work_end_ps = world.now.0;
                self.write(world, number);
            }
            Phase::Writing => self.written(world, number),
            Phase::Waiting | Phase::Shuffling | Phase::Done => {}
        }
    }

    /// A core works on a task.
    fn work<P: Probe>(&mut self, world: &mut World<P>, number: u32, phase: Phase, bytes: u64, rate: Rate) {
        self.tasks[number as usize].phase = phase;
        let time = self.spread(rate.time_for(bytes));
        world.after(time, number);
    }

    fn reading_time(&self, bytes: u64) -> Time {
        self.settings.disk_read.time_for(bytes)
    }

    fn writing_time(&self, bytes: u64) -> Time {
        self.settings.disk_write.time_for(bytes)
    }

    /// A task's next step is its disk's.
    fn use_disk<P: Probe>(&mut self, world: &mut World<P>, number: u32, phase: Phase, work: Time) {
        let task = &mut self.tasks[number as usize];
        task.phase = phase;
        let node = task.node;
        self.queue_at_disk(world, node, work, DiskJob::Step(number));
    }

    fn queue_at_disk<P: Probe>(&mut self, world: &mut World<P>, node: u32, work: Time, job: DiskJob) {
        let work = self.spread(work);
        self.disk_jobs.push(job);
        self.disks[node as usize].start(world.now, work, self.disk_jobs.len() as u32 - 1);
        self.await_disk(world, node);
    }

    /// A timer that comes too early, since more was begun meanwhile, finds nothing done.
    fn await_disk<P: Probe>(&self, world: &mut World<P>, node: u32) {
        if let Some(due) = self.disks[node as usize].due() {
            world.after(due.since(world.now), DISK | node);
        }
    }

    fn look_at_disk<P: Probe>(&mut self, world: &mut World<P>, node: u32) {
        let mut any = false;
        while let Some(job) = self.disks[node as usize].done(world.now) {
            any = true;
            match self.disk_jobs[job as usize] {
                DiskJob::Step(task) => self.advance(world, task),
                DiskJob::Serve(transfer) => self.transfers.answer(world, transfer),
                DiskJob::Local(reduce) => self.fetched(world, reduce, node),
            }
        }
        if any {
            self.await_disk(world, node);
        }
    }

    fn read<P: Probe>(&mut self, world: &mut World<P>, map: u32) {
        let node = self.tasks[map as usize].node;
        let holders = &self.replicas[map as usize];
        if holders.contains(&node) {
            return self.use_disk(world, map, Phase::Reading, self.reading_time(self.split()));
        }
        let near = holders.iter().copied().find(|&holder| world.rack(holder) == world.rack(node));
        let holder = near.unwrap_or(holders[0]);
        self.tasks[map as usize].phase = Phase::Reading;
        self.ask(world, FlowKind::Split, (holder, node), self.split(), Purposed::Split(map));
    }

    /// Starts as many of a reduce's fetches as it may have.
    fn fetch<P: Probe>(&mut self, world: &mut World<P>, reduce: u32) {
        let task = self.maps + reduce;
        if self.tasks[task as usize].phase != Phase::Shuffling {
            return;
        }
        let node = self.tasks[task as usize].node;
        while (self.shuffles[reduce as usize].from.len() as u32) < self.settings.parallel_fetches {
            let shuffle = &self.shuffles[reduce as usize];
            let ready = |&map: &u32| {
                let node = self.tasks[map as usize].node;
                let own = || shuffle.from.iter().filter(|&&from| from == node).count() as u32;
                self.available[map as usize] && own() < self.settings.fetches_per_node
            };
            let Some(place) = shuffle.wanted.iter().position(ready) else { break };
            let from = self.tasks[shuffle.wanted[place] as usize].node;
            let shuffle = &mut self.shuffles[reduce as usize];
            shuffle.wanted.remove(place);
            shuffle.from.push(from);
            let row = &mut self.tasks[task as usize].row;
            if row.shuffle_start_ps.is_none() {
                row.shuffle_start_ps = Some(world.now.0);
            }
            if from == node {
                self.queue_at_disk(world, node, self.reading_time(self.part()), DiskJob::Local(reduce));
                continue;
            }
            let jitter = self.jitter.up_to(world.spec.settings.workload.start_jitter);
            if jitter == Time::ZERO {
                self.request(world, reduce, from);
            } else {
                self.put_off.push((reduce, from));
                world.after(jitter, FETCH | (self.put_off.len() - 1) as u32);
            }
        }
    }

    /// A reduce asks a node for its part of a map's output.
    fn request<P: Probe>(&mut self, world: &mut World<P>, reduce: u32, from: u32) {
        let node = self.tasks[(self.maps + reduce) as usize].node;
        self.ask(world, FlowKind::Fetch, (from, node), self.part(), Purposed::Fetch(reduce));
    }

    /// A node was asked for something: it reads that from its disk.
    fn serve<P: Probe>(&mut self, world: &mut World<P>, number: u32) {
        let (node, bytes) = self.transfers.source(number);
        self.queue_at_disk(world, node, self.reading_time(bytes), DiskJob::Serve(number));
    }

    fn fetched<P: Probe>(&mut self, world: &mut World<P>, reduce: u32, from: u32) {
        let shuffle = &mut self.shuffles[reduce as usize];
        shuffle.from.swap_remove(shuffle.from.iter().position(|&node| node == from).unwrap_or(0));
        shuffle.fetched += 1;
        if shuffle.fetched < self.maps {
            return self.fetch(world, reduce);
        }
        let task = self.maps + reduce;
        self.tasks[task as usize].row.input_end_ps = world.now.0;
        let bytes = self.part() * u64::from(self.maps);
        self.use_disk(world, task, Phase::Merging, self.writing_time(bytes) + self.reading_time(bytes));
    }

    /// The output goes to the own disk and to its replicas, all at once.
    fn write<P: Probe>(&mut self, world: &mut World<P>, number: u32) {
        let (reduce, node) = (number - self.maps, self.tasks[number as usize].node);
        let bytes = self.part() * u64::from(self.maps);
        let others = self.settings.output_replicas.min(self.nodes) - 1;
        self.writing[reduce as usize] = 1 + others;
        self.use_disk(world, number, Phase::Writing, self.writing_time(bytes));
        for _ in 0..others {
            let other = self.placement.below(self.nodes - 1) + 1;
            let to = if other < node { other } else { other + 1 };
            self.purposes.push(Purposed::Replica(number));
            self.transfers.start(world, FlowKind::Replica, (node, to), bytes);
        }
    }

    fn written<P: Probe>(&mut self, world: &mut World<P>, number: u32) {
        let left = &mut self.writing[(number - self.maps) as usize];
        *left -= 1;
        if *left > 0 {
            return;
        }
        let node = self.tasks[number as usize].node;
        self.finish(world, number);
        self.reduce_slots[node as usize] -= 1;
        self.done_reduces += 1;
        if self.done_reduces == self.shuffles.len() as u32 {
            self.ended = world.now;
            world.round_ended(0);
            world.done = true;
        }
    }

    fn finish<P: Probe>(&mut self, world: &World<P>, number: u32) {
        let task = &mut self.tasks[number as usize];
        task.phase = Phase::Done;
        task.row.end_ps = Some(world.now.0);
    }

    fn ask<P: Probe>(&mut self, world: &mut World<P>, kind: FlowKind, way: (u32, u32), bytes: u64, what: Purposed) {
        self.purposes.push(what);
        let request = world.spec.settings.workload.request.0;
        self.transfers.ask(world, kind, way, bytes, request);
    }
}

/// The numbers under `count` in a random order.
fn shuffled(count: u32, stream: &mut Stream) -> Vec<u32> {
    let mut order: Vec<u32> = (0..count).collect();
    for last in (1..count).rev() {
        order.swap(last as usize, stream.below(last + 1) as usize);
    }
    order
}

impl<P: Probe> App<P> for MapReduce {
    fn start(&mut self, world: &mut World<P>) {
        start_background(world);
        world.after(world.spec.settings.workload.duration, END);
        for _ in 0..self.maps {
            let first = self.placement.below(self.nodes) + 1;
            let replicas = self.place(world, first);
            self.replicas.push(replicas);
        }
        for node in 1..=self.nodes {
            let spread = self.settings.heartbeat_spread.0.unwrap_or(self.settings.heartbeat);
            let first = Stream::new(world.spec.seed, Purpose::Start, node).up_to(spread);
            world.after(first, HEARTBEAT | node);
        }
    }

    fn established(&mut self, _world: &mut World<P>, _endpoint: u32) {}

    fn awake(&mut self, world: &mut World<P>, endpoint: u32) {
        let (number, receives) = self.transfers.at(endpoint);
        if !receives {
            return self.serve(world, number);
        }
        self.transfers.end(world, endpoint);
        match self.purposes[number as usize] {
            Purposed::Split(map) => self.advance(world, map),
            Purposed::Fetch(reduce) => self.fetched(world, reduce, self.transfers.source(number).0),
            Purposed::Replica(task) => self.written(world, task),
        }
    }

    fn closed(&mut self, world: &mut World<P>, endpoint: u32) {
        world.close(endpoint);
    }

    fn due(&mut self, world: &mut World<P>, token: u32) {
        match token {
            END => world.done = true,
            token if token & HEARTBEAT != 0 => self.heartbeat(world, token & NUMBER),
            token if token & DISK != 0 => self.look_at_disk(world, token & NUMBER),
            token if token & FETCH != 0 => {
                let (reduce, from) = self.put_off[(token & NUMBER) as usize];
                self.request(world, reduce, from);
            }
            number => self.advance(world, number),
        }
    }

    fn record(&self, world: &World<P>) -> Record {
        let finished = self.done_reduces == self.shuffles.len() as u32;
        let job = QueryRow {
            round: 0,
            start_ps: 0,
            qct_ps: finished.then_some(self.ended.0),
            waited_ps: (!finished).then_some(world.now.0),
            timeouts: world.timeouts,
        };
        Record {
            flows: self.transfers.rows(world, 0).collect(),
            queries: vec![job],
            payload_bytes: self.transfers.delivered(world),
            measured: if finished { self.ended } else { world.now },
            tasks: self.tasks.iter().map(|task| task.row.clone()).collect(),
            ..Record::default()
        }
    }
}
