//! An end of a connection with a clock, and its outgoing packets.

use fanin_laws::rate::{Kind, Place, Settings as Laws};
use fanin_rdma::{QueuePair, Settings};
use fanin_transport::{Block, Call, Metadata, Packet, Progress, Timer, Transport, Wire};
use fanin_units::{Rate, Time};

pub const LINE: Rate = Rate(100_000_000_000);
/// Time of a full packet of 1,044 B at the line's rate.
pub const PACKET: Time = Time(83_520);

/// Packets that an end has sent, with the block of each that has one.
#[derive(Default)]
pub struct Outbox(pub Vec<Packet>, pub Vec<Option<Block>>);

impl Wire for Outbox {
    fn send(&mut self, packet: Packet, metadata: Metadata<'_>) {
        self.0.push(packet);
        self.1.push(metadata.sack.first().copied());
    }
}

/// One end with a clock.
pub struct End {
    pub settings: Settings,
    pub end: QueuePair,
    pub now: Time,
}

impl End {
    /// An end of a persistent connection.
    pub fn open(kind: Kind) -> End {
        End::with(Settings::new(kind, &Laws::default(), &Place { line: LINE, rtt: Time::from_micros(4) }))
    }

    /// The same with these settings.
    pub fn with(settings: Settings) -> End {
        let mut end = QueuePair::new(&settings);
        end.stand(&settings, Time::ZERO, Time::from_micros(4));
        End { settings, end, now: Time::ZERO }
    }

    /// A call's result, and the packets sent during it.
    pub fn call<R>(
        &mut self,
        act: impl FnOnce(&mut QueuePair, &mut Call<'_, Settings, Outbox>) -> R,
    ) -> (R, Vec<Packet>) {
        let mut outbox = Outbox::default();
        let mut call = Call { settings: &self.settings, now: self.now, wire: &mut outbox };
        let result = act(&mut self.end, &mut call);
        (result, outbox.0)
    }

    pub fn write(&mut self, bytes: u64) -> Vec<Packet> {
        self.call(|end, call| end.write(call, bytes, Time::NEVER)).1
    }

    /// Its packet begins to leave; then the next one is sent when its timer is due.
    pub fn departs(&mut self, payload: u16) -> Vec<Packet> {
        self.call(|end, call| end.started(call, payload.into())).1
    }

    pub fn expire(&mut self) -> (Timer, Vec<Packet>) {
        self.now = self.end.deadline();
        let (expiry, sent) = self.call(|end, call| end.expire(call));
        (expiry.timer, sent)
    }

    /// Takes a packet: returns everything sent in reply, with its blocks, and the progress.
    pub fn take(&mut self, packet: &Packet) -> (Outbox, Progress) {
        let mut outbox = Outbox::default();
        let mut call = Call { settings: &self.settings, now: self.now, wire: &mut outbox };
        let progress = self.end.receive(&mut call, packet, Metadata::default());
        (outbox, progress)
    }

    pub fn receive(&mut self, packet: &Packet) -> (Progress, Vec<Packet>) {
        self.call(|end, call| end.receive(call, packet, Metadata::default()))
    }

    /// Sends a number of full packets, one after another.
    pub fn send_all(&mut self, first: Vec<Packet>, count: usize) -> Vec<Packet> {
        let mut sent = first;
        while sent.len() < count {
            let payload = sent[sent.len() - 1].payload;
            assert!(self.departs(payload).is_empty(), "the next packet's time has not come");
            sent.extend(self.expire().1);
        }
        sent
    }
}

pub fn starts(packets: &[Packet]) -> Vec<u32> {
    packets.iter().map(|packet| packet.body[0]).collect()
}
