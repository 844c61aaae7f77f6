//! Dissection of frames into TCP segments: link layers, tunnels, IP and TCP. Frames may be truncated.
//!
//! etherparse (0.21) reads no truncated TCP header, stops at an option that it does not know, such as Multipath TCP's, and has neither
//! GRE, VXLAN nor Linux's second cooked header. Captures have all of these, so tests use etherparse to build frames, and this file reads
//! them.

use crate::capture::Frame;

/// TCP's flags in its header.
pub(crate) mod flag {
    pub const SYN: u8 = 2;
    pub const RST: u8 = 4;
    pub const ACK: u8 = 16;
    pub const ECE: u8 = 64;
}

/// An endpoint of a connection: an address (IPv4 is mapped into IPv6) and a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct End {
    pub address: u128,
    pub port: u16,
}

/// A TCP segment, as far as captured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Segment {
    pub from: End,
    pub to: End,
    pub seq: u32,
    pub ack: u32,
    pub flags: u8,
    pub window: u16,
    /// Bytes of payload, according to the headers.
    pub payload: u32,
    /// Bytes of the IP packet.
    pub packet: u32,
    /// The IP identification; zero if absent.
    pub id: u16,
    /// The remaining hops (TTL).
    pub ttl: u8,
    /// The two ECN bits.
    pub ecn: u8,
    pub mss: Option<u16>,
    pub scale: Option<u8>,
    pub may_sack: bool,
    pub stamps: Option<(u32, u32)>,
    /// The first SACK block.
    pub sack: Option<(u32, u32)>,
    /// The capture cut off some of the options, so that an absent one is unknown.
    pub cut: bool,
    /// Capture point: the interface in the file, combined with that of the system if the link layer contains it.
    pub place: u32,
}

impl Segment {
    pub fn is(&self, flags: u8) -> bool {
        self.flags & flags != 0
    }
}

/// A transport of RDMA over UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    Roce,
    UltraEthernet,
}

/// A packet of RDMA, as far as captured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Datagram {
    pub transport: Transport,
    pub from: u128,
    pub to: u128,
    /// RoCE's operation, or the type of Ultra Ethernet's packet.
    pub operation: u8,
    /// The syndrome of RoCE's acknowledgement, or the flags of Ultra Ethernet's packet.
    pub detail: u8,
    /// RoCE's destination queue pair and packet number; zero for Ultra Ethernet.
    pub queue: u32,
    pub number: u32,
    /// Bytes of the IP packet.
    pub bytes: u32,
    pub ecn: u8,
}

/// UDP's ports of both.
const ROCE: u16 = 4791;
const ULTRA_ETHERNET: u16 = 4793;

/// Result of dissecting a frame.
#[derive(Debug, PartialEq)]
pub(crate) enum Seen {
    Tcp(Segment),
    Rdma(Datagram),
    /// A pause frame of a priority, or of a link.
    Pause,
    /// Another protocol, or a later fragment.
    Other,
    /// Its headers are truncated or invalid.
    Unclear,
}

/// Maximum nesting of tunnels.
const DEPTH: u8 = 8;

/// Dissects a frame.
pub(crate) fn look(frame: &Frame<'_>) -> Seen {
    let mut look = Look { length: frame.length, place: frame.interface, depth: 0 };
    look.link(frame.link, frame.bytes).unwrap_or(Seen::Unclear)
}

