//! Ultra Ethernet's packet delivery sublayer over UDP (Ultra Ethernet Specification 1.0, section 3.5): requests that are reliable and
//! unordered, acknowledgements, negative acknowledgements of trimmed packets, and credit.
//!
//! The semantic sublayer is not modelled: no header follows. The bitmap of later packets in a simulated acknowledgement is left out, since a simulated header has 18 bytes.

use fanin_sim::CapturedPacket;
use fanin_uet::{Header, Sack};

use super::ip::{DATA, datagram};

/// UDP's port.
const PORT: u16 = 4793;
/// Bytes of every header.
const BYTES: usize = 18;
/// Code point of headers, acknowledgements and credit, which are served first.
const CONTROL: u8 = 48;

/// Types of packets.
const REQUEST: u16 = 2;
const ACK: u16 = 7;
const NACK: u16 = 10;
const CONTROL_MESSAGE: u16 = 11;
/// Kinds of control messages, in the place of a next header.
const NOTHING: u16 = 0;
const CREDIT: u16 = 7;
const CREDIT_REQUEST: u16 = 8;
/// Flags of a request: an acknowledgement is wanted; it was sent before.
const WANTS_ACK: u16 = 1 << 3;
const AGAIN: u16 = 1 << 4;
/// Flag of an acknowledgement: the packet was marked.
const MARKED: u16 = 1 << 5;
/// Why a packet was not taken.
const TRIMMED: u8 = 1;

/// The IP packet of a captured one.
pub fn packet(caught: &CapturedPacket, id: u16) -> Result<Vec<u8>, String> {
    let (source, target) = contexts(caught);
    let mut bytes = Vec::with_capacity(BYTES + usize::from(caught.packet.payload));
    let mut header = |kind: u16, next: u16, flags: u16, second: [u8; 2], number: u32| {
        bytes.extend((kind << 11 | next << 7 | flags).to_be_bytes());
        bytes.extend(second);
        bytes.extend(number.to_be_bytes());
        bytes.extend(source.to_be_bytes());
        bytes.extend(target.to_be_bytes());
    };
    let mut last = 0;
    match Header::of(&caught.packet) {
        Header::Open | Header::Accept => header(CONTROL_MESSAGE, NOTHING, 0, [0; 2], 0),
        Header::Data { number, asks, again, .. } => {
            let flags = if asks { WANTS_ACK } else { 0 } | if again { AGAIN } else { 0 };
            header(REQUEST, NOTHING, flags, [0; 2], number);
        }
        Header::Request { wants, .. } => {
            header(CONTROL_MESSAGE, CREDIT_REQUEST, 0, [0; 2], 0);
            last = wants as u32;
        }
        Header::Ack(Sack { expected, packet, marked, .. }) => {
            // All before `expected` have arrived; the packet itself is so far after the last of them.
            let in_order = expected.wrapping_sub(1);
            let offset = (packet.wrapping_sub(in_order) as i32).clamp(i16::MIN.into(), i16::MAX.into()) as i16;
            header(ACK, NOTHING, if marked { MARKED } else { 0 }, offset.to_be_bytes(), in_order);
        }
        Header::Trimmed { number } => header(NACK, NOTHING, 0, [TRIMMED, 0], number),
        Header::Grant { granted } => {
            header(CONTROL_MESSAGE, CREDIT, 0, [0; 2], 0);
            last = granted as u32;
        }
    }
    bytes.extend(last.to_be_bytes());
    bytes.resize(BYTES + usize::from(caught.packet.payload), 0);
    let dscp = if caught.packet.payload > 0 { DATA } else { CONTROL };
    datagram(caught, PORT, dscp, &bytes, id)
}

/// Numbers of the connection at its sender and receiver.
fn contexts(caught: &CapturedPacket) -> (u16, u16) {
    let opener = 1 + (2 * caught.connection.place() % 65_534) as u16;
    if caught.from_opener { (opener, opener + 1) } else { (opener + 1, opener) }
}
