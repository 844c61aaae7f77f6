//! Many to one: the switch counts a port's flows and hands each an equal part of the buffer.
//! Sources: Adesanmi and Mhamdi, "M21TCP: Overcoming TCP Incast Congestion in Data Centres" (CloudNet 2015),
//!          section III-C, item 1, equation 1.
//! Law:     MCW = (B - MHS N) / N, MHS = 42 B; N counts flows up at SYN and SYN-ACK, down at FIN and RST, once each
//!          however often they are sent; a packet's MCW is only lowered along its path.
//! Units:   bytes. Where the buffer is in packets, B is that many full frames.
//! Owns:    the port's set of open flows.
//! Departs: nowhere.
//! Checked: vectors/many_to_one.json; tests/trajectories/many_to_one.txt.

use alloc::collections::BTreeSet;

use super::Header;

/// The least size of the headers of a packet, which equation 1 takes off once a flow.
const MHS: u32 = 42;

/// One port's state.
#[derive(Clone, Debug)]
pub struct ManyToOne {
    buffer: u64,
    open: BTreeSet<u32>,
    offer: u32,
}

impl ManyToOne {
    /// A port without flows in front of `buffer` bytes.
    pub fn new(buffer: u64) -> ManyToOne {
        ManyToOne { buffer, open: BTreeSet::new(), offer: u32::MAX }
    }

    /// Counts a flow that opens or closes, and gives the window for the packet's flow.
    #[inline]
    pub fn enqueue(&mut self, header: &Header) -> u32 {
        if header.opens | header.closes {
            self.count(header);
        }
        self.offer
    }

    fn count(&mut self, header: &Header) {
        if header.closes {
            self.open.remove(&header.flow);
        } else {
            self.open.insert(header.flow);
        }
        self.offer = match self.open.len() as u64 {
            0 => u32::MAX,
            n => u32::try_from(self.buffer / n).unwrap_or(u32::MAX - 1).saturating_sub(MHS),
        };
    }
}
