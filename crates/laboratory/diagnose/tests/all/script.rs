//! A client and servers with hand-written segments.

use std::ops::Range;

use etherparse::{PacketBuilder, TcpOptionElement};

pub const US: u64 = 1_000;
pub const MS: u64 = 1_000_000;
pub const SEGMENT: u32 = 1448;
/// A full packet at 1 Gbit/s.
const PACKET: u64 = 12 * US;
const REQUEST: u32 = 64;

/// The capture: times in nanoseconds, and packets.
pub struct Script {
    packets: Vec<(i64, Vec<u8>)>,
    /// Begin of each server's response, and the client's next byte.
    answered: Vec<u32>,
    asked: Vec<u32>,
    /// Segments of the current responses that have arrived.
    came: Vec<Vec<u32>>,
    acks: bool,
    /// Whether the capture misses all packets of the client.
    pub deaf: bool,
    /// Whether segments have timestamps, in milliseconds, and the latest one that each server has heard.
    pub stamped: bool,
    heard: Vec<u32>,
    pub begin: u64,
    back: u64,
    id: u16,
}

impl Script {
    /// Connections to `servers` servers, with round trips of 100 us; with or without their handshakes.
    pub fn open(servers: usize, shaken: bool) -> Script {
        let mut script = Script {
            packets: Vec::new(),
            answered: vec![1001; servers],
            asked: vec![501; servers],
            came: vec![Vec::new(); servers],
            acks: true,
            deaf: false,
            stamped: false,
            heard: vec![0; servers],
            begin: 1_000_000 * MS,
            back: 0,
            id: 0,
        };
        for server in 0..servers {
            let at = server as u64 * 10 * US;
            if shaken {
                script.put(at, server, true, (500, 0), ("S", 65535), 0);
                script.put(at + 100 * US, server, false, (1000, 501), ("SA", 65535), 0);
                script.put(at + 102 * US, server, true, (501, 1001), ("A", 500), 0);
            }
        }
        script
    }

    fn put(
        &mut self,
        at: u64,
        server: usize,
        client: bool,
        (seq, ack): (u32, u32),
        (flags, window): (&str, u16),
        payload: u32,
    ) {
        let stamp = (at / MS) as u32 + 1;
        if client {
            self.heard[server] = stamp;
        }
        if client && self.deaf {
            return;
        }
        let (a, b) = ([10, 0, 0, 1], [10, 0, 1, server as u8 + 1]);
        let (from, to, ports) = if client { (a, b, (40_000, 9000)) } else { (b, a, (9000, 40_000)) };
        let mut builder = PacketBuilder::ipv4(from, to, 64).tcp(ports.0, ports.1, seq, window);
        if flags.contains('S') {
            let options = [
                TcpOptionElement::MaximumSegmentSize(1448),
                TcpOptionElement::WindowScale(7),
                TcpOptionElement::SelectiveAcknowledgementPermitted,
            ];
            builder = builder.syn().options(&options).unwrap();
        } else if self.stamped {
            builder = builder.options(&[TcpOptionElement::Timestamp(stamp, self.heard[server])]).unwrap();
        }
        if flags.contains('A') {
            builder = builder.ack(ack);
        }
        let mut bytes = Vec::new();
        builder.write(&mut bytes, &vec![0; payload as usize]).unwrap();
        self.id += 1;
        bytes[4..6].copy_from_slice(&self.id.to_be_bytes());
        self.packets.push((at as i64 - self.back as i64, bytes));
    }

    /// The client requests from all servers.
    pub fn ask(&mut self, at: u64) {
        (0..self.asked.len()).for_each(|server| self.ask_one(at + server as u64 * US, server));
    }

    pub fn ask_one(&mut self, at: u64, server: usize) {
        self.put(at, server, true, (self.asked[server], self.answered[server]), ("A", 500), REQUEST);
    }

    pub fn request_again(&mut self, at: u64, server: usize) {
        self.ask_one(at, server);
    }

    /// A server acknowledges the request.
    pub fn ack_request(&mut self, at: u64, server: usize) {
        self.put(at, server, false, (self.answered[server], self.asked[server] + REQUEST), ("A", 500), 0);
    }

    /// Segments of a server's response, one after another, each acknowledged.
    pub fn answer(&mut self, at: u64, server: usize, segments: Range<u32>) {
        for (place, segment) in segments.enumerate() {
            let at = at + place as u64 * PACKET;
            let seq = self.answered[server] + segment * SEGMENT;
            self.put(at, server, false, (seq, self.asked[server] + REQUEST), ("A", 500), SEGMENT);
            self.came[server].push(segment);
            if self.acks {
                let whole = (0..).find(|next| !self.came[server].contains(next)).unwrap_or(0);
                self.ack(at + 2 * US, server, whole);
            }
        }
    }

    pub fn without_acks(&mut self, work: impl FnOnce(&mut Script)) {
        self.acks = false;
        work(self);
        self.acks = true;
    }

    /// The client acknowledges the first segments of the current response.
    pub fn ack(&mut self, at: u64, server: usize, segments: u32) {
        self.window(at, server, segments, 500);
    }

    pub fn window(&mut self, at: u64, server: usize, segments: u32, window: u16) {
        let ack = self.answered[server] + segments * SEGMENT;
        self.put(at, server, true, (self.asked[server] + REQUEST, ack), ("A", window), 0);
    }

    /// Finishes a round in which all servers have sent this many segments.
    pub fn turned(&mut self, segments: u32) {
        self.answered.iter_mut().for_each(|seq| *seq += segments * SEGMENT);
        self.asked.iter_mut().for_each(|seq| *seq += REQUEST);
        self.came.iter_mut().for_each(Vec::clear);
    }

    pub fn set_back(&mut self, by: u64) {
        self.back += by + 3_000 * MS;
    }

    fn sorted(&self) -> Vec<&(i64, Vec<u8>)> {
        let mut packets: Vec<_> = self.packets.iter().collect();
        if self.back == 0 {
            packets.sort_by_key(|(at, _)| *at);
        }
        packets
    }

    pub fn last_packet_bytes(&self) -> usize {
        16 + self.sorted().last().map_or(0, |(_, bytes)| bytes.len().min(96))
    }

    /// A capture in nanoseconds, with a snap length of 96 bytes.
    pub fn pcap(&self) -> Vec<u8> {
        self.part(96, |_, _| true)
    }

    /// The packets that `keeps` selects by place and time, with a snap length.
    pub fn part(&self, snap: usize, keeps: impl Fn(usize, u64) -> bool) -> Vec<u8> {
        let mut file = Vec::new();
        for word in [0xa1b2_3c4du32, 0x0004_0002, 0, 0, snap as u32, 101] {
            file.extend(word.to_le_bytes());
        }
        let kept = |(place, (at, _)): &(usize, &(i64, Vec<u8>))| keeps(*place, at.unsigned_abs());
        for (_, (at, bytes)) in self.sorted().into_iter().enumerate().filter(kept) {
            let at = self.begin.saturating_add_signed(*at);
            let kept = bytes.len().min(snap);
            for word in [(at / 1_000_000_000) as u32, (at % 1_000_000_000) as u32, kept as u32, bytes.len() as u32] {
                file.extend(word.to_le_bytes());
            }
            file.extend(&bytes[..kept]);
        }
        file
    }
}
