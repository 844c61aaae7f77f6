//! The receiving half: reassembly, delayed ACKs, the echo of congestion marks, SACK blocks.

use fanin_units::Time;

use crate::call::Call;
use crate::endpoint::{Endpoint, Progress, microseconds};
use crate::params::Echo;
use crate::segment::{Block, Flags, Segment, Wire, blocks_that_fit, header_bytes, widen};

/// The state of the receiving half.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    /// The next byte expected in order.
    pub nxt: u64,
    /// [`Progress::awake`] when `nxt` reaches this.
    pub wake_at: u64,
    /// When a delayed ACK is due.
    pub ack_at: Time,
    /// Segments that wait for an ACK.
    pending: u8,
    /// So many ACKs more are sent at once.
    quick: u8,
    /// When data last came, in microseconds; 0 before any has.
    heard: u32,
    /// The echo of congestion marks is on.
    ece: bool,
    /// The peer's FIN is delivered.
    pub closed: bool,
    /// Where the peer's FIN stands, once seen.
    fin_at: Option<u64>,
    /// The latest window handed out on the way here.
    pub mcw: u32,
    /// The timestamp to echo.
    pub ts_recent: u32,
    /// Runs beyond a hole, most recent first (RFC 2018, section 4).
    beyond: Vec<Block>,
}

