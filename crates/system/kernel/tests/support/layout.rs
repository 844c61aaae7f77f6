//! Packets of TCP, as a host sees them at its device.

pub const FIN: u8 = 1;
pub const SYN: u8 = 2;
pub const PSH: u8 = 8;
pub const ACK: u8 = 16;

/// Layout of a connection's packets.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    pub ipv6: bool,
    pub vlan: bool,
    pub stamps: bool,
    /// Window scale of the host.
    pub scale: u8,
}

/// A segment.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    pub leaves: bool,
    pub seq: u32,
    pub ack: u32,
    pub flags: u8,
    pub window: u16,
    pub payload: u32,
    /// Ranges that were received out of order.
    pub sacked: Option<(u32, u32)>,
    /// The peer's port.
    pub peer: u16,
}

/// The sum of 16-bit words, as of RFC 1071.
pub fn sum(bytes: &[u8]) -> u32 {
    let words = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
    let mut total: u32 = words.sum();
    while total >> 16 != 0 {
        total = (total & 0xffff) + (total >> 16);
    }
    total
}

impl Layout {
    pub fn tcp_at(self) -> usize {
        14 + if self.vlan { 4 } else { 0 } + if self.ipv6 { 40 } else { 20 }
    }

    pub fn addresses(self, leaves: bool) -> Vec<u8> {
        let (own, peer) = match self.ipv6 {
            true => {
                ([[0xfd, 0, 0, 0], [0; 4], [0; 4], [0, 0, 0, 1]].concat(), [[0xfd; 4], [0; 4], [0; 4], [2; 4]].concat())
            }
            false => (vec![10, 0, 0, 1], vec![10, 0, 0, 2]),
        };
        if leaves { [own, peer].concat() } else { [peer, own].concat() }
    }

    fn options(self, segment: &Segment) -> Vec<u8> {
        let mut options = Vec::new();
        if self.stamps {
            options.extend([1, 1, 8, 10, 0, 0, 1, 0, 0, 0, 2, 0]);
        }
        if segment.flags & SYN != 0 {
            options.extend([2, 4, 5, 0xb4, 1, 3, 3, self.scale, 4, 2, 1, 1]);
        }
        if let Some((from, to)) = segment.sacked {
            options.extend([1, 1, 5, 10]);
            options.extend([from, to].iter().flat_map(|number| number.to_be_bytes()));
        }
        options
    }

    pub fn packet(self, segment: &Segment) -> Vec<u8> {
        let options = self.options(segment);
        let ports = if segment.leaves { [4_000, segment.peer] } else { [segment.peer, 4_000] };
        let mut tcp: Vec<u8> = ports.iter().flat_map(|port| port.to_be_bytes()).collect();
        tcp.extend([segment.seq, segment.ack].iter().flat_map(|number| number.to_be_bytes()));
        tcp.extend([((20 + options.len()) / 4 * 16) as u8, segment.flags]);
        tcp.extend(segment.window.to_be_bytes());
        tcp.extend([0; 4]);
        tcp.extend(&options);
        tcp.extend(vec![7; segment.payload as usize]);
        let (addresses, length) = (self.addresses(segment.leaves), tcp.len() as u16);
        let check = !(sum(&[&addresses[..], &u32::from(length).to_be_bytes(), &[0, 6], &tcp].concat()) as u16);
        tcp[16..18].copy_from_slice(&check.to_be_bytes());
        let mut packet = [[2; 6], [4; 6]].concat();
        packet.extend(if self.vlan { &[0x81, 0, 0, 5][..] } else { &[] });
        packet.extend(if self.ipv6 { [0x86, 0xdd] } else { [8, 0] });
        if self.ipv6 {
            packet.extend([0x60, 0, 0, 0]);
            packet.extend(length.to_be_bytes());
            packet.extend([6, 64]);
            packet.extend(addresses);
        } else {
            let mut ip =
                [&[0x45, 0][..], &(length + 20).to_be_bytes(), &[0, 1, 0, 0, 64, 6, 0, 0], &addresses].concat();
            let check = !(sum(&ip) as u16);
            ip[10..12].copy_from_slice(&check.to_be_bytes());
            packet.extend(ip);
        }
        packet.extend(tcp);
        packet
    }
}
