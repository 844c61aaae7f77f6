//! Tables of the network: ports, faulty links, shared memories and packet latencies.

use serde::{Deserialize, Serialize};

use crate::column::{Cell, Column, Row, Value};

table! {
    /// One port: the queue in front of a link.
    PortRow in "ports" {
        /// Both ends of the link, such as `switch>client`.
        port: String,
        /// Tier in the fabric, such as `host up` or `leaf down`.
        tier: String,
        /// Packets admitted to the queue.
        packets: u64,
        /// Admitted packets with payload, including retransmissions.
        data_packets: u64,
        /// Bytes of admitted packets on the wire.
        wire_bytes: u64,
        /// Packets dropped because the queue was full.
        drops_full: u64,
        /// Packets dropped early by the queue discipline.
        drops_early: u64,
        /// Packets dropped instead of marked because they were not ECN-capable.
        drops_not_ect: u64,
        /// Packets queued when the link failed, or arriving while it was down.
        drops_down: u64,
        /// Packets marked with CE.
        marks: u64,
        /// Longest queue, not counting the packet in transmission.
        queue_max_bytes: u64,
        /// Time-averaged queue from the first request to the end. Absent, like the next two columns, unless measure.ports is on.
        queue_mean_bytes: Option<u64>,
        /// 99th percentile of the queue over that time; accurate to 3 %.
        queue_p99_bytes: Option<u64>,
        /// Share of that time in which the link was sending.
        busy_ppm: Option<u64>,
    }
}

table! {
    /// One link with packets affected by `[faults]`. Drops of ports are in `ports`.
    FaultRow in "faults" {
        /// Both ends of the link, as in `ports`.
        port: String,
        /// Packets lost at random.
        lost_packets: u64,
        /// Packets duplicated.
        duplicated_packets: u64,
        /// Packets delayed and reordered.
        reordered_packets: u64,
        /// Packets queued when their host crashed, or arriving while it was down.
        crashed_packets: u64,
    }
}

table! {
    /// One receiving network card (`[host.nic]`). Its drops are not among those of `ports`.
    CardRow in "cards" {
        /// Its host.
        host: String,
        /// The link that fills it, as in `ports`.
        port: String,
        /// Packets that arrived.
        packets: u64,
        /// Packets that found its buffer full.
        drops: u64,
        /// Packets that it marked.
        marks: u64,
        /// Most bytes in its buffer.
        queue_max_bytes: u64,
    }
}

table! {
    /// One traffic class of a port (`[classes]`), if it sent or dropped packets.
    ClassRow in "classes" {
        /// Port, as in `ports`.
        port: String,
        /// Traffic class, 0 to 7.
        class: u64,
        /// Packets that it sent.
        packets: u64,
        /// Their bytes on the wire.
        wire_bytes: u64,
        /// Its share of the bytes that the port sent.
        share_ppm: u64,
        /// Packets that it dropped for any reason but a failed link.
        drops: u64,
        /// Packets that it marked with CE.
        marks: u64,
        /// Its longest queue, not counting the packet in transmission.
        queue_max_bytes: u64,
        /// Pauses of the class at this port, by the switch at the other end.
        pauses: u64,
        /// Their duration in all, as in the table `pauses`.
        paused_ps: u64,
    }
}

table! {
    /// One queue pair that sent over ports that drop (`pfc.enabled = false`) and is still open at the end.
    QueuePairRow in "queue_pairs" {
        /// Sending host.
        from_host: u64,
        /// Receiving host.
        to_host: u64,
        /// Payload delivered in order in the measured time.
        delivered_bytes: u64,
        /// Data packets retransmitted in it.
        resent_packets: u64,
        /// Requests for missing packets that it received.
        nacks: u64,
        /// Timeouts.
        timeouts: u64,
        /// Congestion notifications that it received.
        notifications: u64,
    }
}

