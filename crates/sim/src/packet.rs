//! What travels on links: segments with what the simulator needs to know of them.

use fanin_fabric::HostId;
use fanin_tcp::{Block, Segment};
use fanin_units::Time;

use crate::ids::{ConnectionId, Slot};

/// A segment on its way to an endpoint.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// Where the endpoint lies that it is for.
    pub(crate) to: Slot,
    /// Its SACK blocks' place; zero for none.
    pub(crate) sack: u32,
    /// Its size in a buffer, framing included.
    pub(crate) frame_bytes: u32,
    /// When it was sent, as `latency::stamp` has it.
    pub(crate) sent: u32,
    /// The segment.
    pub segment: Segment,
}

impl Default for Packet {
    fn default() -> Packet {
        let segment = Segment {
            seq: 0,
            ack: 0,
            window: 0,
            mcw_offer: u32::MAX,
            mcw_echo: u32::MAX,
            ts_val: 0,
            ts_ecr: 0,
            len: 0,
            header: 0,
            flags: fanin_tcp::Flags::NONE,
        };
        Packet { to: Slot(0), sack: 0, frame_bytes: 0, sent: 0, segment }
    }
}

/// SACK blocks of packets under way: few packets have any.
#[derive(Default)]
pub(crate) struct Sacks {
    blocks: Vec<Vec<Block>>,
    free: Vec<u32>,
}

impl Sacks {
    /// Keeps blocks; zero stands for none.
    #[inline]
    pub fn keep(&mut self, blocks: &[Block]) -> u32 {
        if blocks.is_empty() { 0 } else { self.keep_some(blocks) }
    }

    #[cold]
    fn keep_some(&mut self, blocks: &[Block]) -> u32 {
        let handle = self.free.pop().unwrap_or_else(|| {
            self.blocks.push(Vec::with_capacity(4));
            self.blocks.len() as u32
        });
        let place = &mut self.blocks[handle as usize - 1];
        place.clear();
        place.extend_from_slice(blocks);
        handle
    }

    /// The blocks of a handle.
    #[inline]
    pub fn of(&self, handle: u32) -> &[Block] {
        if handle == 0 { &[] } else { &self.blocks[handle as usize - 1] }
    }

    #[inline]
    pub fn free(&mut self, handle: u32) {
        if handle != 0 {
            self.free.push(handle);
        }
    }
}

/// A caught packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caught {
    /// When it had left the sending end of the link, or at a host that receives it, when it was there.
    pub time: Time,
    /// The link's name.
    pub port: String,
    /// The sending host.
    pub from: HostId,
    /// The receiving host.
    pub to: HostId,
    /// The connection.
    pub connection: ConnectionId,
    /// Whether the connection's opener sent it.
    pub from_opener: bool,
    /// The segment.
    pub segment: Segment,
    /// Its SACK blocks.
    pub sack: Vec<Block>,
}
