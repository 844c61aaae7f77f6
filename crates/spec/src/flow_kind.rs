//! What flows are of, as tables have it.

use serde::{Deserialize, Serialize};

/// Declares what flows are of, with the words of tables; the first is what is taken where nothing is said.
macro_rules! flow_kinds {
    ($(#[doc = $says:literal])* $usual:ident = $its:literal,
     $($(#[doc = $doc:literal])* $kind:ident = $word:literal,)*) => {
        /// What a flow is of.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub enum FlowKind {
            $(#[doc = $says])*
            #[default]
            $usual,
            $($(#[doc = $doc])* $kind,)*
        }

        impl FlowKind {
            /// All of them, with what they are.
            pub const ALL: &[(FlowKind, &str)] = &[
                (FlowKind::$usual, concat!($($says),*).trim_ascii()),
                $((FlowKind::$kind, concat!($($doc),*).trim_ascii()),)*
            ];

            /// Its word in tables.
            pub const fn word(self) -> &'static str {
                match self {
                    FlowKind::$usual => $its,
                    $(FlowKind::$kind => $word,)*
                }
            }
        }
    };
}

flow_kinds! {
    /// A server's answer to a round or query, or a sender's fragment.
    Answer = "answer",
    /// A long flow, or one of a list that has no end: between two starts or stops of such ones.
    Long = "long",
    /// A line of the workload's file.
    Listed = "listed",
    /// A flow of a shuffle.
    Shuffle = "shuffle",
    /// A flow of the poisson workload.
    Poisson = "poisson",
    /// A flow beside another workload: a Poisson flow, or one of a list.
    Background = "beside",
    /// A split that a map of a job reads from another node.
    Split = "split",
    /// A part of a map's output that a reduce fetches.
    Fetch = "fetch",
    /// A replica of a reduce's output.
    Replica = "replica",
    /// An answer to a query of the service.
    Query = "query",
    /// A part of a vector that an all-reduce passes on.
    Part = "part",
    /// An object that a front end asked for.
    Object = "object",
}

impl FlowKind {
    /// Whether it is a flow that the workload itself starts between any hosts, for its own sake.
    pub const fn is_own(self) -> bool {
        matches!(self, FlowKind::Listed | FlowKind::Shuffle | FlowKind::Poisson | FlowKind::Part)
    }
}
