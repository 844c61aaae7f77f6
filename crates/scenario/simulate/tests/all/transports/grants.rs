//! A toy transport whose receiver grants each packet: NDP's idea (Handley et al., SIGCOMM 2017) without its pacing across senders.
//!
//! A sender announces how much it has; the receiver grants one packet at a time, and asks again for one that arrives trimmed. Nothing
//! repeats a lost header: ports must have room for them.

use std::collections::BTreeSet;

use fanin_transport::{
    Bits, Call, Class, Expiry, Metadata, Packet, Phase, Progress, SendLimit, Stats, Timer, Transport, Wire, Written,
};
use fanin_units::Time;

/// Bytes of all headers.
const HEADER: u32 = 40;

/// Kinds of packets, in the second word of the body. The first one is an offset in the stream.
const OPEN: u32 = 0;
/// The sender has bytes up to the offset.
const ANNOUNCE: u32 = 1;
/// The receiver wants the packet at the offset; everything before the third word has arrived.
const GRANT: u32 = 2;
const DATA: u32 = 3;
/// The sender has closed at the offset.
const CLOSE: u32 = 4;

/// One end.
pub struct Grants {
    mss: u32,
    phase: Phase,
    written: u64,
    sent: u64,
    acked: u64,
    /// The application has closed; and the peer knows.
    closing: bool,
    closed: bool,
    /// Bytes that the peer has announced, those granted, and those delivered in order.
    announced: u64,
    granted: u64,
    delivered: u64,
    /// Starts of packets received beyond a hole.
    beyond: BTreeSet<u64>,
    wake_at: u64,
    peer_closed: bool,
    stats: Stats,
}

type Calling<'a, 'b, W> = &'a mut Call<'b, u32, W>;

impl Grants {
    fn send(&mut self, call: Calling<'_, '_, impl Wire>, kind: u32, at: u64, payload: u16) {
        self.stats.segments_sent = self.stats.segments_sent.wrapping_add(1);
        let class = if kind == DATA { Class::default() } else { Class::HIGHEST };
        let bits = Bits::OPENS.when(kind == OPEN) | Bits::CLOSES.when(kind == CLOSE);
        let body = [at as u32, kind, self.delivered as u32, 0, 0];
        let packet = Packet { bytes: HEADER + u32::from(payload), payload, bits, class, body };
        call.wire.send(packet, Metadata::default());
    }

    /// The packet at an offset, as far as data reaches.
    fn packet_at(&self, at: u64, end: u64) -> u16 {
        (end - at).min(self.mss.into()) as u16
    }

    fn announce(&mut self, call: Calling<'_, '_, impl Wire>) {
        if self.phase == Phase::Open && self.written > self.acked {
            self.send(call, ANNOUNCE, self.written, 0);
        }
        self.close_if_done(call);
    }

    fn close_if_done(&mut self, call: Calling<'_, '_, impl Wire>) {
        if self.closing && !self.closed && self.acked == self.written && self.phase == Phase::Open {
            self.closed = true;
            self.send(call, CLOSE, self.written, 0);
        }
    }

    /// Grants the next packet if there is one, else acknowledges.
    fn grant(&mut self, call: Calling<'_, '_, impl Wire>) {
        let at = self.granted;
        self.granted += u64::from(self.packet_at(at, self.announced));
        self.send(call, GRANT, at, 0);
    }

    fn take(&mut self, at: u64, payload: u16) {
        self.stats.data_segments += 1;
        self.beyond.insert(at);
        while self.beyond.remove(&self.delivered) {
            self.delivered += u64::from(self.packet_at(self.delivered, self.announced));
        }
        debug_assert!(payload > 0);
    }

    fn progress(&mut self) -> Progress {
        let awake = self.delivered >= self.wake_at;
        if awake {
            self.wake_at = u64::MAX;
        }
        let over = self.peer_closed && self.delivered == self.announced;
        Progress::AWAKE.when(awake) | Progress::CLOSED.when(over)
    }
}

