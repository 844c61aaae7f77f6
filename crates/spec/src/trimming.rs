//! Buffers of ports that trim.

use fanin_laws::uet::transport::HEADERS;
use fanin_units::{Bytes, QueueSize};

use crate::problem::{Wrong, wrong};
use crate::{Scheme, Settings, TrimBased};

/// Every port holds a full packet: one that exceeds an empty port would be trimmed each time that it is sent.
pub(crate) fn check(scheme: &Scheme, s: &Settings) -> Result<(), Wrong> {
    let Some(kind) = scheme.uet() else { return Ok(()) };
    let needs = Bytes(s.link.framing.frame(HEADERS + kind.payload(&s.laws.uet)).into());
    let classes = s.port_classes().filter_map(|class| Some(("switch.ports", class.buffer?)));
    let small = |&(_, buffer): &(&str, QueueSize)| s.in_bytes(buffer) < needs.0;
    let Some((path, buffer)) = classes.chain([("switch.buffer", s.switch.buffer)]).find(small) else { return Ok(()) };
    let payload = if kind == TrimBased::Ndp { "ndp.payload" } else { "uet.payload" };
    let what = format!(
        "`{path}`: {buffer} hold no full packet of {scheme}, {needs}, which would be trimmed each time: use a larger buffer, or a smaller \
         `{payload}`"
    );
    wrong(&[path, payload], what)
}
