//! Packets that one part of a network hands to the others.

use fanin_fabric::LinkId;
use fanin_transport::{Block, HeaderOptions, Metadata};
use fanin_units::Time;

use crate::event::ArrivalOrder;
use crate::packet::InFlight;
use crate::parts::borders::Borders;
use crate::places::Few;
use crate::probe::Probe;

/// A packet that arrives in another part.
pub(crate) struct CrossingPacket {
    pub link: LinkId,
    pub due: ArrivalOrder,
    pub packet: InFlight,
    /// Metadata; few packets have any.
    beside: Option<Box<(Vec<Block>, Option<HeaderOptions>)>>,
}

impl CrossingPacket {
    /// Its metadata.
    pub fn beside(&self) -> Metadata<'_> {
        self.beside.as_ref().map_or(Metadata::default(), |beside| Metadata {
            sack: &beside.0,
            notes: beside.1,
            ..Metadata::default()
        })
    }
}

/// Packets for one part, in link order.
pub(crate) struct PacketBatch {
    pub handed: Vec<CrossingPacket>,
    /// Arrival of the first one.
    pub first: Time,
}

impl Default for PacketBatch {
    fn default() -> PacketBatch {
        PacketBatch { handed: Vec::new(), first: Time::NEVER }
    }
}

/// Border of a part.
pub(crate) struct Border<const LARGE: bool> {
    /// By link: the part that it leads to, if another one.
    to: Vec<Option<u8>>,
    /// Packets handed over, by part.
    batches: Vec<PacketBatch>,
}

impl<const LARGE: bool> Border<LARGE> {
    /// The border of a part.
    pub fn new(borders: &Borders, links: impl Iterator<Item = LinkId>, part: usize) -> Border<LARGE> {
        let leads_away = |&link: &LinkId| borders.sends(link) == part && borders.crosses(link);
        let to = links.map(|link| Some(link).filter(leads_away).map(|link| borders.receives(link) as u8)).collect();
        Border { to, batches: (0..borders.parts).map(|_| PacketBatch::default()).collect() }
    }

    /// Packets handed over since the last call, by part.
    pub fn take(&mut self) -> Vec<PacketBatch> {
        // The next batches will be about as large.
        let empty = |batch: &PacketBatch| PacketBatch {
            handed: Vec::with_capacity(batch.handed.len()),
            ..PacketBatch::default()
        };
        let empty = self.batches.iter().map(empty).collect();
        std::mem::replace(&mut self.batches, empty)
    }
}

impl<const LARGE: bool> Probe for Border<LARGE> {
    #[inline(always)]
    fn leads_away(&self, link: LinkId) -> bool {
        self.to[link.index()].is_some()
    }

    fn hand_over(&mut self, link: LinkId, due: ArrivalOrder, packet: &InFlight, beside: Metadata<'_>) {
        let some = !beside.sack.is_empty() || beside.notes.is_some();
        let beside = some.then(|| Box::new((beside.sack.to_vec(), beside.notes)));
        let Some(part) = self.to[link.index()] else { return };
        let batch = &mut self.batches[usize::from(part)];
        batch.first = batch.first.min(Time(due.at));
        batch.handed.push(CrossingPacket { link, due, packet: *packet, beside });
    }

    type Places = Few;
    const PART: bool = true;
    const ON: bool = false;
    const LARGE: bool = LARGE;
}
