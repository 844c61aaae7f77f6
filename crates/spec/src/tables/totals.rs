//! The sums of a run, and what it cost.

use serde::{Deserialize, Serialize};

use super::column::{Cell, Column, Row, Value};

table! {
    /// The sums of one run.
    Totals in "totals" {
        /// Payload delivered in order over the measured time.
        payload_bytes: u64,
        /// The measured time: the duration, or for one-shot and queries the sum of completion times, pauses between them too.
        measured_ps: u64,
        /// Distinct data segments delivered.
        data_packets: u64,
        /// Retransmission timeouts fired, backoffs and SYN included.
        timeouts: u64,
        /// Entries into fast recovery.
        fast_retransmits: u64,
        /// Packets dropped at all ports, early drops included.
        drops: u64,
        /// Packets marked at all ports.
        marks: u64,
        /// Rounds or queries completed.
        rounds: u64,
        /// Rounds or queries that the run's end cut off.
        rounds_open: u64,
        /// Times in which nothing came to a client for over ten round trips (and the time that a server may work or be put off) while a round was open or a long flow sent, whatever ended them.
        stalls: u64,
        /// How long these took together.
        stalled_ps: u64,
        /// Incasts at the port to a client that many send to: runs of drops there, each within an idle round trip of the one before.
        incasts: u64,
        /// Payload of what runs beside the workload, delivered in order over the measured time.
        background_bytes: u64,
        /// Of the timeouts, those of what runs beside the workload.
        background_timeouts: u64,
        /// Of the entries into fast recovery.
        background_fast_retransmits: u64,
        /// Of the drops.
        background_drops: u64,
        /// The longest queue at the port to the client, of several at any of theirs; of a workload between any hosts, such as flows or a shuffle, at any switch port. The packet on the wire does not count.
        queue_max_bytes: u64,
        /// Packets that endpoints sent; where there are faults, these and the copies are those delivered, dropped, lost and under way.
        injected_packets: u64,
        /// Packets that reached their endpoint.
        delivered_packets: u64,
        /// Packets still under way at the end.
        in_flight_packets: u64,
    }
}

/// What the run cost the driver; not part of the result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Engine {
    /// Events taken from the queue.
    pub events: u64,
    /// Links that packets crossed.
    pub packet_hops: u64,
}
