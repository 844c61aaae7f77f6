//! Bytes on the wire of captured packets: IPv4 with TCP, RoCEv2 or Ultra Ethernet.

mod ip;
mod roce;
mod tcp;
mod uet;

use fanin_sim::CapturedPacket;
use fanin_spec::{RunSpec, Transport};

/// Writer of a run's packets, which follows the numbering of each connection.
pub enum Frames {
    /// TCP.
    Tcp(tcp::Stack),
    /// RoCEv2.
    Roce(roce::Frames),
    /// Ultra Ethernet's transport, also for its ancestors.
    Uet,
}

impl Frames {
    /// The writer for a run.
    pub fn new(spec: &RunSpec) -> Frames {
        match spec.scheme.transport {
            Transport::Tcp => Frames::Tcp(tcp::Stack::new(spec)),
            Transport::Rdma(kind) => {
                Frames::Roce(roce::Frames::new(spec.settings.laws.rates.rdma.payload.0, kind.header_bytes()))
            }
            Transport::Uet(_) => Frames::Uet,
        }
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
        match self {
            Frames::Tcp(stack) => Ok(vec![tcp::packet(caught, stack, next())?]),
            Frames::Roce(frames) => frames.of(caught, next),
            Frames::Uet => Ok(vec![uet::packet(caught, next())?]),
        }
    }
}
