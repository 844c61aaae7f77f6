//! Sliding window: a window over servers, as TCP has one over segments.
//! Sources: Wang, Shen and Liu, "Swarm-based Incast Congestion Control" (SPAA 2017), section 4, SW; Nishtala et al., "Scaling
//!          Memcache at Facebook" (NSDI 2013), section 3.1; Chiu and Jain (1989) for additive increase and halving.
//! Law:     W grows by `step` for every W answers; W <- max(1, W / 2) when a query has been without its answer for `late`, once
//!          for all queries that were asked before the halving.
//! Units:   servers; times in picoseconds.
//! Owns:    W, the answers towards the next step, the time of the last halving.
//! Departs: SICC names neither step nor signal: "increases the window size till the occurrence of incast congestion and then
//!          decreases". A client sees no loss; that an answer is late is what it can see.
//! Checked: vectors/sliding_window.json; tests/trajectories/sliding_window.txt.

use fanin_laws::settings::params;
use fanin_units::Time;

params! {
    /// A window over servers that halves on loss (SW, TSW).
    sliding_window {
        /// Servers asked at once at first, as TCP begins with 10 segments (RFC 6928).
        #[range(1..=1_000_000)]
        initial: u32 = 10,
        /// Servers more for every window of answers: TCP's one.
        #[range(1..=1_000_000)]
        step: u32 = 1,
        /// An answer that is not there after this is taken for lost: half of the 10 ms after which the papers' servers send again.
        #[range(Time::from_micros(1)..=Time::from_secs(100), "sooner than any answer; the papers' RTO is 10 ms")]
        late: Time = Time::from_millis(5),
    }
}

/// One client's state.
#[derive(Clone, Copy, Debug)]
pub struct SlidingWindow {
    step: u32,
    late: Time,
    window: u32,
    /// Answers since the last step.
    towards_step: u32,
    halved: Option<Time>,
}

impl SlidingWindow {
    /// A client that has asked nobody.
    pub fn start(params: &Params) -> SlidingWindow {
        let &Params { initial, step, late } = params;
        SlidingWindow { step, late, window: initial.max(1), towards_step: 0, halved: None }
    }

    /// How many servers may be asked and not have answered.
    pub fn window(&self) -> u32 {
        self.window
    }

    /// After how long a query is lost.
    pub fn late(&self) -> Time {
        self.late
    }

    /// A server has answered.
    pub fn answered(&mut self) {
        self.towards_step += 1;
        if self.towards_step >= self.window {
            self.towards_step = 0;
            self.window = self.window.saturating_add(self.step);
        }
    }

    /// A query has been without its answer for `late`.
    pub fn lost(&mut self, now: Time) {
        // Queries of one window are lost together.
        if self.halved.is_some_and(|halved| now.since(halved) < self.late) {
            return;
        }
        self.halved = Some(now);
        self.window = (self.window / 2).max(1);
        self.towards_step = 0;
    }
}
