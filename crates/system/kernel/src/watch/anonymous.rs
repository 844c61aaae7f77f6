//! Addresses in headers, replaced by keyed hashes: the same address has the same hash in files of one run, and another one in other runs.

use std::fs::File;
use std::hash::Hasher;
use std::io::{self, Read};
use std::net::IpAddr;

use siphasher::sip::SipHasher24;

const MAC: usize = 6;
const TYPE: usize = 12;
const VLAN: [u16; 2] = [0x8100, 0x88a8];
const TCP: u8 = 6;
const UDP: u8 = 17;

/// A run's key.
#[derive(Clone, Debug)]
pub struct Key([u8; 16]);

impl Key {
    /// A random key.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn random() -> io::Result<Key> {
        let mut key = [0; 16];
        File::open("/dev/urandom")?.read_exact(&mut key)?;
        Ok(Key(key))
    }

    /// A number that follows from the key.
    pub fn seed(&self) -> u64 {
        u64::from_be_bytes(self.hash(&[]))
    }

    fn hash(&self, address: &[u8]) -> [u8; 8] {
        let mut hasher = SipHasher24::new_with_key(&self.0);
        hasher.write(address);
        hasher.finish().to_be_bytes()
    }

    /// Replaces addresses in an Ethernet frame's headers, and checksums, which tell of the addresses.
    pub fn hide(&self, frame: &mut [u8]) {
        if let Some((macs, _)) = frame.split_at_mut_checked(2 * MAC) {
            macs.chunks_exact_mut(MAC).for_each(|mac| self.replace_mac(mac));
        }
        let kind = |frame: &[u8], at: usize| frame.get(at..at + 2).map(|kind| u16::from_be_bytes([kind[0], kind[1]]));
        let tagged = kind(frame, TYPE).is_some_and(|kind| VLAN.contains(&kind));
        let at = if tagged { TYPE + 4 } else { TYPE };
        let kind = kind(frame, at);
        let packet = frame.get_mut(at + 2..).unwrap_or_default();
        match kind {
            Some(0x0800) => self.hide_ipv4(packet),
            Some(0x86dd) => self.hide_ipv6(packet),
            // Addresses of other protocols, such as ARP, have other places.
            _ => packet.fill(0),
        }
    }

    /// Replaces an address.
    pub fn address(&self, address: IpAddr) -> IpAddr {
        match address {
            IpAddr::V4(address) => self.ipv4(address.octets()).into(),
            IpAddr::V6(address) => self.ipv6(&address.octets()).into(),
        }
    }

    fn ipv4(&self, address: [u8; 4]) -> [u8; 4] {
        let [first, second, third, fourth, ..] = self.hash(&address);
        // Neither a network of this machine nor a group's.
        [16 + first % 100, second, third, fourth]
    }

    fn ipv6(&self, address: &[u8]) -> [u8; 16] {
        // fd00::/8 is for private networks.
        let mut replaced = [0; 16];
        replaced[0] = 0xfd;
        replaced[8..].copy_from_slice(&self.hash(address));
        replaced
    }

    /// The bit of groups stays.
    fn replace_mac(&self, mac: &mut [u8]) {
        let hash = self.hash(mac);
        let first = (hash[0] & !3) | 2 | (mac[0] & 1);
        mac.copy_from_slice(&hash[..MAC]);
        mac[0] = first;
    }

    fn hide_ipv4(&self, packet: &mut [u8]) {
        if packet.len() < 20 {
            return packet.fill(0);
        }
        for place in [12, 16] {
            if let Some(address) = packet[place..].first_chunk_mut() {
                *address = self.ipv4(*address);
            }
        }
        packet[10..12].fill(0);
        let header = usize::from(packet[0] & 15) * 4;
        // Options may record addresses.
        let options = header.min(packet.len());
        packet.get_mut(20..options).unwrap_or_default().fill(1);
        let sum = checksum(&packet[..options]);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        let protocol = packet[9];
        blank(protocol, packet.get_mut(header..).unwrap_or_default());
    }

    fn hide_ipv6(&self, packet: &mut [u8]) {
        if packet.len() < 40 {
            return packet.fill(0);
        }
        for place in [8, 24] {
            let address = &mut packet[place..place + 16];
            let replaced = self.ipv6(address);
            address.copy_from_slice(&replaced);
        }
        let protocol = packet[6];
        blank(protocol, &mut packet[40..]);
    }
}

/// Removes a checksum. Headers of other protocols, such as ICMP, may contain addresses.
fn blank(protocol: u8, header: &mut [u8]) {
    let place = match protocol {
        TCP => 16..18,
        UDP => 6..8,
        _ => return header.fill(0),
    };
    header.get_mut(place).unwrap_or_default().fill(0);
}

/// RFC 1071.
fn checksum(header: &[u8]) -> u16 {
    let sum: u32 = header.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From 10.1.2.3 to 10.1.2.4, with a TCP header.
    fn frame() -> Vec<u8> {
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
        frame.extend([0x45, 3, 0, 40, 0x12, 0x34, 0x40, 0, 64, TCP, 0, 0, 10, 1, 2, 3, 10, 1, 2, 4]);
        frame.extend([0x1b, 0x58, 0xc0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0x50, 16, 1, 0, 0xab, 0xcd, 0, 0]);
        frame
    }

    #[test]
    fn addresses_are_hashed_with_the_key() {
        let hidden = |key: u8| {
            let mut frame = frame();
            Key([key; 16]).hide(&mut frame);
            frame
        };
        let (one, other) = (hidden(1), hidden(2));
        assert_eq!(one, hidden(1));
        for address in [26..30, 30..34, 0..6, 6..12] {
            assert_ne!(one[address.clone()], frame()[address.clone()]);
            assert_ne!(one[address.clone()], other[address]);
        }
        assert_ne!(one[26..30], one[30..34]);
        assert_eq!(checksum(&one[14..34]), 0, "the sum with its complement");
        assert_eq!((one[15], &one[34..50], &one[50..52]), (3, &frame()[34..50], &[0, 0][..]), "TCP but its checksum");
    }

    #[test]
    fn headers_of_any_length_are_hidden() {
        let key = Key([3; 16]);
        let mut tagged = frame();
        tagged.splice(12..12, [0x81, 0, 0, 7]);
        let ipv6 = [&frame()[..12], &[0x86, 0xdd, 0x60, 0, 0, 0, 0, 0, UDP, 64], &[0x20; 32], &[0x21; 8]].concat();
        let arp = [&frame()[..12], &[8, 6], &[10; 28]].concat();
        for whole in [frame(), tagged, ipv6, arp] {
            for length in 0..=whole.len() {
                let mut frame = whole[..length].to_vec();
                key.hide(&mut frame);
                assert_eq!(frame.len(), length);
                let addresses = [[10, 1, 2, 3], [10, 1, 2, 4], [10; 4], [0x20; 4]];
                assert!(!frame.windows(4).any(|part| addresses.iter().any(|address| part == address)), "{frame:?}");
            }
        }
    }
}
