//! RoCEv2: InfiniBand's base transport header over UDP (InfiniBand Architecture Specification 1.4, chapter 9 and annex A17).
//!
//! The simulator numbers bytes; here packets get InfiniBand's numbers. A packet shorter than a full one ends a message. A congestion
//! notification travels with an acknowledgement in a simulation, and is a packet of its own here, at the same time. Opening and closing a
//! connection, which connection managers do otherwise, are messages without payload.

use std::collections::BTreeMap;

use fanin_rdma::{Header, Kind};
use fanin_sim::CapturedPacket;

use super::ip::{DATA, IP, NOTIFICATION, UDP, datagram};

/// UDP's port.
const PORT: u16 = 4791;
/// Packet sequence numbers and message numbers have 24 bits.
const NUMBERS: u32 = 1 << 24;
/// Operations of a reliable connection: the parts of a message, one without others, an acknowledgement; and a congestion notification.
const FIRST: u8 = 0x00;
const MIDDLE: u8 = 0x01;
const LAST: u8 = 0x02;
const ONLY: u8 = 0x04;
const ACKNOWLEDGE: u8 = 0x11;
const NOTIFY: u8 = 0x81;
/// Added by immediate data to the number of a message's last part, or of its only one.
const WITH_IMMEDIATE: u8 = 1;
/// Congestion notification.
const BECN: u8 = 1 << 6;
/// Syndromes: an acknowledgement without a limit of messages, and a missing packet.
const ACK: u8 = 0x1f;
const MISSING: u8 = 0x60;
/// Bytes that a congestion notification reserves.
const RESERVED: [u8; 16] = [0; 16];

/// A connection's direction.
type Direction = (u32, bool);

/// Where packets begin in a direction's stream of bytes.
#[derive(Default)]
struct Stream {
    /// By first byte: the packet's number, whether it begins a message, and the messages that ended before it.
    packets: BTreeMap<u64, Place>,
}

#[derive(Clone, Copy, Default)]
struct Place {
    number: u32,
    bytes: u64,
    begins: bool,
    ended: u32,
    ends: bool,
}

/// Writer of a run's packets.
pub struct Frames {
    /// Payload of a full packet, and bytes of telemetry or timestamps beside it.
    full: u64,
    extra: u32,
    streams: BTreeMap<Direction, Stream>,
}

impl Frames {
    /// The writer for packets with this payload, and this many bytes of telemetry or timestamps in each.
    pub fn new(full: u64, extra: u32) -> Frames {
        Frames { full, extra, streams: BTreeMap::new() }
    }

    /// The IP packets of a captured one.
    pub fn of(&mut self, caught: &CapturedPacket, mut id: impl FnMut() -> u16) -> Result<Vec<Vec<u8>>, String> {
        let (header, payload) = (Header::of(&caught.packet), u64::from(caught.packet.payload));
        let own = (caught.connection.place(), caught.from_opener);
        let extra = vec![0; self.extra as usize];
        match header.kind {
            Kind::Data | Kind::Close => {
                let Place { number, begins, ends, .. } = self.place(own, header.at, payload);
                let operation = match (begins, ends) {
                    (true, true) => ONLY,
                    (true, false) => FIRST,
                    (false, true) => LAST,
                    (false, false) => MIDDLE,
                };
                let body = [extra, vec![0; payload as usize]].concat();
                Ok(vec![packet(caught, operation, number, &body, id())?])
            }
            Kind::Open | Kind::Accept => Ok(vec![packet(caught, ONLY, 0, &extra, id())?]),
            Kind::Ack | Kind::Nack => {
                let (number, ended) = self.awaited((own.0, !own.1), header.at);
                let (syndrome, number) = match header.kind {
                    Kind::Nack => (MISSING, number),
                    // The last packet that arrived in order.
                    _ => (ACK, number.wrapping_sub(1) % NUMBERS),
                };
                let message = ended.to_be_bytes();
                let body = [vec![syndrome, message[1], message[2], message[3]], extra].concat();
                let mut packets = Vec::new();
                if header.notifies {
                    packets.push(packet(caught, NOTIFY, 0, &RESERVED, id())?);
                }
                packets.push(packet(caught, ACKNOWLEDGE, number, &body, id())?);
                Ok(packets)
            }
        }
    }

