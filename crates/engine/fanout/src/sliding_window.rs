//! Sliding window: a concurrency limit over servers, as TCP's over segments.
//! Sources: Wang, Shen and Liu, "Swarm-based Incast Congestion Control" (SPAA 2017), section 4, SW; Nishtala et al., "Scaling
//!          Memcache at Facebook" (NSDI 2013), section 3.1; Chiu and Jain (1989) for additive increase and halving.
//! Law:     W grows by `step` per response, or per W responses (`grows`), up to `most`; W <- max(1, W / 2) when a query has waited `late` for its
//!          response, once for all queries sent before the halving.
//! Units:   servers; times in picoseconds.
//! Owns:    W, the responses towards the next step, the time of the last halving.
//! Departs: SICC specifies neither step nor signal: "increases the window size till the occurrence of incast congestion and then
//!          decreases". A client sees no loss, but can see late responses.
//! Checked: vectors/sliding_window.json; tests/trajectories/sliding_window.txt.

use fanin_laws::settings::{params, words};
use fanin_units::Time;

words! {
    /// How often a sliding window grows.
    Grows, "\"answer\" or \"window\"" {
        /// Per response: the window doubles per window of responses, until there is incast.
        Answer = "answer",
        /// Per window of responses, like TCP in congestion avoidance.
        Window = "window",
    }
}

params! {
    /// Concurrency limit over servers that halves on loss (SW, TSW).
    sliding_window {
        /// Initial number of outstanding servers, like TCP's 10 segments (RFC 6928).
        #[range(1..=1_000_000)]
        initial: u32 = 10,
        /// Whether the window grows per response or per window of responses.
        grows: Grows = Grows::Answer,
        /// Number of servers by which it grows.
        #[range(1..=1_000_000)]
        step: u32 = 1,
        /// Maximum number of outstanding servers, which limits `initial` too.
        #[range(1..=1_000_000)]
        most: u32 = 1_000_000,
        /// Time after which a response counts as lost: half of the papers' minimum RTO of 10 ms.
        #[range(Time::from_micros(1)..=Time::from_secs(100), "no response arrives sooner; the papers' RTO is 10 ms")]
        late: Time = Time::from_millis(5),
    }
}

/// State of a client.
#[derive(Clone, Copy, Debug)]
pub struct SlidingWindow {
    grows: Grows,
    step: u32,
    most: u32,
    late: Time,
    window: u32,
    /// Responses since the last step.
    towards_step: u32,
    halved: Option<Time>,
}

impl SlidingWindow {
    /// A client without requests.
    pub fn start(params: &Params) -> SlidingWindow {
        let &Params { initial, grows, step, most, late } = params;
        let most = most.max(1);
        SlidingWindow { grows, step, most, late, window: initial.clamp(1, most), towards_step: 0, halved: None }
    }

    /// Maximum number of outstanding servers.
    pub fn window(&self) -> u32 {
        self.window
    }

    /// Time after which a query is lost.
    pub fn late(&self) -> Time {
        self.late
    }

    /// Records a response.
    pub fn answered(&mut self) {
        self.towards_step += 1;
        let answers = match self.grows {
            Grows::Answer => 1,
            Grows::Window => self.window,
        };
        if self.towards_step >= answers {
            self.towards_step = 0;
            self.window = self.window.saturating_add(self.step).min(self.most);
        }
    }

    /// Records a query without a response after `late`.
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
