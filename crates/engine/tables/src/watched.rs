//! Tables of a watched run.

use serde::{Deserialize, Serialize};

use crate::column::{Cell, Column, Row, Value};

table! {
    /// One sample of a watched series; it is valid until the next sample of the series.
    SampleRow in "samples" {
        /// Time since the first request, as `start_ps` of queries; zero while connections are opened.
        time_ps: u64,
        /// `queue`, and by the transport `cwnd` and `ssthresh` (windows), `rate`, or `credit` (from the receiver); with shared memory at the client's switch, also `threshold` (the port's limit) and `memory` (shared memory in use).
        series: String,
        /// Port, host or switch, such as `switch>client` or `server3`. A client with several links has all their ports here, with spaces between: `queue` is that of the longest, `threshold` the lowest.
        of: String,
        /// Value within the step that starts at this time: the largest queue or memory use, the lowest threshold, or the last window or credit; `ssthresh` is 4294967295 until the first loss. Empty for rates.
        value_bytes: Option<u64>,
        /// The last rate within the step that starts at this time, bit/s; empty for other series.
        rate_bps: Option<u64>,
    }
}

table! {
    /// One event of a watched run.
    EventRow in "events" {
        /// Time since the first request, as `start_ps` of queries; zero while connections are opened.
        time_ps: u64,
        /// `drop`, `loss` (by a fault), `timeout`, `probe` (tail loss), `fast_retransmit`, `pause` or `resume` (of a link) or `round_end`.
        what: String,
        /// Port or host of the event.
        at: String,
        /// For a drop or loss, the packet's sender; for a pause or its end, the port whose queue caused it; for a round's end, the round.
        of: String,
        /// For a drop or loss, the packet's receiver; for an endpoint's event, the other end.
        to: String,
        /// For a drop or loss, the packet's kind: `data`, `syn`, `fin` or `ack`.
        packet: String,
        /// For a drop or loss, its sequence number; for a timer, the first unacknowledged one; 32 bits, data starts at 1.
        seq: Option<u64>,
        /// Reason of a drop: `full`, `early` (by the queue discipline), `not_ect` (to be marked, but not ECN-capable), `down`, or `card` (the buffer of the receiving network card is full).
        why: String,
        /// For a drop, the port's queue at that time, or the card's.
        queue_bytes: Option<u64>,
        /// For a drop with shared memory, the port that held most of it.
        holder: String,
        /// Shared memory that this port held; absent if none did.
        holder_bytes: Option<u64>,
        /// Size of the shared memory; absent without one.
        shared_bytes: Option<u64>,
    }
}
