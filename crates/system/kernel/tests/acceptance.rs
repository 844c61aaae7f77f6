//! Segments of a peer that this test is, at a device with grants: the programs believe those that the kernel's TCP accepts, and no others.
#![cfg(feature = "load")]
#![expect(clippy::disallowed_types, reason = "it makes connections of real TCP")]

#[path = "support/layout.rs"]
mod layout;
mod support;

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::mem::size_of_val;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::process::Command;
use std::thread;

use fanin_testing::wait_until;
use layout::{ACK, FIN, Layout, PSH, SYN, Segment};
use libbpf_rs::query::{ProgInfoIter, ProgInfoQueryOptions};
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle};
use nix::libc;
use nix::mount::{MsFlags, mount};
use nix::net::if_::if_nametoindex;
use nix::sched::{CloneFlags, unshare};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_fanin-kernel");
/// Without timestamps, whose age TCP would judge, too.
const PLAIN: Layout = Layout { ipv6: false, vlan: false, stamps: false, scale: 7 };
const OWN_PORT: u16 = 4_000;
const RST: u8 = 4;
/// State of a closed connection (net/tcp_states.h).
const CLOSE: u8 = 7;

/// A device whose other end is this test.
struct Wire {
    frames: File,
    map: MapHandle,
    listener: TcpListener,
    peer: u16,
}

/// A segment of the host.
#[derive(Clone, Debug)]
struct Reply {
    seq: u32,
    ack: u32,
    flags: u8,
    payload: u32,
    /// Right edges of the blocks of SACK.
    sacked: Vec<u32>,
}

#[expect(unsafe_code, reason = "nix has no devices of this kind")]
fn tap(name: &str) -> File {
    let frames = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun");
    let frames = frames.expect("/dev/net/tun");
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (place, letter) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *place = letter as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI) as i16;
    // SAFETY: the kernel reads and writes the structure only, whose name ends with a zero.
    let done = unsafe { libc::ioctl(frames.as_raw_fd(), libc::TUNSETIFF, &raw mut request) };
    assert_eq!(done, 0, "a device: {}", std::io::Error::last_os_error());
    frames
}

fn ip(arguments: &str) {
    assert!(Command::new("ip").args(arguments.split(' ')).status().expect("ip").success(), "{arguments}");
}

