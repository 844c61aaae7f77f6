//! Bytes on the wire of a captured segment: IPv4 and TCP with all options and checksums.

use etherparse::{IpNumber, Ipv4Header, TcpHeader};
use fanin_sim::CapturedPacket;
use fanin_spec::Framing;
use fanin_tcp::{Flags, Segment};

/// The port of the workload's connections; background connections have the ports after it. Protocol analysers associate no application
/// protocol with these ports.
const SERVICE: u16 = 61_000;
/// Ephemeral ports of the openers start here and wrap around.
const EPHEMERAL: u16 = 32_768;

/// Settings that determine the bytes, besides the segment.
#[derive(Clone, Copy, Debug)]
pub struct Stack {
    /// The maximum segment size.
    pub mss: u16,
    /// Whether SACK is offered.
    pub sack: bool,
    /// Whether every segment carries a timestamp.
    pub timestamps: bool,
    /// Whether every segment carries the option in which switches assign windows.
    pub mcw: bool,
    /// The receive window in bytes; it determines the window scale.
    pub receive_window: u32,
    /// Link-layer framing.
    pub framing: Framing,
}

/// Returns the IP packet of a captured segment. `id` is its IP identification.
///
/// # Errors
/// A segment that fits in no IP packet: a fault of the simulator.
pub fn packet(caught: &CapturedPacket, stack: &Stack, id: u16) -> Result<Vec<u8>, String> {
    let segment = &Segment::from(&caught.packet);
    let options = options(caught, stack);
    let payload = vec![0u8; usize::from(segment.len)];
    let tcp_bytes = 20 + options.len();
    let frame = stack.framing.frame((20 + tcp_bytes + payload.len()) as u32);
    if frame != caught.packet.bytes {
        return Err(format!("a frame of {frame} B took {} B in a buffer", caught.packet.bytes));
    }
    let mut ip = Ipv4Header::new(
        u16::try_from(tcp_bytes + payload.len()).map_err(|error| error.to_string())?,
        64,
        IpNumber::TCP,
        address(caught.from.0),
        address(caught.to.0),
    )
    .map_err(|error| error.to_string())?;
    ip.identification = id;
    ip.dont_fragment = true;
    let (ect, ce) = (segment.flags.any(Flags::ECT), segment.flags.any(Flags::CE));
    // RFC 3168, section 5: ECT(0) is 10, CE is 11.
    ip.ecn = match (ect, ce) {
        (_, true) => etherparse::IpEcn::THREE,
        (true, false) => etherparse::IpEcn::TWO,
        (false, false) => etherparse::IpEcn::ZERO,
    };
    ip.header_checksum = ip.calc_header_checksum();
    let tcp = tcp(caught, stack, &options, &ip, &payload)?;
    let mut bytes = Vec::with_capacity(ip.header_len() + tcp_bytes + payload.len());
    ip.write(&mut bytes).map_err(|error| error.to_string())?;
    tcp.write(&mut bytes).map_err(|error| error.to_string())?;
    bytes.extend(payload);
    Ok(bytes)
}

fn tcp(
    caught: &CapturedPacket,
    stack: &Stack,
    options: &[u8],
    ip: &Ipv4Header,
    payload: &[u8],
) -> Result<TcpHeader, String> {
    let segment = &Segment::from(&caught.packet);
    let opener = EPHEMERAL + (caught.connection.place() % 28_000) as u16;
    let service = SERVICE + u16::from(caught.connection.owner().number());
    let (source, destination) = if caught.from_opener { (opener, service) } else { (service, opener) };
    let syn = segment.flags.any(Flags::SYN);
    // The window of a SYN is never scaled (RFC 7323, section 2.2).
    let window = if syn { segment.window } else { segment.window >> scale(stack.receive_window) };
    let mut tcp = TcpHeader::new(source, destination, segment.seq, window.min(u16::MAX.into()) as u16);
    tcp.acknowledgment_number = segment.ack;
    tcp.syn = syn;
    tcp.fin = segment.flags.any(Flags::FIN);
    tcp.rst = segment.flags.any(Flags::RST);
    tcp.ack = segment.flags.any(Flags::ACK);
    tcp.ece = segment.flags.any(Flags::ECE);
    tcp.cwr = segment.flags.any(Flags::CWR);
    tcp.psh = segment.len > 0;
    tcp.set_options_raw(options).map_err(|error| error.to_string())?;
    tcp.checksum = tcp.calc_checksum_ipv4(ip, payload).map_err(|error| error.to_string())?;
    Ok(tcp)
}

/// The address of a host: in 10.0.0.0/8, counted from 10.0.0.1.
fn address(host: u32) -> [u8; 4] {
    let [_, b, c, d] = (host + 1).to_be_bytes();
    [10, b, c, d]
}

/// The smallest window scale with which the receive window fits in 16 bits.
fn scale(receive_window: u32) -> u32 {
    (0..14).find(|shift| receive_window >> shift <= u16::MAX.into()).unwrap_or(14)
}

/// The options, padded: those of every segment, those of a SYN, SACK blocks.
fn options(caught: &CapturedPacket, stack: &Stack) -> Vec<u8> {
    const NOP: u8 = 1;
    let segment = &Segment::from(&caught.packet);
    let syn = segment.flags.any(Flags::SYN);
    let mut bytes = Vec::with_capacity(40);
    if syn {
        bytes.extend([2, 4]);
        bytes.extend(stack.mss.to_be_bytes());
        bytes.extend([3, 3, scale(stack.receive_window) as u8, NOP]);
    }
    if stack.timestamps {
        bytes.extend(if syn && stack.sack { [4, 2] } else { [NOP, NOP] });
        bytes.extend([8, 10]);
        bytes.extend(segment.ts_val.to_be_bytes());
        bytes.extend(segment.ts_ecr.to_be_bytes());
    } else if syn && stack.sack {
        bytes.extend([4, 2, NOP, NOP]);
    }
    if stack.mcw {
        // Experimental (RFC 6994): the window assigned on the path and the echoed one, three bytes each; all ones mean none.
        bytes.extend([253, 8]);
        let windows = caught.notes.map_or([u32::MAX; 2], |notes| [notes.written.mcw, notes.echoed.mcw]);
        for window in windows {
            bytes.extend(&window.min(0xff_ffff).to_be_bytes()[1..]);
        }
    }
    if !caught.sack.is_empty() {
        bytes.extend([NOP, NOP, 5, 2 + 8 * caught.sack.len() as u8]);
        for block in &caught.sack {
            bytes.extend((block.start as u32).to_be_bytes());
            bytes.extend((block.end as u32).to_be_bytes());
        }
    }
    bytes
}
