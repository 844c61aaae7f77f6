//! Packets through the sensor of `fanin watch`, one at a time (BPF_PROG_TEST_RUN): layouts of headers, repeated data, and many connections.
#![cfg(feature = "load")]

mod support;

use fanin_kernel::watch::burst::Bin;
use fanin_kernel::watch::sensor::{Settings, load, open_bin};
use libbpf_rs::{Object, ProgramInput};
use nix::time::{ClockId, clock_gettime};

const TCP: u8 = 6;
const UDP: u8 = 17;
const DATA: u16 = 100;

/// A packet with data.
#[derive(Clone, Copy, Debug)]
struct Packet {
    ipv6: bool,
    vlan: bool,
    /// IPv4's options, in words.
    options: u8,
    protocol: u8,
    marked: bool,
    fragment: bool,
    /// Its connection.
    peer: u32,
    /// First byte of its data.
    seq: u32,
    data: u16,
}

const PLAIN: Packet = Packet {
    ipv6: false,
    vlan: false,
    options: 0,
    protocol: TCP,
    marked: false,
    fragment: false,
    peer: 1,
    seq: 0,
    data: DATA,
};

impl Packet {
    fn frame(self) -> Vec<u8> {
        let mut frame = vec![2; 12];
        if self.vlan {
            frame.extend([0x81, 0, 0, 7]);
        }
        let transport = if self.protocol == TCP { 32 } else { 8 };
        let mark = if self.marked { 3 } else { 0 };
        let [a, b, c, d] = self.peer.to_be_bytes();
        if self.ipv6 {
            frame.extend([0x86, 0xdd, 0x60, mark << 4, 0, 0]);
            frame.extend((transport + self.data).to_be_bytes());
            frame.extend([self.protocol, 64, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, c, d]);
            frame.extend([0xfd; 16]);
        } else {
            let header = 20 + 4 * u16::from(self.options);
            frame.extend([8, 0, 0x45 + self.options, mark]);
            frame.extend((header + transport + self.data).to_be_bytes());
            frame.extend([0, 1, 0, u8::from(self.fragment), 64, self.protocol, 0, 0, 10, 9, c, d, 10, 0, 0, 1]);
            frame.extend(vec![1; 4 * usize::from(self.options)]);
        }
        // Ports, of which the peer's differ, too.
        frame.extend([a, b, 0, 80]);
        match self.protocol {
            TCP => {
                frame.extend(self.seq.to_be_bytes());
                frame.extend([0, 0, 0, 0, 0x80, 16, 1, 0, 0, 0, 0, 0, 1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
            }
            _ => frame.extend([0, 0, 0, 0]),
        }
        frame.resize(frame.len() + usize::from(self.data), 0);
        frame
    }
}

/// A sensor whose bin stays open for a quarter of the machine's uptime.
fn sensor() -> Object {
    let uptime = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("a clock").tv_sec() as u64 * 1_000_000_000;
    let settings = Settings { bin_ns: uptime / 4, limit: u64::MAX, longest_pause: 10, keeps_heads: false, seed: 7 };
    load(settings).expect("it loads")
}

fn pass(object: &Object, frame: &[u8]) {
    let program = object.progs_mut().find(|program| program.name() == "watch_arrives").expect("a program");
    let input = ProgramInput { data_in: Some(frame), ..ProgramInput::default() };
    program.test_run(input).expect("it runs");
}

fn counted(packets: &[Packet]) -> Bin {
    let object = sensor();
    packets.iter().for_each(|packet| pass(&object, &packet.frame()));
    open_bin(&object).expect("a state").expect("a bin")
}

#[test]
fn connections_and_repeated_data_are_counted_in_all_layouts() {
    if support::skips() {
        return;
    }
    let layouts = [
        PLAIN,
        Packet { options: 10, ..PLAIN },
        Packet { vlan: true, ..PLAIN },
        Packet { ipv6: true, ..PLAIN },
        Packet { ipv6: true, vlan: true, ..PLAIN },
    ];
    for layout in layouts {
        let later = Packet { seq: DATA.into(), marked: true, ..layout };
        let other = Packet { peer: 2, ..layout };
        let bare = Packet { data: 0, peer: 3, ..layout };
        let udp = Packet { protocol: UDP, ..layout };
        let bin = counted(&[layout, later, layout, other, bare, udp, udp]);
        let figures = [bin.packets, bin.marks, bin.resent, bin.connections, bin.joined, bin.fresh];
        assert_eq!(figures, [7, 1, 1, 3, 3, 3], "{layout:?}");
        let bytes = [layout, layout, layout, other, bare, udp, udp].map(|packet| packet.frame().len() as u64);
        assert_eq!(bin.bytes, bytes.iter().sum::<u64>(), "{layout:?}");
    }
}

#[test]
fn sequence_numbers_wrap() {
    if support::skips() {
        return;
    }
    let at = |seq| Packet { seq, ..PLAIN };
    let bin = counted(&[at(u32::MAX - 150), at(u32::MAX - 50), at(49), at(u32::MAX - 50)]);
    assert_eq!((bin.connections, bin.resent), (1, 1));
}

#[test]
fn packets_without_ports_have_no_connection() {
    if support::skips() {
        return;
    }
    let object = sensor();
    let icmp = Packet { protocol: 1, ..PLAIN }.frame();
    let fragment = Packet { fragment: true, ..PLAIN }.frame();
    let whole = PLAIN.frame();
    // The kernel refuses frames with less than a header of IPv4.
    let short: Vec<&[u8]> = (34..whole.len() - usize::from(DATA)).step_by(5).map(|length| &whole[..length]).collect();
    [&icmp[..], &fragment].into_iter().chain(short.iter().copied()).for_each(|frame| pass(&object, frame));
    let bin = open_bin(&object).expect("a state").expect("a bin");
    assert_eq!((bin.packets, bin.connections), (2 + short.len() as u64, 0));
}

#[test]
fn fan_in_is_exact_to_4096_and_within_5_percent_to_65536() {
    if support::skips() {
        return;
    }
    for (connections, least) in [(64, 64), (512, 512), (4_096, 4_096), (65_536, 62_260)] {
        let object = sensor();
        for _ in 0..2 {
            (0..connections).for_each(|peer| pass(&object, &Packet { peer: peer << 8 | 7, ..PLAIN }.frame()));
        }
        let bin = open_bin(&object).expect("a state").expect("a bin");
        assert!((least..=u64::from(connections)).contains(&bin.connections), "{connections}: {bin:?}");
    }
}
