//! Schedule of a multiget's batches: it drives a concurrency limit like the simulator's front end (`roles/front_end/direct.rs`), in the
//! same order.
//!
//! One difference: there a cached limit belongs to a front end; here every multiget has its own, which starts as the pool's last one
//! ended if limits are cached. A batch, all keys of one server, is answered, missed or lost as a whole. Does no I/O; times are arguments
//! with a common zero.

use fanin_fanout::Window;
use fanin_units::Time;

/// Schedule of one multiget.
#[derive(Clone, Debug)]
pub struct Schedule {
    window: Window,
    /// Per batch, the request time and whether it is outstanding.
    batches: Vec<(Time, bool)>,
    count: u32,
    busy: u32,
    /// The concurrency limit has seen all late batches before this one.
    looked_at: u32,
}

impl Schedule {
    /// Memory per batch, in bytes.
    pub const BATCH: usize = size_of::<(Time, bool)>();

    /// A schedule of unsent batches.
    pub fn new(window: Window, count: u32) -> Schedule {
        Schedule { window, batches: Vec::with_capacity(count as usize), count, busy: 0, looked_at: 0 }
    }

    /// The next batch to request, if the concurrency limit allows one.
    pub fn ask(&mut self, now: Time) -> Option<u32> {
        let next = self.batches.len() as u32;
        if next == self.count || self.busy >= self.window.window() {
            return None;
        }
        self.batches.push((now, true));
        self.busy += 1;
        Some(next)
    }

    /// Records a complete response of this size.
    pub fn answered(&mut self, now: Time, batch: u32, bytes: u64) {
        if let Some(asked) = self.comes_off(batch) {
            self.window.answered(now, bytes, now.since(asked));
        }
    }

    /// Records a failed batch, without a response time.
    pub fn lost(&mut self, batch: u32) {
        self.comes_off(batch);
    }

    fn comes_off(&mut self, batch: u32) -> Option<Time> {
        let (asked, waits) = self.batches.get_mut(batch as usize)?;
        let asked = std::mem::take(waits).then_some(*asked)?;
        self.busy -= 1;
        Some(asked)
    }

    /// When to call [`Schedule::look`], if ever.
    pub fn look_at(&self) -> Option<Time> {
        let (asked, _) = self.batches.get(self.looked_at as usize)?;
        Some(asked.saturating_add(self.window.late()?))
    }

    /// Reports late batches to the concurrency limit, each once.
    pub fn look(&mut self, now: Time) {
        let Some(late) = self.window.late() else { return };
        while let Some((asked, waits)) = self.batches.get(self.looked_at as usize) {
            if asked.saturating_add(late) > now {
                return;
            }
            if *waits {
                self.window.lost(now);
            }
            self.looked_at += 1;
        }
    }

    /// The concurrency limit.
    pub fn window(&self) -> Window {
        self.window
    }

    /// Whether every batch has been requested.
    pub fn has_asked_all(&self) -> bool {
        self.batches.len() as u32 == self.count
    }
}
