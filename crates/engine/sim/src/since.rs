//! Counters at the start of the measured time: warm-up is excluded from all figures.

use std::collections::BTreeMap;

use fanin_driver::EndpointId;
use fanin_fabric::LinkId;
use fanin_transport::{Stats, Transport};
use fanin_units::Time;

use crate::link::{ClassQueues, Counts, CountsByClass, Link};
use crate::net::{ByLink, CardCounts};

/// Sums of endpoints' counters.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sums {
    pub data_packets: u64,
    pub timeouts: u64,
    pub fast_retransmits: u64,
    pub probes: u64,
    pub retransmits: u64,
    /// Payload delivered in order.
    pub delivered: u64,
}

impl Sums {
    /// Of an endpoint.
    pub fn of(endpoint: &impl Transport) -> Sums {
        let Stats { timeouts, fast_retransmits, probes, retransmits, data_segments, .. } = endpoint.stats();
        Sums {
            data_packets: data_segments,
            timeouts: timeouts.into(),
            fast_retransmits: fast_retransmits.into(),
            probes: probes.into(),
            retransmits: retransmits.into(),
            delivered: endpoint.delivered(),
        }
    }

    /// Sum of both.
    pub fn and(self, other: Sums) -> Sums {
        Sums {
            data_packets: self.data_packets + other.data_packets,
            timeouts: self.timeouts + other.timeouts,
            fast_retransmits: self.fast_retransmits + other.fast_retransmits,
            probes: self.probes + other.probes,
            retransmits: self.retransmits + other.retransmits,
            delivered: self.delivered + other.delivered,
        }
    }

    /// Data packets of both.
    pub fn data_packets([own, beside]: [Sums; 2]) -> u64 {
        own.data_packets + beside.data_packets
    }

    /// Counts since an earlier state.
    pub fn since(self, before: Sums) -> Sums {
        Sums {
            data_packets: self.data_packets - before.data_packets,
            timeouts: self.timeouts - before.timeouts,
            fast_retransmits: self.fast_retransmits - before.fast_retransmits,
            probes: self.probes - before.probes,
            retransmits: self.retransmits - before.retransmits,
            delivered: self.delivered - before.delivered,
        }
    }
}

/// Counters of a port.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PortSums {
    pub packets: u64,
    pub data_packets: u64,
    pub wire_bytes: u64,
    pub counts: Counts,
}

impl PortSums {
    pub fn of(link: &Link) -> PortSums {
        PortSums {
            packets: link.packets,
            data_packets: link.data_packets,
            wire_bytes: link.wire_bytes,
            counts: link.counts(),
        }
    }

    /// Counts since an earlier state.
    pub fn since(self, before: PortSums) -> PortSums {
        let (now, then) = (self.counts, before.counts);
        PortSums {
            packets: self.packets - before.packets,
            data_packets: self.data_packets - before.data_packets,
            wire_bytes: self.wire_bytes - before.wire_bytes,
            counts: Counts {
                drops_full: now.drops_full - then.drops_full,
                drops_early: now.drops_early - then.drops_early,
                drops_not_ect: now.drops_not_ect - then.drops_not_ect,
                drops_down: now.drops_down - then.drops_down,
                marks: now.marks - then.marks,
            },
        }
    }
}

/// Start of the measured time; all zero without a warm-up.
#[derive(Default)]
pub(crate) struct MeasurementStart {
    pub at: Time,
    /// Payload of the workload.
    pub payload: u64,
    /// Sums of the workload, and of background traffic.
    pub sums: [Sums; 2],
    pub beside_drops: u64,
    pub incasts: u64,
    pub delivered_packets: u64,
    /// By link.
    pub ports: Vec<PortSums>,
    pub faults: ByLink,
    pub cards: CardCounts,
    /// By link, for ports with classes.
    pub classes: BTreeMap<LinkId, CountsByClass>,
    /// By the connection's opener, if queue pairs are measured.
    pub pairs: BTreeMap<EndpointId, PairCounts>,
}

/// Counts of a queue pair.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PairCounts {
    pub sums: Sums,
    pub notified: u64,
    /// Payload delivered at the other end.
    pub delivered: u64,
}

impl PairCounts {
    /// Of a connection's sending end and its other one, if they are a queue pair.
    pub fn of(sender: &impl Transport, receiver: &impl Transport) -> Option<PairCounts> {
        Some(PairCounts { sums: Sums::of(sender), notified: sender.notified()?, delivered: receiver.delivered() })
    }
}

/// Counts of all ports with classes.
pub(crate) fn counts_by_class(
    links: &[Link],
    ids: impl Iterator<Item = LinkId>,
) -> impl Iterator<Item = (LinkId, CountsByClass)> {
    links.iter().zip(ids).filter_map(|(link, id)| Some((id, link.classes().map(ClassQueues::counts)?)))
}

impl MeasurementStart {
    /// A port's counts since then.
    pub fn port(&self, id: LinkId, link: &Link) -> PortSums {
        PortSums::of(link).since(self.ports.get(id.index()).copied().unwrap_or_default())
    }
}
