//! One end of a connection.

use fanin_laws::uet::{self, paths::Paths};
use fanin_transport::{
    Bits, Call, Expiry, Metadata, Packet, Phase, Progress, SendLimit, Stats, Timer, Transport, Waits, Wire, Written,
};
use fanin_units::Time;

use crate::packet::Header;
use crate::receiver::{Arrival, Receiver};
use crate::sender::{Next, Sender};
use crate::settings::Settings;

/// One end of a connection.
#[derive(Clone, Debug)]
pub struct Endpoint {
    phase: Phase,
    sender: Sender,
    receiver: Receiver,
    /// When an unanswered opening packet, or a request for credit, is repeated.
    repeats_at: Time,
    /// The earliest timer.
    deadline: Time,
    srtt: Time,
    stats: Stats,
}

type Calling<'a, 'b, W> = &'a mut Call<'b, Settings, W>;

impl Endpoint {
    fn transmit(&mut self, call: Calling<'_, '_, impl Wire>, header: Header, payload: u16) {
        self.stats.segments_sent = self.stats.segments_sent.wrapping_add(1);
        let bytes = call.settings.packet_bytes(payload.into());
        let mut packet = header.packet(bytes, payload);
        packet.bits |= Bits::ECT.when(payload > 0 && call.settings.kind == uet::Kind::Nscc);
        call.wire.send(packet, Metadata::default());
    }

    /// Sends packets while it may, and sets the timer.
    fn go_on(&mut self, call: Calling<'_, '_, impl Wire>) {
        if self.phase == Phase::Reset {
            return;
        }
        if self.phase == Phase::Open {
            while let Some(next) = self.sender.next(call.settings) {
                self.stats.retransmits += u32::from(next.again);
                let next = self.sender.send(call.now, next, call.settings);
                let wants = self.sender.wants(call.settings);
                let Next { number, payload, closes, asks, again, path } = next;
                self.transmit(call, Header::Data { number, closes, asks, again, wants, path }, payload);
            }
            self.request(call);
        }
        // Packets behind one that waited in the card may be overdue.
        self.deadline = self.repeats_at.min(self.sender.times_out(call.settings)).max(call.now);
    }

    /// Without credit and with nothing under way, no acknowledgement brings any: asks for it, again after each timeout.
    fn request(&mut self, call: Calling<'_, '_, impl Wire>) {
        if !self.sender.is_stuck() {
            self.repeats_at = Time::NEVER;
            return;
        }
        let waits = self.repeats_at != Time::NEVER;
        let due = if waits { self.repeats_at <= call.now } else { self.sender.asks_at_once() };
        if due {
            let wants = self.sender.wants(call.settings);
            self.transmit(call, Header::Request { wants, again: waits }, 0);
        }
        if due || !waits {
            self.repeats_at = call.now.saturating_add(call.settings.timeout);
        }
    }

    /// Takes a packet of the stream, whole or trimmed.
    fn take(&mut self, call: Calling<'_, '_, impl Wire>, arrival: Arrival, wants: u64, trimmed: bool) {
        let new = !self.receiver.has(arrival.number);
        self.receiver.has_heard = true;
        match &mut self.receiver.law {
            uet::Receiver::Passive => {}
            uet::Receiver::Grants(law) => law.wants(wants),
            uet::Receiver::Pulls(law) if arrival.payload > 0 || trimmed => law.arrived(),
            uet::Receiver::Pulls(_) => {}
        }
        if !new {
            let sack =
                self.receiver.acknowledge(Arrival { asks: false, marked: arrival.marked && !trimmed, ..arrival });
            return self.transmit(call, Header::Ack(sack), 0);
        }
        if trimmed {
            return self.transmit(call, Header::Trimmed { number: arrival.number }, 0);
        }
        self.stats.data_segments += u64::from(arrival.payload > 0);
        if self.receiver.take(arrival, call.settings) {
            let sack = self.receiver.acknowledge(arrival);
            self.transmit(call, Header::Ack(sack), 0);
        }
        if self.receiver.closed
            && let uet::Receiver::Pulls(law) = &mut self.receiver.law
        {
            law.complete();
        }
    }

