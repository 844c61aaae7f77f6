//! One end of a connection.

use fanin_laws::rate::Control;
use fanin_transport::{
    Bits, Call, Expiry, Metadata, Packet, Phase, Progress, SendLimit, Stats, Telemetry, Timer, Transport, Wire, Written,
};
use fanin_units::Time;

use crate::packet::{Header, Kind};
use crate::receiver::{Arrival, Receiver, Reply};
use crate::sender::Sender;
use crate::settings::Settings;

/// One end of a connection.
#[derive(Clone, Debug)]
pub struct QueuePair {
    phase: Phase,
    sender: Sender,
    receiver: Receiver,
    /// When an unanswered opening packet is repeated.
    opens_again: Time,
    /// The earliest timer.
    deadline: Time,
    srtt: Time,
    stats: Stats,
}

type Calling<'a, 'b, W> = &'a mut Call<'b, Settings, W>;

impl QueuePair {
    fn transmit(&mut self, call: Calling<'_, '_, impl Wire>, header: Header, payload: u32, beside: Metadata<'_>) {
        self.stats.segments_sent = self.stats.segments_sent.wrapping_add(1);
        let bytes = match header.kind {
            Kind::Data | Kind::Close => call.settings.data_bytes(payload),
            _ => call.settings.ack_bytes(),
        };
        call.wire.send(header.packet(bytes, payload as u16), beside);
    }

    fn control(&mut self, call: Calling<'_, '_, impl Wire>, kind: Kind) {
        let header = Header { kind, at: 0, sent: call.now, notifies: false };
        self.transmit(call, header, 0, Metadata::default());
    }

    /// Hands the next packet to the network card if it is time, and sets the timer.
    fn go_on(&mut self, call: Calling<'_, '_, impl Wire>) {
        if self.phase == Phase::Open && self.sender.ready_at <= call.now {
            self.send_next(call);
        }
        let paced = match self.phase == Phase::Open && self.sender.next_bytes(call.settings).is_some() {
            true => self.sender.ready_at,
            false => Time::NEVER,
        };
        let timeout = self.times_out(call.settings.timeout);
        self.deadline = self.opens_again.min(timeout).min(paced).min(self.sender.hastens_at(call.settings));
    }

    fn send_next(&mut self, call: Calling<'_, '_, impl Wire>) {
        let Some(next) = self.sender.next(call.settings) else { return };
        self.sender.expire(call.now, call.settings);
        let (at, payload) = (next.at, next.payload.unwrap_or(0));
        let kind = if payload > 0 { Kind::Data } else { Kind::Close };
        if self.sender.send(call.now, next) {
            self.stats.retransmits += 1;
        }
        let header = Header { kind, at, sent: call.now, notifies: false };
        let asks = call.settings.kind.has_telemetry() && payload > 0;
        let telemetry = if asks { Telemetry::Written(&[]) } else { Telemetry::None };
        self.transmit(call, header, payload, Metadata { telemetry, ..Metadata::default() });
    }

    /// Takes data, or the end of the stream, and replies.
    fn take(&mut self, call: Calling<'_, '_, impl Wire>, header: Header, packet: &Packet, metadata: Metadata<'_>) {
        let ends = header.kind == Kind::Close;
        let bytes = if ends { 1 } else { packet.payload.into() };
        let reply = self.receiver.take(call.now, Arrival { at: header.at, bytes, ends }, call.settings);
        if matches!(reply, Reply::Ack | Reply::Kept(_)) {
            self.stats.data_segments += u64::from(!ends);
        }
        // The card's notification point sees packets whether or not they are in order.
        let notifies = packet.bits.any(Bits::CE) && self.receiver.notifies(call.now, call.settings);
        let kind = match reply {
            Reply::None if !notifies => return,
            Reply::Nack | Reply::Kept(_) => Kind::Nack,
            Reply::Ack | Reply::Again | Reply::None => Kind::Ack,
        };
        let header = Header { kind, at: self.receiver.expected, sent: header.sent, notifies };
        let telemetry = match metadata.telemetry {
            Telemetry::None => Telemetry::None,
            of => Telemetry::Echo(of.hops()),
        };
        let kept = if let Reply::Kept(block) = reply { Some(block) } else { None };
        self.transmit(call, header, 0, Metadata { telemetry, sack: kept.as_slice(), ..Metadata::default() });
    }

    fn acknowledged(&mut self, now: Time, header: Header, metadata: Metadata<'_>, settings: &Settings) {
        let rtt = self.sender.round_trip(now, header.at, header.sent);
        self.srtt = if self.srtt == Time::ZERO { rtt } else { Time(self.srtt.0 - self.srtt.0 / 8 + rtt.0 / 8) };
        self.sender.acknowledge(now, header.at, rtt, header.notifies, metadata.telemetry.hops(), settings);
        match metadata.sack.first() {
            Some(&block) => self.stats.fast_retransmits += u32::from(self.sender.kept(block, header.sent)),
            None if header.kind == Kind::Nack => {
                self.stats.fast_retransmits += 1;
                self.sender.go_back(now, settings.recovery);
            }
            None => {}
        }
    }

    /// Whether the peer knows that this side has closed.
    fn has_closed(&self) -> bool {
        self.sender.closing && self.sender.acked > self.sender.written
    }

    /// When everything unacknowledged is sent again.
    fn times_out(&self, settings_timeout: Time) -> Time {
        if self.sender.awaits() && !self.sender.in_card {
            self.sender.moved_at.saturating_add(settings_timeout)
        } else {
            Time::NEVER
        }
    }
}

