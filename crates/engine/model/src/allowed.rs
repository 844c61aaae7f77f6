//! Upper bound of the goodput of rounds, in which a client waits for all responses, on a network without losses and queueing delay. No run
//! exceeds it, and measured goodput is compared with it.
//! Sources: arithmetic; slow start doubles the window per round trip (RFC 5681, section 3.1).
//! Forms:   T = max of three, the time of one round of N responses of S bytes, k of them requested at once
//!          all: round trip, work, the first of the starts, and N S with headers at C
//!          last: round trip, the last of N starts or the last request's transmission, and one response
//!          in flight: the sum of each response's time alone, over k
//!          plus, for new windows that do not fill the pipe, a round trip per flight
//!          G = payload of the rounds that fit in D, with a pause P after each, over D
//! Units:   seconds, bytes, bits a second; G in Mbit/s.
//! Departs: nowhere.
//! Checked: rounds computed by hand in its tests; simulations (`crates/cli/tests/all/allowed`).

/// Random delay of a response: the sum of uniform draws, each from 0 up to this number of seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Starts(pub [f64; 6]);

/// Resolution of a distribution.
const STEPS: usize = 400;

impl Starts {
    fn longest(&self) -> f64 {
        self.0.iter().sum()
    }

    /// Mean delay.
    fn mean(&self) -> f64 {
        self.longest() / 2.0
    }

    /// Cumulative distribution at `STEPS` equal parts of the longest delay, never too small.
    fn up_to(&self) -> Vec<f64> {
        let step = self.longest() / STEPS as f64;
        let mut below = vec![1.0; STEPS];
        for width in self.0 {
            // A draw narrower than a part has no visible effect.
            let cells = (width / step) as usize;
            if cells == 0 {
                continue;
            }
            // Mean over the width before each place.
            let mut sums = vec![0.0];
            sums.extend(below.iter().scan(0.0, |sum, share| {
                *sum += share;
                Some(*sum)
            }));
            let mean = |i: usize| (sums[i] - sums[i.saturating_sub(cells)]) / cells as f64;
            below = (1..=STEPS).map(mean).collect();
        }
        below
    }

    /// Expected first and last of `n`: lower bounds.
    fn ends_of(&self, n: u32) -> (f64, f64) {
        let step = self.longest() / STEPS as f64;
        if step == 0.0 {
            return (0.0, 0.0);
        }
        let n = f64::from(n);
        let sum =
            |of: &dyn Fn(f64) -> f64| self.up_to().into_iter().map(|below| of(below.min(1.0))).sum::<f64>() * step;
        (sum(&|below| libm::pow(1.0 - below, n)), sum(&|below| 1.0 - libm::pow(below, n)))
    }
}

/// One client and its servers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answers {
    /// N.
    pub servers: u32,
    /// k: number of outstanding requests.
    pub at_once: u32,
    /// S, payload: mean over the servers.
    pub bytes: f64,
    /// Payload of a full packet.
    pub segment: f64,
    /// Other bytes of each packet.
    pub header: f64,
    /// Minimum packet size on the wire.
    pub least: f64,
    /// C, in bit/s: of all servers together, and of the fastest one alone.
    pub rate: f64,
    /// See above.
    pub alone: f64,
    /// Rate of the client's link.
    pub link: f64,
    /// Time from the request until it reaches the nearest server, handshake included.
    pub ask_s: f64,
    /// Time from then until the first bit of a zero-length packet reaches the client.
    pub way_s: f64,
    /// Transmission time of a response's first packet on all links but the client's.
    pub first_s: f64,
    /// Time between two windows of a connection: a full packet to the client, and its ACK.
    pub round_trip_s: f64,
    /// Transmission time of a request on the client's link, or the interval to the next one if longer.
    pub request_s: f64,
    /// Minimum work of a server before it responds.
    pub work_s: f64,
    /// Additional random delay.
    pub starts: Starts,
    /// Whether the clock begins with the first of these delays.
    pub from_first: bool,
    /// Initial window of a new connection, in segments; `None` for a persistent one.
    pub new_window: Option<f64>,
    /// Maximum number of outstanding bytes per connection.
    pub receive_window: f64,
}

/// Limits of a run: rounds, or time, with a pause after each round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Room {
    /// Maximum number of rounds.
    pub rounds: Option<u32>,
    /// Maximum duration.
    pub duration_s: f64,
    /// Pause after a round.
    pub pause_s: f64,
    /// Whether the measurement may begin within a round.
    pub any_phase: bool,
}

