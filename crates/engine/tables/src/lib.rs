//! Results of a run: typed rows, whose column names include units. Drivers write them; the lab and the report read them without a
//! scenario's settings.
//!
//! ```
//! use fanin_tables::{RunTables, Totals};
//!
//! let totals = Totals { payload_bytes: 1_250_000, measured_ps: 1_000_000_000, ..Totals::default() };
//! let tables = RunTables { totals, ..RunTables::default() };
//! assert_eq!(tables.goodput_mbps(), 10_000.0);
//! ```

#[macro_use]
mod column;
mod cause;
mod counter;
mod flow_kind;
mod ports;
mod requests;
mod rounds;
mod totals;
mod traces;
mod watched;

use serde::{Deserialize, Serialize};

pub use cause::Cause;
pub use column::{Cell, Column, ColumnType, Row};
pub use counter::Counter;
pub use flow_kind::FlowKind;
pub use ports::{
    CardRow, ClassRow, DeadlockRow, FaultRow, HolderRow, LatencyRow, MemoryPartRow, MemoryRow, PauseRow, PortPartRow,
    PortRow, QueuePairRow,
};
pub use requests::{GatheringRow, HubRow, HubSpeedRow, RequestRow};
pub use rounds::{FlowRow, QueryRow, ServiceRow, StallRow, TaskRow};
pub use totals::{Engine, Totals};
pub use traces::{CollectiveRow, RankPartRow, RankRow};
pub use watched::{EventRow, SampleRow};

/// Why a run returned no tables; never because of its spec, which is checked when a scenario is read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The caller stopped the run.
    #[error("stopped")]
    Stopped,
    /// The run broke an invariant, a bug of the driver. The text describes it and how to replay it.
    #[error("{0}")]
    Broken(String),
    /// An algorithm supplied by the caller failed. The text says how.
    #[error("{0}")]
    Raised(String),
}

/// All results of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunTables {
    /// Totals.
    pub totals: Totals,
    /// One row per flow.
    pub flows: Vec<FlowRow>,
    /// One row per round or query.
    pub queries: Vec<QueryRow>,
    /// One row per stall: a time in which a waiting client received nothing.
    pub stalls: Vec<StallRow>,
    /// One row per task of a MapReduce job; otherwise empty.
    pub tasks: Vec<TaskRow>,
    /// One row per collective operation of a trace; otherwise empty.
    pub collectives: Vec<CollectiveRow>,
    /// One row per rank of a trace; otherwise empty.
    pub ranks: Vec<RankRow>,
    /// Ranks over time; empty if nothing was watched.
    pub rank_series: Vec<RankPartRow>,
    /// One row per request of a key_value workload; otherwise empty.
    pub requests: Vec<RequestRow>,
    /// One row per hub of a request; empty if nothing was watched or there are no hubs.
    pub hubs: Vec<HubRow>,
    /// Speeds of hubs over time.
    pub hub_speeds: Vec<HubSpeedRow>,
    /// One row per server with co-located objects; empty for schemes without a placement.
    pub gathering: Vec<GatheringRow>,
    /// One row per query of the background service.
    pub service: Vec<ServiceRow>,
    /// One row per class of packets if the scenario measures latency.
    pub latency: Vec<LatencyRow>,
    /// One row per port that admitted or dropped a packet.
    pub ports: Vec<PortRow>,
    /// One row per link with fault-affected packets.
    pub faults: Vec<FaultRow>,
    /// One row per receiving card; empty without `[host.nic]`.
    pub cards: Vec<CardRow>,
    /// One row per port and traffic class; empty without `[classes]`.
    pub classes: Vec<ClassRow>,
    /// One row per queue pair over ports that drop; empty for other transports and ports.
    pub queue_pairs: Vec<QueuePairRow>,
    /// One row per paused link and cause; empty without lossless ports.
    pub pauses: Vec<PauseRow>,
    /// One row per cycle of links that pause one another for ever.
    pub deadlocks: Vec<DeadlockRow>,
    /// Ports over time if the scenario measures them.
    pub port_series: Vec<PortPartRow>,
    /// One row per shared memory if the scenario measures ports.
    pub memories: Vec<MemoryRow>,
    /// Shared memories over time, likewise.
    pub memory_series: Vec<MemoryPartRow>,
    /// Ports that held the memory when packets were refused.
    pub holders: Vec<HolderRow>,
    /// Watched series; empty if nothing was watched.
    pub samples: Vec<SampleRow>,
    /// Watched events.
    pub events: Vec<EventRow>,
    /// Counters that the driver could not read: their figures are zero without meaning. Empty for the simulator.
    pub unmeasured: Vec<Counter>,
    /// Cost of the run.
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
