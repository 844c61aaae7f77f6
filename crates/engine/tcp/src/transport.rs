//! TCP as a [`Transport`]: segments as packets, and the endpoint's state in the terms that all transports share.

use fanin_laws::sender::{self, Kind, Law, Window};
use fanin_transport::{
    Call as Caller, Expiry, Metadata, Offer, Packet, Phase, Progress, SendLimit, Stats, Timer, Transport,
    Wire as PacketWire, Written,
};
use fanin_units::Time;

use crate::call::Call;
use crate::endpoint::Endpoint;
use crate::params::{Params, Stack};
use crate::segment::{Segment, Wire};

/// Settings of all endpoints of a run.
#[derive(Clone, Debug)]
pub struct Settings {
    stack: Stack,
    /// The congestion control of a new connection.
    law: Law,
}

impl Settings {
    /// Settings with a congestion control in its initial state.
    pub fn new(params: Params, law: Law) -> Settings {
        Settings { stack: Stack::from(params), law }
    }

    /// Settings with a congestion control of this kind, which has its default settings.
    pub fn of(params: Params, kind: Kind) -> Settings {
        let base = kind.start(&sender::Settings::default());
        Settings::new(params, Law { mss: params.mss, base, slow_start: None, cap: None })
    }
}

/// Body of a segment: sequence and acknowledgement numbers, window, and the timestamps.
impl From<Segment> for Packet {
    #[inline(always)]
    fn from(segment: Segment) -> Packet {
        let Segment { seq, ack, window, ts_val, ts_ecr, len, flags, .. } = segment;
        Packet {
            bytes: segment.packet_bytes(),
            payload: len,
            bits: flags.into(),
            body: [seq, ack, window, ts_val, ts_ecr],
            ..Packet::default()
        }
    }
}

impl From<&Packet> for Segment {
    #[inline(always)]
    fn from(packet: &Packet) -> Segment {
        let [seq, ack, window, ts_val, ts_ecr] = packet.body;
        Segment { seq, ack, window, ts_val, ts_ecr, len: packet.payload, header: 0, flags: packet.bits.into() }
    }
}

/// Sends segments as packets.
struct Segments<'a, W>(&'a mut W);

impl<W: PacketWire> Wire for Segments<'_, W> {
    #[inline(always)]
    fn send(&mut self, segment: Segment, beside: Metadata<'_>) {
        self.0.send(Packet::from(segment), beside);
    }
}

/// Passes a call on to the endpoint.
macro_rules! pass {
    ($caller:ident, $call:ident => $act:expr) => {{
        let mut wire = Segments(&mut *$caller.wire);
        let $call = &mut Call { params: &$caller.settings.stack, now: $caller.now, wire: &mut wire };
        $act
    }};
}

impl Transport for Endpoint {
    type Settings = Settings;

    fn limit_window(packet: &mut Packet, offer: Offer) {
        let [_, ack, window, ..] = &mut packet.body;
        *window = offer.limit(*window, *ack);
    }

    fn new(settings: &Settings) -> Endpoint {
        Endpoint::new(&settings.stack, settings.law.clone())
    }

    fn connect(&mut self, caller: &mut Caller<'_, Settings, impl PacketWire>) {
        pass!(caller, call => self.connect(call));
    }

    fn stand(&mut self, settings: &Settings, now: Time, rtt: Time) {
        self.stand(&settings.stack, now, rtt);
    }

    fn write(&mut self, caller: &mut Caller<'_, Settings, impl PacketWire>, bytes: u64, deadline: Time) {
        pass!(caller, call => self.write(call, bytes, deadline));
    }

    fn discard_unsent(&mut self) {
        self.discard_unsent();
    }

    fn close(&mut self, caller: &mut Caller<'_, Settings, impl PacketWire>) {
        pass!(caller, call => self.close(call));
    }

    fn abort(&mut self) {
        self.abort();
    }

    #[cold]
    fn reads(&mut self, caller: &mut Caller<'_, Settings, impl PacketWire>, reads: bool) {
        pass!(caller, call => self.reads(call, reads));
    }

    fn announce(&mut self, caller: &mut Caller<'_, Settings, impl PacketWire>) {
        pass!(caller, call => self.announce(call));
    }

    fn wake_at(&mut self, bytes: u64) {
        self.wake_at(bytes);
    }

    #[inline(always)]
    fn receive(
        &mut self,
        caller: &mut Caller<'_, Settings, impl PacketWire>,
        packet: &Packet,
        metadata: Metadata<'_>,
    ) -> Progress {
        pass!(caller, call => self.handle(call, &Segment::from(packet), metadata))
    }

    #[inline]
    fn deadline(&self) -> Time {
        self.deadline()
    }

    fn expire(&mut self, caller: &mut Caller<'_, Settings, impl PacketWire>) -> Expiry {
        let (before, now) = (self.stats(), caller.now);
        let asks = self.asks_for_window(now);
        let (opens, late, paced) = (self.is_opening(), self.acknowledges_late(now), self.is_paced_until(now));
        let progress = pass!(caller, call => self.expire(call));
        let after = self.stats();
        let timer = match () {
            () if after.timeouts > before.timeouts && opens => Timer::Handshake,
            () if after.timeouts > before.timeouts => Timer::Timeout,
            () if after.probes > before.probes => Timer::Probe,
            () if asks => Timer::Window,
            () if late => Timer::DelayedAck,
            () if paced => Timer::Pace,
            () => Timer::Reordering,
        };
        Expiry { timer, progress }
    }

    fn phase(&self) -> Phase {
        match () {
            () if self.is_reset() => Phase::Reset,
            () if self.is_listening() => Phase::Listening,
            () if self.is_opening() => Phase::Opening,
            () if self.finished() => Phase::Finished,
            () => Phase::Open,
        }
    }

    fn waits_since(&self, since: Time) -> Option<Timer> {
        self.waits_since(since).then(|| self.pending_timer())
    }

    #[inline]
    fn delivered(&self) -> u64 {
        self.delivered()
    }

    fn written(&self) -> Written {
        self.written()
    }

    fn limit(&self) -> SendLimit {
        let Window { cwnd, ssthresh } = self.window();
        SendLimit::Window { bytes: cwnd.into(), ssthresh: Some(ssthresh) }
    }

    fn srtt(&self) -> Time {
        self.srtt()
    }

    #[inline]
    fn stats(&self) -> Stats {
        self.stats()
    }

    fn full_payload(settings: &Settings) -> u32 {
        settings.stack.mss
    }

    fn header_bytes(settings: &Settings) -> u32 {
        settings.stack.header.into()
    }

    fn opening_bytes(settings: &Settings) -> u32 {
        40 + settings.stack.option_bytes() + settings.stack.syn_option_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::Flags;

    #[test]
    fn segment_survives_as_a_packet() {
        let flags = Flags::ACK | Flags::ECT | Flags::CWR;
        let segment =
            Segment { seq: 7, ack: u32::MAX, window: 65_535, ts_val: 3, ts_ecr: 2, len: 1448, header: 52, flags };
        let packet = Packet::from(segment);
        assert_eq!((packet.bytes, packet.payload), (1500, 1448));
        assert_eq!(Segment::from(&packet), Segment { header: 0, ..segment });
    }
}
