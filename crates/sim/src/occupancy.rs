//! How full ports are over time, and how busy their links: exact sums over the run and over equal parts of it.

use fanin_fabric::{Fabric, LinkId};
use fanin_spec::PortPartRow;
use fanin_units::Time;

use crate::histogram::Histogram;
use crate::link::Link;

/// A run has at most so many parts. As it outgrows them, each takes in its neighbour: memory is bounded.
const PARTS: u64 = 200;
/// How long a part is at first.
const SHORTEST: u64 = Time::from_micros(1).0;

/// Every port, from the first request on.
pub(crate) struct Occupancy {
    began: u64,
    ended: u64,
    /// How long a part is.
    span: u64,
    /// By link; none of a port that no packet came to.
    ports: Vec<Option<Box<Port>>>,
}

impl Default for Occupancy {
    fn default() -> Occupancy {
        Occupancy { began: 0, ended: 0, span: SHORTEST, ports: Vec::new() }
    }
}

/// How a port stands, and how it stood.
#[derive(Clone, Default)]
struct Port {
    /// Since when it stands so; all times are since the first request.
    since: u64,
    queue_bytes: u64,
    /// When its link will have sent what it has begun to send.
    busy_until: u64,
    /// Queues by how long they stood.
    queues: Histogram,
    parts: Vec<Part>,
}

#[derive(Clone, Copy, Default)]
struct Part {
    byte_ps: u128,
    max_bytes: u64,
    busy_ps: u64,
}

impl Part {
    fn and(self, next: Part) -> Part {
        Part {
            byte_ps: self.byte_ps + next.byte_ps,
            max_bytes: self.max_bytes.max(next.max_bytes),
            busy_ps: self.busy_ps + next.busy_ps,
        }
    }
}

/// What a port was on average over the whole time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Whole {
    pub queue_mean_bytes: u64,
    pub queue_p99_bytes: u64,
    pub busy_ppm: u64,
}

impl Occupancy {
    /// A packet came to a port or left it.
    pub fn port(&mut self, now: Time, id: LinkId, link: &Link) {
        let now = self.make_room(now);
        if self.ports.len() <= id.index() {
            self.ports.resize_with(id.index() + 1, || None);
        }
        let port = self.ports[id.index()].get_or_insert_default();
        port.stand_until(now, self.span);
        port.queue_bytes = link.queue_bytes();
        port.busy_until = link.busy_until().0.saturating_sub(self.began);
        if port.queue_bytes > 0 {
            let part = port.part(now / self.span);
            part.max_bytes = part.max_bytes.max(link.queue_bytes());
        }
    }

    /// The first request: what was before is forgotten.
    pub fn begin(&mut self, now: Time) {
        for port in self.ports.iter_mut().flatten() {
            let busy_until = (port.busy_until + self.began).saturating_sub(now.0);
            **port = Port { queue_bytes: port.queue_bytes, busy_until, ..Port::default() };
        }
        (self.began, self.span) = (now.0, SHORTEST);
    }

    /// The run is over.
    pub fn end(&mut self, now: Time) {
        self.ended = self.make_room(now);
        for port in self.ports.iter_mut().flatten() {
            port.stand_until(self.ended, self.span);
        }
    }

    /// The time since the first request, for which there is a part then.
    fn make_room(&mut self, now: Time) -> u64 {
        let now = now.0 - self.began;
        while now >= PARTS * self.span {
            self.span *= 2;
            for port in self.ports.iter_mut().flatten() {
                let pair = |pair: &[Part]| pair.iter().copied().reduce(Part::and).unwrap_or_default();
                port.parts = port.parts.chunks(2).map(pair).collect();
            }
        }
        now
    }

    /// A port over the whole time.
    pub fn whole(&self, id: LinkId) -> Whole {
        let Some(port) = self.ports.get(id.index()).and_then(Option::as_ref) else {
            return Whole { queue_mean_bytes: 0, queue_p99_bytes: 0, busy_ppm: 0 };
        };
        let all = port.parts.iter().copied().reduce(Part::and).unwrap_or_default();
        Whole {
            queue_mean_bytes: mean(all.byte_ps, self.ended),
            queue_p99_bytes: port.queues.quantile(990).into(),
            busy_ppm: mean(u128::from(all.busy_ps) * 1_000_000, self.ended),
        }
    }

    /// Every port over every part in which something was sent or queued.
    pub fn rows(&self, fabric: &Fabric) -> Vec<PortPartRow> {
        let ports = self
            .ports
            .iter()
            .zip(fabric.link_ids())
            .filter_map(|(port, id)| Some((port.as_ref()?, fabric.link_name(id))));
        let rows = ports.flat_map(|(port, name)| {
            let parts = port.parts.iter().zip(0..).filter(|(part, _)| part.max_bytes + part.busy_ps > 0);
            parts.map(move |(part, number)| {
                let time_ps = number * self.span;
                let lasts = self.span.min(self.ended - time_ps);
                PortPartRow {
                    time_ps,
                    span_ps: self.span,
                    port: name.clone(),
                    queue_mean_bytes: mean(part.byte_ps, lasts),
                    queue_max_bytes: part.max_bytes,
                    busy_ppm: mean(u128::from(part.busy_ps) * 1_000_000, lasts),
                }
            })
        });
        rows.collect()
    }
}