impl Default for Receiver {
    fn default() -> Receiver {
        Receiver {
            nxt: 0,
            wake_at: u64::MAX,
            ack_at: Time::NEVER,
            pending: 0,
            quick: 0,
            heard: 0,
            ece: false,
            closed: false,
            fin_at: None,
            mcw: u32::MAX,
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

    /// Remembers what the segment's options say.
    #[inline]
    pub fn note_options(&mut self, segment: &Segment) {
        if segment.mcw_offer != u32::MAX {
            self.mcw = segment.mcw_offer;
        }
    }

    /// Remembers the time of a segment at the left edge, to echo it: of those that one ACK covers, the earliest's, and never
    /// an older one (RFC 7323, section 4.3; the last ACK was of `nxt` where nothing waits).
    #[inline]
    fn note_time(&mut self, segment: &Segment) {
        if self.pending == 0 && segment.ts_val.wrapping_sub(self.ts_recent) as i32 >= 0 {
            self.ts_recent = segment.ts_val;
        }
    }

    /// Adds a run beyond a hole, in front of the others; one that is there already moves to the front (RFC 2018, section 4).
    fn keep(&mut self, block: Block) {
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
    fn close_gap(&mut self) {
        while let Some(i) = self.beyond.iter().position(|run| run.start <= self.nxt) {
            let run = self.beyond.remove(i);
            self.nxt = self.nxt.max(run.end);
        }
    }

    /// Whether all of `start..end` is here already.
    fn has(&self, start: u64, end: u64) -> bool {
        end <= self.nxt || self.beyond.iter().any(|run| run.start <= start && end <= run.end)
    }
}

impl Endpoint {
    /// Takes the payload and the FIN of a segment; acknowledges now or later.
    #[inline]
    pub(crate) fn receive(&mut self, call: &mut Call<'_, impl Wire>, segment: &Segment) -> Progress {
        self.rcv.note_options(segment);
        if segment.span() == 0 {
            return Progress::default();
        }
        if self.ecn {
            self.note_mark(call, segment);
        }
        let start = widen(segment.seq, self.rcv.nxt);
        let end = start + u64::from(segment.len);
        let fin = segment.flags.any(Flags::FIN);
        if start <= self.rcv.nxt && end >= self.rcv.nxt && self.rcv.beyond.is_empty() && !fin {
            // In order, nothing missing: all but a few segments.
            if end == self.rcv.nxt {
                self.rcv.quick = call.params.quick_acks;
                self.send_ack(call);
                return Progress::default();
            }
            self.stats.data_segments += 1;
            self.rcv.nxt = end;
            if call.params.timestamps {
                self.rcv.note_time(segment);
            }
            match segment.flags.any(Flags::CWR) && call.params.ack_cwr && self.ecn {
                // The sender has cut its window, perhaps to one segment: it may wait for this ACK.
                true => self.send_ack(call),
                false => self.acknowledge(call),
            }
            return Progress { awake: self.wakes(), ..Progress::default() };
        }
        self.receive_irregular(call, segment, Block { start, end })
    }

    /// Out of order, repeated, filling a hole, or with the FIN: acknowledged at once (RFC 5681, section 4.2).
    #[cold]
    fn receive_irregular(&mut self, call: &mut Call<'_, impl Wire>, segment: &Segment, block: Block) -> Progress {
        let before = (self.rcv.nxt, self.rcv.closed);
        if call.params.timestamps && block.start <= self.rcv.nxt {
            self.rcv.note_time(segment);
        }
        if segment.flags.any(Flags::FIN) {
            self.rcv.fin_at = Some(block.end);
        }
        if call.params.quick_acks > 0 {
            self.acknowledge_quickly(call);
            if block.end > block.start && block.end <= self.rcv.nxt {
                self.rcv.quick = call.params.quick_acks;
            }
        }
        if block.end > block.start {
            self.stats.data_segments += u64::from(!self.rcv.has(block.start, block.end));
            if block.start <= self.rcv.nxt {
                self.rcv.nxt = self.rcv.nxt.max(block.end);
            } else {
                self.rcv.keep(block);
            }
            self.rcv.close_gap();
        }
        if self.rcv.fin_at == Some(self.rcv.nxt) && !self.rcv.closed {
            self.rcv.closed = true;
            self.rcv.nxt += 1;
        }
        self.send_ack(call);
        let moved = before != (self.rcv.nxt, self.rcv.closed);
        Progress { awake: moved && self.wakes(), closed: self.rcv.closed && !before.1, ..Progress::default() }
    }

    /// Whether as much is delivered as the application waits for; it is told once.
    #[inline]
    fn wakes(&mut self) -> bool {
        if self.rcv.nxt < self.rcv.wake_at {
            return false;
        }
        self.rcv.wake_at = u64::MAX;
        true
    }

    /// The echo of congestion marks: RFC 3168, section 6.1.3, or RFC 8257, section 3.2.
    #[inline]
    fn note_mark(&mut self, call: &mut Call<'_, impl Wire>, segment: &Segment) {
        let marked = segment.flags.any(Flags::CE);
        match call.params.echo {
            Echo::Latched => {
                if segment.flags.any(Flags::CWR) {
                    self.rcv.ece = false;
                }
                self.rcv.ece |= marked;
            }
            Echo::Exact => {
                if marked != self.rcv.ece && self.rcv.pending > 0 {
                    // What waits is acknowledged as it was marked (RFC 8257, figure 1).
                    self.send_ack(call);
                }
                self.rcv.ece = marked;
            }
        }
    }

    /// An ACK for a segment in order: now, or later with others (RFC 1122, section 4.2.3.2; RFC 5681, section 4.2).
    #[inline]
    fn acknowledge(&mut self, call: &mut Call<'_, impl Wire>) {
        if call.params.quick_acks > 0 && self.acknowledge_quickly(call) {
            return self.send_ack(call);
        }
        self.rcv.pending += 1;
        if u32::from(self.rcv.pending) >= call.params.delayed_ack {
            self.send_ack(call);
        } else if self.rcv.ack_at == Time::NEVER {
            self.rcv.ack_at = call.now.saturating_add(call.params.delayed_ack_timeout);
        }
    }

    /// Whether this data segment is among those acknowledged at once: of a new connection, after a pause of a timeout
    /// (the sender may start from a small window), after data that came again (an ACK may have been lost).
    #[cold]
    fn acknowledge_quickly(&mut self, call: &Call<'_, impl Wire>) -> bool {
        let micros = microseconds(call.now).max(1);
        let pause = Time::from_micros(micros.wrapping_sub(self.rcv.heard).into());
        if self.rcv.heard == 0 || pause > self.snd.rtt.timeout(call.params) {
            self.rcv.quick = call.params.quick_acks;
        }
        self.rcv.heard = micros;
        let quick = self.rcv.quick > 0;
        self.rcv.quick -= u8::from(quick);
        quick
    }

    /// Sends a pure ACK.
    #[inline]
    pub(crate) fn send_ack(&mut self, call: &mut Call<'_, impl Wire>) {
        self.acked_by_segment();
        let flags = Flags::ACK | self.echo_flag() | Flags::ECT.when(self.ecn && call.params.ect_everywhere());
        let blocks: &[Block] = if call.params.sack && !self.rcv.beyond.is_empty() {
            let fit = blocks_that_fit(call.params.option_bytes()).min(self.rcv.beyond.len());
            &self.rcv.beyond[..fit]
        } else {
            &[]
        };
        let header = header_bytes(call.params.option_bytes(), blocks.len());
        let segment = Segment { seq: self.snd.nxt as u32, header, ..self.blank(call, flags) };
        self.stats.segments_sent = self.stats.segments_sent.wrapping_add(1);
        call.wire.send(segment, blocks);
    }

    /// ECE where the echo is on.
    #[inline]
    pub(crate) fn echo_flag(&self) -> Flags {
        Flags::ECE.when(self.rcv.ece)
    }

    /// A segment that carries the acknowledgement leaves: nothing waits any more.
    #[inline]
    pub(crate) fn acked_by_segment(&mut self) {
        self.rcv.pending = 0;
        self.rcv.ack_at = Time::NEVER;
    }
}
