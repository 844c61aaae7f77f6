//! Queues of ports that trim.

use fanin_laws::uet::transport::HEADERS;
use fanin_units::{Bytes, QueueSize, Time};

use crate::problem::{Wrong, wrong};
use crate::{Fabric, HostId, Scheme, Settings, TrimBased};

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

/// With credit every host has one link. Every port holds a full packet: one that exceeds an empty port would be trimmed each time that it is
/// sent.
pub(crate) fn check(scheme: &Scheme, s: &Settings) -> Result<(), Wrong> {
    let Some(kind) = scheme.uet() else { return Ok(()) };
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
