//! TCP with all options and checksums.

use etherparse::{IpNumber, Ipv4Header, TcpHeader};
use fanin_sim::CapturedPacket;
use fanin_spec::{Framing, RunSpec};
use fanin_tcp::{Flags, Segment};

use super::ip::{ephemeral, ip};

/// The port of the workload's connections; background connections have the ports after it. Protocol analysers associate no application
/// protocol with these ports.
const SERVICE: u16 = 61_000;

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

impl Stack {
    /// Those of a run.
    pub fn new(spec: &RunSpec) -> Stack {
        let tcp = &spec.settings.tcp;
        Stack {
            mss: tcp.mss.0 as u16,
            sack: tcp.sack,
            timestamps: tcp.timestamps,
            mcw: spec.scheme.m21,
            receive_window: tcp.receive_window.0 as u32,
            framing: spec.settings.link.framing,
        }
    }
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
    let ip = ip(caught, IpNumber::TCP, tcp_bytes + payload.len(), id)?;
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
    let opener = ephemeral(caught);
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