impl Transport for Grants {
    /// Bytes of a packet's payload.
    type Settings = u32;

    fn new(mss: &u32) -> Grants {
        Grants {
            mss: *mss,
            phase: Phase::Listening,
            written: 0,
            sent: 0,
            acked: 0,
            closing: false,
            closed: false,
            announced: 0,
            granted: 0,
            delivered: 0,
            beyond: BTreeSet::new(),
            wake_at: u64::MAX,
            peer_closed: false,
            stats: Stats::default(),
        }
    }

    fn connect(&mut self, call: Calling<'_, '_, impl Wire>) {
        self.phase = Phase::Opening;
        self.send(call, OPEN, 0, 0);
    }

    fn stand(&mut self, _mss: &u32, _now: Time, _rtt: Time) {
        self.phase = Phase::Open;
    }

    fn write(&mut self, call: Calling<'_, '_, impl Wire>, bytes: u64, _deadline: Time) {
        self.written += bytes;
        self.announce(call);
    }

    fn discard_unsent(&mut self) {
        self.written = self.sent;
    }

    fn close(&mut self, call: Calling<'_, '_, impl Wire>) {
        self.closing = true;
        self.close_if_done(call);
    }

    fn abort(&mut self) {
        self.phase = Phase::Reset;
    }

    fn reads(&mut self, _call: Calling<'_, '_, impl Wire>, _reads: bool) {}

    fn wake_at(&mut self, bytes: u64) {
        self.wake_at = bytes;
    }

    fn receive(&mut self, call: Calling<'_, '_, impl Wire>, packet: &Packet, _metadata: Metadata<'_>) -> Progress {
        self.stats.segments_received = self.stats.segments_received.wrapping_add(1);
        let [at, kind, delivered, ..] = packet.body;
        let at = u64::from(at);
        match kind {
            OPEN => {
                let answers = self.phase == Phase::Listening;
                self.phase = Phase::Open;
                if answers {
                    self.send(call, OPEN, 0, 0);
                }
                self.announce(call);
                return Progress::ESTABLISHED;
            }
            ANNOUNCE => {
                let idle = self.granted == self.announced;
                self.announced = self.announced.max(at);
                if idle {
                    self.grant(call);
                }
            }
            GRANT => {
                self.acked = self.acked.max(delivered.into());
                if at < self.written {
                    let payload = self.packet_at(at, self.written);
                    self.stats.retransmits += u32::from(at < self.sent);
                    self.sent = self.sent.max(at + u64::from(payload));
                    self.send(call, DATA, at, payload);
                }
                self.close_if_done(call);
            }
            DATA if packet.class.is_trimmed() => self.send(call, GRANT, at, 0),
            DATA => {
                self.take(at, packet.payload);
                self.grant(call);
            }
            _ => self.peer_closed = true,
        }
        self.progress()
    }

    fn deadline(&self) -> Time {
        Time::NEVER
    }

    fn expire(&mut self, _call: Calling<'_, '_, impl Wire>) -> Expiry {
        Expiry { timer: Timer::Timeout, progress: Progress::NONE }
    }

    fn phase(&self) -> Phase {
        if self.phase == Phase::Open && self.closed && self.peer_closed { Phase::Finished } else { self.phase }
    }

    fn waits_since(&self, _since: Time) -> Option<Timer> {
        None
    }

    fn delivered(&self) -> u64 {
        self.delivered
    }

    fn written(&self) -> Written {
        Written { total: self.written, sent: self.sent, acked: self.acked }
    }

    fn limit(&self) -> SendLimit {
        SendLimit::Credit(self.mss.into())
    }

    fn srtt(&self) -> Time {
        Time::ZERO
    }

    fn stats(&self) -> Stats {
        self.stats
    }

    fn full_payload(mss: &u32) -> u32 {
        *mss
    }

    fn header_bytes(_mss: &u32) -> u32 {
        HEADER
    }

    fn opening_bytes(_mss: &u32) -> u32 {
        HEADER
    }
}