struct Look {
    /// Bytes on the wire from the current header on.
    length: u32,
    place: u32,
    depth: u8,
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u128_at(bytes: &[u8], at: usize) -> Option<u128> {
    Some(u128::from_be_bytes(bytes.get(at..at + 16)?.try_into().ok()?))
}

/// An IPv4 address mapped into IPv6 (RFC 4291, section 2.5.5.2).
fn mapped(address: u32) -> u128 {
    0xffff_0000_0000 | u128::from(address)
}

impl Look {
    fn skip<'a>(&mut self, bytes: &'a [u8], by: usize) -> Option<&'a [u8]> {
        self.length = self.length.saturating_sub(by as u32);
        bytes.get(by..)
    }

    /// Numbers of <https://www.tcpdump.org/linktypes.html>.
    fn link(&mut self, link: u32, bytes: &[u8]) -> Option<Seen> {
        match link {
            1 => self.ethernet(bytes),
            // A family of four bytes, in host or network byte order.
            0 | 108 => {
                let rest = self.skip(bytes, 4)?;
                self.ip(rest)
            }
            12 | 14 | 101 | 228 | 229 => self.ip(bytes),
            113 => {
                let protocol = u16_at(bytes, 14)?;
                let rest = self.skip(bytes, 16)?;
                self.payload(protocol, rest)
            }
            276 => {
                let (protocol, interface) = (u16_at(bytes, 0)?, u32_at(bytes, 4)?);
                self.place = self.place.wrapping_mul(0x1_0001).wrapping_add(interface.wrapping_add(1));
                let rest = self.skip(bytes, 20)?;
                self.payload(protocol, rest)
            }
            _ => Some(Seen::Other),
        }
    }

    fn ethernet(&mut self, bytes: &[u8]) -> Option<Seen> {
        let protocol = u16_at(bytes, 12)?;
        let rest = self.skip(bytes, 14)?;
        self.payload(protocol, rest)
    }

    fn payload(&mut self, mut protocol: u16, mut bytes: &[u8]) -> Option<Seen> {
        self.depth += 1;
        // VLANs and QinQ.
        while matches!(protocol, 0x8100 | 0x88a8 | 0x9100) {
            protocol = u16_at(bytes, 2)?;
            bytes = self.skip(bytes, 4)?;
        }
        match protocol {
            _ if self.depth > DEPTH => Some(Seen::Other),
            0x0800 | 0x86dd => self.ip(bytes),
            0x6558 => self.ethernet(bytes),
            // MAC control: a pause of the link, or of priorities.
            0x8808 if matches!(u16_at(bytes, 0)?, 1 | 0x0101) => Some(Seen::Pause),
            _ => Some(Seen::Other),
        }
    }

    fn ip(&mut self, bytes: &[u8]) -> Option<Seen> {
        match bytes.first()? >> 4 {
            4 => self.ip4(bytes),
            6 => self.ip6(bytes),
            _ => Some(Seen::Unclear),
        }
    }

    fn ip4(&mut self, bytes: &[u8]) -> Option<Seen> {
        let header = usize::from(bytes[0] & 15) * 4;
        let (total, id) = (u32::from(u16_at(bytes, 2)?), u16_at(bytes, 4)?);
        if header < 20 {
            return None;
        }
        // Only the first fragment contains the TCP header.
        if u16_at(bytes, 6)? & 0x1fff != 0 {
            return Some(Seen::Other);
        }
        // The length is zero if the packet, before segmentation offload, is too long for the field.
        let packet = if total == 0 { self.length } else { total };
        let ends = (mapped(u32_at(bytes, 12)?), mapped(u32_at(bytes, 16)?));
        let (protocol, ecn, ttl) = (*bytes.get(9)?, *bytes.get(1)? & 3, *bytes.get(8)?);
        self.length = packet;
        let rest = self.skip(bytes, header)?;
        self.carried(protocol, rest, Packet { ends, bytes: packet, id, ecn, ttl })
    }

    fn ip6(&mut self, bytes: &[u8]) -> Option<Seen> {
        let (length, mut next) = (u32::from(u16_at(bytes, 4)?), *bytes.get(6)?);
        let packet = if length == 0 { self.length } else { 40 + length };
        let ends = (u128_at(bytes, 8)?, u128_at(bytes, 24)?);
        let (ecn, ttl) = ((bytes.get(1)? >> 4) & 3, *bytes.get(7)?);
        self.length = packet;
        let mut rest = self.skip(bytes, 40)?;
        for _ in 0..DEPTH {
            let long = match next {
                0 | 43 | 60 => 8 + 8 * usize::from(*rest.get(1)?),
                44 if u16_at(rest, 2)? & 0xfff8 != 0 => return Some(Seen::Other),
                44 => 8,
                _ => break,
            };
            next = *rest.first()?;
            rest = self.skip(rest, long)?;
        }
        self.carried(next, rest, Packet { ends, bytes: packet, id: 0, ecn, ttl })
    }

    fn carried(&mut self, protocol: u8, bytes: &[u8], packet: Packet) -> Option<Seen> {
        self.depth += 1;
        match protocol {
            6 => self.tcp(bytes, packet),
            _ if self.depth > DEPTH => Some(Seen::Other),
            4 | 41 => self.ip(bytes),
            47 => self.gre(bytes),
            // VXLAN, at its assigned port and at Linux's original one.
            17 if matches!(u16_at(bytes, 2)?, 4789 | 8472) => {
                let rest = self.skip(bytes, 16)?;
                self.ethernet(rest)
            }
            17 if matches!(u16_at(bytes, 2)?, ROCE | ULTRA_ETHERNET) => rdma(bytes, &packet),
            _ => Some(Seen::Other),
        }
    }

    fn gre(&mut self, bytes: &[u8]) -> Option<Seen> {
        let (flags, protocol) = (u16_at(bytes, 0)?, u16_at(bytes, 2)?);
        // Checksum, key and sequence number (RFC 2784, RFC 2890).
        let more = [0x8000, 0x2000, 0x1000].iter().filter(|bit| flags & **bit != 0).count();
        let rest = self.skip(bytes, 4 + 4 * more)?;
        self.payload(protocol, rest)
    }

    fn tcp(&mut self, bytes: &[u8], packet: Packet) -> Option<Seen> {
        let header = usize::from(bytes.get(12)? >> 4) * 4;
        let mut segment = Segment {
            from: End { address: packet.ends.0, port: u16_at(bytes, 0)? },
            to: End { address: packet.ends.1, port: u16_at(bytes, 2)? },
            seq: u32_at(bytes, 4)?,
            ack: u32_at(bytes, 8)?,
            flags: *bytes.get(13)?,
            window: u16_at(bytes, 14)?,
            payload: self.length.checked_sub(header as u32)?,
            packet: packet.bytes,
            id: packet.id,
            ttl: packet.ttl,
            ecn: packet.ecn,
            cut: header > bytes.len(),
            place: self.place,
            ..Segment::default()
        };
        if header < 20 {
            return None;
        }
        let end = header.min(bytes.len());
        options(bytes.get(20..end).unwrap_or_default(), &mut segment);
        Some(Seen::Tcp(segment))
    }
}