impl Room {
    /// Whether all rounds end in time.
    fn holds_all(&self, round_s: f64) -> bool {
        self.rounds.is_some_and(|rounds| self.needed_s(rounds, round_s) <= self.duration_s)
    }

    /// Time of several rounds; there is no pause after the last.
    fn needed_s(&self, rounds: u32, round_s: f64) -> f64 {
        f64::from(rounds) * (round_s + self.pause_s) - self.pause_s
    }

    /// Rate of rounds of this mean length; if the run is cut off, at any phase.
    pub fn rounds_a_second(&self, round_s: f64) -> f64 {
        match self.rounds {
            Some(rounds) if self.holds_all(round_s) => f64::from(rounds) / self.needed_s(rounds, round_s),
            _ => (self.duration_s + self.pause_s) / (round_s + self.pause_s) / self.duration_s,
        }
    }
}

/// Components of a round, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Parts {
    /// Transmission of packets.
    pub wire_s: f64,
    /// Round trips, handshakes and slow-start flights.
    pub round_trips_s: f64,
    /// Work and delays of servers.
    pub work_s: f64,
    /// Transmission of earlier requests.
    pub requests_s: f64,
}

impl Parts {
    /// T.
    pub fn all_s(&self) -> f64 {
        self.wire_s + self.round_trips_s + self.work_s + self.requests_s
    }

    /// The longer one.
    fn or(self, other: Parts) -> Parts {
        if other.all_s() > self.all_s() { other } else { self }
    }
}

impl Answers {
    /// T, by component.
    pub fn round(&self) -> Parts {
        let n = self.servers;
        let at_once = self.at_once.clamp(1, n);
        let mut longest = self.all(at_once).or(self.last(at_once));
        if at_once < n {
            longest = longest.or(self.in_flight(at_once));
        }
        longest
    }

    /// G, in Mbit/s.
    pub fn most_goodput_mbps(&self, room: &Room) -> f64 {
        let round = self.round().all_s();
        let payload = self.bytes * f64::from(self.servers) * 8.0 / 1e6;
        if room.holds_all(round) {
            return payload * room.rounds_a_second(round);
        }
        // No run has more rounds than without delays; with delays, the mean number is lower.
        let quick = Answers { starts: Starts::default(), ..*self }.rounds_in(room);
        let drawn = self.rounds_in(room).max(room.rounds_a_second(round) * room.duration_s);
        let rounds = if self.starts.longest() > 0.0 { quick.min(drawn) } else { quick };
        payload * rounds / room.duration_s
    }

    /// Number of rounds of this length in a run, and the fraction of another.
    fn rounds_in(&self, room: &Room) -> f64 {
        let cycle = self.round().all_s() + room.pause_s;
        let full = (room.duration_s / cycle).floor();
        // A measurement that begins within a round may do so at any of its bytes.
        let lead = if room.any_phase { 0.0 } else { self.ask_s + self.work_s + self.way_s };
        let left = room.duration_s - full * cycle - lead;
        full + (left.max(0.0) / self.bottleneck_s(self.servers, self.bytes)).min(1.0)
    }

    /// Bound by the client's link: all bytes, the first one after the earliest start.
    fn all(&self, at_once: u32) -> Parts {
        let flights = if at_once == self.servers { self.flights(self.servers) } else { Flights::none(self.bytes) };
        let wire = (self.wire_s(self.servers, flights.left) + self.first_s * f64::from(flights.number == 0.0))
            .max(self.bottleneck_s(self.servers, flights.left));
        let first = if self.from_first { 0.0 } else { self.starts.ends_of(at_once).0 };
        self.parts(wire, flights.number, first, 0.0)
    }

    /// Bound by the server that starts or is requested last.
    fn last(&self, at_once: u32) -> Parts {
        let flights = self.flights(1);
        let wire = self.alone_s(&flights);
        let (first, last) = self.starts.ends_of(self.servers);
        let first = if self.from_first { first } else { 0.0 };
        let late = self.parts(wire, flights.number, (last - first).max(0.0), 0.0);
        let turns = f64::from(if self.request_s > 0.0 { at_once - 1 } else { 0 });
        let asked_last =
            self.parts(wire, flights.number, (self.starts.mean() - first).max(0.0), turns * self.request_s);
        late.or(asked_last)
    }