impl Port {
    /// It has stood as it does until now.
    fn stand_until(&mut self, now: u64, span: u64) {
        let (queue_bytes, busy_until) = (self.queue_bytes, self.busy_until);
        self.queues.add(queue_bytes.min(u32::MAX.into()) as u32, now - self.since);
        // Where it was idle, there is nothing to add up.
        let until = if queue_bytes > 0 { now } else { now.min(busy_until) };
        let mut from = self.since;
        while from < until {
            let number = from / span;
            let to = until.min((number + 1) * span);
            let part = self.part(number);
            part.byte_ps += u128::from(queue_bytes) * u128::from(to - from);
            part.max_bytes = part.max_bytes.max(queue_bytes);
            part.busy_ps += to.min(busy_until).saturating_sub(from);
            from = to;
        }
        self.since = now;
    }

    fn part(&mut self, number: u64) -> &mut Part {
        let number = number as usize;
        if self.parts.len() <= number {
            self.parts.resize(number + 1, Part::default());
        }
        &mut self.parts[number]
    }
}

/// The sum over a time, rounded; zero over no time.
fn mean(sum: u128, span_ps: u64) -> u64 {
    (sum + u128::from(span_ps / 2)).checked_div(span_ps.into()).unwrap_or(0) as u64
}

#[cfg(test)]
mod tests {
    use fanin_laws::port::Law;
    use fanin_units::Rate;

    use fanin_fabric::HostId;

    use super::*;
    use crate::link::{Departures, Todo};
    use crate::packet::{Luggage, Packet};
    use crate::streams::{Purpose, Stream};

    const US: u64 = 1_000_000;

    /// A link of 8 Mbit/s, a byte a microsecond, seen by an occupancy that begins at zero.
    struct Watched {
        link: Link,
        occupancy: Occupancy,
        departure: Option<u64>,
    }

    impl Watched {
        fn new() -> Watched {
            let wire = fanin_fabric::Link {
                from: HostId(0).node(),
                to: HostId(1).node(),
                rate: Rate(8_000_000),
                delay: Time::ZERO,
            };
            let mut link = Link::new(&wire, 0);
            link.set_up(Law::UNLIMITED, Departures::Lazy, false, Stream::new(1, Purpose::Port, 0));
            Watched { link, occupancy: Occupancy::default(), departure: None }
        }

        fn depart_until(&mut self, us: u64) {
            while let Some(at) = self.departure.filter(|&at| at <= us * US) {
                let (_, next) = self.link.depart(at);
                self.departure = if let Todo::Departure(next) = next { Some(next) } else { None };
                self.occupancy.port(Time(at), LinkId(0), &self.link);
            }
        }

        fn packet(&mut self, us: u64, bytes: u32) {
            self.depart_until(us);
            let packet = Packet { frame_bytes: bytes, ..Packet::default() };
            if let Todo::Departure(at) = self.link.enqueue(us * US, packet, &mut Luggage::default()) {
                self.departure = Some(at);
            }
            self.occupancy.port(Time(us * US), LinkId(0), &self.link);
        }

        fn end(&mut self, us: u64) -> (Whole, u64) {
            self.depart_until(us);
            self.occupancy.end(Time(us * US));
            let longest = self.occupancy.ports[0].iter().flat_map(|port| &port.parts).map(|part| part.max_bytes).max();
            (self.occupancy.whole(LinkId(0)), longest.unwrap_or(0))
        }
    }

    #[test]
    fn a_burst_of_three_waits_for_the_packets_before_it() {
        let mut port = Watched::new();
        (0..3).for_each(|_| port.packet(10, 1_000));
        // One is sent at once; 2000 B wait for a millisecond, 1000 B for one more: 3 B s in all, over 10 ms.
        let (whole, longest) = port.end(10_000);
        assert_eq!(whole, Whole { queue_mean_bytes: 300, queue_p99_bytes: 2_000, busy_ppm: 300_000 });
        assert_eq!(longest, 2_000);
    }

    #[test]
    fn what_is_still_being_sent_or_queued_counts_up_to_the_end() {
        let mut port = Watched::new();
        (0..3).for_each(|_| port.packet(0, 1_000));
        let (whole, _) = port.end(500);
        assert_eq!((whole.queue_mean_bytes, whole.busy_ppm), (2_000, 1_000_000));
    }

    #[test]
    fn what_was_before_the_first_request_is_forgotten() {
        let mut port = Watched::new();
        (0..3).for_each(|_| port.packet(0, 1_000));
        port.depart_until(1_500);
        port.occupancy.begin(Time(1_500 * US));
        // 1000 B wait for another 500 us, and the link sends for 1500 us more.
        let (whole, longest) = port.end(11_500);
        assert_eq!((whole.queue_mean_bytes, whole.busy_ppm, longest), (50, 150_000, 1_000));
    }

    #[test]
    fn parts_grow_as_a_run_outgrows_them_and_keep_their_sums() {
        let mut port = Watched::new();
        port.packet(3, 100);
        port.packet(3, 60);
        let (_, longest) = port.end(1_000_000);
        let parts = &port.occupancy.ports[0].as_ref().expect("a port").parts;
        assert!(parts.len() as u64 <= PARTS && port.occupancy.span * PARTS > 1_000_000 * US);
        let sums = parts.iter().copied().reduce(Part::and).expect("a part");
        assert_eq!((sums.byte_ps, sums.busy_ps, longest), (60 * 100 * u128::from(US), 160 * US, 60));
    }
}
