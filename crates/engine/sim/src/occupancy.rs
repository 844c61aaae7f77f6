//! Occupancy of ports and shared memories, and utilisation of links: over the run and over equal parts of it.

use std::collections::BTreeMap;

use fanin_fabric::{Fabric, LinkId, NodeId};
use fanin_tables::{HolderRow, MemoryPartRow, MemoryRow, PortPartRow};
use fanin_units::Time;

use crate::gauge::{Gauge, Part, mean};
use crate::link::Link;
use crate::pools::Memory;
use crate::refusals::Refusals;

/// Maximum number of parts. When a run outgrows them, adjacent parts merge: memory is bounded.
const PARTS: u64 = 200;
/// Initial length of a part.
const SHORTEST: u64 = Time::from_micros(1).0;

/// Every port and memory, from the first request on.
pub(crate) struct Occupancy {
    began: u64,
    ended: u64,
    /// Length of a part.
    span: u64,
    /// By link; `None` for a port without packets.
    ports: Vec<Option<Box<Gauge>>>,
    /// By switch: size of its shared memory, and its use.
    memories: BTreeMap<NodeId, (u64, Gauge)>,
    refusals: Refusals,
}

impl Default for Occupancy {
    fn default() -> Occupancy {
        let (ports, memories, refusals) = (Vec::new(), BTreeMap::new(), Refusals::default());
        Occupancy { began: 0, ended: 0, span: SHORTEST, ports, memories, refusals }
    }
}

/// Averages of a port over the whole time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PortAverage {
    pub queue_mean_bytes: u64,
    pub queue_p99_bytes: u64,
    pub busy_ppm: u64,
}

impl Occupancy {
    /// A packet arrived at a port or left it.
    pub fn port(&mut self, now: Time, id: LinkId, link: &Link) {
        let now = self.make_room(now);
        if self.ports.len() <= id.index() {
            self.ports.resize_with(id.index() + 1, || None);
        }
        let busy_until = link.busy_until().0.saturating_sub(self.began);
        self.ports[id.index()].get_or_insert_default().stand(now, self.span, link.queue_bytes(), busy_until);
    }

    /// The use of a switch's shared memory changed.
    pub fn memory(&mut self, now: Time, memory: Memory<'_>) {
        let now = self.make_room(now);
        let (_, gauge) = self.memories.entry(memory.switch()).or_insert_with(|| (memory.shared(), Gauge::default()));
        gauge.stand(now, self.span, memory.used(), 0);
    }

    /// A port refused a packet for lack of shared memory.
    pub fn refused(&mut self, id: LinkId, memory: Memory<'_>) {
        self.refusals.add(id, memory);
    }

    /// The first request: discard earlier data.
    pub fn begin(&mut self, now: Time) {
        let later = now.0 - self.began;
        self.gauges().for_each(|gauge| gauge.begin(later));
        (self.began, self.span, self.refusals) = (now.0, SHORTEST, Refusals::default());
    }

    /// End of the run.
    pub fn end(&mut self, now: Time) {
        self.ended = self.make_room(now);
        let (ended, span) = (self.ended, self.span);
        self.gauges().for_each(|gauge| gauge.stand_until(ended, span));
    }

    fn gauges(&mut self) -> impl Iterator<Item = &mut Gauge> {
        let ports = self.ports.iter_mut().flatten().map(|port| &mut **port);
        ports.chain(self.memories.values_mut().map(|(_, gauge)| gauge))
    }

    /// The time since the first request, with a part for it.
    fn make_room(&mut self, now: Time) -> u64 {
        let now = now.0 - self.began;
        while now >= PARTS * self.span {
            self.span *= 2;
            self.gauges().for_each(Gauge::pair_up);
        }
        now
    }

    /// A port over the whole time.
    pub fn whole(&self, id: LinkId) -> PortAverage {
        let Some(port) = self.ports.get(id.index()).and_then(Option::as_ref) else {
            return PortAverage { queue_mean_bytes: 0, queue_p99_bytes: 0, busy_ppm: 0 };
        };
        let all = port.whole();
        PortAverage {
            queue_mean_bytes: mean(all.byte_ps, self.ended),
            queue_p99_bytes: port.p99_bytes(),
            busy_ppm: mean(u128::from(all.busy_ps) * 1_000_000, self.ended),
        }
    }