    /// The place of a packet with data from this byte on; number 0 opened the connection.
    fn place(&mut self, direction: Direction, at: u64, bytes: u64) -> Place {
        let full = self.full;
        let stream = self.streams.entry(direction).or_default();
        if let Some(known) = stream.packets.get(&at) {
            return *known;
        }
        let (number, begins, ended) = next(stream, at, full);
        let place = Place { number, bytes, begins, ended, ends: bytes < full };
        stream.packets.insert(at, place);
        place
    }

    /// The number of the packet that begins at a byte, and the messages that ended before it.
    fn awaited(&self, direction: Direction, at: u64) -> (u32, u32) {
        let Some(stream) = self.streams.get(&direction) else {
            return ((1 + at.div_ceil(self.full)) as u32 % NUMBERS, 0);
        };
        match stream.packets.get(&at) {
            Some(place) => (place.number, place.ended),
            None => {
                let (number, _, ended) = next(stream, at, self.full);
                (number, ended)
            }
        }
    }
}

/// A packet from this byte on, after the last one before it: its number, whether it begins a message, and ended messages. Packets
/// between them that the capture lacks were full.
fn next(stream: &Stream, at: u64, full: u64) -> (u32, bool, u32) {
    let Some((first, place)) = stream.packets.range(..at).next_back() else {
        return ((1 + at.div_ceil(full)) as u32 % NUMBERS, at == 0, 0);
    };
    let after = at - first - place.bytes.min(at - first);
    let number = (place.number + 1 + after.div_ceil(full) as u32) % NUMBERS;
    (number, place.ends, (place.ended + u32::from(place.ends)) % NUMBERS)
}

/// Analysers look for upper protocols in messages without immediate data, and call those malformed that are too short for one.
const SHORT: usize = 16;

/// An IP packet with InfiniBand's header, the rest of the transport's packet, and its invariant checksum.
fn packet(caught: &CapturedPacket, operation: u8, number: u32, body: &[u8], id: u16) -> Result<Vec<u8>, String> {
    // Payload is a multiple of four bytes.
    let pad = (4 - body.len() % 4) % 4;
    let immediate = [LAST, ONLY].contains(&operation) && body.len() < SHORT;
    let pair = (2 + 2 * caught.connection.place() + u32::from(caught.from_opener)) % NUMBERS;
    let (notifies, wants_ack) = (operation == NOTIFY, ![ACKNOWLEDGE, NOTIFY].contains(&operation));
    let operation = if immediate { operation + WITH_IMMEDIATE } else { operation };
    let mut bytes = vec![operation, (pad as u8) << 4, 0xff, 0xff, if notifies { BECN } else { 0 }];
    bytes.extend(&pair.to_be_bytes()[1..]);
    bytes.push(u8::from(wants_ack) << 7);
    bytes.extend(&number.to_be_bytes()[1..]);
    bytes.extend(&[0; 4][..if immediate { 4 } else { 0 }]);
    bytes.extend(body);
    bytes.resize(bytes.len() + pad + 4, 0);
    let mut whole = datagram(caught, PORT, if notifies { NOTIFICATION } else { DATA }, &bytes, id)?;
    let sum = invariant(&whole[..whole.len() - 4]);
    let end = whole.len();
    whole[end - 4..].copy_from_slice(&sum.to_le_bytes());
    Ok(whole)
}

/// The checksum of all that does not change on the way: changing bits of IP's, UDP's and InfiniBand's headers count as ones.
fn invariant(packet: &[u8]) -> u32 {
    let mut masked = [&[0xff; 8][..], packet].concat();
    let ip = 8;
    let (udp, base) = (ip + IP, ip + IP + UDP);
    for at in [ip + 1, ip + 8, ip + 10, ip + 11, udp + 6, udp + 7, base + 4] {
        masked[at] = 0xff;
    }
    crc32fast::hash(&masked)
}
