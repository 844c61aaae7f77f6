//! Ultra Ethernet, over ports that trim, in a scenario.

use fanin_laws::uet::transport::HEADERS;
use fanin_units::{Bytes, QueueSize, Time};

use super::properties::{Properties, ignores_keys_of_tcp};
use crate::problem::{Wrong, wrong};
use crate::{Fabric, HostId, Packets, Scheme, Settings, Transport, TrimBased};

impl Settings {
    /// Longest round trip between the client and a server: a full packet and a header back.
    pub fn uet_round_trip(&self, fabric: &Fabric, kind: TrimBased) -> Time {
        let packet = Bytes((HEADERS + kind.payload(&self.laws.uet)).into());
        (1..fabric.hosts()).map(|host| self.round_trip(fabric, HostId(host), packet)).max().unwrap_or_default()
    }

    /// Bandwidth-delay product of the hosts' links over that round trip; `None` in a network that is refused.
    pub fn uet_pipe(&self, kind: TrimBased) -> Option<Bytes> {
        let fabric = self.network().ok()?;
        Some(Bytes(self.link.rate.bytes_in(self.uet_round_trip(&fabric, kind))))
    }

    /// Queue of a port of the usual rate, beyond which it trims.
    pub fn trimming_queue(&self, kind: TrimBased) -> QueueSize {
        let pipe =
            || self.switch.shared_buffer.0.and_then(|_| self.uet_pipe(kind)).map(|pipe| QueueSize::Bytes(pipe.0));
        self.laws.ports.trimming.queue.or_else(pipe).unwrap_or(self.switch.buffer)
    }
}

impl Scheme {
    /// Its congestion control if its hosts use Ultra Ethernet's transport or an ancestor of it.
    pub fn uet(&self) -> Option<TrimBased> {
        if let Transport::Uet(kind) = self.transport { Some(kind) } else { None }
    }
}

impl Properties for TrimBased {
    fn packets(&self, s: &Settings) -> Packets {
        Packets { payload: Bytes(self.payload(&s.laws.uet).into()), headers: HEADERS, ack: Bytes(HEADERS.into()) }
    }

    fn least_timeout(&self, s: &Settings) -> Time {
        s.laws.uet.uet.timeout
    }

    /// Ports that trim have short queues of their own, also where the switch shares memory.
    fn port_buffer(&self, s: &Settings) -> QueueSize {
        s.trimming_queue(*self)
    }

    /// Headers that wait beside data are no packets of this queue.
    fn port_limit(&self, s: &Settings, capacity: QueueSize) -> Option<QueueSize> {
        Some(QueueSize::Bytes(s.in_bytes(capacity)))
    }

    fn sprays(&self) -> bool {
        true
    }

    fn lacks_in_linux(&self) -> Option<&'static str> {
        Some("it has no such transport, and no queue discipline trims packets")
    }

    /// It also trims packets and sends them again.
    fn packet_s(&self) -> f64 {
        0.4e-6
    }

    /// With a record of each packet under way.
    fn connection_bytes(&self) -> f64 {
        1_855.0
    }

    fn ignores(&self, _s: &Settings, path: &str) -> Option<&'static str> {
        match path {
            "switch.alpha" | "switch.reserved" | "switch.headroom" => {
                Some("ports that trim have queues of their own, `trimming.queue`")
            }
            _ => ignores_keys_of_tcp(path),
        }
    }

    /// Every port holds a full packet: one that exceeds an empty port would be trimmed each time that it is sent.
    fn check(&self, scheme: &Scheme, s: &Settings) -> Result<(), Wrong> {
        let kind = *self;
        let needs = Bytes(s.link.framing.frame(HEADERS + kind.payload(&s.laws.uet)).into());
        let classes = s.port_classes().filter_map(|class| Some(("switch.ports", class.buffer?)));
        let small = |&(_, buffer): &(&str, QueueSize)| s.in_bytes(buffer) < needs.0;
        let path = if s.laws.ports.trimming.queue.is_some() { "trimming.queue" } else { "switch.buffer" };
        let Some((path, buffer)) = classes.chain([(path, s.trimming_queue(kind))]).find(small) else { return Ok(()) };
        let payload = if kind == TrimBased::Ndp { "ndp.payload" } else { "uet.payload" };
        let what = format!(
            "`{path}`: {buffer} hold no full packet of {scheme}, {needs}, which would be trimmed each time: use a larger buffer, or a smaller \
             `{payload}`"
        );
        wrong(&[path, payload], what)
    }

    /// A queue of less than a bandwidth-delay product, which empties while senders wait for the next round trip.
    fn doubts(&self, points: &[&Settings]) -> Option<Wrong> {
        let kind = *self;
        let short = |s: &Settings| {
            let (queue, pipe) = (s.trimming_queue(kind), s.uet_pipe(kind)?);
            (s.in_bytes(queue) < pipe.0).then_some((queue, pipe))
        };
        let (queue, pipe) = points.iter().find_map(|s| short(s))?;
        let what = format!(
            "ports trim what exceeds {queue}, less than one bandwidth-delay product of {pipe}, for which Ultra Ethernet is meant: use a \
             `trimming.queue` of at least that"
        );
        Some(Wrong { paths: vec!["trimming.queue", "switch.buffer", "link.rate", "link.delay"], what })
    }
}