    fn note_rtt(&mut self, rtt: Time) {
        self.srtt = if self.srtt == Time::ZERO { rtt } else { Time(self.srtt.0 - self.srtt.0 / 8 + rtt.0 / 8) };
    }

    /// How it would wait for a turn now.
    fn wants_turn(&self) -> Option<Waits> {
        match &self.receiver.law {
            _ if self.phase == Phase::Reset => None,
            uet::Receiver::Passive => None,
            uet::Receiver::Grants(law) if law.owes() => Some(Waits::Now),
            uet::Receiver::Grants(law) => {
                let goes_on = self.receiver.has_heard && !self.receiver.closed;
                (goes_on && law.may_advance()).then_some(Waits::Idle)
            }
            uet::Receiver::Pulls(law) => law.owes().then_some(Waits::Now),
        }
    }
}

impl Transport for Endpoint {
    type Settings = Settings;
    const REPORTS_STARTS: bool = true;
    const SHARES_ENGINE: bool = true;
    const DEPENDS_ON_RATE: bool = true;
    const TAKES_TURNS: bool = true;
    const SPRAYS: bool = true;

    fn chosen_path(packet: &Packet) -> Option<u32> {
        Header::path_of(packet)
    }

    fn new(settings: &Settings) -> Endpoint {
        let (sender, receiver) = settings.kind.start(&settings.laws, &settings.place);
        Endpoint {
            phase: Phase::Listening,
            sender: Sender::new(sender, Paths::start(&settings.laws.uet)),
            receiver: Receiver::new(receiver),
            repeats_at: Time::NEVER,
            deadline: Time::NEVER,
            srtt: Time::ZERO,
            stats: Stats::default(),
        }
    }

    fn connect(&mut self, call: Calling<'_, '_, impl Wire>) {
        self.phase = Phase::Opening;
        self.repeats_at = call.now.saturating_add(call.settings.timeout);
        self.transmit(call, Header::Open, 0);
        self.go_on(call);
    }

    fn stand(&mut self, _settings: &Settings, _now: Time, rtt: Time) {
        (self.phase, self.srtt) = (Phase::Open, rtt);
    }

    fn write(&mut self, call: Calling<'_, '_, impl Wire>, bytes: u64, _deadline: Time) {
        if !self.sender.awaits() && self.sender.sent == self.sender.written {
            self.sender.begin();
        }
        self.sender.written += bytes;
        self.go_on(call);
    }

    fn discard_unsent(&mut self) {
        self.sender.written = self.sender.sent;
    }

    fn close(&mut self, call: Calling<'_, '_, impl Wire>) {
        self.sender.closing = true;
        self.go_on(call);
    }

    fn abort(&mut self) {
        (self.phase, self.repeats_at, self.deadline) = (Phase::Reset, Time::NEVER, Time::NEVER);
    }

    /// A receiver has its memory ready before data comes.
    fn reads(&mut self, _call: Calling<'_, '_, impl Wire>, _reads: bool) {}

    fn wake_at(&mut self, bytes: u64) {
        self.receiver.awaited.wake_at(bytes);
    }

    fn receive(&mut self, call: Calling<'_, '_, impl Wire>, packet: &Packet, _metadata: Metadata<'_>) -> Progress {
        self.stats.segments_received = self.stats.segments_received.wrapping_add(1);
        if self.phase == Phase::Reset {
            return Progress::NONE;
        }
        let mut progress = Progress::NONE;
        match Header::of(packet) {
            Header::Open => {
                progress = Progress::ESTABLISHED.when(self.phase == Phase::Listening);
                self.phase = Phase::Open;
                self.transmit(call, Header::Accept, 0);
            }
            Header::Accept => {
                progress = Progress::ESTABLISHED.when(self.phase == Phase::Opening);
                (self.phase, self.repeats_at) = (Phase::Open, Time::NEVER);
            }
            Header::Data { number, closes, asks, again, wants, .. } => {
                let arrival =
                    Arrival { number, payload: packet.payload, closes, asks, again, marked: packet.bits.any(Bits::CE) };
                self.take(call, arrival, wants, packet.class.is_trimmed());
            }
            Header::Request { wants, again } => match &mut self.receiver.law {
                uet::Receiver::Passive => {}
                uet::Receiver::Grants(law) if again => law.wants_again(wants),
                uet::Receiver::Grants(law) => law.wants(wants),
                uet::Receiver::Pulls(law) => law.arrived(),
            },
            Header::Ack(sack) => {
                let rtt = self.sender.acknowledge(call.now, &sack, call.settings);
                rtt.into_iter().for_each(|rtt| self.note_rtt(rtt));
            }
            Header::Trimmed { number } => self.sender.trimmed(call.now, number, call.settings),
            Header::Grant { granted } => self.sender.grant(granted),
        }
        self.go_on(call);
        let (delivered, closed) = (self.receiver.delivered, self.receiver.closed);
        progress | self.receiver.awaited.progress(delivered, closed)
    }

