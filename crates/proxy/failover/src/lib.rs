//! Servers that fail: which servers of a pool answer for which key, and how a server leaves and returns.
//!
//! A pool with `replicas` keeps each key on several servers, one with `on_down = "next"` on the first on the ring that is up. All threads
//! must agree on that, or one reads where another no longer writes. [`Members`] is what they agree on: a new one takes effect in steps of
//! which any two neighbours are compatible, and a step is taken when nobody uses the last but one any more ([`Failover::advance`]).
//!
//! | phase | reads | changes | ends when |
//! | --- | --- | --- | --- |
//! | up | yes | yes | it fails |
//! | leaving | fail | fail | all threads know, and their changes are over |
//! | away | elsewhere | elsewhere, and noted in its journal | it has answered, and executes no earlier change any more |
//! | joining | elsewhere | elsewhere, and the key is deleted here | all keys of the journal are deleted here, and where they were written |
//! | returning (`next` only) | fail | fail | the same |
//!
//! A server that was stopped executes, when it goes on, what it was sent before. So connections on which changes have failed are kept until
//! the server closes its side (`net/endings.rs`); for those that broke, one timeout passes. `server_state` has the journal;
//! `front/upstreams/failover.rs` is a thread's part.

mod members;
mod server_state;
mod transitions;

pub use members::{Members, Phase, Route};
pub use server_state::{Entry, Reserved, ServerState};
pub use transitions::Failover;