/// A packet of RDMA in a UDP datagram.
fn rdma(bytes: &[u8], packet: &Packet) -> Option<Seen> {
    let rest = bytes.get(8..)?;
    let ultra = u16_at(bytes, 2)? == ULTRA_ETHERNET;
    let (operation, detail, queue, number) = match ultra {
        // Type, next header and flags share 16 bits: 5, 4 and 7.
        true => (*rest.first()? >> 3, (u16_at(rest, 0)? & 0x7f) as u8, 0, 0),
        // The extended header of an acknowledgement begins with its syndrome.
        false => {
            let syndrome = rest.get(12).copied().unwrap_or(0);
            (*rest.first()?, syndrome, u32_at(rest, 4)? & 0xff_ffff, u32_at(rest, 8)? & 0xff_ffff)
        }
    };
    Some(Seen::Rdma(Datagram {
        transport: if ultra { Transport::UltraEthernet } else { Transport::Roce },
        from: packet.ends.0,
        to: packet.ends.1,
        operation,
        detail,
        queue,
        number,
        bytes: packet.bytes,
        ecn: packet.ecn,
    }))
}

/// Fields of an IP header.
struct Packet {
    ends: (u128, u128),
    bytes: u32,
    id: u16,
    ecn: u8,
    ttl: u8,
}

/// Reads options, as far as they are captured and valid.
fn options(mut bytes: &[u8], segment: &mut Segment) {
    while let [kind, rest @ ..] = bytes {
        if *kind == 1 {
            bytes = rest;
            continue;
        }
        let Some(&length) = rest.first() else { return };
        let (Some(body), true) = (bytes.get(2..usize::from(length)), *kind != 0) else { return };
        match (kind, body.len()) {
            (2, 2) => segment.mss = u16_at(body, 0),
            (3, 1) => segment.scale = Some(body[0].min(14)),
            (4, 0) => segment.may_sack = true,
            (5, 8..) => segment.sack = u32_at(body, 0).zip(u32_at(body, 4)),
            (8, 8) => segment.stamps = u32_at(body, 0).zip(u32_at(body, 4)),
            _ => {}
        }
        bytes = &bytes[usize::from(length)..];
    }
}

