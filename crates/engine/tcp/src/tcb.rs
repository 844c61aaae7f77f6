//! Transmission control block: a connection's state shared by both halves, and outgoing segments.

use std::hint::cold_path;
use std::num::NonZeroU64;

use fanin_laws::port::HeaderOption;
use fanin_laws::sender::{Ack, Cause, Congestion, Law, Window};
use fanin_transport::{HeaderOptions, Metadata, Stats};
use fanin_units::Time;

use crate::call::Call;
use crate::params::Params;
use crate::prr::Prr;
use crate::rcv::Receiver;
use crate::segment::{Flags, Segment, Wire, blocks_that_fit, header_bytes, microseconds, widen};
use crate::snd::Sender;

/// State of the connection (RFC 9293, section 3.3.2); the two FINs distinguish the states of the close.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Listen,
    SynSent,
    SynReceived,
    Established,
    Reset,
}

/// The transmission control block (RFC 9293, section 3.3.1): all state of a connection at one end, except loss detection.
#[derive(Clone, Debug)]
pub(crate) struct Tcb {
    pub state: State,
    /// The peer agreed to ECN.
    pub ecn: bool,
    /// [`Law::is_limited`], which never changes.
    pub is_limited: bool,
    /// Retransmission timeouts since the last acknowledgement of new data.
    pub retries: u8,
    pub snd: Sender,
    pub rcv: Receiver,
    pub law: Law,
    pub stats: Stats,
}

impl Tcb {
    /// State before the handshake.
    pub fn new(params: &Params, law: Law) -> Tcb {
        let (snd, rcv, stats) = (Sender::new(params), Receiver::default(), Stats::default());
        let is_limited = law.is_limited();
        Tcb { state: State::Listen, ecn: false, is_limited, retries: 0, snd, rcv, law, stats }
    }

