//! What was sent and waited for: flows, rounds and queries, stalls, a service's queries, a job's tasks.

use serde::{Deserialize, Serialize};

use super::column::{Cell, Column, Row, Value};
use crate::cause::Cause;
use crate::flow_kind::FlowKind;

table! {
    /// One flow: a server's answer, a long flow, a line of a list, a flow of a shuffle, of a job, or a Poisson flow.
    FlowRow in "flows" {
        /// What it is: a word of those listed below.
        class: FlowKind,
        /// The sending host, counted from zero; 0 is the client, 1 the host `server1`.
        from_host: u32,
        /// The receiving host.
        to_host: u32,
        /// The round or query of `queries` that an answer belongs to; of a list's flow without an end, which time between two starts or stops of such ones, counted from zero; absent of other flows.
        round: Option<u64>,
        /// What is to be sent; absent of long flows, which have no end.
        payload_bytes: Option<u64>,
        /// What was delivered of it in order, by its end or that of the run; of a long flow over the measured time.
        delivered_bytes: u64,
        /// When the client asked, or the sender opened its connection.
        start_ps: u64,
        /// From the start to the last byte delivered in order; absent where the run ended first.
        fct_ps: Option<u64>,
        /// The least time for the bytes, alone in the network: every packet with its headers at the slowest link, store-and-forward at the others, and the links' delays; without a handshake. Slowdown is fct_ps over this. Absent of answers, which wait for a request, and of long flows.
        ideal_ps: Option<u64>,
    }
}

table! {
    /// One round or query: all servers' answers. A shuffle and a MapReduce job are one.
    QueryRow in "queries" {
        /// Counted from zero; of several clients in the order in which they began.
        round: u32,
        /// When it began: the client asked the first server, or the first flow or task started.
        start_ps: u64,
        /// From the start to the last byte of the last answer; absent where the run ended first.
        qct_ps: Option<u64>,
        /// Of a round that the run's end cut off, how long it had waited by then.
        waited_ps: Option<u64>,
        /// Retransmission timeouts that fired meanwhile: of a barrier or web search on its client's connections, of others on any.
        timeouts: u64,
        /// The host of the client that it is of: 0, but where `workload.clients` has several.
        client_host: u32,
    }
}

table! {
    /// One time in which nothing came to a client that waited, for over ten round trips and the time that a server may work or be put off.
    StallRow in "stalls" {
        /// The client.
        client_host: u32,
        /// When it began, as `start_ps` of queries.
        start_ps: u64,
        /// How long it lasted, or had by the end of the run.
        took_ps: u64,
        /// What ended it, or its last timer: a word of those listed below, or `unknown`.
        cause: Cause,
        /// The host whose packet ended it; absent where the run did.
        from_host: Option<u64>,
    }
}

table! {
    /// One query of the service beside a workload: all its hosts' answers.
    ServiceRow in "service" {
        /// Counted from zero.
        query: u32,
        /// The host that asks; 0 is the client.
        from_host: u32,
        /// When it asks, from the workload's beginning.
        start_ps: u64,
        /// From then to the last byte of the last answer; absent where the run ended first.
        qct_ps: Option<u64>,
        /// Of a query that the run's end cut off, how long it had waited by then.
        waited_ps: Option<u64>,
    }
}

table! {
    /// One task of a MapReduce job. Phases follow one another: a map starts, reads, works, spills; a reduce starts, shuffles, works, writes.
    TaskRow in "tasks" {
        /// `map` or `reduce`.
        kind: String,
        /// Among its kind, counted from zero.
        number: u32,
        /// The host that it ran on; 0 where it never did.
        node: u32,
        /// When its node took it.
        start_ps: u64,
        /// When a reduce's first fetch began; absent of maps.
        shuffle_start_ps: Option<u64>,
        /// When a map had read its split, a reduce fetched its last part.
        input_end_ps: u64,
        /// When its function had run, a reduce's merge before it included.
        work_end_ps: u64,
        /// When its output was on disk; absent where the run ended first.
        end_ps: Option<u64>,
    }
}
