//! When each server of a multiget is asked: the driver of a request law's window, as the simulator's front end is one
//! (`roles/front_end/direct.rs`), and with the same law the same order.
//!
//! The grain differs. There a window that is kept belongs to a front end; here every multiget has one of its own, which where windows are kept
//! begins as the last one of its pool ended. What is asked is a batch, all that one server has of it, which is answered, missed or lost as a
//! whole. Pure: times are arguments, from a moment on that all calls have in common.

use fanin_fanout::Window;
use fanin_units::Time;

/// One multiget's.
#[derive(Clone, Debug)]
pub struct Schedule {
    window: Window,
    /// When each batch was asked, and whether it still waits.
    batches: Vec<(Time, bool)>,
    count: u32,
    busy: u32,
    /// Before this one, the window has been told of all that are late.
    looked_at: u32,
}

impl Schedule {
    /// The bytes that it takes for each batch.
    pub const BATCH: usize = size_of::<(Time, bool)>();

    /// So many batches, of which none has been asked.
    pub fn new(window: Window, count: u32) -> Schedule {
        Schedule { window, batches: Vec::with_capacity(count as usize), count, busy: 0, looked_at: 0 }
    }

    /// The next batch to ask, in their order, if the window allows one.
    pub fn ask(&mut self, now: Time) -> Option<u32> {
        let next = self.batches.len() as u32;
        if next == self.count || self.busy >= self.window.window() {
            return None;
        }
        self.batches.push((now, true));
        self.busy += 1;
        Some(next)
    }

    /// A batch was answered whole, with so many bytes.
    pub fn answered(&mut self, now: Time, batch: u32, bytes: u64) {
        if let Some(asked) = self.comes_off(batch) {
            self.window.answered(now, bytes, now.since(asked));
        }
    }

    /// A batch will not be answered: that says nothing of how long an answer takes.
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

    /// Tells the window of batches that are late, each once.
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

    /// Its window.
    pub fn window(&self) -> Window {
        self.window
    }

    /// Whether every batch has been asked.
    pub fn has_asked_all(&self) -> bool {
        self.batches.len() as u32 == self.count
    }
}
