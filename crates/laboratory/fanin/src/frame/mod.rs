//! Bytes on the wire of captured packets: IPv4 with TCP, RoCEv2 or Ultra Ethernet.

mod ip;
mod roce;
mod tcp;
mod uet;

use fanin_sim::{CapturedPacket, Owner};
use fanin_spec::{RunSpec, TrafficClass, Transport};

use ip::set_dscp;

/// Writer of a run's packets, which follows the numbering of each connection.
pub struct Frames {
    writer: Writer,
    /// DSCPs of packets by traffic class; none without classes that list any.
    dscps: Vec<(u8, u8)>,
}

enum Writer {
    Tcp(tcp::Stack),
    /// RoCEv2, beside TCP of background traffic if that has its own scheme.
    Roce(roce::Frames, Option<tcp::Stack>),
    /// Ultra Ethernet's transport, also for its ancestors.
    Uet,
}

impl Frames {
    /// The writer for a run.
    pub fn new(spec: &RunSpec) -> Frames {
        let writer = match spec.scheme.transport {
            Transport::Tcp => Writer::Tcp(tcp::Stack::new(spec)),
            Transport::Rdma(kind) => {
                let roce = roce::Frames::new(spec.settings.laws.rates.rdma.payload.0, kind.header_bytes());
                Writer::Roce(roce, spec.background().as_ref().map(tcp::Stack::new))
            }
            Transport::Uet(_) => Writer::Uet,
        };
        let dscp = |class: TrafficClass| Some((class.number, *class.dscps.first()? as u8));
        Frames { writer, dscps: spec.settings.traffic_classes().filter_map(dscp).collect() }
    }

    /// Returns the IP packets of a captured packet, usually one; `id` counts the sender's.
    ///
    /// # Errors
    /// A packet that fits in no IP packet: a fault of the simulator.
    pub fn of(&mut self, caught: &CapturedPacket, id: &mut u16) -> Result<Vec<Vec<u8>>, String> {
        let mut next = || {
            *id = id.wrapping_add(1);
            *id
        };
        let mut packets = match &mut self.writer {
            Writer::Tcp(stack) => vec![tcp::packet(caught, stack, next())?],
            Writer::Roce(_, Some(stack)) if caught.connection.owner() != Owner::WORKLOAD => {
                vec![tcp::packet(caught, stack, next())?]
            }
            Writer::Roce(frames, _) => frames.of(caught, next)?,
            Writer::Uet => vec![uet::packet(caught, next())?],
        };
        if let Some((_, dscp)) = self.dscps.iter().find(|(class, _)| *class == caught.packet.class.number()) {
            packets.iter_mut().try_for_each(|packet| set_dscp(packet, *dscp))?;
        }
        Ok(packets)
    }
}
