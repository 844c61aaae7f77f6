//! Who takes part when one front end asks many servers: the front end, hubs, data servers.
//!
//! Each is a state machine without I/O: it is told of a message, of a peer that is gone or of a time that has come, and says what to
//! send. Its driver, the simulator or a daemon, has the sockets and the clock. Values are a type parameter: a length in the
//! simulator, bytes elsewhere.

pub mod data_server;
pub mod front_end;
pub mod hub;
pub mod planner;
pub mod wire;

pub use wire::{Body, Message, Node, Tag};

use data_server::Lookup;
use wire::Part;

/// What a role wants done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output<K, V> {
    /// Send a message.
    Send {
        /// To whom.
        to: Node,
        /// What.
        message: Message<K, V>,
        /// The next output goes to the same peer, in the same packet where that has room.
        more: bool,
    },
    /// Look for an object, and say what came of it.
    Look(Lookup<K>),
    /// An object of a request is there.
    Answer {
        /// The request.
        request: u32,
        /// The object's place in it.
        index: u32,
        /// It.
        value: V,
    },
    /// There is no such object.
    Miss {
        /// The request.
        request: u32,
        /// The object's place in it.
        index: u32,
    },
    /// An object could not be had: its replicas are gone, or the deadline has passed.
    Fail {
        /// The request.
        request: u32,
        /// The object's place in it.
        index: u32,
    },
    /// Every object of a request is answered, missed or failed.
    Done {
        /// The request.
        request: u32,
    },
}

impl<K: Part, V: Part> Output<K, V> {
    /// The bytes of a message that leaves the machine of who says it.
    pub fn bytes_to_others(&self, me: Node) -> u64 {
        match self {
            Output::Send { to, message, .. } if *to != me => message.len() as u64,
            _ => 0,
        }
    }
}

/// What a role wants done, in order. A driver keeps it, so that nothing is allocated a message.
pub type Outputs<K, V> = Vec<Output<K, V>>;

/// What was said last is the last of its packet.
fn last_of_packet<K, V>(out: &mut Outputs<K, V>) {
    if let Some(Output::Send { more, .. }) = out.last_mut() {
        *more = false;
    }
}
