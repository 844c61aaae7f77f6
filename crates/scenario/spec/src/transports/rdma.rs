//! RDMA over lossless ports in a scenario.

use fanin_laws::rate::rdma::HEADERS;
use fanin_units::{Bytes, QueueSize, Time};

use super::properties::{Properties, ignores_keys_of_tcp};
use crate::problem::{Wrong, wrong};
use crate::{Packets, RateBased, Scheme, Settings, Transport};

/// Bytes of an extended header for acknowledgements.
const AETH: u32 = 4;

impl Scheme {
    /// Its congestion control if its hosts use RDMA.
    pub fn rdma(&self) -> Option<RateBased> {
        if let Transport::Rdma(kind) = self.transport { Some(kind) } else { None }
    }
}

impl Properties for RateBased {
    fn packets(&self, s: &Settings) -> Packets {
        let headers = HEADERS + self.header_bytes();
        Packets { payload: s.laws.rates.rdma.payload, headers, ack: Bytes((headers + AETH).into()) }
    }

    fn least_timeout(&self, s: &Settings) -> Time {
        s.laws.rates.rdma.timeout
    }

    fn port_limit(&self, _s: &Settings, _capacity: QueueSize) -> Option<QueueSize> {
        None
    }

    fn one_core(&self) -> Option<&'static str> {
        Some("its switches pause one another's links")
    }

    fn lacks_in_linux(&self) -> Option<&'static str> {
        Some("its TCP is no RDMA, and no queue discipline pauses a neighbour")
    }

    /// Each packet is acknowledged and paced.
    fn packet_s(&self) -> f64 {
        0.25e-6
    }

    fn ignores(&self, path: &str) -> Option<&'static str> {
        match path {
            "switch.alpha" | "switch.reserved" | "switch.headroom" => {
                Some("lossless ports divide their memory by `[pfc]`")
            }
            _ => ignores_keys_of_tcp(path),
        }
    }

    /// Memories and headrooms suffice.
    fn check(&self, _scheme: &Scheme, s: &Settings) -> Result<(), Wrong> {
        let Ok(fabric) = s.network() else { return Ok(()) };
        for id in fabric.link_ids().filter(|&id| !fabric.is_host(fabric.link(id).to)) {
            let (link, has, needs) = (fabric.link(id), s.headroom(&fabric, id), s.needed_headroom(&fabric, id));
            if has < needs {
                let what = format!(
                    "`pfc.headroom` of {has} B loses packets after a pause: a link of {} and {} carries {needs} B until the pause takes \
                     effect; use at least that, or remove the key",
                    link.rate, link.delay
                );
                return wrong(&["pfc.headroom", "link.delay", "link.rate"], what);
            }
        }
        for switch in fabric.switches() {
            if s.lossless_memory(&fabric, switch).is_none() {
                let links = Settings::links_into(&fabric, switch).collect::<Vec<_>>();
                let own: u64 = links.iter().map(|&id| s.headroom(&fabric, id) + s.laws.rates.pfc.reserved.0).sum();
                let what = format!(
                    "reserves and headrooms of the {} links into {} take {own} B, all of its memory: use a larger `switch.shared_buffer`",
                    links.len(),
                    fabric.name(switch)
                );
                return wrong(&["switch.shared_buffer", "switch.buffer", "pfc.reserved", "pfc.headroom"], what);
            }
        }
        Ok(())
    }

    /// Senders whose least rates add up to more than the client's link at some point: pauses alone hold them back.
    fn doubts(&self, points: &[&Settings]) -> Option<Wrong> {
        let kind = *self;
        let (path, _) = points.first()?.least_rate(kind);
        let rate = |s: &Settings| s.least_rate(kind).1;
        let link = |s: &Settings| s.link.client_rate.0.unwrap_or(s.link.rate);
        let adds_up = |s: &Settings| rate(s).0.saturating_mul(s.servers().into()) > link(s).0;
        let s = points.iter().find(|s| s.workload.kind.many_to_one() && adds_up(s))?;
        let what = format!(
            "{} senders at the least rate of {} (`{path}`) send more than the client's link of {}, so that only pauses hold them back: use \
             fewer senders, or a lower least rate",
            s.servers(),
            rate(s),
            link(s)
        );
        Some(Wrong { paths: vec![path, "link.rate"], what })
    }
}
