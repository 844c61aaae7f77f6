//! Roles of a many-server request: front end, hubs, data servers.
//!
//! Each is a state machine without I/O: it handles messages, lost peers and timeouts, and returns messages to send. Its driver, the
//! simulator or a daemon, has the sockets and the clock. Values are a type parameter: a length in the simulator, bytes elsewhere.
//!
//! Their messages travel as bytes between agents, and as lengths in the simulator:
//!
//! ```
//! use bytes::Bytes;
//! use fanin_roles::wire::{Body, HEADER, Item, Key, Message, Node, Tag};
//!
//! let key = Key::new(Bytes::from_static(b"key")).expect("a key of memcached");
//! let tag = Tag { origin: Node(1), request: 2, epoch: 1, nonce: 0 };
//! let message = Message::<Key, Item> { tag, index: 0, body: Body::Get(key) };
//! assert_eq!(message.len(), HEADER + 3);
//! ```

pub mod data_server;
pub mod front_end;
pub mod hub;
pub mod machine;
mod output;
pub mod wire;

pub use machine::Machine;
pub use output::{Output, Outputs};
pub use wire::{Body, Message, Node, Tag};
