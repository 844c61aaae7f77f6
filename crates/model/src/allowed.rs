//! The goodput that a network and its settings allow to many answers at one client, if nothing is lost and no queue is waited
//! for: what a measured goodput is held against.
//! Sources: arithmetic; slow start doubles what is out once a round trip (RFC 5681, section 3.1).
//! Forms:   G = N S / T, T = setup + work + slow start + rest, the time of one round of N answers of S bytes
//!          setup: round trips before the first answer's first byte (a handshake, a request)
//!          work: what servers need; where starts are spread over J, the first comes after J / (N + 1), the last after
//!          J N / (N + 1)
//!          slow start: a round trip for each flight that N new windows do not fill the pipe with
//!          rest: what is left, headers included, at the rate C at which N servers reach the client, or at N windows a round
//!          trip
//!          of at most k answers at once: no sooner than N / k rounds of k
//! Units:   seconds, bytes, bits a second; G in Mbit/s.
//! Departs: nowhere.
//! Checked: rounds worked out by hand in its tests.

/// One client and the servers that answer it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answers {
    /// N.
    pub servers: u32,
    /// How many are asked at once.
    pub at_once: u32,
    /// S, payload.
    pub bytes: f64,
    /// Payload of a full packet.
    pub segment: f64,
    /// What each packet has besides.
    pub header: f64,
    /// C, bits a second: what is left of it beside other traffic.
    pub rate: f64,
    /// Of the round trip, without a queue.
    pub rtt_s: f64,
    /// Round trips before the first byte of an answer.
    pub setup_rtts: f64,
    /// What a server needs at the least before it answers.
    pub work_s: f64,
    /// Starts are uniform in 0 up to this, after that.
    pub spread_s: f64,
    /// Window of a new connection, segments; `None` of one that stands.
    pub new_window: Option<f64>,
    /// Bytes that one connection may have out.
    pub receive_window: f64,
}

impl Answers {
    /// G, in Mbit/s.
    pub fn most_goodput_mbps(&self) -> f64 {
        self.bytes * f64::from(self.servers) * 8.0 / self.round_s() / 1e6
    }

    /// T.
    fn round_s(&self) -> f64 {
        let at_once = self.at_once.min(self.servers);
        let batch = self.batch_s(at_once);
        let batches = f64::from(self.servers) / f64::from(at_once);
        let whole = self.rtt_s * self.setup_rtts + self.work_s + self.wire_s(self.servers, self.bytes);
        (batches * batch).max(whole)
    }

    /// The time of `n` answers that are asked for at once.
    fn batch_s(&self, n: u32) -> f64 {
        let many = f64::from(n);
        let pipe = self.rate * self.rtt_s / 8.0;
        let packet = self.segment + self.header;
        let (mut flights, mut left) = (0.0, self.bytes);
        let mut window = self.new_window.unwrap_or(f64::INFINITY);
        while many * window * packet < pipe && left > window * self.segment {
            flights += 1.0;
            left -= window * self.segment;
            window *= 2.0;
        }
        let first = self.spread_s / (many + 1.0);
        let all = first + self.wire_s(n, left);
        let last = self.spread_s * many / (many + 1.0) + self.wire_s(1, left);
        self.rtt_s * (self.setup_rtts + flights) + self.work_s + all.max(last)
    }

    /// The time that `bytes` of each of `n` servers take on the wire.
    fn wire_s(&self, n: u32, bytes: f64) -> f64 {
        let many = f64::from(n);
        let wire = bytes + (bytes / self.segment).ceil() * self.header;
        let windows = many * self.receive_window * 8.0 / self.rtt_s;
        many * wire * 8.0 / self.rate.min(windows)
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
        rate: 1e9,
        rtt_s: 100e-6,
        setup_rtts: 1.0,
        work_s: 20e-6,
        spread_s: 0.0,
        new_window: None,
        receive_window: 1e9,
    };

    fn is(found: f64, by_hand: f64) {
        assert!((found / by_hand - 1.0).abs() < 1e-9, "{found}, by hand {by_hand}");
    }

    #[test]
    fn a_round_over_standing_connections_is_a_round_trip_work_and_the_wire() {
        // 8 answers of 15,000 B on the wire are 960 us, with 120 us before.
        is(READS.most_goodput_mbps(), 8.0 * 14_600.0 * 8.0 / 1_080.0);
    }

    #[test]
    fn the_last_of_spread_starts_may_be_what_a_round_waits_for() {
        // Nine parts of 900 us: the first answer starts after 100 us, the last after 800, and takes 120.
        let spread = Answers { spread_s: 900e-6, ..READS };
        is(spread.most_goodput_mbps(), 8.0 * 14_600.0 * 8.0 / (120.0 + 1_060.0));
        // 90 parts: after 1 ms and 8 ms.
        let wide = Answers { spread_s: 9_000e-6, ..READS };
        is(wide.most_goodput_mbps(), 8.0 * 14_600.0 * 8.0 / (120.0 + 8_000.0 + 120.0));
    }

    #[test]
    fn new_connections_double_their_windows_until_the_pipe_is_full() {
        // The pipe is 12,500 B. One sender of two segments: flights of 2 and 4 (3,000 and 6,000 B) do not fill it, one
        // of 8 would be 12,000 and does not either; then nothing is left of ten segments but 4, smaller than 8.
        let one = Answers { servers: 1, at_once: 1, new_window: Some(2.0), ..READS };
        is(one.most_goodput_mbps(), 14_600.0 * 8.0 / (100.0 + 20.0 + 200.0 + 4.0 * 12.0));
        // Eight of them fill it at once.
        let eight = Answers { new_window: Some(2.0), ..READS };
        is(eight.most_goodput_mbps(), READS.most_goodput_mbps());
    }

    #[test]
    fn few_at_once_pay_for_each_turn() {
        // One at a time: eight times a round trip, work and 120 us of wire.
        let one_by_one = Answers { at_once: 1, ..READS };
        is(one_by_one.most_goodput_mbps(), 14_600.0 * 8.0 / 240.0);
    }

    #[test]
    fn a_small_receive_window_binds() {
        // One connection, one segment a round trip: ten round trips' worth of wire at 1,460 B each.
        let bound = Answers { servers: 1, at_once: 1, receive_window: 1_500.0, ..READS };
        is(bound.most_goodput_mbps(), 14_600.0 * 8.0 / (120.0 + 1_000.0));
    }
}
