//! State of the receiving half: reassembly, the echo of congestion marks, SACK blocks.

use std::num::NonZeroU64;

use fanin_laws::port::HeaderOption;
use fanin_transport::{Block, HeaderOptions};
use fanin_units::Time;

use crate::segment::{Flags, Segment};

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
    /// The application is not reading.
    pub unread: bool,
    /// This end responds to received data: it is in Linux's pingpong mode.
    pub answers: bool,
    /// Out-of-order ACKs sent since `nxt` moved; saturates.
    pub repeated: u8,
    /// ACKs still to be sent at once.
    pub quick: u8,
    /// When data last arrived, in microseconds; 0 before any.
    pub heard: u32,
    /// The echo of congestion marks is on.
    pub ece: bool,
    /// The peer's FIN is delivered.
    pub closed: bool,
    /// Sequence number of the peer's FIN, once seen.
    pub fin_at: Option<NonZeroU64>,
    /// The ports' option in the last packet, to be echoed.
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

    /// Remember the ports' option in a packet, if any port wrote it.
    #[inline]
    pub fn keep_note(&mut self, notes: Option<HeaderOptions>) {
        if let Some(HeaderOptions { written, .. }) = notes
            && written != HeaderOption::BLANK
        {
            self.note = written;
        }
    }

    /// Remember the timestamp of a segment at the left edge, to echo it: the earliest that an ACK covers, and never
    /// an older one (RFC 7323, section 4.3; the last ACK was of `nxt` if none is pending).
    #[inline]
    pub fn note_time(&mut self, segment: &Segment) {
        if self.pending == 0 && segment.ts_val.wrapping_sub(self.ts_recent) as i32 >= 0 {
            self.ts_recent = segment.ts_val;
        }
    }

    /// Add a run beyond a hole in front of the others; an existing one moves to the front (RFC 2018, section 4).
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

    /// Move past the runs that are now in order.
    pub fn close_gap(&mut self) {
        while let Some(i) = self.beyond.iter().position(|run| run.start <= self.nxt) {
            let run = self.beyond.remove(i);
            self.nxt = self.nxt.max(run.end);
        }
    }

    /// Whether all of `start..end` has been received.
    pub fn has(&self, start: u64, end: u64) -> bool {
        end <= self.nxt || self.beyond.iter().any(|run| run.start <= start && end <= run.end)
    }

    /// Whether enough is delivered for the application's wakeup; true only once.
    #[inline]
    pub fn wakes(&mut self) -> bool {
        if self.nxt < self.wake_at {
            return false;
        }
        self.wake_at = u64::MAX;
        true
    }

    /// ECE while the echo is on.
    #[inline]
    pub fn echo_flag(&self) -> Flags {
        Flags::ECE.when(self.ece)
    }

    /// A segment with the acknowledgement is sent: clear pending ACKs.
    #[inline]
    pub fn acked_by_segment(&mut self) {
        self.pending = 0;
        self.ack_at = Time::NEVER;
    }
}
