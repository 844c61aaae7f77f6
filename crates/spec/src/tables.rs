//! What a run gives back: typed rows whose columns carry their unit in their name.

use serde::{Deserialize, Serialize};

use crate::cause::Cause;
use crate::flow_kind::FlowKind;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// A whole number.
    U64,
    /// A whole number that may be absent.
    OptionalU64,
    /// A text.
    Text,
}

/// A column of a table, as the schema page lists it.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// The name; the unit comes last.
    pub name: &'static str,
    /// The type.
    pub kind: ColumnType,
    /// What it means.
    pub doc: &'static str,
}

impl Column {
    /// The unit that the name carries.
    pub fn unit(&self) -> &'static str {
        match self.kind {
            ColumnType::Text => "text",
            ColumnType::U64 | ColumnType::OptionalU64 => unit(self.name).unwrap_or("count"),
        }
    }
}

/// The unit that a name carries or stands for, such as that of `goodput_mbps_mean`.
pub fn unit(name: &str) -> Option<&'static str> {
    name.split('_').find_map(|part| match part {
        "bps" => Some("bit/s"),
        "bytes" => Some("B"),
        "fan" => Some("servers"),
        "host" | "rack" | "round" | "seed" | "server" => Some("number"),
        "mbps" => Some("Mbit/s"),
        "ms" => Some("ms"),
        "ppm" => Some("ppm"),
        "ps" => Some("ps"),
        "s" => Some("s"),
        _ => None,
    })
}

/// One value of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// A whole number, or nothing.
    U64(Option<u64>),
    /// A text.
    Text(String),
}

/// A row of a table: its schema and its values, in the same order.
pub trait Row {
    /// The table's name.
    const TABLE: &'static str;
    /// The columns.
    const COLUMNS: &'static [Column];
    /// The values, one a column.
    fn cells(&self) -> Vec<Cell>;
}

trait Value {
    const KIND: ColumnType;
    fn cell(&self) -> Cell;
}

impl Value for u64 {
    const KIND: ColumnType = ColumnType::U64;
    fn cell(&self) -> Cell {
        Cell::U64(Some(*self))
    }
}

impl Value for u32 {
    const KIND: ColumnType = ColumnType::U64;
    fn cell(&self) -> Cell {
        Cell::U64(Some((*self).into()))
    }
}

impl Value for Option<u64> {
    const KIND: ColumnType = ColumnType::OptionalU64;
    fn cell(&self) -> Cell {
        Cell::U64(*self)
    }
}

impl Value for String {
    const KIND: ColumnType = ColumnType::Text;
    fn cell(&self) -> Cell {
        Cell::Text(self.clone())
    }
}

impl Value for FlowKind {
    const KIND: ColumnType = ColumnType::Text;
    fn cell(&self) -> Cell {
        Cell::Text(self.word().into())
    }
}

impl Value for Cause {
    const KIND: ColumnType = ColumnType::Text;
    fn cell(&self) -> Cell {
        Cell::Text(self.word().into())
    }
}

macro_rules! table {
    ($(#[doc = $doc:literal])* $name:ident in $table:literal {
        $($(#[doc = $cdoc:literal])* $column:ident: $type:ty,)*
    }) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub struct $name { $($(#[doc = $cdoc])* pub $column: $type,)* }

        impl Row for $name {
            const TABLE: &'static str = $table;
            const COLUMNS: &'static [Column] = &[$(Column {
                name: stringify!($column),
                kind: <$type as Value>::KIND,
                doc: concat!($($cdoc),*).trim_ascii(),
            }),*];
            fn cells(&self) -> Vec<Cell> {
                vec![$(self.$column.cell()),*]
            }
        }
    };
}

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
    /// One request of a front end of a key_value workload, and what became of its objects.
    RequestRow in "requests" {
        /// The request, as `round` of `queries`.
        request: u32,
        /// The host of its front end.
        from_host: u32,
        /// Objects that were asked for.
        objects: u64,
        /// Of those, objects that came.
        answered: u64,
        /// Objects that no server has: that is an answer, too.
        missed: u64,
        /// Objects that could not be had: by the deadline, or after so many tries.
        failed: u64,
        /// Payload of the objects that came.
        payload_bytes: u64,
        /// Hosts that answered the front end itself: servers, or hubs for them.
        answering_hosts: u64,
        /// When it began.
        start_ps: u64,
        /// From then until every object was there, missing or given up; absent where the run ended or the front end crashed first.
        latency_ps: Option<u64>,
    }
}