#[cfg(test)]
mod tests {
    use etherparse::PacketBuilder;

    use super::*;

    fn seen(link: u32, bytes: &[u8], length: usize) -> Seen {
        look(&Frame { at: 0, interface: 0, link, length: length as u32, bytes })
    }

    fn packet() -> Vec<u8> {
        let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).tcp(80, 4000, 7, 1000).ack(9);
        let mut bytes = Vec::new();
        builder.write(&mut bytes, &[1; 100]).unwrap();
        bytes
    }

    fn checks(seen: Seen) {
        let Seen::Tcp(segment) = seen else { panic!("{seen:?}") };
        assert_eq!((segment.from.port, segment.to.port, segment.seq, segment.ack), (80, 4000, 7, 9));
        assert_eq!((segment.payload, segment.packet), (100, 140));
        assert_eq!(segment.from.address, mapped(0x0a00_0001));
    }

    fn with(head: &[u8], rest: &[u8]) -> Vec<u8> {
        [head, rest].concat()
    }

    #[test]
    fn finds_segments_in_every_link_layer_and_tunnel() {
        let ip = packet();
        let ether = with(&[&[2; 12][..], &[8, 0]].concat(), &ip);
        let vlan = with(&[&[2; 12][..], &[0x81, 0, 0, 5, 8, 0]].concat(), &ip);
        let qinq = with(&[&[2; 12][..], &[0x88, 0xa8, 0, 5, 0x81, 0, 0, 6, 8, 0]].concat(), &ip);
        let cooked = with(&[&[0; 14][..], &[8, 0]].concat(), &ip);
        let cooked2 = with(&[&[8, 0, 0, 0, 0, 0, 0, 3][..], &[0; 12]].concat(), &ip);
        let mut vxlan = Vec::new();
        let udp = PacketBuilder::ipv4([1, 1, 1, 1], [2, 2, 2, 2], 64).udp(5555, 4789);
        udp.write(&mut vxlan, &with(&[8, 0, 0, 0, 0, 0, 9, 0], &vlan)).unwrap();
        let mut gre = vec![0x45, 0, 0, (24 + ip.len() + 4) as u8, 0, 1, 0, 0, 64, 47, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2];
        gre.extend([0x20, 0, 8, 0, 0, 0, 0, 7]);
        gre.extend(&ip);
        for (link, bytes) in
            [(101, ip), (1, ether), (1, vlan), (1, qinq), (113, cooked), (276, cooked2), (101, vxlan), (228, gre)]
        {
            checks(seen(link, &bytes, bytes.len()));
            // The last hundred bytes are payload.
            checks(seen(link, &bytes[..bytes.len() - 100], bytes.len()));
        }
    }

    #[test]
    fn skips_other_protocols_and_fragments() {
        let mut piece = packet();
        piece[7] = 9;
        assert_eq!(seen(101, &piece, 140), Seen::Other);
        let whole = packet();
        assert_eq!(seen(101, &whole[..30], 140), Seen::Unclear);
        assert_eq!(seen(1, &[0; 60], 60), Seen::Other);
        assert_eq!(seen(101, &[0x99; 60], 60), Seen::Unclear);
    }

    #[test]
    fn ignores_invalid_options() {
        for bytes in [&[2, 0][..], &[2, 1], &[2, 4, 5], &[5, 255, 0], &[0, 9, 9], &[8]] {
            let mut segment = Segment::default();
            options(bytes, &mut segment);
            assert_eq!(segment, Segment::default(), "{bytes:?}");
        }
        let mut segment = Segment::default();
        options(&[1, 2, 4, 5, 180, 4, 2, 3, 3, 7, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2], &mut segment);
        assert_eq!((segment.mss, segment.scale, segment.may_sack), (Some(1460), Some(7), true));
        assert_eq!(segment.stamps, Some((1, 2)));
    }
}
