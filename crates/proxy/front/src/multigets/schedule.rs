//! Schedule of a multiget's batches: a concurrency limit over its servers, in the same order as in the simulator's front end.
//!
//! One difference: there a cached limit belongs to a front end; here every multiget has its own, which starts as the pool's last one
//! ended if limits are cached. A batch, all keys of one server, is answered, missed or lost as a whole. Does no I/O; times are arguments
//! with a common zero.

use fanin_fanout::{ServerQueue, Window};
use fanin_units::Time;

/// Schedule of one multiget.
#[derive(Clone, Debug)]
pub struct Schedule {
    window: Window,
    queue: ServerQueue,
    /// Per requested batch, the time and whether it is outstanding.
    batches: Vec<(Time, bool)>,
}

impl Schedule {
    /// Memory per batch, in bytes.
    pub const BATCH: usize = size_of::<(Time, bool)>();

    /// A schedule of unsent batches.
    pub fn new(window: Window, count: u32) -> Schedule {
        Schedule { window, queue: ServerQueue::new(count), batches: Vec::with_capacity(count as usize) }
    }

    /// The next batch to request, if the concurrency limit allows one.
    pub fn ask(&mut self, now: Time) -> Option<u32> {
        let next = self.queue.take_next(&self.window, 0)?;
        self.batches.push((now, true));
        Some(next)
    }

    /// The batch that is next, if one is left.
    pub fn next(&self) -> Option<u32> {
        (!self.queue.is_empty()).then_some(self.batches.len() as u32)
    }

    /// Records a complete response of this size.
    pub fn answered(&mut self, now: Time, batch: u32, bytes: u64) {
        if let Some(asked) = self.ends(batch) {
            self.window.answered(now, bytes, now.since(asked));
        }
    }

    /// Records a failed batch, without a response time.
    pub fn lost(&mut self, batch: u32) {
        self.ends(batch);
    }

    fn ends(&mut self, batch: u32) -> Option<Time> {
        let (asked, waits) = self.batches.get_mut(batch as usize)?;
        let asked = std::mem::take(waits).then_some(*asked)?;
        self.queue.end();
        Some(asked)
    }

    /// When to call [`Schedule::report_late`], if ever.
    pub fn late_at(&self) -> Option<Time> {
        self.queue.late_at(&self.window, outstanding(&self.batches))
    }

    /// Reports late batches to the concurrency limit, each once.
    pub fn report_late(&mut self, now: Time) {
        self.queue.report_late(now, &mut self.window, outstanding(&self.batches));
    }

    /// When a batch was requested, if it was.
    pub fn asked_at(&self, batch: u32) -> Option<Time> {
        self.batches.get(batch as usize).map(|(asked, _)| *asked)
    }

    /// The concurrency limit.
    pub fn window(&self) -> Window {
        self.window
    }

    /// Whether every batch has been requested.
    pub fn has_asked_all(&self) -> bool {
        self.queue.is_empty()
    }
}

/// Returns the request time of an outstanding batch.
fn outstanding(batches: &[(Time, bool)]) -> impl Fn(u32) -> Option<Time> {
    |batch| batches.get(batch as usize).filter(|(_, waits)| *waits).map(|(asked, _)| *asked)
}
