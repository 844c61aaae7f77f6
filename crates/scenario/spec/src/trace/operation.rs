//! Operations of a trace.

use fanin_units::Time;
use serde::{Deserialize, Serialize};

/// Work of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Work {
    /// A processor of the rank computes for so long; computations of one processor take turns.
    Calc {
        /// How long.
        #[serde(with = "crate::packed::ps")]
        time: Time,
        /// The processor.
        cpu: u32,
    },
    /// A message to another rank, whose receive has number `at` there. It ends with the message's last byte there.
    Send {
        /// The other rank.
        to: u32,
        /// At least one.
        bytes: u64,
        /// See above.
        at: u32,
    },
    /// A message from another rank.
    Receive,
    /// The rank's part in the collective operation of this number. It ends when the rank has sent and received all of it.
    Collective(u32),
}

/// An operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// Its work.
    pub work: Work,
    /// Operations of the rank that it waits for, and whether for their ends or only their starts.
    pub waits: Vec<(u32, On)>,
    /// Its place in the file: a line, a number or an id.
    pub(super) place: u64,
}

/// The event of another operation that one waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum On {
    /// Its end (`requires`).
    End,
    /// Its start (`irequires`).
    Start,
}

/// A collective operation of several ranks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Collective {
    /// What it moves.
    pub kind: CollectiveKind,
    /// Bytes that each rank gives; of a broadcast or scatter, the root.
    pub bytes: u64,
    /// Number of its group of ranks.
    pub(super) group: u32,
}

/// Kinds of collective operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CollectiveKind {
    /// Every rank gets the sum of all vectors.
    AllReduce,
    /// Every rank gets all vectors.
    AllGather,
    /// Every rank gets a part of the sum of all vectors.
    ReduceScatter,
    /// Every rank gets a part of each vector.
    AllToAll,
    /// Every rank gets the root's vector. The root is the first rank of the group, as traces name none.
    Broadcast,
    /// The root gets the sum of all vectors.
    Reduce,
    /// The root gets all vectors.
    Gather,
    /// Every rank gets a part of the root's vector.
    Scatter,
}

impl CollectiveKind {
    /// The word in tables.
    pub const fn word(self) -> &'static str {
        match self {
            CollectiveKind::AllReduce => "all-reduce",
            CollectiveKind::AllGather => "all-gather",
            CollectiveKind::ReduceScatter => "reduce-scatter",
            CollectiveKind::AllToAll => "all-to-all",
            CollectiveKind::Broadcast => "broadcast",
            CollectiveKind::Reduce => "reduce",
            CollectiveKind::Gather => "gather",
            CollectiveKind::Scatter => "scatter",
        }
    }
}