    /// Bound by the limit `at_once`: each response occupies a place for its duration.
    fn in_flight(&self, at_once: u32) -> Parts {
        let flights = self.flights(1);
        let one = self.parts(self.alone_s(&flights), flights.number, self.starts.mean(), 0.0);
        let turns = f64::from(self.servers) / f64::from(at_once);
        Parts {
            wire_s: one.wire_s * turns,
            round_trips_s: one.round_trips_s * turns,
            work_s: one.work_s * turns,
            requests_s: 0.0,
        }
    }

    fn parts(&self, wire_s: f64, flights: f64, drawn_s: f64, requests_s: f64) -> Parts {
        let round_trips_s = self.ask_s + self.way_s + flights * self.round_trip_s;
        Parts { wire_s, round_trips_s, work_s: self.work_s + drawn_s, requests_s }
    }

    /// Time of one response after its flights, alone.
    fn alone_s(&self, flights: &Flights) -> f64 {
        let first = self.first_s * f64::from(flights.number == 0.0);
        (self.wire_s(1, flights.left) + first).max(self.bits(1, flights.left) / self.alone)
    }

    /// Flights of `n` new windows that do not fill the pipe, a round trip each; and those of a receive window smaller than a response.
    fn flights(&self, n: u32) -> Flights {
        let many = f64::from(n);
        let pipe = self.rate.min(self.link) * self.round_trip_s / 8.0;
        let packet = self.segment + self.header;
        let mut flights = Flights::none(self.bytes);
        let mut window = self.new_window.unwrap_or(f64::INFINITY);
        while many * window * packet < pipe && flights.left > window * self.segment {
            flights.number += 1.0;
            flights.left -= window * self.segment;
            window *= 2.0;
        }
        let receive = self.receive_window.max(1.0);
        if many * receive < pipe && receive >= self.segment {
            let turns = ((flights.left / receive).ceil() - 1.0).max(0.0);
            flights.number += turns;
            flights.left -= turns * receive;
        }
        flights
    }

    /// Bits of `bytes` from each of `n` servers, with headers.
    fn bits(&self, n: u32, bytes: f64) -> f64 {
        let full = (bytes / self.segment).floor();
        let rest = bytes - full * self.segment;
        // If some send a byte more than others, an additional packet is not counted.
        let last = if rest >= 1.0 { (rest + self.header).max(self.least) } else { rest };
        f64::from(n) * (full * (self.segment + self.header) + last) * 8.0
    }

    /// Transmission time on the client's link.
    fn wire_s(&self, n: u32, bytes: f64) -> f64 {
        self.bits(n, bytes) / self.link
    }

    /// Transmission time on the bottleneck.
    fn bottleneck_s(&self, n: u32, bytes: f64) -> f64 {
        self.bits(n, bytes) / self.rate
    }
}

/// Round trips spent waiting, and the remainder of a response.
struct Flights {
    number: f64,
    left: f64,
}