    fn started(&mut self, call: Calling<'_, '_, impl Wire>, _payload: u32) {
        self.sender.started(call.now);
        self.go_on(call);
    }

    #[inline]
    fn asks_turn(&mut self) -> Option<Waits> {
        let wants = self.wants_turn()?;
        let is_queued = &mut self.receiver.is_queued[wants as usize];
        (!std::mem::replace(is_queued, true)).then_some(wants)
    }

    fn take_turn(&mut self, call: Calling<'_, '_, impl Wire>, waited: Waits) -> Time {
        self.receiver.is_queued[waited as usize] = false;
        if self.wants_turn() != Some(waited) {
            return Time::ZERO;
        }
        let turn = match &mut self.receiver.law {
            uet::Receiver::Passive => return Time::ZERO,
            uet::Receiver::Grants(law) => law.turn(waited == Waits::Idle),
            uet::Receiver::Pulls(law) => law.turn(),
        };
        self.transmit(call, Header::Grant { granted: turn.granted }, 0);
        turn.takes
    }

    fn deadline(&self) -> Time {
        self.deadline
    }

    fn expire(&mut self, call: Calling<'_, '_, impl Wire>) -> Expiry {
        let mut timer = Timer::Pace;
        if self.repeats_at <= call.now && self.phase == Phase::Opening {
            timer = Timer::Handshake;
            self.stats.timeouts += 1;
            self.repeats_at = call.now.saturating_add(call.settings.timeout);
            self.transmit(call, Header::Open, 0);
        }
        if self.sender.times_out(call.settings) <= call.now {
            timer = Timer::Timeout;
            self.stats.timeouts += 1;
            self.sender.time_out(call.now, call.settings);
        }
        self.go_on(call);
        Expiry { timer, progress: Progress::NONE }
    }

    fn phase(&self) -> Phase {
        if self.phase == Phase::Open && self.sender.has_closed() && self.receiver.closed {
            Phase::Finished
        } else {
            self.phase
        }
    }

    fn waits_since(&self, since: Time) -> Option<Timer> {
        let waits = self.sender.awaits() && self.sender.moved_at <= since;
        waits.then_some(if self.sender.is_in_card() { Timer::Pace } else { Timer::Timeout })
    }

    fn delivered(&self) -> u64 {
        self.receiver.delivered
    }

    fn written(&self) -> Written {
        let Sender { written, sent, acked, .. } = self.sender;
        Written { total: written, sent, acked }
    }

    fn limit(&self) -> SendLimit {
        match &self.sender.law {
            uet::Sender::Windowed(law) => SendLimit::Window { bytes: law.window(), ssthresh: None },
            uet::Sender::Granted(law) => SendLimit::Credit(law.credit()),
            uet::Sender::Pulled(law) => SendLimit::Credit(law.bytes()),
        }
    }

    fn srtt(&self) -> Time {
        self.srtt
    }

    fn stats(&self) -> Stats {
        self.stats
    }

    fn full_payload(settings: &Settings) -> u32 {
        settings.payload
    }

    fn header_bytes(settings: &Settings) -> u32 {
        settings.packet_bytes(0)
    }

    fn opening_bytes(settings: &Settings) -> u32 {
        settings.packet_bytes(0)
    }
}
