//! Liveness of grants, in all orders of arrivals: while a response lacks data, its peer may send, or the timer wakes someone in time.

use fanin_laws::receiver::grants::{Arrival, Host, Params};
use fanin_units::{Bytes, Rate, SendRate, Share, Time};

const MSS: u32 = 1_000;
const RTT: Time = Time::from_micros(60);
/// Longest silence while a connection waits and the timer has not expired since an arrival: 200 us, as two round trips are shorter.
const PAUSE: Time = Time::from_micros(200);
/// The last segment of a response.
const LAST: u32 = 300;

/// A server's view of its connection.
#[derive(Clone, Copy)]
struct Server {
    next: u32,
    /// The end of its response, and the right edge of its window.
    end: u32,
    edge: u32,
}

#[derive(Clone)]
struct Network {
    host: Host,
    servers: [Server; 4],
    now: Time,
    /// Senders fill their windows with parts of segments.
    fills: bool,
    /// Longest silence before the timer's first expiry.
    pause: Time,
}

impl Network {
    fn new(queue: u64, fills: bool) -> Network {
        Network::limited(queue, fills, (Params::default().limit, Time::ZERO), PAUSE)
    }

    /// With a limit, which has paid for all that it carries until a time.
    fn limited(queue: u64, fills: bool, (limit, now): (SendRate, Time), pause: Time) -> Network {
        let params = Params { queue: Bytes(queue), limit, ..Params::default() };
        let mut host = Host::new(&params, Rate(1_000_000_000), MSS);
        let servers = std::array::from_fn(|place| {
            host.open(place as u32, 1, true);
            host.receive(now, place as u32, &Arrival { seq: 0, payload: 0, rtt: RTT });
            Server { next: 1, end: 1, edge: 1 }
        });
        Network { host, servers, now, fills, pause }
    }

    /// Requests responses of these numbers of segments, of which the last one is short; servers with zero do not respond.
    fn request(&mut self, segments: [u32; 4]) {
        for (place, count) in segments.into_iter().enumerate() {
            self.now += Time::from_micros(1);
            self.host.send(self.now, place as u32);
            self.servers[place].end += count.saturating_sub(1) * MSS + if count > 0 { LAST } else { 0 };
            self.announce(place);
        }
    }

    /// The connection's segment leaves, and those of others that are woken.
    fn announce(&mut self, place: usize) {
        self.host.announce(place as u32);
        self.servers[place].edge = self.host.edge(place as u32);
        self.announce_woken();
    }

    fn announce_woken(&mut self) {
        while let Some(other) = self.host.next_woken() {
            self.host.announce(other);
            self.servers[other as usize].edge = self.host.edge(other);
        }
    }

    /// The bytes that a server may send now: a whole segment, or the rest of its response.
    fn sends(&self, place: usize) -> u32 {
        let Server { next, end, edge } = self.servers[place];
        let (left, window) = (end - next, edge.saturating_sub(next));
        let full = left.min(MSS);
        if window >= full || self.fills { full.min(window) } else { 0 }
    }

    fn deliver(&mut self, place: usize) {
        self.now += Time::from_micros(8);
        let (payload, seq) = (self.sends(place), self.servers[place].next);
        self.servers[place].next += payload;
        self.host.receive(self.now, place as u32, &Arrival { seq, payload, rtt: RTT });
        self.announce(place);
    }

    fn is_over(&self) -> bool {
        self.servers.iter().all(|server| server.next == server.end)
    }

    /// Nobody can send: the timer has to be armed, to expire in time, and to wake someone who can.
    fn wake(&mut self) {
        for expiries in 1..=16 {
            let deadline = self.host.deadline();
            assert!(deadline != Time::NEVER, "nothing is to wake {} connections", self.host.waiting());
            let wait = deadline.since(self.now);
            assert!(expiries > 1 || wait <= self.pause, "a wait of {wait:?}");
            self.now = self.now.max(deadline);
            self.host.expire(self.now);
            self.announce_woken();
            if (0..4).any(|place| self.sends(place) > 0) {
                return;
            }
        }
        panic!("the timer wakes nobody who can send");
    }

    /// One order: among the servers that may send, this one does.
    fn finish(&mut self, chosen: fn(&[usize]) -> usize) {
        while !self.is_over() {
            let may: Vec<usize> = (0..4).filter(|place| self.sends(*place) > 0).collect();
            if may.is_empty() {
                self.wake();
            } else {
                self.deliver(chosen(&may));
            }
        }
    }
}

/// Follows every order of arrivals to the end of the round; returns their number.
fn follow(mut network: Network, end: &mut dyn FnMut(Network)) -> u64 {
    if network.is_over() {
        end(network);
        return 1;
    }
    if (0..4).all(|place| network.sends(place) == 0) {
        network.wake();
    }
    let may: Vec<usize> = (0..4).filter(|place| network.sends(*place) > 0).collect();
    let mut orders = 0;
    for place in may {
        let mut next = network.clone();
        next.deliver(place);
        orders += follow(next, end);
    }
    orders
}

#[test]
fn every_order_of_short_responses_ends() {
    let mut orders = 0;
    for queue in [1_000, 2_000, 4_000, 8_000] {
        for segments in [[1, 1, 1, 1], [2, 2, 2, 2], [3, 1, 2, 1], [1, 3, 1, 3], [4, 1, 1, 2]] {
            for fills in [false, true] {
                let mut network = Network::new(queue, fills);
                network.request(segments);
                // A second round, in which sizes are known, and a third one of other sizes.
                let mut go_on = |mut network: Network| {
                    network.request(segments);
                    network.finish(|may| may[may.len() - 1]);
                    network.request([2, 4, 3, 1]);
                    network.finish(|may| may[0]);
                };
                orders += follow(network, &mut go_on);
            }
        }
    }
    assert!(orders > 10_000, "{orders} orders");
}

#[test]
fn servers_that_do_not_respond_hold_back_no_others() {
    let mut orders = 0;
    for queue in [1_000, 2_000, 4_000] {
        for segments in [[0, 2, 2, 2], [0, 0, 3, 2], [3, 0, 0, 0], [2, 0, 3, 1]] {
            let mut network = Network::new(queue, false);
            network.request(segments);
            orders += follow(network, &mut |_| ());
        }
    }
    assert!(orders > 100, "{orders} orders");
}

#[test]
fn every_order_ends_under_a_limit() {
    let mut orders = 0;
    // A turn of 1,000 B takes 80 us at 100 Mbit/s. At first seven are paid for.
    let (limit, pause) = (SendRate::Share(Share::of(1, 10)), PAUSE + PAUSE + Time::from_micros(80));
    let paid = (limit, Time::from_micros(600));
    for queue in [1_000, 8_000] {
        for segments in [[1, 1, 1, 1], [3, 1, 2, 1], [0, 2, 2, 2]] {
            for fills in [false, true] {
                let mut network = Network::limited(queue, fills, paid, pause);
                network.request(segments);
                let mut go_on = |mut network: Network| {
                    network.request([2, 4, 3, 1]);
                    network.finish(|may| may[0]);
                };
                orders += follow(network, &mut go_on);
            }
        }
    }
    assert!(orders > 100, "{orders} orders");
}
