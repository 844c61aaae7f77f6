//! What a run that was watched gives besides.

use serde::{Deserialize, Serialize};

use super::column::{Cell, Column, Row, Value};

table! {
    /// One sample of a series that was watched; it holds until the series' next one.
    SampleRow in "samples" {
        /// Since the first request, as `start_ps` of queries; what happens while connections are opened stands at zero.
        time_ps: u64,
        /// `queue`, `cwnd` or `ssthresh`; where the client's switch shares its memory, `threshold`, what that port may hold, and `memory`, what all its ports hold of what they share.
        series: String,
        /// The port, host or switch that it is of, such as `switch>client` or `server3`.
        of: String,
        /// The value: the largest queue or use of a memory, the least threshold, the last window within a step that begins then; `ssthresh` is 4294967295 until the first loss.
        value_bytes: u64,
    }
}

table! {
    /// One thing that happened while a run was watched.
    EventRow in "events" {
        /// Since the first request, as `start_ps` of queries; what happens while connections are opened stands at zero.
        time_ps: u64,
        /// `drop`, `loss` (a fault's), `timeout`, `probe` (for a lost tail), `fast_retransmit` or `round_end`.
        what: String,
        /// The port or host where it happened.
        at: String,
        /// Of a drop or loss the host that the packet was from, of a round's end the round.
        of: String,
        /// Of a drop or loss the host that the packet was for, of what an end of a connection does the other end.
        to: String,
        /// Of a drop or loss what it was: `data`, `syn`, `fin` or `ack`.
        packet: String,
        /// Of a drop or loss its sequence number, of a timer the first one that is not acknowledged; of 32 bits, data starts at 1.
        seq: Option<u64>,
        /// Of a drop what for: `full`, `early` (by the port's law), `not_ect` (to be marked, and not ECN-capable) or `down`.
        why: String,
        /// Of a drop what the port's queue held then.
        queue_bytes: Option<u64>,
        /// The same where the switch's ports share a memory: the port that held most of it, and how much.
        holder: String,
        /// Absent where no port held any.
        holder_bytes: Option<u64>,
        /// What ports share of that memory; absent where they share none.
        shared_bytes: Option<u64>,
    }
}
