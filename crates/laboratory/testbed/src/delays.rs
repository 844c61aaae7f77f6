//! Propagation delays to the nanosecond. `tc` takes whole microseconds and rounds them down to ticks of 64 ns. Of a round trip just below a
//! whole microsecond, most measurements are a microsecond too long, and Linux ignores the ACK of a retransmission that comes sooner than
//! any before (`tcp_rack_advance`): a timeout follows.
//! Sources: Linux 6.12, net/sched/sch_netem.c (`netem_change`) and pkt_sched.h.

use std::io;

use fanin_assemble::LinuxFabric;
use fanin_units::Time;
use netlink_packet_core::{DefaultNla, Emitable, NLM_F_ACK};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage};
use netlink_sys::Socket;
use nix::net::if_::if_nametoindex;

use crate::netlink;

/// Handle of a link's delay (`LinuxFabric::batch`).
const DELAY: TcHandle = TcHandle { major: 2, minor: 0 };
/// TCA_OPTIONS.
const OPTIONS: u16 = 2;
/// TCA_NETEM_LATENCY64.
const LATENCY: u16 = 10;
/// Picoseconds of a nanosecond.
const PS_PER_NS: u64 = 1_000;

/// Sets the delay of a device that has one.
pub fn set(socket: &Socket, device: &str, delay: Time) -> io::Result<()> {
    let mut message = TcMessage::default();
    message.header.index = if_nametoindex(device)? as i32;
    (message.header.handle, message.header.parent) = (DELAY, TcHandle::ROOT);
    message.attributes =
        vec![TcAttribute::Kind("netem".into()), TcAttribute::Other(DefaultNla::new(OPTIONS, options(delay)))];
    netlink::ask(socket, RouteNetlinkMessage::NewQueueDiscipline(message), NLM_F_ACK).map(drop)
}

/// `struct tc_netem_qopt`: delay in ticks, limit in packets, loss, gap, duplicates, jitter; then the delay in ns, which replaces that in ticks.
fn options(delay: Time) -> Vec<u8> {
    let ticks = 0u32;
    let fixed = [ticks, LinuxFabric::DELAYED_PACKETS, 0, 0, 0, 0];
    let latency = DefaultNla::new(LATENCY, delay.0.div_ceil(PS_PER_NS).to_ne_bytes().to_vec());
    let mut bytes: Vec<u8> = fixed.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let start = bytes.len();
    bytes.resize(start + latency.buffer_len(), 0);
    latency.emit(&mut bytes[start..]);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_is_whole_nanoseconds_behind_the_fixed_options() {
        let bytes = options(Time(10_000_001));
        assert_eq!(bytes.len(), 24 + 12);
        let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap());
        assert_eq!([0, 4, 8, 12, 16, 20].map(word), [0, 100_000, 0, 0, 0, 0]);
        // An attribute of twelve bytes, of kind 10.
        assert_eq!([24, 26].map(|at| u16::from_ne_bytes([bytes[at], bytes[at + 1]])), [12, 10]);
        assert_eq!(i64::from_ne_bytes(bytes[28..].try_into().unwrap()), 10_001);
    }
}
