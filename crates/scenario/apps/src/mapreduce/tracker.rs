//! Tasks, their states, and their assignment to nodes.

use fanin_driver::View;
use fanin_fabric::HostId;
use fanin_spec::MapReduce as Settings;
use fanin_tables::TaskRow;

use super::placement::Placement;

/// State of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Not assigned.
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
    /// A reduce merges its parts.
    Merging,
    /// A reduce's function runs.
    Reducing,
    /// A reduce's output goes to disks.
    Writing,
    /// Done.
    Done,
}

pub(super) struct Task {
    pub phase: Phase,
    /// The host that runs it.
    pub node: HostId,
    pub row: TaskRow,
}

/// The job's tasks and the nodes' slots.
pub(super) struct Tracker {
    /// Maps first, reduces after them.
    pub tasks: Vec<Task>,
    pub maps: u32,
    pub done_maps: u32,
    pub done_reduces: u32,
    /// By node: slots in use, by maps and by reduces.
    slots: Vec<[u32; 2]>,
}

impl Tracker {
    pub fn new(nodes: u32, maps: u32, reduces: u32) -> Tracker {
        let task = |number: u32| {
            let (kind, number) = if number < maps { ("map", number) } else { ("reduce", number - maps) };
            let row = TaskRow { kind: kind.into(), number, ..TaskRow::default() };
            Task { phase: Phase::Waiting, node: HostId(0), row }
        };
        Tracker {
            tasks: (0..maps + reduces).map(task).collect(),
            maps,
            done_maps: 0,
            done_reduces: 0,
            slots: vec![[0; 2]; nodes as usize + 1],
        }
    }

    pub fn task(&mut self, number: u32) -> &mut Task {
        &mut self.tasks[number as usize]
    }

    /// Whether it is a map; else it is a reduce.
    pub fn is_map(&self, number: u32) -> bool {
        number < self.maps
    }

    /// Slots of its kind in use on its node.
    fn slots_used(&mut self, number: u32) -> &mut u32 {
        let (node, kind) = (self.task(number).node, usize::from(!self.is_map(number)));
        &mut self.slots[node.0 as usize][kind]
    }

    /// The next map for a node: the waiting one whose split is nearest.
    pub fn map_for(&self, view: &dyn View, s: &Settings, placement: &Placement, node: HostId) -> Option<u32> {
        let waiting = |&map: &u32| self.tasks[map as usize].phase == Phase::Waiting;
        let free = self.slots[node.0 as usize][0] < s.map_slots;
        (0..self.maps).filter(|_| free).filter(waiting).min_by_key(|&map| placement.distance(view, map, node))
    }

    /// The next reduce for a node, once enough maps are done.
    pub fn reduce_for(&self, s: &Settings, node: HostId) -> Option<u32> {
        let slow_start = s.slow_start.in_q(16) as u64 * u64::from(self.maps);
        let free = self.slots[node.0 as usize][1] < s.reduce_slots && u64::from(self.done_maps) << 16 >= slow_start;
        let mut reduces = (self.maps..self.tasks.len() as u32).filter(|_| free);
        reduces.find(|&task| self.tasks[task as usize].phase == Phase::Waiting)
    }

    /// Assign a task to a node.
    pub fn begin(&mut self, number: u32, node: HostId, now_ps: u64) {
        let task = self.task(number);
        (task.node, task.phase) = (node, Phase::Starting);
        (task.row.node, task.row.start_ps) = (node.0, now_ps);
        *self.slots_used(number) += 1;
    }

    /// A task is done.
    pub fn finish(&mut self, number: u32, now_ps: u64) {
        let task = self.task(number);
        (task.phase, task.row.end_ps) = (Phase::Done, Some(now_ps));
        *self.slots_used(number) -= 1;
        let done = if self.is_map(number) { &mut self.done_maps } else { &mut self.done_reduces };
        *done += 1;
    }

    /// Whether every task is done.
    pub fn is_done(&self) -> bool {
        self.done_reduces == self.tasks.len() as u32 - self.maps
    }
}
