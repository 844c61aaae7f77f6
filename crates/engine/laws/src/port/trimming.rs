//! Trimming ports: a packet that does not fit loses its payload, and departing packets are marked in proportion to the queue.
//! Sources: Handley et al., "Re-architecting datacenter networks and stacks for low latency and high performance" (NDP, SIGCOMM 2017),
//!          section 3; marking: Ultra Ethernet consortium's simulator.
//! Law:     a packet that exceeds the buffer: by a coin, it or the last queued one with payload becomes a header, which is served first;
//!          headers have twice the buffer for themselves. Mark a departing packet never while the queue behind it q <= low buffer, always
//!          above high buffer, between them with probability (q / buffer - low) / (high - low): the ramp of ecn_ramp.rs up to one.
//! Units:   bytes on the wire; a buffer in packets counts full ones.
//! Owns:    nothing.
//! Departs: nothing.
//! Checked: vectors/trimming.json; tests/trajectories/trimming.txt; trims by the simulator's tests of links and of random networks.

use alloc::format;

use fanin_units::{Bytes, QueueSize, Share, Time};
use rand_core::Rng;

use super::ecn_ramp::EcnRamp;
use super::manage::{Congested, Leaving, Manage, Place};
use crate::row::File;
use crate::settings::{Refusal, params};

/// This file.
pub const FILE: File = File { law: "trimming", text: include_str!("trimming.rs") };

params! {
    /// Ports that trim packets.
    trimming {
        /// Bytes that remain of a packet in a buffer.
        #[range(Bytes(64)..=Bytes(256))]
        header: Bytes = Bytes(64),
        /// Queue of each port, beyond which it trims; "auto": `switch.buffer`, or a bandwidth-delay product of the hosts' links if the switch has a shared memory.
        queue: Option<QueueSize> = None,
        /// No marks up to this share of the buffer.
        low: Share = Share::of(1, 5),
        /// All packets are marked above this share of the buffer.
        high: Share = Share::of(4, 5),
    }
    refuses |trimming| {
        let what = format!("a share `low` of {} and `high` of {}: use a `high` above `low`", trimming.low, trimming.high);
        (trimming.high.in_q(32) <= trimming.low.in_q(32)).then_some(Refusal { paths: &["trimming.low", "trimming.high"], what })
    };
}

/// Trimming at one port, whatever its discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trim {
    /// Bytes that remain of a packet.
    pub bytes: u32,
    /// Memory for packets of the highest class, bytes.
    pub room: u64,
}

impl Trim {
    /// Whether a packet that exceeds the buffer is trimmed itself, rather than the last queued one.
    pub fn takes_arriving(self, rng: &mut impl Rng) -> bool {
        rng.next_u64() >> 63 == 0
    }

    /// Whether a packet of the highest class fits beside the bytes of those that wait.
    pub fn has_room(self, waiting: u64, bytes: u32) -> bool {
        waiting + u64::from(bytes) <= self.room
    }
}

impl Params {
    /// How a port at this place trims.
    pub fn trim(&self, place: &Place) -> Trim {
        Trim { bytes: self.header.0 as u32, room: 2 * place.in_bytes(place.buffer) }
    }
}

/// One port's state: its marks.
#[derive(Clone, Copy, Debug)]
pub struct Trimming(EcnRamp);

impl Trimming {
    /// The state of an empty port.
    pub fn start(params: &Params, place: &Place) -> Option<Trimming> {
        let buffer = place.in_bytes(place.buffer);
        let [low, high] = [params.low, params.high].map(|share| share.part_of(buffer));
        Some(Trimming(EcnRamp::between(low, high, Share::of(1, 1))))
    }
}

impl Manage for Trimming {
    const LOOKS_AT_DEPARTURES: bool = true;

    fn dequeue(&mut self, now: Time, leaving: &Leaving, rng: &mut impl Rng) -> Congested {
        self.0.dequeue(now, leaving, rng)
    }
}
