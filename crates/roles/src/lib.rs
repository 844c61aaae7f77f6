//! Roles of a many-server request: front end, hubs, data servers.
//!
//! Each is a state machine without I/O: it handles messages, lost peers and timeouts, and returns messages to send. Its driver, the
//! simulator or a daemon, has the sockets and the clock. Values are a type parameter: a length in the simulator, bytes elsewhere.

pub mod data_server;
pub mod front_end;
pub mod hub;
pub mod machine;
mod output;
pub mod wire;

pub use machine::Machine;
pub use output::{Output, Outputs};
pub use wire::{Body, Message, Node, Tag};