impl Transport for QueuePair {
    type Settings = Settings;
    const REPORTS_STARTS: bool = true;
    const SHARES_ENGINE: bool = true;
    const DEPENDS_ON_RATE: bool = true;

    fn new(settings: &Settings) -> QueuePair {
        QueuePair {
            phase: Phase::Listening,
            sender: Sender::new(settings),
            receiver: Receiver::new(),
            opens_again: Time::NEVER,
            deadline: Time::NEVER,
            srtt: Time::ZERO,
            stats: Stats::default(),
        }
    }

    fn connect(&mut self, call: Calling<'_, '_, impl Wire>) {
        self.phase = Phase::Opening;
        self.opens_again = call.now.saturating_add(call.settings.timeout);
        self.control(call, Kind::Open);
        self.go_on(call);
    }

    fn stand(&mut self, _settings: &Settings, _now: Time, rtt: Time) {
        (self.phase, self.srtt) = (Phase::Open, rtt);
    }

    fn write(&mut self, call: Calling<'_, '_, impl Wire>, bytes: u64, _deadline: Time) {
        self.sender.write(call.now, bytes, call.settings);
        self.go_on(call);
    }

    fn discard_unsent(&mut self) {
        self.sender.written = self.sender.fresh;
    }

    fn close(&mut self, call: Calling<'_, '_, impl Wire>) {
        self.sender.catch_up(call.now, call.settings);
        self.sender.closing = true;
        self.go_on(call);
    }

    fn abort(&mut self) {
        (self.phase, self.opens_again, self.deadline) = (Phase::Reset, Time::NEVER, Time::NEVER);
    }

    /// A receiver of RDMA has its memory ready before data comes.
    fn reads(&mut self, _call: Calling<'_, '_, impl Wire>, _reads: bool) {}

    fn wake_at(&mut self, bytes: u64) {
        self.receiver.awaited.wake_at(bytes);
    }

    fn receive(&mut self, call: Calling<'_, '_, impl Wire>, packet: &Packet, metadata: Metadata<'_>) -> Progress {
        self.stats.segments_received = self.stats.segments_received.wrapping_add(1);
        if self.phase == Phase::Reset {
            return Progress::NONE;
        }
        self.sender.catch_up(call.now, call.settings);
        let header = Header::of(packet);
        let mut progress = Progress::NONE;
        match header.kind {
            Kind::Open => {
                progress = Progress::ESTABLISHED.when(self.phase == Phase::Listening);
                self.phase = Phase::Open;
                self.control(call, Kind::Accept);
            }
            Kind::Accept => {
                progress = Progress::ESTABLISHED.when(self.phase == Phase::Opening);
                (self.phase, self.opens_again) = (Phase::Open, Time::NEVER);
            }
            Kind::Data | Kind::Close => self.take(call, header, packet, metadata),
            Kind::Ack | Kind::Nack => self.acknowledged(call.now, header, metadata, call.settings),
        }
        self.go_on(call);
        let (delivered, closed) = (self.receiver.delivered(), self.receiver.closed);
        progress | self.receiver.awaited.progress(delivered, closed)
    }

    fn started(&mut self, call: Calling<'_, '_, impl Wire>, payload: u32) {
        self.sender.catch_up(call.now, call.settings);
        let wire_bytes = call.settings.data_bytes(payload) + call.settings.framing;
        self.sender.started(call.now, wire_bytes, call.settings);
        self.go_on(call);
    }

    fn deadline(&self) -> Time {
        self.deadline
    }

    fn expire(&mut self, call: Calling<'_, '_, impl Wire>) -> Expiry {
        let mut timer = Timer::Pace;
        self.sender.expire(call.now, call.settings);
        if self.opens_again <= call.now {
            timer = Timer::Handshake;
            self.stats.timeouts += 1;
            self.opens_again = call.now.saturating_add(call.settings.timeout);
            self.control(call, Kind::Open);
        }
        if self.times_out(call.settings.timeout) <= call.now {
            timer = Timer::Timeout;
            self.stats.timeouts += 1;
            self.sender.timeouts += 1;
            if call.settings.retries.is_some_and(|most| self.sender.timeouts > most) {
                self.abort();
                return Expiry { timer, progress: Progress::BROKEN };
            }
            self.sender.go_back(call.now, call.settings.recovery);
        }
        self.go_on(call);
        Expiry { timer, progress: Progress::NONE }
    }

    fn phase(&self) -> Phase {
        if self.phase == Phase::Open && self.has_closed() && self.receiver.closed {
            Phase::Finished
        } else {
            self.phase
        }
    }

    fn waits_since(&self, since: Time) -> Option<Timer> {
        let waits = self.sender.awaits() && self.sender.moved_at <= since;
        waits.then_some(if self.sender.in_card { Timer::Pace } else { Timer::Timeout })
    }

    fn delivered(&self) -> u64 {
        self.receiver.delivered()
    }

    #[inline]
    fn written(&self) -> Written {
        let Sender { written, fresh, acked, .. } = self.sender;
        Written { total: written, sent: fresh.min(written), acked: acked.min(written) }
    }

    fn limit(&self) -> SendLimit {
        SendLimit::Rate(self.sender.law.rate())
    }

    fn srtt(&self) -> Time {
        self.srtt
    }

    fn stats(&self) -> Stats {
        self.stats
    }

    fn notified(&self) -> Option<u64> {
        Some(self.sender.notified)
    }

    fn full_payload(settings: &Settings) -> u32 {
        settings.payload
    }

    fn header_bytes(settings: &Settings) -> u32 {
        settings.data_bytes(0)
    }

    fn opening_bytes(settings: &Settings) -> u32 {
        settings.ack_bytes()
    }
}
