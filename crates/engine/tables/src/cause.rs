//! Causes of stalls: the event that ended a stall.

use serde::{Deserialize, Serialize};

/// Declares causes, with their words in tables and in sentences.
macro_rules! causes {
    ($($(#[doc = $doc:literal])* $cause:ident = $word:literal, $says:literal;)*) => {
        /// Cause of a stall.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Cause {
            $($(#[doc = $doc])* $cause,)*
            /// Unknown.
            #[default]
            Unknown,
        }

        impl Cause {
            /// The known causes, with their descriptions.
            pub const KNOWN: &[(Cause, &str)] = &[$((Cause::$cause, concat!($($doc),*).trim_ascii()),)*];

            /// The word in tables.
            pub const fn word(self) -> &'static str {
                match self {
                    $(Cause::$cause => $word,)*
                    Cause::Unknown => "unknown",
                }
            }

            /// A sentence about the client's wait.
            pub const fn says(self) -> &'static str {
                match self {
                    $(Cause::$cause => $says,)*
                    Cause::Unknown => "unknown causes",
                }
            }
        }
    };
}

causes! {
    /// A retransmission timeout of an established connection.
    Rto = "rto", "retransmission timeouts";
    /// A tail-loss probe (RFC 8985, section 7).
    Tlp = "tlp", "tail-loss probes";
    /// RACK's reordering window (RFC 8985, section 6.2).
    Reordering = "reordering", "RACK's reordering window";
    /// A retransmitted SYN or SYN-ACK.
    Syn = "syn", "lost SYNs";
    /// A delayed ACK.
    DelayedAck = "delayed-ack", "delayed ACKs";
    /// A full receiver. The simulator's receivers never close their windows.
    ZeroWindow = "zero-window", "closed receive windows";
    /// One of the timers above, for a packet lost by `faults.loss`.
    LinkFault = "link-fault", "packets that faults.loss lost";
    /// A crashed or slow host.
    Host = "host", "crashed or slow hosts";
    /// An application with nothing to send: it processed or paused for longer than `host` says.
    Application = "application", "applications";
}
