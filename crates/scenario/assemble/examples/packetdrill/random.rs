//! Random paths and receivers that answer the endpoint's segments. A kernel that gets their answers, too, must send the same
//! segments (`bench/packetdrill/kernel.py`).
//!
//! A path has a fixed delay and a rate; it loses, reorders and marks data, and loses acknowledgements. A receiver acknowledges every first
//! or second segment, repeats itself for data out of order, and may have a small window. The application writes once or
//! several times. Segments arrive clear of the endpoint's timers, which a kernel serves a tick or more later.

use fanin_tcp::{Endpoint, Flags, Segment, Settings};
use fanin_transport::{Block, Call, Metadata, Packet, Transport, Wire};
use fanin_units::Time;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng};
use serde::Serialize;

use crate::drive::{flags, linux};

const MSS: u32 = 1_000;
/// Microseconds: the round trip, a segment's time on the path, and between two arrivals.
const RTT: i64 = 40_000;
const GAP: i64 = 3_000;
const APART: i64 = 2_000;
/// The window of a receiver with room, and the scale of windows.
const WINDOW: u32 = 131_072;
const SCALE: u32 = 7;

/// A kind of path, receiver and application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Loss,
    Reordering,
    ThinnedAcks,
    Marks,
    SmallWindow,
    Idle,
    Writes,
    All,
}