table! {
    /// One link whose sending end was paused, by the port whose queue caused it (priority flow control).
    PauseRow in "pauses" {
        /// Both ends of the paused link, as in `ports`.
        port: String,
        /// Its tier, as in `ports`: `host up` for a host's own link.
        tier: String,
        /// The paused class of service, 0 to 7.
        class: u64,
        /// Port of the pausing switch to which the packet went that caused the pause.
        cause: String,
        /// Pauses.
        pauses: u64,
        /// Their duration in all, from when the switch sent a pause until it sent the end.
        paused_ps: u64,
        /// The longest one.
        longest_ps: u64,
        /// Pauses that began while the cause was paused itself: congestion that spreads from switch to switch, up to a storm.
        spread: u64,
        /// Packets that waited at the paused link's end when a pause ended and do not go to the cause: head-of-line blocking. A packet counts
        /// once for each such pause.
        blocked_packets: u64,
    }
}

table! {
    /// One cycle of links that wait for one another at the end of a run: each is paused because of packets that wait for the next one, and
    /// has been so for longer than a switch takes to drain (priority flow control).
    DeadlockRow in "deadlocks" {
        /// The paused class of service.
        class: u64,
        /// The links in the order in which they wait, such as `a>b b>c c>a`.
        ports: String,
        /// When the last of them was paused, since the start of the measured time.
        since_ps: u64,
    }
}

table! {
    /// One port in one of at most 200 equal intervals of a run. Intervals in which it neither queued nor sent are omitted.
    PortPartRow in "port_series" {
        /// Start of the interval.
        time_ps: u64,
        /// Length of the interval, unless the run ends earlier.
        span_ps: u64,
        /// Port, as in `ports`.
        port: String,
        /// Time-averaged queue in the interval.
        queue_mean_bytes: u64,
        /// Longest queue in the interval.
        queue_max_bytes: u64,
        /// Share of the interval in which the link was sending.
        busy_ppm: u64,
    }
}

table! {
    /// One memory shared by a switch's ports, from the first request to the end.
    MemoryRow in "memories" {
        /// Switch.
        switch: String,
        /// Shared memory, without headroom and reserved memory.
        shared_bytes: u64,
        /// Time-averaged use.
        used_mean_bytes: u64,
        /// 99th percentile of use over time; accurate to 3 %.
        used_p99_bytes: u64,
        /// Largest use.
        used_max_bytes: u64,
        /// Packets refused because their port had reached its threshold.
        refused_packets: u64,
    }
}

table! {
    /// One shared memory in one of the intervals of `port_series`. Intervals in which it was empty are omitted.
    MemoryPartRow in "memory_series" {
        /// Start of the interval.
        time_ps: u64,
        /// Length of the interval, unless the run ends earlier.
        span_ps: u64,
        /// Switch, as in `memories`.
        switch: String,
        /// Time-averaged use in the interval.
        used_mean_bytes: u64,
        /// Largest use in the interval.
        used_max_bytes: u64,
    }
}

table! {
    /// One port that held shared memory when its switch refused a packet, at another port or at itself.
    HolderRow in "holders" {
        /// Port that refused packets, as in `ports`.
        port: String,
        /// Packets that it refused.
        refused_packets: u64,
        /// Port that held memory.
        holder: String,
        /// Shared memory that the holder held, averaged over the refused packets' arrivals.
        held_mean_bytes: u64,
    }
}

table! {
    /// End-to-end delay of packets, including queues, by class; percentiles are accurate to 3 %.
    LatencyRow in "latency" {
        /// Kind of flow, as in `flows`; reverse packets of a connection belong to its class.
        class: String,
        /// `data` (with payload) or `ack` (without).
        what: String,
        /// Packets that arrived.
        packets: u64,
        /// Mean.
        mean_ps: u64,
        /// Median.
        p50_ps: u64,
        /// 95th percentile.
        p95_ps: u64,
        /// 99th percentile.
        p99_ps: u64,
        /// 99.9th percentile.
        p999_ps: u64,
        /// Maximum.
        max_ps: u64,
    }
}

impl PortRow {
    /// Packets dropped for any reason.
    pub fn drops(&self) -> u64 {
        self.drops_full + self.drops_early + self.drops_not_ect + self.drops_down
    }
}