fn grants(arguments: &[&str]) -> String {
    let output = Command::new(PROGRAM).args(arguments).output().expect("it runs");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// State and bytes received of a socket (struct tcp_info).
#[expect(unsafe_code, reason = "nix has no TCP_INFO")]
fn info(stream: &TcpStream) -> (u8, u64) {
    let mut bytes = [0_u8; 256];
    let mut length = size_of_val(&bytes) as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes.
    let done = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            bytes.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    assert!(done == 0 && length >= 136, "TCP_INFO of {length} bytes");
    (bytes[0], u64::from_ne_bytes(bytes[128..136].try_into().expect("eight bytes")))
}

/// The table of connections of the programs at the device.
fn table() -> MapHandle {
    let index = if_nametoindex("tap0").expect("a device");
    let mut pins = fs::read_dir("/sys/fs/bpf/fanin").expect("pins").flatten().map(|entry| entry.path());
    let end = format!("-{index}-in");
    let pin = pins.find(|path| path.to_str().is_some_and(|path| path.ends_with(&end))).expect("a pin");
    let link = Link::open(pin).expect("a link");
    let program = link.info().expect("a link").prog_id;
    let options = ProgInfoQueryOptions::default().include_map_ids(true);
    let info = ProgInfoIter::with_query_opts(options).find(|info| info.id == program).expect("a program");
    let maps = info.map_ids.iter().filter_map(|id| MapHandle::from_map_id(*id).ok());
    maps.into_iter().find(|map| map.name() == "connections").expect("the table of connections")
}

impl Wire {
    fn new() -> Wire {
        let frames = tap("tap0");
        ip("link set tap0 address 02:02:02:02:02:02 mtu 1500 up");
        ip("addr add 10.0.0.1/24 dev tap0");
        ip("neigh add 10.0.0.2 lladdr 04:04:04:04:04:04 dev tap0");
        grants(&["load", "grants", "--device", "tap0", "--rate-mbit", "1000", "--turn", "1"]);
        let listener = TcpListener::bind(("10.0.0.1", OWN_PORT)).expect("a listener");
        Wire { frames, map: table(), listener, peer: 10_000 }
    }

    fn send(&mut self, segment: &Segment) -> Vec<Reply> {
        self.frames.write_all(&PLAIN.packet(segment)).expect("the device takes it");
        self.replies(segment.peer)
    }

    /// Segments of the host to a port of the peer.
    fn replies(&mut self, peer: u16) -> Vec<Reply> {
        let (mut found, mut frame) = (Vec::new(), [0; 2_000]);
        while let Ok(bytes) = self.frames.read(&mut frame) {
            let frame = &frame[..bytes];
            let tcp = PLAIN.tcp_at();
            if bytes < tcp + 20
                || frame[12..14] != [8, 0]
                || frame[23] != 6
                || frame[tcp + 2..tcp + 4] != peer.to_be_bytes()
            {
                continue;
            }
            let number = |at: usize| u32::from_be_bytes(frame[at..at + 4].try_into().expect("four bytes"));
            let header = usize::from(frame[tcp + 12] >> 4) * 4;
            let payload = u32::from(u16::from_be_bytes([frame[16], frame[17]])) - 20 - header as u32;
            let mut options = &frame[tcp + 20..tcp + header];
            let mut sacked = Vec::new();
            while let [kind, rest @ ..] = options {
                if *kind == 5 {
                    let blocks = options[2..usize::from(options[1])].chunks_exact(8);
                    sacked.extend(blocks.map(|block| u32::from_be_bytes(block[4..].try_into().expect("four bytes"))));
                }
                let length = usize::from(rest.first().copied().unwrap_or(1));
                options = if *kind < 2 { rest } else { options.get(length..).unwrap_or(&[]) };
            }
            found.push(Reply { seq: number(tcp + 4), ack: number(tcp + 8), flags: frame[tcp + 13], payload, sacked });
        }
        found
    }

    /// Next byte in order and highest byte of a connection in the programs' table.
    fn entry(&self, peer: u16) -> Option<(u32, u32)> {
        let mut key = vec![0; 36];
        key[..4].copy_from_slice(&[10, 0, 0, 2]);
        key[16..20].copy_from_slice(&[10, 0, 0, 1]);
        key[32..34].copy_from_slice(&peer.to_be_bytes());
        key[34..36].copy_from_slice(&OWN_PORT.to_be_bytes());
        let value = self.map.lookup(&key, MapFlags::ANY).expect("the table")?;
        let word = |at: usize| u32::from_ne_bytes(value[at..at + 4].try_into().expect("four bytes"));
        Some((word(0), word(4)))
    }

    fn entries(&self) -> usize {
        self.map.keys().count()
    }

    fn segment(&self, flags: u8, seq: u32, ack: u32) -> Segment {
        Segment { leaves: false, seq, ack, flags, window: 60_000, payload: 0, sacked: None, peer: self.peer }
    }

    /// A connection that the peer opens.
    fn open(&mut self, first: u32) -> Peer {
        self.peer = self.peer.checked_add(1).expect("a port");
        let syn = self.send(&self.segment(SYN, first, 0));
        let reply = syn.iter().find(|reply| reply.flags == SYN | ACK).expect("a SYN-ACK");
        let (next, own) = (first.wrapping_add(1), reply.seq.wrapping_add(1));
        assert_eq!(reply.ack, next);
        assert_eq!(self.entry(self.peer), None, "no entry before the connection is established");
        self.send(&self.segment(ACK, next, own));
        let (stream, _) = self.listener.accept().expect("a connection");
        assert_eq!(self.entry(self.peer), Some((next, next)));
        Peer { stream, peer: self.peer, first: next, own }
    }
}

/// A connection's other end.
struct Peer {
    stream: TcpStream,
    peer: u16,
    /// Number of the first byte of data.
    first: u32,
    /// The host's next number.
    own: u32,
}

/// Distance of a number from the expected one.
fn distance() -> impl Strategy<Value = i64> {
    prop_oneof![
        4 => Just(0_i64),
        2 => -3..=3_i64,
        2 => -3_000..70_000_i64,
        1 => -200_000..4_000_000_i64,
        1 => (0..=u32::MAX).prop_map(i64::from),
    ]
}

/// Flags, distances of both numbers, payload; and whether the host sends first, so that there is something to acknowledge.
fn segments() -> impl Strategy<Value = Vec<(u8, i64, i64, u32, bool)>> {
    let flags = prop_oneof![
        6 => Just(ACK),
        4 => Just(ACK | PSH),
        2 => Just(RST),
        1 => Just(RST | ACK),
        1 => Just(SYN),
        1 => Just(SYN | ACK),
        1 => Just(ACK | FIN),
        1 => Just(FIN),
        1 => Just(0),
        1 => Just(SYN | RST),
        1 => Just(SYN | FIN | ACK),
    ];
    let payload = prop_oneof![Just(0_u32), 1..1_400_u32, Just(1_400_u32)];
    prop::collection::vec((flags, distance(), distance(), payload, any::<bool>()), 1..16)
}

/// Whether two numbers are of one order.
fn is_after(a: u32, b: u32) -> bool {
    a.wrapping_sub(b) as i32 > 0
}

fn agrees(wire: &mut Wire, first: u32, segments: &[(u8, i64, i64, u32, bool)]) {
    let mut peer = wire.open(first);
    let mut highest = peer.first;
    for &(flags, from_next, from_own, payload, sends) in segments {
        if sends && peer.stream.write_all(&[7; 100]).is_ok() {
            for reply in wire.replies(peer.peer) {
                peer.own = peer.own.max(reply.seq.wrapping_add(reply.payload));
            }
        }
        let (_, received) = info(&peer.stream);
        let next = peer.first.wrapping_add(received as u32);
        let seq = next.wrapping_add(from_next as u32);
        let segment = Segment { payload, ..wire.segment(flags, seq, peer.own.wrapping_add(from_own as u32)) };
        let segment = Segment { peer: peer.peer, ..segment };
        let what = format!("{segment:?}, {from_next} from the next byte, {from_own} from the host's");
        let replies = wire.send(&segment);
        let (state, received) = info(&peer.stream);
        let now = peer.first.wrapping_add(received as u32);
        if state == CLOSE {
            assert_eq!(wire.entry(peer.peer), None, "TCP has ended: {what}");
            return;
        }
        if is_after(now, highest) {
            highest = now;
        }
        for right in replies.iter().flat_map(|reply| &reply.sacked) {
            if is_after(*right, highest) {
                highest = *right;
            }
        }
        let (ours, high) = wire.entry(peer.peer).unwrap_or_else(|| panic!("TCP goes on: {what}"));
        assert_eq!(ours.wrapping_sub(peer.first), now.wrapping_sub(peer.first), "the next byte after {what}");
        assert!(!is_after(high, highest), "data that TCP does not have: {high} after {what}, {highest} at most");
    }
    // Nothing that the peer says is needed for the rest.
    let reset = Segment { peer: peer.peer, ..wire.segment(RST, wire.entry(peer.peer).expect("an entry").0, 0) };
    wire.send(&reset);
    assert_eq!((info(&peer.stream).0, wire.entry(peer.peer)), (CLOSE, None));
}

/// Runs a test on a thread whose namespaces end with it.
fn on_a_wire(test: impl FnOnce(&mut Wire) + Send + 'static) {
    if support::skips() {
        return;
    }
    let run = move || {
        unshare(CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS).expect("namespaces");
        mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>).expect("private");
        mount(Some("bpf"), "/sys/fs/bpf", Some("bpf"), MsFlags::empty(), None::<&str>).expect("bpffs");
        // The host's ACKs are not to be left out, nor to come late.
        for setting in ["tcp_invalid_ratelimit", "tcp_comp_sack_nr"] {
            fs::write(format!("/proc/sys/net/ipv4/{setting}"), "0").expect("a setting");
        }
        // The process of grants ends with the device.
        test(&mut Wire::new());
    };
    thread::spawn(run).join().expect("the test passes");
}

