//! The state of the receiving half: reassembly, the echo of congestion marks, SACK blocks.

use std::num::NonZeroU64;

use fanin_laws::port::HeaderOption;
use fanin_units::Time;

use crate::segment::{Block, Flags, HeaderOptions, Segment};

/// The state of the receiving half.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    /// The next byte expected in order.
    pub nxt: u64,
    /// [`Progress::awake`](crate::Progress::awake) when `nxt` reaches this.
    pub wake_at: u64,
    /// When a delayed ACK is due.
    pub ack_at: Time,
    /// Segments that wait for an ACK.
    pub pending: u8,
    /// The application does not read now.
    pub unread: bool,
    /// This end answers what it receives: it is in Linux's pingpong mode.
    pub answers: bool,
    /// ACKs out of order that were sent since `nxt` moved, as far as it is counted.
    pub repeated: u8,
    /// So many ACKs more are sent at once.
    pub quick: u8,
    /// When data last came, in microseconds; 0 before any has.
    pub heard: u32,
    /// The echo of congestion marks is on.
    pub ece: bool,
    /// The peer's FIN is delivered.
    pub closed: bool,
    /// Where the peer's FIN stands, once seen.
    pub fin_at: Option<NonZeroU64>,
    /// What ports have written on what came last, to echo it.
    pub note: HeaderOption,
    /// The timestamp to echo.
    pub ts_recent: u32,
    /// Runs beyond a hole, most recent first (RFC 2018, section 4).
    pub beyond: Vec<Block>,
}

impl Default for Receiver {
    fn default() -> Receiver {
        Receiver {
            nxt: 0,
            wake_at: u64::MAX,
            ack_at: Time::NEVER,
            pending: 0,
            unread: false,
            answers: false,
            repeated: 0,
            quick: 0,
            heard: 0,
            ece: false,
            closed: false,
            fin_at: None,
            note: HeaderOption::BLANK,
            ts_recent: 0,
            beyond: Vec::new(),
        }
    }
}

impl Receiver {
    /// Bytes delivered in order.
    #[inline]
    pub fn delivered(&self) -> u64 {
        self.nxt.saturating_sub(1 + u64::from(self.closed))
    }

    /// Remembers what ports have written on a packet, if any has.
    #[inline]
    pub fn keep_note(&mut self, notes: Option<HeaderOptions>) {
        if let Some(HeaderOptions { written, .. }) = notes
            && written != HeaderOption::BLANK
        {
            self.note = written;
        }
    }

    /// Remembers the time of a segment at the left edge, to echo it: of those that one ACK covers, the earliest's, and never
    /// an older one (RFC 7323, section 4.3; the last ACK was of `nxt` where nothing waits).
    #[inline]
    pub fn note_time(&mut self, segment: &Segment) {
        if self.pending == 0 && segment.ts_val.wrapping_sub(self.ts_recent) as i32 >= 0 {
            self.ts_recent = segment.ts_val;
        }
    }

    /// Adds a run beyond a hole, in front of the others; one that is there already moves to the front (RFC 2018, section 4).
    pub fn keep(&mut self, block: Block) {
        let mut merged = block;
        self.beyond.retain(|run| {
            let apart = run.end < merged.start || run.start > merged.end;
            if !apart {
                merged = Block { start: merged.start.min(run.start), end: merged.end.max(run.end) };
            }
            apart
        });
        self.beyond.insert(0, merged);
    }

    /// Moves past the runs that now follow in order.
    pub fn close_gap(&mut self) {
        while let Some(i) = self.beyond.iter().position(|run| run.start <= self.nxt) {
            let run = self.beyond.remove(i);
            self.nxt = self.nxt.max(run.end);
        }
    }

    /// Whether all of `start..end` is here already.
    pub fn has(&self, start: u64, end: u64) -> bool {
        end <= self.nxt || self.beyond.iter().any(|run| run.start <= start && end <= run.end)
    }

    /// Whether as much is delivered as the application waits for; it is told once.
    #[inline]
    pub fn wakes(&mut self) -> bool {
        if self.nxt < self.wake_at {
            return false;
        }
        self.wake_at = u64::MAX;
        true
    }

    /// ECE where the echo is on.
    #[inline]
    pub fn echo_flag(&self) -> Flags {
        Flags::ECE.when(self.ece)
    }

    /// A segment that carries the acknowledgement leaves: nothing waits any more.
    #[inline]
    pub fn acked_by_segment(&mut self) {
        self.pending = 0;
        self.ack_at = Time::NEVER;
    }
}