table! {
    /// One hub of a request that was watched, or the front end itself, which stands first: what came through it and whom it waited for. What counts is the way by which each object came in the end.
    HubRow in "hubs" {
        /// The request, as in `requests`.
        request: u32,
        /// The host of the hub, or of the front end.
        hub_host: u32,
        /// The host that it sends to, the front end's or another hub's; absent of the front end.
        parent_host: Option<u64>,
        /// Its rack.
        rack: u32,
        /// Servers that it had objects of itself, not through a hub below it.
        servers: u64,
        /// These objects.
        own_objects: u64,
        /// Their bytes.
        own_bytes: u64,
        /// All objects that came through it.
        objects: u64,
        /// Their bytes.
        payload_bytes: u64,
        /// When it was told that it is a hub; of the front end when the request began. Absent, as the times below, of what did not happen.
        told_ps: Option<u64>,
        /// When it last asked: a hub a server, the front end anyone.
        asked_ps: Option<u64>,
        /// When the last of its own objects was there.
        own_ps: Option<u64>,
        /// When the last of all objects was there.
        last_ps: Option<u64>,
        /// Whom that one came from, a hub below it or a server: whom it waited for.
        last_host: Option<u64>,
        /// When the last one left it.
        left_ps: Option<u64>,
        /// When that was where it sends to.
        end_ps: Option<u64>,
    }
}

table! {
    /// One hub over a step of a watched run in which something came from it, or its speed was set.
    HubSpeedRow in "hub_speeds" {
        /// When the step begins, since the first request, as in `hubs`.
        time_ps: u64,
        /// The request.
        request: u32,
        /// The host of the hub.
        hub_host: u32,
        /// What came of it where it sends to, with the headers of its messages: what its speed is measured by.
        came_bytes: u64,
        /// The speed that it was told by the step's end; absent where it sends as fast as it can.
        assigned_bps: Option<u64>,
    }
}

table! {
    /// One gathering server of a plan: what all that lies there asks of it in a period, and what it can give.
    GatheringRow in "gathering" {
        /// The server's host.
        host: u32,
        /// Bytes of its objects.
        memory_bytes: u64,
        /// Those that it has room for.
        memory_most_bytes: u64,
        /// Requests for them.
        requests: u64,
        /// Those that it can answer.
        requests_most: u64,
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
        /// Times in which nothing came to the client for over ten round trips (and the time that a server may work or be put off) while a round was open or a long flow sent, whatever ended them.
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
        /// The longest queue at the port to the client; of a flows, shuffle or poisson workload, at any switch port.
        queue_max_bytes: u64,
        /// Packets that endpoints sent; where there are faults, these and the copies are those delivered, dropped, lost and under way.
        injected_packets: u64,
        /// Packets that reached their endpoint.
        delivered_packets: u64,
        /// Packets still under way at the end.
        in_flight_packets: u64,
    }
}

impl PortRow {
    /// Packets dropped, whatever the cause.
    pub fn drops(&self) -> u64 {
        self.drops_full + self.drops_early + self.drops_not_ect + self.drops_down
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

/// Why a run gave no tables; never on account of its spec, which is checked where scenarios are read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// It was asked to stop.
    #[error("stopped")]
    Stopped,
    /// It broke an invariant: a fault of what ran it. The text says what, and what replays it.
    #[error("{0}")]
    Broken(String),
}

/// Everything that one run gives back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunTables {
    /// The sums.
    pub totals: Totals,
    /// One row a flow.
    pub flows: Vec<FlowRow>,
    /// One row a round or query.
    pub queries: Vec<QueryRow>,
    /// One row a time in which nothing came to a client that waited.
    pub stalls: Vec<StallRow>,
    /// One row a task of a MapReduce job; empty of other workloads.
    pub tasks: Vec<TaskRow>,
    /// One row a request of a key_value workload; empty of others.
    pub requests: Vec<RequestRow>,
    /// One row a hub of a request; empty where nothing was watched or there are no hubs.
    pub hubs: Vec<HubRow>,
    /// Their speeds over time.
    pub hub_speeds: Vec<HubSpeedRow>,
    /// One row a gathering server; empty where no scheme gathers.
    pub gathering: Vec<GatheringRow>,
    /// One row a query of the service beside the workload, where there is one.
    pub service: Vec<ServiceRow>,
    /// One row a class of packets, where the scenario measures latency.
    pub latency: Vec<LatencyRow>,
    /// One row a port that took or dropped a packet.
    pub ports: Vec<PortRow>,
    /// One row a link over which packets met a fault.
    pub faults: Vec<FaultRow>,
    /// Ports over time, where the scenario measures them.
    pub port_series: Vec<PortPartRow>,
    /// One row a memory that ports share, where the scenario measures ports.
    pub memories: Vec<MemoryRow>,
    /// Memories over time, there.
    pub memory_series: Vec<MemoryPartRow>,
    /// Who held them as packets found no room.
    pub holders: Vec<HolderRow>,
    /// Series that were watched; empty where nothing was.
    pub samples: Vec<SampleRow>,
    /// What happened while it was watched.
    pub events: Vec<EventRow>,
    /// What it cost.
    pub engine: Engine,
}

impl RunTables {
    /// Goodput in Mbit/s over the measured time.
    pub fn goodput_mbps(&self) -> f64 {
        match self.totals.measured_ps {
            0 => 0.0,
            measured => self.totals.payload_bytes as f64 * 8.0 / (measured as f64 / 1e6),
        }
    }
}
