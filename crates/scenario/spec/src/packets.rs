//! Packets of a scheme's transport: their sizes, and how long a sender waits for one that is lost.

use fanin_laws::{rate, uet};
use fanin_units::{Bytes, Time};

use crate::{PURE_ACK, Scheme, Settings, Transport};

/// Bytes of TCP's timestamps.
const TIMESTAMPS: u32 = 12;
/// Bytes of an extended header for acknowledgements of RDMA.
const AETH: u32 = 4;

/// Sizes of the packets that a scheme's hosts send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packets {
    /// Payload of a full packet.
    pub payload: Bytes,
    /// Bytes of the IP packet around it.
    pub headers: u32,
    /// Bytes of an IP packet that acknowledges.
    pub ack: Bytes,
}

impl Settings {
    /// The packets of a scheme's hosts.
    pub fn packets(&self, scheme: &Scheme) -> Packets {
        match scheme.transport {
            Transport::Tcp => {
                let options = if self.tcp.timestamps { TIMESTAMPS } else { 0 };
                Packets { payload: self.tcp.mss, headers: PURE_ACK.0 as u32 + options, ack: PURE_ACK }
            }
            Transport::Rdma(kind) => {
                let headers = rate::rdma::HEADERS + kind.header_bytes();
                Packets { payload: self.laws.rates.rdma.payload, headers, ack: Bytes((headers + AETH).into()) }
            }
            Transport::Uet(kind) => {
                let (payload, headers) = (kind.payload(&self.laws.uet), uet::transport::HEADERS);
                Packets { payload: Bytes(payload.into()), headers, ack: Bytes(headers.into()) }
            }
        }
    }

    /// Bytes on the wire of a full data packet of a scheme.
    pub fn wire_packet(&self, scheme: &Scheme) -> u64 {
        let Packets { payload, headers, .. } = self.packets(scheme);
        self.link.framing.on_wire(payload.0 as u32 + headers).into()
    }

    /// How long a sender of a scheme waits at least before it takes a packet for lost.
    pub fn least_timeout(&self, scheme: &Scheme) -> Time {
        match scheme.transport {
            Transport::Tcp => self.tcp.rto_min,
            Transport::Rdma(_) => self.laws.rates.rdma.timeout,
            Transport::Uet(_) => self.laws.uet.uet.timeout,
        }
    }
}
