//! Packets at receiving network cards: queued, marked, dropped, drained.

use fanin_fabric::LinkId;
use fanin_tables::CardRow;
use fanin_transport::Bits;
use fanin_units::Time;

use super::Net;
use super::cards::{CardCounts, Cards, Ingress};
use super::faults::Lost;
use crate::event::Key;
use crate::link::Why;
use crate::packet::InFlight;
use crate::probe::{Dropped, LoggedEvent, LostPacket, Probe};

impl<P: Probe> Net<P> {
    /// A packet has crossed a link: return whether it is at its host, which it is later if the host's card has to drain it first.
    pub(super) fn reaches_host(&mut self, now: u64, link: LinkId, packet: &InFlight) -> bool {
        if self.cards.is_none() || !self.fabric.is_downlink(link) {
            return self.goes_no_further(now, link, packet);
        }
        self.enter_card(now, link, *packet);
        false
    }

    /// A packet enters its host's card, or is dropped. The card drains it while it arrives.
    fn enter_card(&mut self, now: u64, link: LinkId, mut packet: InFlight) {
        let Some(Cards { settings, of }) = self.cards.as_deref_mut() else { return };
        let (ingress, bytes) = (of.entry(link).or_default(), u64::from(packet.bytes()));
        ingress.counts.packets += 1;
        let filled = ingress.bytes + bytes;
        if filled > settings.buffer {
            ingress.counts.drops += 1;
            return self.drop_at_card(now, link, &packet);
        }
        if settings.notify_at.is_some_and(|at| filled > at) && packet.packet.bits.any(Bits::ECT) {
            packet.mark(true);
            ingress.counts.marks += 1;
        }
        ingress.bytes = filled;
        ingress.longest = ingress.longest.max(filled);
        let began = now.saturating_sub(self.fabric.link(link).rate.time_for(bytes).0);
        let at = (ingress.drained_at.max(began) + settings.drain.time_for(bytes).0).max(now);
        ingress.drained_at = at;
        ingress.waiting.push_back((at, packet));
        if ingress.waiting.len() == 1 {
            self.events.push_far(Key::drained(at, link));
        }
    }

    fn drop_at_card(&mut self, now: u64, link: LinkId, packet: &InFlight) {
        self.metadata.free(packet.beside);
        let end = &mut self.ends[packet.to.index()];
        end.lost = end.lost.wrapping_add(1);
        let to = end.id;
        if let Some(faults) = &mut self.faults {
            faults.lost(to, Lost::AtPort);
        }
        let queue = self.cards.as_ref().and_then(|cards| cards.of.get(&link)).map_or(0, |ingress| ingress.bytes);
        let drop = Dropped { packet: LostPacket::of(packet), why: Why::Card, queue, memory: None };
        self.probe.happening(Time(now), LoggedEvent::Drop(link, to, drop));
    }

    /// A card has drained its first packet, which is delivered.
    #[cold]
    pub fn drained(&mut self, link: LinkId) -> Option<InFlight> {
        let ingress = self.cards.as_mut()?.of.get_mut(&link)?;
        let (_, packet) = ingress.waiting.pop_front()?;
        ingress.bytes -= u64::from(packet.bytes());
        if let Some(&(at, _)) = ingress.waiting.front() {
            self.events.push_far(Key::drained(at, link));
        }
        self.delivered += 1;
        Some(packet)
    }

    /// Counters of cards so far.
    pub fn card_counts(&self) -> CardCounts {
        self.cards.iter().flat_map(|cards| &cards.of).map(|(&link, ingress)| (link, ingress.counts)).collect()
    }

    /// One row per card that took or dropped a packet since `before`.
    pub fn card_rows(&self, before: &CardCounts) -> Vec<CardRow> {
        let row = |(&link, ingress): (&LinkId, &Ingress)| {
            let (now, before) = (ingress.counts, before.get(&link).copied().unwrap_or_default());
            CardRow {
                host: self.fabric.name(self.fabric.link(link).to),
                port: self.fabric.link_name(link),
                packets: now.packets - before.packets,
                drops: now.drops - before.drops,
                marks: now.marks - before.marks,
                queue_max_bytes: ingress.longest,
            }
        };
        self.cards.iter().flat_map(|cards| &cards.of).map(row).filter(|row| row.packets > 0).collect()
    }
}
