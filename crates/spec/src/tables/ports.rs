//! What the network did: ports, links with faults, memories that ports share, how long packets took.

use serde::{Deserialize, Serialize};

use super::column::{Cell, Column, Row, Value};

table! {
    /// One port: the queue in front of one link.
    PortRow in "ports" {
        /// From where to where, such as `switch>client`.
        port: String,
        /// Its tier in the fabric, such as `host up` or `leaf down`.
        tier: String,
        /// Packets that the port took.
        packets: u64,
        /// Those of them with payload, retransmissions too.
        data_packets: u64,
        /// Their bytes on the wire.
        wire_bytes: u64,
        /// Packets that found no room.
        drops_full: u64,
        /// Packets that the law dropped early.
        drops_early: u64,
        /// Packets that would have been marked and were not ECN-capable.
        drops_not_ect: u64,
        /// Packets that waited as the link failed, or came while it was down.
        drops_down: u64,
        /// Packets marked.
        marks: u64,
        /// The longest queue; the packet on the wire does not count.
        queue_max_bytes: u64,
        /// The mean queue over time from the first request to the end; absent, as are the two below, unless measure.ports is on.
        queue_mean_bytes: Option<u64>,
        /// The queue's 99th percentile over that time; right to 3 %.
        queue_p99_bytes: Option<u64>,
        /// The share of that time for which the link was sending.
        busy_ppm: Option<u64>,
    }
}

table! {
    /// One link over which packets met a fault of `[faults]`: what ports drop is apart, in `ports`.
    FaultRow in "faults" {
        /// From where to where, as in `ports`.
        port: String,
        /// Packets that were lost at random.
        lost_packets: u64,
        /// Packets that came twice.
        duplicated_packets: u64,
        /// Packets that came late.
        reordered_packets: u64,
        /// Packets that waited as their host crashed, or came for it while it was down.
        crashed_packets: u64,
    }
}

table! {
    /// One port over one of at most 200 equal parts of a run; parts in which it neither queued nor sent are left out.
    PortPartRow in "port_series" {
        /// When the part begins.
        time_ps: u64,
        /// How long it is, unless the run ends in it.
        span_ps: u64,
        /// The port, as in `ports`.
        port: String,
        /// Its mean queue over the part.
        queue_mean_bytes: u64,
        /// Its longest queue in the part.
        queue_max_bytes: u64,
        /// The share of the part for which its link was sending.
        busy_ppm: u64,
    }
}

table! {
    /// One memory that a switch's ports share, from the first request to the end.
    MemoryRow in "memories" {
        /// The switch.
        switch: String,
        /// What its ports share: without headroom and what is reserved for each.
        shared_bytes: u64,
        /// What they held of it, mean over time.
        used_mean_bytes: u64,
        /// The 99th percentile over time; right to 3 %.
        used_p99_bytes: u64,
        /// The most.
        used_max_bytes: u64,
        /// Packets that found no room under their port's threshold.
        refused_packets: u64,
    }
}

table! {
    /// One memory over one of the parts of `port_series`; parts in which nothing lay in it are left out.
    MemoryPartRow in "memory_series" {
        /// When the part begins.
        time_ps: u64,
        /// How long it is, unless the run ends in it.
        span_ps: u64,
        /// The switch, as in `memories`.
        switch: String,
        /// What its ports held of what they share, mean over the part.
        used_mean_bytes: u64,
        /// The most in the part.
        used_max_bytes: u64,
    }
}

table! {
    /// One port that held shared memory as another port of its switch, or itself, found no room for a packet.
    HolderRow in "holders" {
        /// The port that found no room, as in `ports`.
        port: String,
        /// Its packets for which there was none.
        refused_packets: u64,
        /// The port that held memory.
        holder: String,
        /// What that held of what is shared, mean over these packets as each came.
        held_mean_bytes: u64,
    }
}

table! {
    /// How long packets took from the sending to the receiving host, queues included, by class; percentiles are right to 3 %.
    LatencyRow in "latency" {
        /// The flows' kind, as in `flows`; what a connection sends back belongs to it.
        class: String,
        /// `data` or `ack`: with payload or without.
        what: String,
        /// Packets that arrived.
        packets: u64,
        /// Their mean.
        mean_ps: u64,
        /// Their median.
        p50_ps: u64,
        /// The 95th percentile.
        p95_ps: u64,
        /// The 99th percentile.
        p99_ps: u64,
        /// The 99.9th percentile.
        p999_ps: u64,
        /// The largest.
        max_ps: u64,
    }
}

impl PortRow {
    /// Packets dropped, whatever the cause.
    pub fn drops(&self) -> u64 {
        self.drops_full + self.drops_early + self.drops_not_ect + self.drops_down
    }
}
