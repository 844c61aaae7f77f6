//! Tables of traces: collective operations and ranks.

use serde::{Deserialize, Serialize};

use crate::column::{Cell, Column, Row, Value};

table! {
    /// One collective operation of a trace, in the order of their ends; those that the run's end cut off come last.
    CollectiveRow in "collectives" {
        /// Number, from zero, in the order of the files.
        number: u32,
        /// `all-reduce`, `all-gather`, `reduce-scatter`, `all-to-all`, `broadcast`, `reduce`, `gather` or `scatter`.
        kind: String,
        /// Number of ranks.
        ranks: u32,
        /// Bytes that each rank gives; of a broadcast or scatter, the root.
        payload_bytes: u64,
        /// When the first rank joined.
        start_ps: u64,
        /// Time from then until the last rank joined; absent if the run ended first.
        late_ps: Option<u64>,
        /// Host of the rank that joined last.
        late_host: u32,
        /// Duration: from the start to the end of the last rank; absent if the run ended first.
        took_ps: Option<u64>,
        /// Host of the rank that ended last; absent likewise.
        last_host: Option<u64>,
        /// Algorithm bandwidth as NCCL's tests define it: bytes by the duration, for an all-gather or gather the bytes of all ranks. Absent likewise, and for an operation of one rank.
        algorithm_bps: Option<u64>,
        /// Bus bandwidth as NCCL's tests define it: the algorithm bandwidth times 2 (n - 1) / n for an all-reduce of n ranks, itself for a broadcast or reduce, times (n - 1) / n for the others. Absent likewise.
        bus_bps: Option<u64>,
    }
}

table! {
    /// One rank of a trace, and how it spent its time. A rank moves data while a message of its own, one that it awaits, or a collective operation that all ranks have joined is on its way.
    RankRow in "ranks" {
        /// Host.
        host: u32,
        /// Time in which at least one processor computed.
        compute_ps: u64,
        /// Part of that in which the rank also moved data: hidden communication.
        hidden_ps: u64,
        /// Time in which it moved data and did not compute: with waiting_ps, exposed communication.
        network_ps: u64,
        /// Time in which it only awaited messages that were not sent yet, and collective operations that other ranks had not joined.
        waiting_ps: u64,
        /// Time for which others waited for it: for the start of its sends, and for it as the last rank of a collective operation. The sum over all receives and ranks.
        delays_ps: u64,
        /// When its last operation ended; absent if the run ended first.
        end_ps: Option<u64>,
    }
}

table! {
    /// How a rank of a watched trace spent a part of the run: one step, or several in which it did one thing only. Parts in which it did nothing have no row.
    RankPartRow in "rank_series" {
        /// Host.
        host: u32,
        /// Start of the part.
        time_ps: u64,
        /// Its length.
        span_ps: u64,
        /// Time in which it computed.
        compute_ps: u64,
        /// Time in which it moved data and did not compute.
        network_ps: u64,
        /// Time in which it only awaited others.
        waiting_ps: u64,
    }
}