#[test]
fn programs_believe_what_tcp_accepts() {
    on_a_wire(|wire| {
        let mut runner = TestRunner::new(fanin_testing::cases(300));
        let wire = std::cell::RefCell::new(wire);
        let cases = (prop_oneof![any::<u32>(), Just(u32::MAX - 2_000)], segments());
        let tried = runner.run(&cases, |(first, segments)| {
            agrees(&mut wire.borrow_mut(), first, &segments);
            Ok(())
        });
        if let Err(error) = tried {
            panic!("programs and TCP disagree: {error}");
        }
    });
}

/// Ways in which a connection ends.
#[derive(Clone, Copy, Debug)]
enum End {
    PeerFirst,
    HostFirst,
    Both,
    PeerResets,
    HostResets,
}

#[test]
fn each_way_of_closing_leaves_no_entry() {
    on_a_wire(|wire| {
        for end in [End::PeerFirst, End::HostFirst, End::Both, End::PeerResets, End::HostResets] {
            let peer = wire.open(5);
            let (own, next, port) = (peer.own, peer.first, peer.peer);
            let fin = |wire: &mut Wire, ack: u32| wire.send(&wire.segment(FIN | ACK, next, ack));
            match end {
                End::PeerFirst => {
                    fin(wire, own);
                    drop(peer.stream);
                    wire.send(&wire.segment(ACK, next + 1, own + 1));
                }
                End::HostFirst => {
                    drop(peer.stream);
                    wire.send(&wire.segment(ACK, next, own + 1));
                    fin(wire, own + 1);
                }
                End::Both => {
                    drop(peer.stream);
                    fin(wire, own);
                    wire.send(&wire.segment(ACK, next + 1, own + 1));
                }
                End::PeerResets => {
                    wire.send(&wire.segment(RST, next, 0));
                }
                End::HostResets => {
                    // Data that nobody has read.
                    wire.send(&Segment { payload: 9, ..wire.segment(ACK, next, own) });
                    drop(peer.stream);
                }
            }
            wait_until("its entry ends", || wire.entry(port).is_none());
        }
        let status: Value = serde_json::from_str(&grants(&["status", "--json"])).expect("JSON");
        let counted = &status[0]["counted"];
        assert_eq!(
            (wire.entries(), &counted["connections"], &counted["waiting"]),
            (0, &0.into(), &0.into()),
            "{status}"
        );
    });
}

#[test]
fn flood_of_syns_makes_no_entries() {
    on_a_wire(|wire| {
        for peer in 20_000..40_000 {
            let syn = Segment { peer, ..wire.segment(SYN, 77, 0) };
            wire.send(&syn);
        }
        assert_eq!(wire.entries(), 0);
        // Each reset has a wrong number.
        let peer = wire.open(1);
        for number in 1..1_000 {
            wire.send(&wire.segment(RST, peer.first.wrapping_add(number * 4_000_000), 0));
        }
        assert_eq!(wire.entry(peer.peer), Some((peer.first, peer.first)));
    });
}