    /// Non-empty parts of a gauge: start and length of each.
    fn parts<'a>(&self, gauge: &'a Gauge) -> impl Iterator<Item = (u64, u64, &'a Part)> {
        let (span, ended) = (self.span, self.ended);
        let parts = gauge.parts.iter().zip(0..).filter(|(part, _)| part.max_bytes + part.busy_ps > 0);
        parts.map(move |(part, number)| (number * span, span.min(ended - number * span), part))
    }

    /// Every port in every part with traffic or a queue.
    pub fn rows(&self, fabric: &Fabric) -> Vec<PortPartRow> {
        let ports = self.ports.iter().zip(fabric.link_ids());
        let ports = ports.filter_map(|(port, id)| Some((port.as_ref()?, fabric.link_name(id))));
        let rows = ports.flat_map(|(port, name)| {
            self.parts(port).map(move |(time_ps, lasts, part)| PortPartRow {
                time_ps,
                span_ps: self.span,
                port: name.clone(),
                queue_mean_bytes: mean(part.byte_ps, lasts),
                queue_max_bytes: part.max_bytes,
                busy_ppm: mean(u128::from(part.busy_ps) * 1_000_000, lasts),
            })
        });
        rows.collect()
    }

    /// Every memory over the whole time.
    pub fn memories(&self, fabric: &Fabric) -> Vec<MemoryRow> {
        let row = |(&switch, (shared, gauge)): (&NodeId, &(u64, Gauge))| {
            let all = gauge.whole();
            MemoryRow {
                switch: fabric.name(switch),
                shared_bytes: *shared,
                used_mean_bytes: mean(all.byte_ps, self.ended),
                used_p99_bytes: gauge.p99_bytes(),
                used_max_bytes: all.max_bytes,
                refused_packets: self.refusals.of(switch, fabric),
            }
        };
        self.memories.iter().map(row).collect()
    }

    /// Every memory in every part in which it was used.
    pub fn memory_series(&self, fabric: &Fabric) -> Vec<MemoryPartRow> {
        let rows = self.memories.iter().flat_map(|(&switch, (_, gauge))| {
            self.parts(gauge).map(move |(time_ps, lasts, part)| MemoryPartRow {
                time_ps,
                span_ps: self.span,
                switch: fabric.name(switch),
                used_mean_bytes: mean(part.byte_ps, lasts),
                used_max_bytes: part.max_bytes,
            })
        });
        rows.collect()
    }

    /// Memory use by port when packets were refused.
    pub fn holders(&self, fabric: &Fabric) -> Vec<HolderRow> {
        self.refusals.rows(fabric)
    }
}

#[cfg(test)]
mod tests {
    use fanin_driver::{Purpose, Stream};
    use fanin_laws::port::Law;
    use fanin_units::Rate;

    use fanin_fabric::HostId;

    use super::*;
    use crate::link::{Departures, LinkAction};
    use fanin_transport::Packet;

    use crate::packet::{InFlight, PacketMetadata};

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
                self.departure = self.link.depart(at).next;
                self.occupancy.port(Time(at), LinkId(0), &self.link);
            }
        }

        fn packet(&mut self, us: u64, bytes: u32) {
            self.depart_until(us);
            let packet = InFlight { packet: Packet { bytes, ..Packet::default() }, ..InFlight::default() };
            if let LinkAction::Departure(at) = self.link.enqueue(us * US, &packet, &mut PacketMetadata::default()) {
                self.departure = Some(at);
            }
            self.occupancy.port(Time(us * US), LinkId(0), &self.link);
        }

        fn end(&mut self, us: u64) -> (PortAverage, u64) {
            self.depart_until(us);
            self.occupancy.end(Time(us * US));
            let longest = self.occupancy.ports[0].iter().flat_map(|port| &port.parts).map(|part| part.max_bytes).max();
            (self.occupancy.whole(LinkId(0)), longest.unwrap_or(0))
        }
    }

    #[test]
    fn burst_of_three_queues() {
        let mut port = Watched::new();
        (0..3).for_each(|_| port.packet(10, 1_000));
        // One is sent at once; 2000 B wait for a millisecond, 1000 B for one more: 3 B s in all, over 10 ms.
        let (whole, longest) = port.end(10_000);
        assert_eq!(whole, PortAverage { queue_mean_bytes: 300, queue_p99_bytes: 2_000, busy_ppm: 300_000 });
        assert_eq!(longest, 2_000);
    }

    #[test]
    fn pending_packets_count_up_to_the_end() {
        let mut port = Watched::new();
        (0..3).for_each(|_| port.packet(0, 1_000));
        let (whole, _) = port.end(500);
        assert_eq!((whole.queue_mean_bytes, whole.busy_ppm), (2_000, 1_000_000));
    }

    #[test]
    fn discards_data_before_the_first_request() {
        let mut port = Watched::new();
        (0..3).for_each(|_| port.packet(0, 1_000));
        port.depart_until(1_500);
        port.occupancy.begin(Time(1_500 * US));
        // 1000 B wait for another 500 us, and the link sends for 1500 us more.
        let (whole, longest) = port.end(11_500);
        assert_eq!((whole.queue_mean_bytes, whole.busy_ppm, longest), (50, 150_000, 1_000));
    }

    #[test]
    fn growing_parts_keep_their_sums() {
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
