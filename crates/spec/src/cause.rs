//! What a stall was for: what had to happen before anything came again.

use serde::{Deserialize, Serialize};

/// Declares causes, with their words in tables and in sentences.
macro_rules! causes {
    ($($(#[doc = $doc:literal])* $cause:ident = $word:literal, $says:literal;)*) => {
        /// Why nothing came to a client.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Cause {
            $($(#[doc = $doc])* $cause,)*
            /// Nothing that was seen tells.
            #[default]
            Unknown,
        }

        impl Cause {
            /// Those that are known, with what they are.
            pub const KNOWN: &[(Cause, &str)] = &[$((Cause::$cause, concat!($($doc),*).trim_ascii()),)*];

            /// Its word in tables.
            pub const fn word(self) -> &'static str {
                match self {
                    $(Cause::$cause => $word,)*
                    Cause::Unknown => "unknown",
                }
            }

            /// What is waited for, in a sentence.
            pub const fn says(self) -> &'static str {
                match self {
                    $(Cause::$cause => $says,)*
                    Cause::Unknown => "what nothing tells",
                }
            }
        }
    };
}

causes! {
    /// A retransmission timeout of an established connection.
    Rto = "rto", "timeouts";
    /// A probe for a lost tail (RFC 8985, section 7).
    Probe = "probe", "tail-loss probes";
    /// The time that RACK waits for what may only be out of order (RFC 8985, section 6.2).
    Reordering = "reordering", "RACK's patience";
    /// A SYN or SYN-ACK that was sent again.
    Syn = "syn", "lost SYNs";
    /// An ACK that was kept back, to be sent with others.
    DelayedAck = "delayed_ack", "delayed ACKs";
    /// A receiver that had no room. No receiver of the simulator closes its window.
    ZeroWindow = "zero_window", "closed receive windows";
    /// A timer as above, for a packet that `faults.loss` had lost.
    InjectedLoss = "injected_loss", "packets that faults.loss lost";
    /// A host that crashed, had crashed, or is slow.
    Host = "host", "crashed or slow hosts";
    /// An application that had nothing to send before: it worked, or paused, for longer than `host` says.
    Application = "application", "applications";
}
