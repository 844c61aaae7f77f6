//! IPv4, and UDP under transports that have no TCP.

use etherparse::{IpDscp, IpEcn, IpNumber, Ipv4Header, UdpHeader};
use fanin_sim::CapturedPacket;
use fanin_transport::Bits;

/// Ephemeral ports start here and wrap around.
const EPHEMERAL: u16 = 32_768;
/// Bytes of an IPv4 and of a UDP header.
pub const IP: usize = 20;
pub const UDP: usize = 8;
/// Code points of data and of congestion notifications, as operators of RoCE usually set them.
pub const DATA: u8 = 26;
pub const NOTIFICATION: u8 = 48;

/// The IP header of a packet with this many bytes after it.
pub fn ip(caught: &CapturedPacket, protocol: IpNumber, bytes: usize, id: u16) -> Result<Ipv4Header, String> {
    let bytes = u16::try_from(bytes).map_err(|error| error.to_string())?;
    let (from, to) = (address(caught.from.0), address(caught.to.0));
    let mut ip = Ipv4Header::new(bytes, 64, protocol, from, to).map_err(|error| error.to_string())?;
    ip.identification = id;
    ip.dont_fragment = true;
    // RFC 3168, section 5: ECT(0) is 10, CE is 11.
    let bits = caught.packet.bits;
    ip.ecn = match (bits.any(Bits::ECT), bits.any(Bits::CE)) {
        (_, true) => IpEcn::THREE,
        (true, false) => IpEcn::TWO,
        (false, false) => IpEcn::ZERO,
    };
    ip.header_checksum = ip.calc_header_checksum();
    Ok(ip)
}

/// Sets the DSCP of an IP packet. Checksums of transports do not cover it.
pub fn set_dscp(packet: &mut [u8], dscp: u8) -> Result<(), String> {
    let (mut ip, _) = Ipv4Header::from_slice(packet).map_err(|error| error.to_string())?;
    ip.dscp = IpDscp::try_new(dscp).map_err(|error| error.to_string())?;
    ip.header_checksum = ip.calc_header_checksum();
    packet[..IP].copy_from_slice(&ip.to_bytes());
    Ok(())
}

/// An IP packet with a UDP datagram to a port.
pub fn datagram(caught: &CapturedPacket, port: u16, dscp: u8, transport: &[u8], id: u16) -> Result<Vec<u8>, String> {
    let mut ip = ip(caught, IpNumber::UDP, UDP + transport.len(), id)?;
    ip.dscp = IpDscp::try_new(dscp).map_err(|error| error.to_string())?;
    ip.header_checksum = ip.calc_header_checksum();
    // Both transports forgo UDP's checksum.
    let udp = UdpHeader {
        source_port: ephemeral(caught),
        destination_port: port,
        length: (UDP + transport.len()) as u16,
        checksum: 0,
    };
    let mut bytes = Vec::with_capacity(IP + UDP + transport.len());
    ip.write(&mut bytes).map_err(|error| error.to_string())?;
    udp.write(&mut bytes).map_err(|error| error.to_string())?;
    bytes.extend(transport);
    Ok(bytes)
}

/// The ephemeral port of a connection.
pub fn ephemeral(caught: &CapturedPacket) -> u16 {
    EPHEMERAL + (caught.connection.place() % 28_000) as u16
}

/// The address of a host: in 10.0.0.0/8, counted from 10.0.0.1.
fn address(host: u32) -> [u8; 4] {
    let [_, b, c, d] = (host + 1).to_be_bytes();
    [10, b, c, d]
}
