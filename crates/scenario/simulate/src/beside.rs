//! RDMA of a workload beside TCP of background traffic, as one transport.

use fanin_rdma::{QueuePair, Settings as RdmaSettings};
use fanin_tcp::{Endpoint as TcpEndpoint, Settings as TcpSettings};
use fanin_transport::{
    Call, Expiry, Metadata, Packet, Phase, Progress, SendLimit, Stats, Timer, Transport, Wire, Written,
};
use fanin_units::Time;

/// Settings of both.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub rdma: RdmaSettings,
    pub tcp: TcpSettings,
}

/// One end of a connection of either.
pub(crate) enum Endpoint {
    Rdma(QueuePair),
    Tcp(TcpEndpoint),
}

/// The same call with other settings.
fn with<'a, S, W: Wire>(call: &'a mut Call<'_, Settings, W>, settings: &'a S) -> Call<'a, S, W> {
    Call { settings, now: call.now, wire: &mut *call.wire }
}

/// Calls the end behind an endpoint, with a call and its own settings if it may send. TCP has methods of the same names.
macro_rules! of {
    ($self:ident => $end:ident $what:expr) => {
        match $self {
            Endpoint::Rdma($end) => $what,
            Endpoint::Tcp($end) => $what,
        }
    };
    ($self:ident, $call:ident => $end:ident $what:expr) => {{
        let both = $call.settings;
        match $self {
            Endpoint::Rdma($end) => {
                let $call = &mut with($call, &both.rdma);
                $what
            }
            Endpoint::Tcp($end) => {
                let $call = &mut with($call, &both.tcp);
                $what
            }
        }
    }};
}

impl Transport for Endpoint {
    type Settings = Settings;
    const REPORTS_STARTS: bool = QueuePair::REPORTS_STARTS;
    const SHARES_ENGINE: bool = true;
    const DEPENDS_ON_RATE: bool = QueuePair::DEPENDS_ON_RATE;

    fn new(settings: &Settings) -> Endpoint {
        Endpoint::Rdma(QueuePair::new(&settings.rdma))
    }

    fn new_background(settings: &Settings) -> Endpoint {
        Endpoint::Tcp(Transport::new(&settings.tcp))
    }

    fn connect(&mut self, call: &mut Call<'_, Settings, impl Wire>) {
        of!(self, call => end Transport::connect(end, call));
    }

    fn stand(&mut self, settings: &Settings, now: Time, rtt: Time) {
        match self {
            Endpoint::Rdma(end) => Transport::stand(end, &settings.rdma, now, rtt),
            Endpoint::Tcp(end) => Transport::stand(end, &settings.tcp, now, rtt),
        }
    }

    fn write(&mut self, call: &mut Call<'_, Settings, impl Wire>, bytes: u64, deadline: Time) {
        of!(self, call => end Transport::write(end, call, bytes, deadline));
    }

    fn discard_unsent(&mut self) {
        of!(self => end Transport::discard_unsent(end));
    }

    fn close(&mut self, call: &mut Call<'_, Settings, impl Wire>) {
        of!(self, call => end Transport::close(end, call));
    }

    fn abort(&mut self) {
        of!(self => end Transport::abort(end));
    }

    fn reads(&mut self, call: &mut Call<'_, Settings, impl Wire>, reads: bool) {
        of!(self, call => end Transport::reads(end, call, reads));
    }

    fn wake_at(&mut self, bytes: u64) {
        of!(self => end Transport::wake_at(end, bytes));
    }

    fn receive(
        &mut self,
        call: &mut Call<'_, Settings, impl Wire>,
        packet: &Packet,
        metadata: Metadata<'_>,
    ) -> Progress {
        of!(self, call => end Transport::receive(end, call, packet, metadata))
    }

    fn announce(&mut self, call: &mut Call<'_, Settings, impl Wire>) {
        of!(self, call => end Transport::announce(end, call))
    }

    fn started(&mut self, call: &mut Call<'_, Settings, impl Wire>, payload: u32) {
        of!(self, call => end Transport::started(end, call, payload));
    }

    fn deadline(&self) -> Time {
        of!(self => end Transport::deadline(end))
    }

    fn expire(&mut self, call: &mut Call<'_, Settings, impl Wire>) -> Expiry {
        of!(self, call => end Transport::expire(end, call))
    }

    fn phase(&self) -> Phase {
        of!(self => end Transport::phase(end))
    }

    fn waits_since(&self, since: Time) -> Option<Timer> {
        of!(self => end Transport::waits_since(end, since))
    }

    fn delivered(&self) -> u64 {
        of!(self => end Transport::delivered(end))
    }

    fn written(&self) -> Written {
        of!(self => end Transport::written(end))
    }

    fn limit(&self) -> SendLimit {
        of!(self => end Transport::limit(end))
    }

    fn srtt(&self) -> Time {
        of!(self => end Transport::srtt(end))
    }

    fn stats(&self) -> Stats {
        of!(self => end Transport::stats(end))
    }

    fn notified(&self) -> Option<u64> {
        of!(self => end Transport::notified(end))
    }

    fn full_payload(settings: &Settings) -> u32 {
        QueuePair::full_payload(&settings.rdma)
    }

    fn header_bytes(settings: &Settings) -> u32 {
        QueuePair::header_bytes(&settings.rdma)
    }

    fn opening_bytes(settings: &Settings) -> u32 {
        QueuePair::opening_bytes(&settings.rdma)
    }
}