impl Flights {
    fn none(bytes: f64) -> Flights {
        Flights { number: 0.0, left: bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 Gbit/s, 100 us, full packets of 1,500 bytes of which 1,460 are payload.
    const READS: Answers = Answers {
        servers: 8,
        at_once: 8,
        bytes: 14_600.0,
        segment: 1_460.0,
        header: 40.0,
        least: 40.0,
        rate: 1e9,
        alone: 1e9,
        link: 1e9,
        ask_s: 50e-6,
        way_s: 50e-6,
        first_s: 0.0,
        round_trip_s: 100e-6,
        request_s: 0.0,
        work_s: 20e-6,
        starts: Starts([0.0; 6]),
        from_first: false,
        new_window: None,
        receive_window: 1e9,
    };
    const LONG: Room = Room { rounds: None, duration_s: 1e6, pause_s: 0.0, any_phase: true };

    fn is(found: f64, by_hand: f64) {
        assert!((found / by_hand - 1.0).abs() < 1e-6, "{found}, by hand {by_hand}");
    }

    /// Expects a round of this length in microseconds.
    fn mbps(answers: &Answers, us: f64) {
        is(answers.most_goodput_mbps(&LONG), f64::from(answers.servers) * answers.bytes * 8.0 / us);
    }

    #[test]
    fn round_is_round_trip_work_and_wire() {
        // 8 responses of 15,000 B on the wire take 960 us, after 120 us; the first packet may need 12 more on its own host's link.
        mbps(&READS, 1_080.0);
        mbps(&Answers { first_s: 12e-6, ..READS }, 1_092.0);
    }

    #[test]
    fn last_start_can_limit_round() {
        // Nine parts of 100 us: the first response starts after one, the last after eight, and takes 120. 960 us of wire come first.
        let starts = |a, b| Answers { starts: Starts([a, b, 0.0, 0.0, 0.0, 0.0]), ..READS };
        let close = |found: f64, by_hand: f64| assert!((0.99..=1.0).contains(&(found / by_hand)), "{found}, {by_hand}");
        close(starts(900e-6, 0.0).round().all_s(), (120.0 + 1_060.0) * 1e-6);
        // 90 parts: after 1 ms and 8 ms.
        close(starts(9_000e-6, 0.0).round().all_s(), (120.0 + 8_000.0 + 120.0) * 1e-6);
        // Two draws of half the width vary less than one.
        assert!(starts(4_500e-6, 4_500e-6).round().all_s() < 0.95 * starts(9_000e-6, 0.0).round().all_s());
    }

    #[test]
    fn clock_from_first_start_counts_distances() {
        let starts = Answers { starts: Starts([9_000e-6, 0.0, 0.0, 0.0, 0.0, 0.0]), from_first: true, ..READS };
        assert!((0.99..=1.0).contains(&(starts.round().all_s() / 7_240e-6)), "{:?}", starts.round());
    }

    #[test]
    fn new_connections_double_their_windows_until_the_pipe_is_full() {
        // The pipe is 12,500 B. One sender of two segments: flights of 2 and 4 (3,000 and 6,000 B) do not fill it, nor would one of 8
        // (12,000 B); then only 4 of ten segments remain, fewer than 8.
        let one = Answers { servers: 1, at_once: 1, new_window: Some(2.0), ..READS };
        mbps(&one, 100.0 + 20.0 + 200.0 + 4.0 * 12.0);
        // Eight of them fill it at once.
        mbps(&Answers { new_window: Some(2.0), ..READS }, 1_080.0);
    }

    #[test]
    fn few_in_flight_take_a_round_trip_each() {
        // One at a time: eight times a round trip, work and 120 us of wire. Two: half of that, which is not more than 1,080 us.
        mbps(&Answers { at_once: 1, ..READS }, 8.0 * 240.0);
        mbps(&Answers { at_once: 2, ..READS }, 1_080.0);
        // With random delays their mean counts, not the last of two: three at a time, 24 / 3 (240 + 50).
        let drawn = Answers {
            servers: 24,
            at_once: 3,
            rate: 1e10,
            link: 1e10,
            starts: Starts([50e-6, 50e-6, 0.0, 0.0, 0.0, 0.0]),
            ..READS
        };
        mbps(&drawn, 8.0 * (100.0 + 20.0 + 50.0 + 120.0));
    }

    #[test]
    fn requests_share_clients_link() {
        // Small responses: seven requests of 10 us before the last one's 100, 20 and 0.912 + 0.32 us.
        let small = Answers { bytes: 114.0, request_s: 10e-6, ..READS };
        mbps(&small, 70.0 + 120.0 + 154.0 * 8.0 / 1e3);
        is(small.round().requests_s, 70e-6);
    }

    #[test]
    fn a_small_receive_window_binds() {
        // One connection, just over a segment per round trip: nine round trips, and the tenth window's 1,460 B.
        let bound = Answers { servers: 1, at_once: 1, receive_window: 1_500.0, ..READS };
        mbps(&bound, 120.0 + 900.0 + (14_600.0 - 9.0 * 1_500.0 + 40.0) * 8.0 / 1e3);
    }

    #[test]
    fn counts_pauses_and_partial_rounds() {
        let room = |ms: f64| Room { rounds: None, duration_s: ms / 1e3, pause_s: 300e-3, any_phase: false };
        let payload = 8.0 * 14_600.0 * 8.0;
        // At 0 and at 301.08 ms: two rounds in 500 ms; in 301.2 ms one, and 120 us pass before the first bit of another.
        is(READS.most_goodput_mbps(&room(500.0)), 2.0 * payload / 500_000.0);
        is(READS.most_goodput_mbps(&room(301.2)), payload / 301_200.0);
        is(READS.most_goodput_mbps(&room(301.68)), 1.5 * payload / 301_680.0);
        // A number of queries, without a pause after the last.
        let three = Room { rounds: Some(3), duration_s: 5.0, ..room(0.0) };
        is(READS.most_goodput_mbps(&three), 3.0 * payload / (3.0 * 1_080.0 + 600_000.0));
    }
}
