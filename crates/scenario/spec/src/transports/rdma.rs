//! RDMA over lossless ports, or over ports that drop, in a scenario.

use fanin_fabric::LinkId;
use fanin_laws::rate::rdma::HEADERS;
use fanin_units::{Bytes, QueueSize, Time};

use super::properties::{Properties, ignores_keys_of_tcp};
use crate::problem::{Wrong, wrong};
use crate::{Kind, Packets, RateBased, Scheme, Settings, Transport};

/// Bytes of an extended header for acknowledgements.
const AETH: u32 = 4;

impl Scheme {
    /// Its congestion control if its hosts use RDMA.
    pub fn rdma(&self) -> Option<RateBased> {
        if let Transport::Rdma(kind) = self.transport { Some(kind) } else { None }
    }
}

impl Settings {
    /// How long a queue pair waits for an acknowledgement (InfiniBand Architecture Specification 1.4, section 9.7.6.1.3).
    pub fn rdma_timeout(&self) -> Time {
        let rdma = &self.laws.rates.rdma;
        match rdma.local_ack_timeout {
            0 => rdma.timeout,
            exponent => Time(4_096_000 << exponent),
        }
    }

    /// Whether a scheme's queue pairs run over ports that drop.
    pub fn is_lossy_rdma(&self, scheme: &Scheme) -> bool {
        scheme.rdma().is_some() && !self.is_lossless()
    }

    /// Connections break only where another server can be asked.
    fn gives_up_with_a_way_out(&self) -> Result<(), Wrong> {
        if self.laws.rates.rdma.retries == 0 || self.workload.kind == Kind::KeyValue {
            return Ok(());
        }
        let what = format!(
            "`rdma.retries` breaks connections, and a {} workload would wait forever for their data: use it with \
             `workload.kind = \"key_value\"`, whose front ends try another server, or set it to 0",
            self.workload.kind.word()
        );
        wrong(&["rdma.retries"], what)
    }

    /// Every port holds a full packet, or none would pass one that sends.
    fn ports_hold_a_packet(&self, kind: RateBased) -> Result<(), Wrong> {
        let needs = Bytes(
            self.link.framing.frame(HEADERS + kind.header_bytes() + self.laws.rates.rdma.payload.0 as u32).into(),
        );
        let own = self.switch.shared_buffer.0.is_none().then_some(("switch.buffer", self.switch.buffer));
        let classes = self.port_classes().filter_map(|class| Some(("switch.ports", class.buffer?)));
        let small = |&(_, buffer): &(&str, QueueSize)| self.in_bytes(buffer) < needs.0;
        let Some((path, buffer)) = classes.chain(own).find(small) else { return Ok(()) };
        let what = format!(
            "`{path}`: {buffer} hold no full packet of RDMA, {needs}: use a larger buffer, or a smaller `rdma.payload`"
        );
        wrong(&[path, "rdma.payload", "pfc.enabled"], what)
    }
}

impl Properties for RateBased {
    fn packets(&self, s: &Settings) -> Packets {
        let headers = HEADERS + self.header_bytes();
        Packets { payload: s.laws.rates.rdma.payload, headers, ack: Bytes((headers + AETH).into()) }
    }

    fn least_timeout(&self, s: &Settings) -> Time {
        s.rdma_timeout()
    }

    fn port_limit(&self, s: &Settings, capacity: QueueSize) -> Option<QueueSize> {
        (!s.is_lossless()).then_some(capacity)
    }

    fn lacks_in_linux(&self) -> Option<&'static str> {
        Some("its TCP is no RDMA, and no queue discipline pauses a neighbour")
    }

    /// Each packet is acknowledged and paced.
    fn packet_s(&self) -> f64 {
        0.25e-6
    }

    /// HPCC remembers each port's last report.
    fn connection_bytes(&self) -> f64 {
        if *self == RateBased::Hpcc { 2_240.0 } else { 1_465.0 }
    }

    fn ignores(&self, s: &Settings, path: &str) -> Option<&'static str> {
        match path {
            "pfc.enabled" => None,
            _ if !s.laws.rates.pfc.enabled && path.starts_with("pfc.") => Some("`pfc.enabled` is off"),
            _ if s.has_classes() && s.lossless_classes().next().is_none() && path.starts_with("pfc.") => {
                Some("no traffic class is lossless")
            }
            "switch.alpha" | "switch.reserved" | "switch.headroom" if !s.is_lossless() && !s.has_classes() => None,
            "switch.alpha" | "switch.reserved" | "switch.headroom" => {
                Some("lossless ports divide their memory by `[pfc]`")
            }
            _ if path.starts_with("tcp.") && s.classes.background_scheme.0.is_some() && s.has_classes() => None,
            _ => ignores_keys_of_tcp(path),
        }
    }

    /// Memories and headrooms suffice.
    fn check(&self, _scheme: &Scheme, s: &Settings) -> Result<(), Wrong> {
        s.gives_up_with_a_way_out()?;
        let Ok(fabric) = s.network() else { return Ok(()) };
        let class = s.workload_class();
        if !s.is_lossless() && class.as_ref().is_none_or(|class| class.buffer.is_none()) {
            return s.ports_hold_a_packet(*self);
        }
        if class.is_some() {
            return Ok(());
        }
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
        s.lossless_memories_suffice(&fabric)
    }

    fn doubts(&self, points: &[&Settings]) -> Option<Wrong> {
        points.iter().find_map(|s| resumes_only_when_empty(s)).or_else(|| least_rates_exceed_link(*self, points))
    }
}

/// A threshold of an empty memory that is no higher than `pfc.resume`.
fn resumes_only_when_empty(s: &Settings) -> Option<Wrong> {
    let fabric = s.network().ok().filter(|_| s.is_lossless())?;
    let resume = s.laws.rates.pfc.resume;
    let most = |links: &[LinkId]| {
        let (memory, held) = s.lossless_memory(&fabric, links)?;
        held.iter().map(|(_, held)| memory.threshold(held)).max()
    };
    let most = fabric.links_into_switches().filter_map(|(_, links)| most(&links)).max()?;
    (resume.0 >= most).then(|| Wrong {
        paths: vec!["pfc.resume", "pfc.alpha"],
        what: format!(
            "`pfc.resume` of {resume} is no less than {}, the most that a link may fill before it is paused, so that a paused link resumes only \
             when none of its packets is left: use less",
            Bytes(most)
        ),
    })
}

/// Senders whose least rates add up to more than the client's link at some point: pauses alone hold them back.
fn least_rates_exceed_link(kind: RateBased, points: &[&Settings]) -> Option<Wrong> {
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
