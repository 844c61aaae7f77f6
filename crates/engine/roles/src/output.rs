//! Actions of a role, which its driver carries out.

use crate::wire::{Message, Node, Part, Tag};

/// A lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lookup<K> {
    /// The requester.
    pub asker: Node,
    /// Its request.
    pub tag: Tag,
    /// Index of the object in the request.
    pub index: u32,
    /// The object.
    pub key: K,
    /// Remaining number of forwards: [`HOPS`](crate::data_server::HOPS) for a direct request.
    pub hops: u8,
}

/// An action of a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output<K, V> {
    /// Send a message.
    Send {
        /// Destination.
        to: Node,
        /// The message.
        message: Message<K, V>,
        /// Whether the next output goes to the same peer, in the same packet if it fits.
        more: bool,
    },
    /// Look an object up, and report the result.
    Look(Lookup<K>),
    /// An object of a request has arrived.
    Answer {
        /// The request.
        request: u32,
        /// Index of the object in the request.
        index: u32,
        /// The server that was asked for it, if only one was.
        holder: Option<Node>,
        /// The object.
        value: V,
    },
    /// An object does not exist.
    Miss {
        /// The request.
        request: u32,
        /// Index of the object in the request.
        index: u32,
        /// The server that was asked for it, if only one was.
        holder: Option<Node>,
    },
    /// An object failed: its replicas are gone, or the deadline has passed.
    Fail {
        /// The request.
        request: u32,
        /// Index of the object in the request.
        index: u32,
    },
    /// All objects of a request are answered, missed or failed.
    Done {
        /// The request.
        request: u32,
    },
}

impl<K: Part, V: Part> Output<K, V> {
    /// Bytes of a message that leaves this machine.
    pub fn bytes_to_others(&self, me: Node) -> u64 {
        match self {
            Output::Send { to, message, .. } if *to != me => message.len() as u64,
            _ => 0,
        }
    }
}

/// Actions, in order. The driver reuses the list, so messages need no allocation.
pub type Outputs<K, V> = Vec<Output<K, V>>;

/// Marks the last message as the end of its packet.
pub(crate) fn last_of_packet<K, V>(out: &mut Outputs<K, V>) {
    if let Some(Output::Send { more, .. }) = out.last_mut() {
        *more = false;
    }
}
