//! Tables of traffic: flows, rounds and queries, stalls, service queries and MapReduce tasks.

use serde::{Deserialize, Serialize};

use crate::cause::Cause;
use crate::column::{Cell, Column, Row, Value};
use crate::flow_kind::FlowKind;

table! {
    /// One flow: a server's response, a long flow, a line of a flow list, or a flow of a shuffle, a collective operation, a pull, a job or Poisson traffic.
    FlowRow in "flows" {
        /// Kind of flow, one of the words below.
        class: FlowKind,
        /// Sending host, counted from zero; 0 is the client, 1 is the host `server1`.
        from_host: u32,
        /// Receiving host.
        to_host: u32,
        /// Round or query of `queries` for a response; for an unlimited flow of a list, the number of its interval between starts or stops of such flows, from zero; otherwise absent.
        round: Option<u64>,
        /// Bytes to send; absent for long flows, which are unlimited.
        payload_bytes: Option<u64>,
        /// Bytes delivered in order by the flow's end or the run's; for a long flow, in the measured time.
        delivered_bytes: u64,
        /// When the client sent its request, or the sender opened its connection.
        start_ps: u64,
        /// Flow completion time: from the start to the last byte delivered in order; absent if the run ended first.
        fct_ps: Option<u64>,
        /// Lower bound of the completion time in an empty network, without a handshake: all packets with headers at the slowest link, store-and-forward at the others, and the links' delays. The slowdown is fct_ps divided by this. Absent for responses, which wait for a request, and for long flows.
        ideal_ps: Option<u64>,
    }
}

table! {
    /// One round or query, with the responses of all servers; an all-reduce, an all-to-all or a pull. A shuffle or a MapReduce job counts as one.
    QueryRow in "queries" {
        /// Number, from zero; with several clients, in the order of their starts.
        round: u32,
        /// When the client sent its first request, or when the first flow or task started.
        start_ps: u64,
        /// Query completion time: from the start to the last byte of the last response; absent if the run ended first.
        qct_ps: Option<u64>,
        /// Time that an unfinished round had taken when the run ended.
        waited_ps: Option<u64>,
        /// Retransmission timeouts in this time: on the client's connections for a barrier or web search, otherwise on any; absent if not measured.
        timeouts: Option<u64>,
        /// Host of the client: 0 unless `workload.clients` is above 1; the host that pulls.
        client_host: u32,
    }
}

table! {
    /// One stall: a time in which a waiting client received nothing, longer than ten round trips plus the servers' largest service time and start delay.
    StallRow in "stalls" {
        /// Client.
        client_host: u32,
        /// Start, as `start_ps` of queries.
        start_ps: u64,
        /// Duration, or time until the end of the run.
        took_ps: u64,
        /// What ended it, or its last timer: one of the words below, or `unknown`.
        cause: Cause,
        /// Host whose packet ended it; absent if the run's end did.
        from_host: Option<u64>,
    }
}

table! {
    /// One query of the background service, with the responses of all its hosts.
    ServiceRow in "service" {
        /// Number, from zero.
        query: u32,
        /// Host that sends the query; 0 is the client.
        from_host: u32,
        /// Start, from the workload's start.
        start_ps: u64,
        /// Time from the start to the last byte of the last response; absent if the run ended first.
        qct_ps: Option<u64>,
        /// Time that an unfinished query had taken when the run ended.
        waited_ps: Option<u64>,
    }
}

table! {
    /// One task of a MapReduce job, in phases: a map starts, reads, works and spills; a reduce starts, shuffles, works and writes.
    TaskRow in "tasks" {
        /// `map` or `reduce`.
        kind: String,
        /// Number among its kind, from zero.
        number: u32,
        /// Host that it ran on; 0 if it never ran.
        node: u32,
        /// When its node accepted it.
        start_ps: u64,
        /// When a reduce's first fetch started; absent for maps.
        shuffle_start_ps: Option<u64>,
        /// When a map had read its split, or a reduce had fetched its last part.
        input_end_ps: u64,
        /// When its function had finished, including a reduce's merge before it.
        work_end_ps: u64,
        /// When its output was on disk; absent if the run ended first.
        end_ps: Option<u64>,
    }
}

#[cfg(test)]
mod tests {
    use super::TaskRow;

    /// `spec` estimates the memory of a MapReduce job by this size.
    #[test]
    fn a_tasks_row_has_88_bytes() {
        assert_eq!(size_of::<TaskRow>(), 88);
    }
}