    /// Whether data may flow.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.state == State::Established
    }

    /// Forget the connection.
    pub fn abort(&mut self) {
        self.state = State::Reset;
        (self.snd.rto_at, self.rcv.ack_at, self.snd.paced) = (Time::NEVER, Time::NEVER, false);
    }

    /// The retransmission timer has fired; returns whether the connection is given up, since the retransmission limit is reached.
    /// A reset tells the peer (RFC 9293, section 3.10.5, as BSD's stacks do), unless the peer was never heard from.
    pub fn times_out(&mut self, call: &mut Call<'_, impl Wire>) -> bool {
        self.stats.timeouts += 1;
        let Some(most) = call.params.max_retransmissions.filter(|&most| self.retries >= most) else {
            self.retries = self.retries.saturating_add(1);
            return false;
        };
        debug_assert_eq!(self.retries, most);
        if self.state != State::SynSent {
            let header = call.params.header;
            let reset = Segment { seq: self.snd.nxt as u32, header, ..self.blank(call, Flags::RST | Flags::ACK) };
            self.stats.segments_sent = self.stats.segments_sent.wrapping_add(1);
            call.wire.send(reset, Metadata { sack: &[], notes: self.notes(call.params), ..Metadata::default() });
        }
        self.abort();
        true
    }

    /// Bytes that may be in flight now: the usable window; at a sender's rate one segment more than the `flight` if its turn has come, and
    /// a timer for the next one runs.
    #[inline(always)]
    pub fn sendable(&mut self, call: &Call<'_, impl Wire>, flight: impl FnOnce(&Tcb) -> u64) -> u32 {
        if self.is_limited { self.sendable_if_limited(call, flight(self)) } else { self.snd.window.cwnd }
    }

    #[cold]
    #[inline(never)]
    fn sendable_if_limited(&mut self, call: &Call<'_, impl Wire>, flight: u64) -> u32 {
        let usable = self.usable(call.params);
        let recovers = self.snd.una < self.snd.recover;
        self.snd.paced = !recovers && self.law.rate(&self.snd.window, self.snd.rtt.srtt()).is_some();
        if !self.snd.paced {
            return usable;
        }
        let more = if self.turn() <= call.now { call.params.mss } else { 0 };
        usable.min((flight as u32).saturating_add(more))
    }

    /// The window that the congestion control allows; one that counts packets holds at least one.
    pub fn usable(&self, params: &Params) -> u32 {
        let usable = self.law.usable(&self.snd.window);
        if params.packet_window { usable.max(params.mss) } else { usable }
    }

    /// When the next segment leaves at the sender's rate: a full segment's time after the last one.
    #[cold]
    pub fn turn(&self) -> Time {
        let rate = self.law.rate(&self.snd.window, self.snd.rtt.srtt());
        let interval = rate.map_or(Time::ZERO, |rate| rate.time_for(self.law.mss.into()));
        self.snd.last_sent.saturating_add(interval)
    }

    /// Whether data is ready and may be sent.
    #[inline]
    pub fn has_more(&self) -> bool {
        self.snd.nxt < self.snd.end + u64::from(self.snd.fin) && self.is_open()
    }

    /// Whether the peer's window, below a segment, cuts the next one to this length: it waits for more (RFC 9293, section 3.8.6.2.1;
    /// Linux, tcp_snd_wnd_test()).
    #[inline(always)]
    pub fn is_silly(&self, len: u64) -> bool {
        self.snd.rwnd < self.law.mss && len < u64::from(self.law.mss) && self.snd.nxt + len < self.snd.end
    }

    /// Whether all sent data is acknowledged, and the peer's window keeps the next segment back.
    #[inline]
    pub fn waits_for_window(&self) -> bool {
        self.snd.una == self.snd.high && self.snd.rwnd < self.law.mss && self.has_more()
    }

    /// Start the timer that probes a closed window, with the retransmission timeout (RFC 9293, section 3.8.6.1).
    #[cold]
    pub fn await_window(&mut self, call: &Call<'_, impl Wire>) {
        if self.waits_for_window() {
            self.snd.rto_at = call.now.saturating_add(self.snd.rtt.timeout(call.params));
        }
    }

    /// Probe a closed window: a segment without data before the next byte, which the peer acknowledges with its window (as
    /// Linux does, tcp_xmit_probe_skb()).
    #[cold]
    pub fn probe_window(&mut self, call: &mut Call<'_, impl Wire>) {
        let segment = self.pure_ack(call, call.params.header);
        let segment = Segment { seq: segment.seq.wrapping_sub(1), ..segment };
        call.wire.send(segment, Metadata { sack: &[], notes: self.notes(call.params), ..Metadata::default() });
        self.snd.rtt.back_off();
        self.await_window(call);
    }

    /// The 64-bit acknowledgement number of a segment.
    #[inline]
    pub fn ack_of(&self, segment: &Segment) -> u64 {
        widen(segment.ack, self.snd.una)
    }

    /// Advance `una` to `ack`: take a round-trip sample and update the congestion control.
    #[inline(always)]
    pub fn advance(&mut self, call: &Call<'_, impl Wire>, segment: &Segment, ack: u64) -> Ack {
        let acked = (ack - self.snd.una) as u32;
        self.snd.una = ack;
        self.retries = 0;
        self.snd.nxt = self.snd.nxt.max(ack);
        let rtt = self.snd.measure(call, segment, ack);
        if self.snd.rtt.backed_off() && !call.params.karn_backoff {
            self.snd.rtt.forget_backoff();
        }
        let ece = self.ecn && segment.flags.any(Flags::ECE);
        let (nxt, srtt) = (self.snd.nxt, self.snd.rtt.srtt());
        let facts = Ack { now: call.now, acked, una: ack, nxt, ece, rtt, srtt };
        self.law.observe(&facts);
        facts
    }

    /// Grow the window: once per ACK or, with byte counting, as if every segment had been acknowledged separately (RFC 3465 without
    /// its limit, as in Linux).
    #[inline(always)]
    pub fn grow(&mut self, params: &Params, facts: &Ack) {
        match params.byte_counting {
            true => self.grow_by_bytes(params, facts),
            false => self.law.grow(facts, &mut self.snd.window),
        }
    }

    /// Out of line, so that the common path pays nothing.
    #[inline(never)]
    fn grow_by_bytes(&mut self, params: &Params, facts: &Ack) {
        let (mut left, several) = (facts.acked, self.law.takes_several());
        while left > 0 {
            let whole = several && self.snd.window.cwnd >= self.snd.window.ssthresh;
            let acked = if whole { left } else { left.min(params.mss) };
            self.law.grow(&Ack { acked, ..*facts }, &mut self.snd.window);
            left -= acked;
        }
    }

    /// Set ssthresh after congestion with `flight` bytes outstanding and this window: reduce the flight (RFC 5681, section 3.1) or
    /// the window, as in Linux.
    pub fn cut(&mut self, cause: Cause, call: &Call<'_, impl Wire>, flight: u64, window: Window) {
        let flight = if call.params.cut_window { window.cwnd } else { flight as u32 };
        let at = Congestion { now: call.now, flight, una: self.snd.una, srtt: self.snd.rtt.srtt() };
        let ssthresh = self.law.cut(cause, &at, &window);
        self.snd.window.ssthresh = match call.params.window_unit() {
            // A mark takes whole packets (dctcp_ssthresh), a loss leaves whole ones (tcp_reno_ssthresh).
            unit if cause == Cause::Ecn => ssthresh.next_multiple_of(unit),
            unit => ssthresh - ssthresh % unit,
        };
    }

    /// Part of the `flight` unacknowledged bytes that congestion reduces. Data that the last recovery sent beside its holes may
    /// have arrived, so at most the window is in flight.
    pub fn within_window(&self, flight: u64) -> u64 {
        flight.min(self.law.usable(&self.snd.window).into())
    }

    /// RFC 3168, section 6.1.2; RFC 8257, section 3.5: once a window, of `flight` bytes outstanding. With proportional rate
    /// reduction the window shrinks over a round trip, as in deployed stacks, else at once.
    pub fn reduce_for_mark(&mut self, call: &Call<'_, impl Wire>, flight: u64) {
        self.cut(Cause::Ecn, call, self.within_window(flight), self.snd.window);
        if call.params.sack {
            self.snd.cwr = Some(Prr::new(flight));
        } else {
            self.snd.window.cwnd = self.snd.window.cwnd.min(self.snd.window.ssthresh);
        }
        self.snd.cwr_high = self.snd.high;
        self.snd.send_cwr = true;
    }

    /// The window that was marked is acknowledged.
    #[inline]
    pub fn end_reduction(&mut self) {
        if self.snd.cwr.take().is_some() {
            self.snd.window.cwnd = self.snd.window.ssthresh;
        }
    }

    /// The timestamp of a segment, if it has one. (Computed only if needed, since it takes a multiplication.)
    #[inline]
    fn clock(&self, call: &Call<'_, impl Wire>) -> u32 {
        if !call.params.timestamps {
            return 0;
        }
        cold_path();
        microseconds(call.now)
    }

    /// A segment with everything but sequence number, payload and header size.
    #[inline]
    pub fn blank(&self, call: &Call<'_, impl Wire>, flags: Flags) -> Segment {
        Segment {
            seq: 0,
            ack: self.rcv.nxt as u32,
            window: call.params.receive_window,
            ts_val: self.clock(call),
            ts_ecr: self.rcv.ts_recent,
            len: 0,
            header: 0,
            flags,
        }
    }

    /// The option for ports, with the echo of the received one.
    #[inline]
    pub fn notes(&self, params: &Params) -> Option<HeaderOptions> {
        if !params.mcw_option {
            return None;
        }
        cold_path();
        Some(HeaderOptions { written: HeaderOption::BLANK, echoed: self.rcv.note })
    }

    /// Send `len` bytes from `seq` on, and the FIN if they reach it.
    #[inline(never)]
    pub fn send_data(&mut self, call: &mut Call<'_, impl Wire>, seq: u64, len: u64) {
        self.put_data(call, seq, len);
    }

    /// The same, inlined for the common data path. Returns the following sequence number.
    #[inline(always)]
    pub fn put_data(&mut self, call: &mut Call<'_, impl Wire>, seq: u64, len: u64) -> u64 {
        let fresh = seq >= self.snd.high;
        let end = seq + len;
        let fin = self.snd.fin && end == self.snd.end;
        let next = end + u64::from(fin);
        let mut flags = Flags::ACK | Flags::FIN.when(fin) | self.rcv.echo_flag();
        if fresh {
            if self.ecn {
                flags |= Flags::ECT.when(len > 0 || call.params.ect_everywhere);
                flags |= Flags::CWR.when(std::mem::take(&mut self.snd.send_cwr));
            }
            if self.snd.timed.is_none() {
                self.snd.timed = NonZeroU64::new(next).map(|end| (end, call.now));
            }
        } else {
            flags |= Flags::ECT.when(self.ecn && call.params.ect_everywhere);
            self.stats.retransmits += 1;
            // Karn: retransmitted data gives no sample, nor does data acknowledged together with it.
            self.snd.timed = None;
        }
        if self.snd.rto_at == Time::NEVER {
            self.snd.rto_at = call.now.saturating_add(self.snd.rtt.timeout(call.params));
        }
        self.snd.last_sent = call.now;
        if call.params.pingpong {
            self.answers(call);
        }
        self.rcv.acked_by_segment();
        let header = call.params.header;
        let segment = Segment { seq: seq as u32, len: len as u16, header, ..self.blank(call, flags) };
        self.stats.segments_sent = self.stats.segments_sent.wrapping_add(1);
        call.wire.send(segment, Metadata { sack: &[], notes: self.notes(call.params), ..Metadata::default() });
        next
    }

    /// Send a pure ACK.
    #[inline(never)]
    pub fn send_ack(&mut self, call: &mut Call<'_, impl Wire>) {
        self.put_ack(call);
    }

    /// The same, inlined for the common ACK path.
    #[inline(always)]
    pub fn put_ack(&mut self, call: &mut Call<'_, impl Wire>) {
        if call.params.sack && !self.rcv.beyond.is_empty() {
            return self.send_ack_with_blocks(call);
        }
        let segment = self.pure_ack(call, call.params.header);
        call.wire.send(segment, Metadata { sack: &[], notes: self.notes(call.params), ..Metadata::default() });
    }

    /// Send a pure ACK with SACK blocks.
    #[cold]
    #[inline(never)]
    fn send_ack_with_blocks(&mut self, call: &mut Call<'_, impl Wire>) {
        let options = call.params.option_bytes();
        let fit = blocks_that_fit(options).min(self.rcv.beyond.len());
        let segment = self.pure_ack(call, header_bytes(options, fit));
        call.wire.send(
            segment,
            Metadata { sack: &self.rcv.beyond[..fit], notes: self.notes(call.params), ..Metadata::default() },
        );
    }

    /// Send a pure ACK now.
    #[inline(always)]
    fn pure_ack(&mut self, call: &Call<'_, impl Wire>, header: u8) -> Segment {
        self.rcv.acked_by_segment();
        let flags = Flags::ACK | self.rcv.echo_flag() | Flags::ECT.when(self.ecn && call.params.ect_everywhere);
        self.stats.segments_sent = self.stats.segments_sent.wrapping_add(1);
        Segment { seq: self.snd.nxt as u32, header, ..self.blank(call, flags) }
    }
}
