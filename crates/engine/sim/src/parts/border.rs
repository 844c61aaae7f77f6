//! Packets, pauses and messages that one part of a network hands to the others.

use std::sync::Arc;

use fanin_fabric::{HostId, LinkId};
use fanin_laws::rate::Hop;
use fanin_transport::{Block, HeaderOptions, Metadata, Telemetry};
use fanin_units::Time;

use crate::event::ArrivalOrder;
use crate::packet::InFlight;
use crate::parts::borders::Borders;
use crate::pauses::ComingPause;
use crate::places::Few;
use crate::probe::Probe;
use crate::socket::ExpectedMessage;

/// A packet that arrives in another part.
pub(crate) struct CrossingPacket {
    pub link: LinkId,
    pub due: ArrivalOrder,
    pub packet: InFlight,
    /// Metadata; few packets have any.
    beside: Option<Box<Beside>>,
}

/// A packet's metadata.
struct Beside {
    sack: Vec<Block>,
    notes: Option<HeaderOptions>,
    hops: Vec<Hop>,
    /// Whether the telemetry is on its way back.
    echoes: bool,
    /// Whether it has any.
    tells: bool,
}

impl Beside {
    fn of(beside: Metadata<'_>) -> Option<Box<Beside>> {
        let Metadata { sack, notes, telemetry } = beside;
        let tells = telemetry != Telemetry::None;
        (!sack.is_empty() || notes.is_some() || tells).then(|| {
            let (sack, hops, echoes) =
                (sack.to_vec(), telemetry.hops().to_vec(), matches!(telemetry, Telemetry::Echo(_)));
            Box::new(Beside { sack, notes, hops, echoes, tells })
        })
    }

    fn metadata(&self) -> Metadata<'_> {
        let telemetry = match (self.tells, self.echoes) {
            (false, _) => Telemetry::None,
            (true, true) => Telemetry::Echo(&self.hops),
            (true, false) => Telemetry::Written(&self.hops),
        };
        Metadata { sack: &self.sack, notes: self.notes, telemetry }
    }
}

impl CrossingPacket {
    /// Its metadata.
    pub fn beside(&self) -> Metadata<'_> {
        self.beside.as_ref().map_or(Metadata::default(), |beside| beside.metadata())
    }
}

/// What one part receives from another.
pub(crate) struct Batch {
    /// In link order.
    pub packets: Vec<CrossingPacket>,
    pub pauses: Vec<ComingPause>,
    pub messages: Vec<ExpectedMessage>,
    /// When the first packet or pause arrives.
    pub first: Time,
}

impl Batch {
    pub fn is_empty(&self) -> bool {
        self.first == Time::NEVER && self.messages.is_empty()
    }
}

impl Default for Batch {
    fn default() -> Batch {
        let (packets, pauses, messages) = Default::default();
        Batch { packets, pauses, messages, first: Time::NEVER }
    }
}

/// Border of a part.
pub(crate) struct Border {
    borders: Arc<Borders>,
    part: usize,
    /// By link: the part that it leads to, if another one.
    to: Vec<Option<u8>>,
    /// For the others, by part.
    pub batches: Vec<Batch>,
}

impl Border {
    /// The border of a part.
    pub fn new(borders: Arc<Borders>, links: impl Iterator<Item = LinkId>, part: usize) -> Border {
        let leads_away = |&link: &LinkId| borders.sends(link) == part && borders.crosses(link);
        let to = links.map(|link| Some(link).filter(leads_away).map(|link| borders.receives(link) as u8)).collect();
        let batches = (0..borders.parts).map(|_| Batch::default()).collect();
        Border { borders, part, to, batches }
    }

    /// Pass its batches to their receivers, whose numbers are given. Emptied batches come back.
    pub fn give(&mut self, mut give: impl FnMut(usize, &mut Batch)) {
        for (part, batch) in self.batches.iter_mut().enumerate().filter(|(_, batch)| !batch.is_empty()) {
            give(part, batch);
        }
    }
}

impl Probe for Border {
    #[inline(always)]
    fn leads_away(&self, link: LinkId) -> bool {
        self.to[link.index()].is_some()
    }

    fn hand_over(&mut self, link: LinkId, due: ArrivalOrder, packet: &InFlight, beside: Metadata<'_>) {
        let Some(part) = self.to[link.index()] else { return };
        let batch = &mut self.batches[usize::from(part)];
        batch.first = batch.first.min(Time(due.at));
        batch.packets.push(CrossingPacket { link, due, packet: *packet, beside: Beside::of(beside) });
    }

    fn comes_from_away(&self, link: LinkId) -> bool {
        self.borders.sends(link) != self.part
    }

    fn hand_over_pause(&mut self, pause: ComingPause) {
        let batch = &mut self.batches[self.borders.sends(pause.link)];
        batch.first = batch.first.min(Time(pause.key.time()));
        batch.pauses.push(pause);
    }

    fn is_away(&self, host: HostId) -> bool {
        self.borders.of_host(host) != self.part
    }

    fn hand_over_message(&mut self, host: HostId, message: ExpectedMessage) {
        self.batches[self.borders.of_host(host)].messages.push(message);
    }

    type Places = Few;
    const PART: bool = true;
    const ON: bool = false;

    #[inline(always)]
    fn is_large(&self) -> bool {
        true
    }
}
