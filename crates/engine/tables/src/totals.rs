//! Totals of a run, and its cost.

use serde::{Deserialize, Serialize};

use crate::column::{Cell, Column, Row, Value};

table! {
    /// Totals of one run.
    Totals in "totals" {
        /// Payload delivered in order in the measured time.
        payload_bytes: u64,
        /// Measured time: the duration, or for one-shot and queries the sum of completion times and of pauses between them.
        measured_ps: u64,
        /// Distinct data packets delivered.
        data_packets: u64,
        /// Retransmission timeouts, including backoffs and those of connections that open.
        timeouts: u64,
        /// Losses found without a timeout: entries into fast recovery; requests of a missing packet over RDMA.
        fast_retransmits: u64,
        /// Tail loss probes.
        probes: u64,
        /// Data packets retransmitted, probes among them.
        retransmits: u64,
        /// Packets dropped at all ports, including early drops.
        drops: u64,
        /// Packets marked at all ports.
        marks: u64,
        /// Completed rounds or queries.
        rounds: u64,
        /// Rounds or queries unfinished at the run's end.
        rounds_open: u64,
        /// Stalls: times in which a client received nothing for over ten round trips plus the servers' largest service time and start delay, while a round was open or a long flow was sending.
        stalls: u64,
        /// Total duration of stalls.
        stalled_ps: u64,
        /// Incast events at the client's port, or at the ports of all its links, in a many-to-one workload: sequences of drops, each within an idle round trip of the previous one.
        incasts: u64,
        /// Payload of background traffic delivered in order in the measured time.
        background_bytes: u64,
        /// Timeouts of background traffic.
        background_timeouts: u64,
        /// Fast recoveries of background traffic.
        background_fast_retransmits: u64,
        /// Drops of background traffic.
        background_drops: u64,
        /// Longest queue at the client's port, or at any client's port if there are several; for an any-to-any workload, at any switch port. The packet in transmission does not count.
        queue_max_bytes: u64,
        /// Packets sent by endpoints. With faults, these plus the copies equal those delivered, dropped, lost and in flight.
        injected_packets: u64,
        /// Packets that reached their endpoint.
        delivered_packets: u64,
        /// Packets in flight at the end.
        in_flight_packets: u64,
    }
}

/// Cost of the run for its driver; not part of the results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Engine {
    /// Events processed.
    pub events: u64,
    /// Packet transmissions over links.
    pub packet_hops: u64,
    /// Share of its time for which a real machine's busiest processor was busy, in thousandths; 0 for a simulated run.
    pub busy_thousandths: u64,
}
