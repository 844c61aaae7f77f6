//! What a run gives back: typed rows whose columns carry their unit in their name.

#[macro_use]
mod column;
mod ports;
mod requests;
mod rounds;
mod totals;
mod watched;

use serde::{Deserialize, Serialize};

pub use column::{Cell, Column, ColumnType, Row};
pub use ports::{FaultRow, HolderRow, LatencyRow, MemoryPartRow, MemoryRow, PortPartRow, PortRow};
pub use requests::{GatheringRow, HubRow, HubSpeedRow, RequestRow};
pub use rounds::{FlowRow, QueryRow, ServiceRow, StallRow, TaskRow};
pub use totals::{Engine, Totals};
pub use watched::{EventRow, SampleRow};

/// Why a run gave no tables; never on account of its spec, which is checked where scenarios are read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// It was asked to stop.
    #[error("stopped")]
    Stopped,
    /// It broke an invariant: a fault of what ran it. The text says what, and what replays it.
    #[error("{0}")]
    Broken(String),
    /// A law that the caller had brought failed. The text says how.
    #[error("{0}")]
    Raised(String),
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