impl Kind {
    pub const ALL: [(&'static str, Kind); 8] = [
        ("loss", Kind::Loss),
        ("reordering", Kind::Reordering),
        ("thinned-acks", Kind::ThinnedAcks),
        ("marks", Kind::Marks),
        ("small-window", Kind::SmallWindow),
        ("idle", Kind::Idle),
        ("writes", Kind::Writes),
        ("all", Kind::All),
    ];

    fn has(self, kind: Kind) -> bool {
        self == kind || self == Kind::All
    }
}

/// A case: the events at a host, and the endpoint's segments.
#[derive(Serialize)]
pub struct Case {
    pub seed: u64,
    pub control: String,
    pub ecn: bool,
    pub events: Vec<Event>,
    pub sent: Vec<Data>,
}

/// An event at the host, at a time in microseconds after the SYN.
#[derive(Serialize)]
pub struct Event {
    at: i64,
    /// Bytes that the application writes; 0: a segment arrives.
    write: u64,
    ack: u32,
    window: u32,
    ece: bool,
    sack: Vec<(u32, u32)>,
}

/// Data that is sent: after how many events, and when.
#[derive(Serialize)]
pub struct Data {
    event: usize,
    at: i64,
    seq: u32,
    len: u32,
}

struct Random(Xoshiro256PlusPlus);

impl Random {
    fn chance(&mut self, share: f64) -> bool {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64 <= share && share > 0.0
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[(self.0.next_u64() % from.len() as u64) as usize]
    }
}

#[derive(Default)]
struct Outbox(Vec<Segment>);

impl Wire for Outbox {
    fn send(&mut self, packet: Packet, _: Metadata<'_>) {
        self.0.push(Segment::from(&packet));
    }
}

/// Properties of a path, drawn once.
struct Path {
    loss: f64,
    reorders: f64,
    marks: f64,
    ack_loss: f64,
    acks_every: u32,
    ack_delay: i64,
    window: u32,
}

impl Path {
    fn draw(random: &mut Random, kind: Kind) -> Path {
        let loss = if kind == Kind::Loss { random.pick(&[0.05, 0.1, 0.2, 0.35]) } else { random.pick(&[0.02, 0.1]) };
        let when = |random: &mut Random, of: Kind, shares: &[f64]| if kind.has(of) { random.pick(shares) } else { 0.0 };
        Path {
            loss,
            reorders: when(random, Kind::Reordering, &[0.02, 0.1, 0.3]),
            marks: when(random, Kind::Marks, &[0.02, 0.1, 0.4]),
            ack_loss: when(random, Kind::ThinnedAcks, &[0.1, 0.3, 0.6]),
            acks_every: if kind.has(Kind::ThinnedAcks) { random.pick(&[1, 2, 4, 8]) } else { random.pick(&[1, 2]) },
            ack_delay: if kind.has(Kind::ThinnedAcks) { random.pick(&[5_000, 40_000]) } else { 40_000 },
            window: if kind.has(Kind::SmallWindow) {
                (random.pick(&[3, 5, 8, 15]) * MSS) >> SCALE << SCALE
            } else {
                WINDOW
            },
        }
    }
}

/// A receiver's state.
#[derive(Default)]
struct Receiver {
    next: u32,
    beyond: Vec<(u32, u32)>,
    unacked: u32,
    ack_at: Option<i64>,
    ece: bool,
}

/// A segment on its way.
enum Flying {
    Data(Segment, bool),
    Ack(Event),
}

struct Run {
    random: Random,
    path: Path,
    exact_echo: bool,
    now: i64,
    endpoint: Endpoint,
    settings: Settings,
    outbox: Outbox,
    flying: Vec<(i64, Flying)>,
    receiver: Receiver,
    busy_until: i64,
    burst: u32,
    last: i64,
    /// When the endpoint last set its timer, and how late a kernel's may be by then.
    armed: i64,
    slip: i64,
    writes: Vec<(i64, u64)>,
    case: Case,
}

/// Draws a case with at most this many events.
pub fn draw(seed: u64, kind: Kind, control: &str, events: usize) -> Result<Case, String> {
    let mut random = Random(Xoshiro256PlusPlus::seed_from_u64(seed));
    let path = Path::draw(&mut random, kind);
    let ecn = control == "dctcp" || kind.has(Kind::Marks) && random.chance(0.8);
    let keys = "mss = \"1000 B\"\ntimestamps = false\nidle_restart = true\n";
    let settings = linux(control, ecn, keys)?;
    let mut writes = vec![(RTT - 3_000, u64::from(MSS) * random.pick(&[8, 15, 30, 60]))];
    let (more, pauses) = match kind {
        Kind::Writes => (random.pick(&[2, 4, 8]), [5_000, 60_000]),
        Kind::Idle => (random.pick(&[1, 2]), [400_000, 1_500_000]),
        Kind::All => (random.pick(&[0, 2]), [60_000, 600_000]),
        _ => (0, [0, 0]),
    };
    for _ in 0..more {
        let last = writes[writes.len() - 1].0;
        let bytes = u64::from(random.pick(&[MSS, 3 * MSS, 12 * MSS, 700, 4_300]));
        writes.push((last + random.pick(&pauses) + (random.0.next_u64() % 7_000) as i64, bytes));
    }
    let case = Case { seed, control: control.into(), ecn, events: Vec::new(), sent: Vec::new() };
    let mut run = Run {
        random,
        path,
        exact_echo: control == "dctcp",
        now: 0,
        endpoint: <Endpoint as Transport>::new(&settings),
        settings,
        outbox: Outbox::default(),
        flying: Vec::new(),
        receiver: Receiver { next: 1, ..Receiver::default() },
        busy_until: 0,
        burst: 0,
        last: 0,
        armed: 0,
        slip: 0,
        writes,
        case,
    };
    run.shake_hands(ecn);
    while run.case.events.len() < events && run.step() {}
    Ok(run.case)
}

impl Run {
    fn with(&mut self, act: impl FnOnce(&mut Endpoint, &mut Call<'_, Settings, Outbox>)) {
        let now = Time::from_micros(self.now as u64);
        let mut call = Call { settings: &self.settings, now, wire: &mut self.outbox };
        act(&mut self.endpoint, &mut call);
        for segment in std::mem::take(&mut self.outbox.0) {
            if segment.len > 0 {
                self.leaves(segment);
            }
        }
    }

    fn hand_over(&mut self, segment: Segment, sack: &[Block]) {
        let packet = Packet::from(segment);
        self.with(|endpoint, call| {
            Transport::receive(endpoint, call, &packet, Metadata { sack, ..Metadata::default() });
        });
    }

    fn shake_hands(&mut self, ecn: bool) {
        let blank =
            Segment { seq: 0, ack: 0, window: 65_535, ts_val: 0, ts_ecr: 0, len: 0, header: 0, flags: Flags::NONE };
        self.hand_over(Segment { flags: flags(if ecn { "SEW" } else { "S" }), ..blank }, &[]);
        self.now = RTT - 3_000;
        let window = self.path.window;
        self.hand_over(Segment { seq: 1, ack: 1, window, flags: Flags::ACK, ..blank }, &[]);
        self.case.events.push(self.event(1, false, Vec::new(), self.now));
        self.last = self.now;
    }

    fn event(&self, ack: u32, ece: bool, sack: Vec<(u32, u32)>, at: i64) -> Event {
        Event { at, write: 0, ack, window: self.path.window >> SCALE, ece, sack }
    }

    /// A segment leaves the endpoint: the path decides.
    fn leaves(&mut self, segment: Segment) {
        let (event, len) = (self.case.events.len(), u32::from(segment.len));
        self.case.sent.push(Data { event, at: self.now, seq: segment.seq, len });
        if self.burst > 0 {
            self.burst -= 1;
            return;
        }
        if self.random.chance(self.path.loss) {
            self.burst = self.random.pick(&[0, 0, 1, 3]);
            return;
        }
        let marked = segment.flags.any(Flags::ECT) && self.random.chance(self.path.marks);
        // A kernel may send later.
        self.busy_until = (self.now + self.slip + RTT / 2).max(self.busy_until + GAP);
        let late = if self.random.chance(self.path.reorders) { self.random.pick(&[5_000, 13_000, 60_000]) } else { 0 };
        self.flying.push((self.busy_until + late, Flying::Data(segment, marked)));
    }

    /// Carry out the next event; returns false if there is none.
    fn step(&mut self) -> bool {
        let timer = match Transport::deadline(&self.endpoint) {
            Time::NEVER => i64::MAX,
            at => at.0.div_ceil(1_000_000) as i64,
        };
        let first = (0..self.flying.len()).min_by_key(|&i| self.flying[i].0);
        let arrival = first.map_or(i64::MAX, |i| self.flying[i].0);
        let write = self.writes.first().map_or(i64::MAX, |&(at, _)| at.max(self.last + APART));
        let ack = self.receiver.ack_at.unwrap_or(i64::MAX);
        let next = timer.min(arrival).min(write).min(ack);
        if next == i64::MAX || next > 20_000_000 {
            return false;
        }
        let acts_here = |flying: &Flying| matches!(flying, Flying::Ack(_));
        let at_host = next == write || first.is_some_and(|i| next == arrival && acts_here(&self.flying[i].1));
        // A kernel's timer fires later than the endpoint's: arrivals meanwhile wait.
        if at_host && timer != i64::MAX && timer - next < APART {
            self.put_off(first.filter(|_| next == arrival), timer + self.slip + grain(timer - self.armed) + APART);
            return true;
        }
        // So do arrivals before a kernel's timer has fired.
        if at_host && next < self.armed + self.slip {
            self.put_off(first.filter(|_| next == arrival), self.armed + self.slip + APART);
            return true;
        }
        if next == timer {
            self.now = self.now.max(timer);
            self.slip += grain(self.now - self.armed);
            self.armed = self.now;
            self.with(|endpoint, call| {
                Transport::expire(endpoint, call);
            });
            return true;
        }
        self.now = self.now.max(next);
        if next == ack {
            self.acknowledge(Vec::new());
        } else if next == write {
            let (_, bytes) = self.writes.remove(0);
            self.happens(Event { write: bytes, ..self.event(0, false, Vec::new(), self.now) });
            // A kernel pushes each full segment of a write by itself: they leave some microseconds apart (tcp_push_one).
            for part in parts(bytes) {
                self.with(|endpoint, call| Transport::write(endpoint, call, part, Time::NEVER));
                self.now += 1;
            }
        } else if let Some(i) = first {
            match self.flying.swap_remove(i).1 {
                Flying::Data(segment, marked) => self.receives(&segment, marked),
                Flying::Ack(event) => self.arrives(event),
            }
        }
        true
    }

    /// Put off an arrival, or else the next write.
    fn put_off(&mut self, arrival: Option<usize>, until: i64) {
        match arrival {
            Some(i) => self.flying[i].0 = until,
            None => self.writes[0].0 = until,
        }
    }

    fn happens(&mut self, event: Event) {
        (self.last, self.armed, self.slip) = (self.now, self.now, 0);
        self.case.events.push(event);
    }

    fn arrives(&mut self, event: Event) {
        if self.now < self.last + APART {
            self.flying.push((self.last + APART, Flying::Ack(event)));
            return;
        }
        let blocks: Vec<Block> =
            event.sack.iter().map(|&(start, end)| Block { start: start.into(), end: end.into() }).collect();
        let flags = Flags::ACK | Flags::ECE.when(event.ece);
        let (ack, window) = (event.ack, event.window << SCALE);
        self.happens(Event { at: self.now, ..event });
        let segment = Segment { seq: 1, ack, window, ts_val: 0, ts_ecr: 0, len: 0, header: 0, flags };
        self.hand_over(segment, &blocks);
    }

    fn receives(&mut self, segment: &Segment, marked: bool) {
        let receiver = &mut self.receiver;
        let (start, end) = (segment.seq, segment.seq + u32::from(segment.len));
        if self.exact_echo {
            receiver.ece = marked;
        } else {
            receiver.ece &= !segment.flags.any(Flags::CWR);
            receiver.ece |= marked;
        }
        let known = end <= receiver.next || receiver.beyond.iter().any(|run| run.0 <= start && end <= run.1);
        if known {
            return self.acknowledge(vec![(start, end)]);
        }
        let in_order = start <= receiver.next;
        let holes = !receiver.beyond.is_empty();
        if in_order {
            receiver.next = end;
            while let Some(i) = receiver.beyond.iter().position(|run| run.0 <= receiver.next) {
                receiver.next = receiver.next.max(receiver.beyond.remove(i).1);
            }
        } else {
            let mut merged = (start, end);
            receiver.beyond.retain(|&(a, b)| {
                let apart = b < merged.0 || a > merged.1;
                if !apart {
                    merged = (merged.0.min(a), merged.1.max(b));
                }
                apart
            });
            receiver.beyond.insert(0, merged);
        }
        receiver.unacked += 1;
        if !in_order || holes || receiver.unacked >= self.path.acks_every || self.random.chance(0.1) {
            self.acknowledge(Vec::new());
        } else if self.receiver.ack_at.is_none() {
            self.receiver.ack_at = Some(self.now + self.path.ack_delay);
        }
    }

    fn acknowledge(&mut self, mut sack: Vec<(u32, u32)>) {
        sack.extend(&self.receiver.beyond);
        sack.truncate(4);
        (self.receiver.unacked, self.receiver.ack_at) = (0, None);
        if self.random.chance(self.path.ack_loss) {
            return;
        }
        let event = self.event(self.receiver.next, self.receiver.ece, sack, 0);
        self.flying.push((self.now + RTT / 2, Flying::Ack(event)));
    }
}

/// A write, cut into full segments and a rest.
pub fn parts(bytes: u64) -> impl Iterator<Item = u64> {
    let mss = u64::from(MSS);
    (0..bytes.div_ceil(mss)).map(move |i| mss.min(bytes - i * mss))
}

/// How much later a kernel may serve a timer that waits this long: two ticks of 4 ms, or the grain of its wheel (kernel/time/timer.c).
fn grain(wait: i64) -> i64 {
    const TICK: i64 = 4_000;
    match wait / TICK {
        0..63 => 2 * TICK,
        63..504 => 10 * TICK,
        _ => 66 * TICK,
    }
}
