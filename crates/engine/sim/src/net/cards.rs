//! Receiving network cards that drain their ingress buffers more slowly than links fill them. A network without such cards has no such
//! state. `card_effects.rs` applies them.

use std::collections::{BTreeMap, VecDeque};

use fanin_fabric::LinkId;

use crate::network::Card as Settings;
use crate::packet::InFlight;

/// Counters of a card.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub packets: u64,
    pub drops: u64,
    pub marks: u64,
}

/// By the link into the card.
pub(crate) type CardCounts = BTreeMap<LinkId, Counts>;

/// The ingress buffer at the end of one link.
#[derive(Default)]
pub(super) struct Ingress {
    /// Packets, each with the time at which it is drained.
    pub waiting: VecDeque<(u64, InFlight)>,
    /// When everything so far is drained.
    pub drained_at: u64,
    pub bytes: u64,
    pub longest: u64,
    pub counts: Counts,
}

/// The cards of all hosts.
pub(crate) struct Cards {
    pub(super) settings: Settings,
    pub(super) of: BTreeMap<LinkId, Ingress>,
}

impl Cards {
    /// Cards of a run, if they are described.
    pub fn new(settings: Option<Settings>) -> Option<Box<Cards>> {
        settings.map(|settings| Box::new(Cards { settings, of: BTreeMap::new() }))
    }

    /// Packets in the buffers.
    pub fn packets(&self) -> u64 {
        self.of.values().map(|ingress| ingress.waiting.len() as u64).sum()
    }

    /// Restart the longest queues from now on.
    pub fn forget(&mut self) {
        self.of.values_mut().for_each(|ingress| ingress.longest = ingress.bytes);
    }
}
