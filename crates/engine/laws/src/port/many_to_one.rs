//! Many to one: the switch counts a port's flows and assigns each an equal part of the buffer.
//! Sources: Adesanmi and Mhamdi, "M21TCP: Overcoming TCP Incast Congestion in Data Centres" (CloudNet 2015),
//!          sections III-B and III-C, item 1, equation 1.
//! Law:     MCW = (B - MHS N) / N, MHS = 42 B; N goes up at SYN and SYN-ACK, down at FIN and RST, once per flow however
//!          often they are sent. Switches only lower a packet's MCW along its path. In the other form the packet carries N,
//!          which switches only raise, and the sender does the division.
//! Units:   bytes. A buffer in packets counts as that many full frames.
//! Owns:    the port's set of open flows.
//! Departs: nowhere.
//! Checked: vectors/many_to_one.json; tests/trajectories/many_to_one.txt.

use alloc::collections::BTreeSet;

use super::manage::{Header, HeaderOption, NO_OFFER};
use crate::settings::{params, words};

/// The minimum header size of a packet, which equation 1 subtracts once per flow.
const MHS: u32 = 42;

words! {
    /// Value that M21's switches write into packets.
    Form, "\"window\" or \"count\"" {
        /// The window of each flow: each switch only lowers it.
        Window = "window",
        /// The number of flows through the port: each switch only raises it, and the sender computes its window.
        Count = "count",
    }
}

params! {
    /// A window assigned by the switch (M21).
    m21 {
        /// Value that the switches write: each flow's window, or the number of flows.
        offer: Form = Form::Window,
    }
}

/// Equation 1: the window of each of `flows` flows through `buffer` bytes.
#[inline]
pub fn max_cwnd(buffer: u64, flows: u32) -> u32 {
    match buffer.checked_div(flows.into()) {
        None => u32::MAX,
        Some(share) => u32::try_from(share).unwrap_or(u32::MAX - 1).saturating_sub(MHS),
    }
}

/// One port's state.
#[derive(Clone, Debug)]
pub struct ManyToOne {
    form: Form,
    buffer: u64,
    open: BTreeSet<u32>,
    offer: u32,
}

impl ManyToOne {
    /// A port without flows, for a buffer of `buffer` bytes.
    pub fn new(form: Form, buffer: u64) -> ManyToOne {
        ManyToOne { form, buffer, open: BTreeSet::new(), offer: NO_OFFER }
    }

    /// Count a flow that opens or closes; write the least window or the largest count so far into the packet.
    #[inline]
    pub fn enqueue(&mut self, header: &Header, note: Option<&mut HeaderOption>) {
        if header.opens | header.closes {
            self.count(header);
        }
        let Some(HeaderOption { mcw }) = note else { return };
        *mcw = match self.form {
            Form::Count if self.offer != NO_OFFER && *mcw != NO_OFFER => self.offer.max(*mcw),
            Form::Window | Form::Count => self.offer.min(*mcw),
        };
    }

    /// Count a flow that opened before the simulation started.
    pub fn count_open(&mut self, flow: u32) {
        self.open.insert(flow);
        self.offer();
    }

    fn count(&mut self, header: &Header) {
        if header.closes {
            self.open.remove(&header.flow);
        } else {
            self.open.insert(header.flow);
        }
        self.offer();
    }

    fn offer(&mut self) {
        let flows = self.open.len() as u32;
        self.offer = match self.form {
            _ if flows == 0 => NO_OFFER,
            Form::Window => max_cwnd(self.buffer, flows),
            Form::Count => flows,
        };
    }
}
