//! Kinds of flows, as tables name them.

use serde::{Deserialize, Serialize};

/// Declares the kinds of flows with their words in tables; the first is the default.
macro_rules! flow_kinds {
    ($(#[doc = $says:literal])* $usual:ident = $its:literal,
     $($(#[doc = $doc:literal])* $kind:ident = $word:literal,)*) => {
        /// Kind of a flow.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub enum FlowKind {
            $(#[doc = $says])*
            #[default]
            $usual,
            $($(#[doc = $doc])* $kind,)*
        }

        impl FlowKind {
            /// All kinds, with their descriptions.
            pub const ALL: &[(FlowKind, &str)] = &[
                (FlowKind::$usual, concat!($($says),*).trim_ascii()),
                $((FlowKind::$kind, concat!($($doc),*).trim_ascii()),)*
            ];

            /// The word in tables.
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
    /// A server's response in a round or query, or a sender's fragment.
    Answer = "answer",
    /// A long flow, or an interval of an unlimited flow of a list, between starts or stops of such flows.
    Long = "long",
    /// A line of the workload's file.
    Listed = "listed",
    /// A flow of a shuffle.
    Shuffle = "shuffle",
    /// A flow of the poisson workload.
    Poisson = "poisson",
    /// Background traffic: a Poisson flow, or one of a list.
    Background = "background",
    /// A split that a map reads from another node.
    Split = "split",
    /// A part of a map's output that a reduce fetches.
    Fetch = "fetch",
    /// A replica of a reduce's output.
    Replica = "replica",
    /// A response to a query of the background service.
    Query = "query",
    /// A part that a host of an all-reduce or all-to-all sends to another one.
    Part = "part",
    /// What one host answers to a pull.
    Pull = "pull",
    /// A message of a trace.
    Message = "message",
    /// An object that a front end requested.
    Object = "object",
}

impl FlowKind {
    /// Whether the workload itself starts it between any hosts.
    pub const fn is_own(self) -> bool {
        matches!(
            self,
            FlowKind::Listed
                | FlowKind::Shuffle
                | FlowKind::Poisson
                | FlowKind::Part
                | FlowKind::Pull
                | FlowKind::Message
        )
    }
}
