//! Interface between a network and the transport protocol of its hosts: [`Transport`] is one end of a connection, without I/O.
//!
//! A driver hands every arriving packet to [`Transport::receive`], calls [`Transport::expire`] at [`Transport::deadline`], and passes the
//! application's operations on. The end sends packets through a [`Wire`] and reports [`Progress`] to the application. It carries lengths,
//! not bytes.
//!
//! `fanin-tcp` is the first implementation; `docs/adding-a-transport.md` says how to add another.
//!
//! ```
//! use fanin_transport::{Class, Metadata, Packet, Wire};
//!
//! /// A port that holds 4,000 B, and trims packets that exceed it to their headers.
//! #[derive(Default)]
//! struct Port(Vec<Packet>);
//!
//! impl Wire for Port {
//!     fn send(&mut self, mut packet: Packet, _metadata: Metadata<'_>) {
//!         if self.0.iter().map(|queued| queued.bytes).sum::<u32>() + packet.bytes > 4_000 {
//!             packet.trim(64);
//!         }
//!         self.0.push(packet);
//!     }
//! }
//!
//! let mut port = Port::default();
//! for _ in 0..3 {
//!     port.send(Packet { bytes: 1_500, payload: 1_460, class: Class::new(1), ..Packet::default() }, Metadata::default());
//! }
//! assert_eq!(port.0.iter().map(|packet| (packet.bytes, packet.payload)).collect::<Vec<_>>(), [(1_500, 1_460), (1_500, 1_460), (64, 0)]);
//! ```

mod packet;
mod progress;
mod state;

use fanin_units::{Rate, Time};

pub use packet::{Bits, Block, Class, HeaderOptions, Metadata, Packet, Telemetry, Wire};
pub use progress::{Awaited, Progress};
pub use state::{Expiry, Phase, Stats, Timer, Waits, Written};

/// Arguments of every call that may send.
#[derive(Debug)]
pub struct Call<'a, S, W: Wire> {
    /// Settings of the end, the same at every call on a link: the driver keeps them, so that an end stays small.
    pub settings: &'a S,
    /// The time.
    pub now: Time,
    /// Takes outgoing packets.
    pub wire: &'a mut W,
}

/// Limit of the window that an end may advertise: it is chosen below the end, by its host. A window is less than 2 GiB (RFC 7323, section 2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The largest window, or the largest right edge: a sequence number.
    most: u32,
    /// The bits of the acknowledgement number that are subtracted: all for an edge, none for a window.
    from: u32,
}

impl Offer {
    /// No limit.
    pub const UNLIMITED: Offer = Offer::window(i32::MAX as u32);

    /// The largest window in bytes.
    pub const fn window(most: u32) -> Offer {
        Offer { most: if most > i32::MAX as u32 { i32::MAX as u32 } else { most }, from: 0 }
    }

    /// The largest right edge of the window: a sequence number.
    pub const fn edge(edge: u32) -> Offer {
        Offer { most: edge, from: u32::MAX }
    }

    /// The window to advertise beside this acknowledgement number, given the end's own.
    #[inline(always)]
    pub const fn limit(self, own: u32, ack: u32) -> u32 {
        let left = self.most.wrapping_sub(ack & self.from) as i32;
        let left = if left < 0 { 0 } else { left as u32 };
        if own < left { own } else { left }
    }
}

/// The limit of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendLimit {
    /// A congestion window, with TCP's slow-start threshold.
    Window {
        /// Its size.
        bytes: u64,
        /// The threshold, if the transport has one.
        ssthresh: Option<u32>,
    },
    /// A rate.
    Rate(Rate),
    /// Bytes that the receiver has granted and that are not sent yet.
    Credit(u64),
}

/// One end of a connection.
pub trait Transport: Sized + Send + 'static {
    /// Settings shared by all ends of a run, or by those on links of a rate.
    type Settings: Clone + Send;

    /// Whether the driver reports that packets begin to leave: [`started`](Transport::started).
    const REPORTS_STARTS: bool = false;

    /// Whether small and large runs share one engine, which looks whether to prefetch memory: faster to compile, but packets that cost
    /// little would cost 2 % more.
    const SHARES_ENGINE: bool = false;

    /// Whether an end's settings depend on the rate of its host's link.
    const DEPENDS_ON_RATE: bool = false;

    /// Whether ends take turns at their host: [`take_turn`](Transport::take_turn).
    const TAKES_TURNS: bool = false;

    /// Whether every packet takes a path of its own among equal ones.
    const SPRAYS: bool = false;

    /// Limits the receive window that a packet of an end advertises: its host decides on it, below the end. Nothing for a transport without
    /// receive windows.
    fn limit_window(_packet: &mut Packet, _offer: Offer) {}

    /// The path that a packet's sender chose, where every packet takes one of its own; `None` for any path.
    fn chosen_path(_packet: &Packet) -> Option<u32> {
        None
    }

    /// An end that waits for its peer, or for [`Transport::connect`].
    fn new(settings: &Self::Settings) -> Self;

    /// The same for a connection of background traffic, which may have another protocol.
    fn new_background(settings: &Self::Settings) -> Self {
        Self::new(settings)
    }

    /// Opens the connection.
    fn connect(&mut self, call: &mut Call<'_, Self::Settings, impl Wire>);

    /// Starts as one end of a long-established connection, as after a handshake with round trip `rtt`.
    fn stand(&mut self, settings: &Self::Settings, now: Time, rtt: Time);

    /// Sends `bytes` more, due by `deadline`; `NEVER` for none.
    fn write(&mut self, call: &mut Call<'_, Self::Settings, impl Wire>, bytes: u64, deadline: Time);

    /// Discards written data that has not been sent.
    fn discard_unsent(&mut self);

    /// Closes the sending side once everything is sent.
    fn close(&mut self, call: &mut Call<'_, Self::Settings, impl Wire>);

    /// Drops the connection silently: its host has forgotten it.
    fn abort(&mut self);

    /// Sets whether the application reads incoming data; it does by default.
    fn reads(&mut self, call: &mut Call<'_, Self::Settings, impl Wire>, reads: bool);

    /// Sends the receive window in a packet of its own: the host's algorithm has granted more. Ends without a window ignore it.
    fn announce(&mut self, _call: &mut Call<'_, Self::Settings, impl Wire>) {}

    /// Requests [`Progress::AWAKE`] once `bytes` have been delivered in all.
    fn wake_at(&mut self, bytes: u64);

    /// Processes a packet, which may have metadata.
    fn receive(
        &mut self,
        call: &mut Call<'_, Self::Settings, impl Wire>,
        packet: &Packet,
        metadata: Metadata<'_>,
    ) -> Progress;

    /// A packet with so much payload, in the order of sending, has begun to leave its host: it waited while the link was busy or paused.
    /// Packets without payload are not reported.
    fn started(&mut self, _call: &mut Call<'_, Self::Settings, impl Wire>, _payload: u32) {}

    /// How the end waits for its turn; `None` if it does not, or has said so before. The driver asks after every call.
    fn asks_turn(&mut self) -> Option<Waits> {
        None
    }

    /// It is the end's turn for which it waited so; returns how long it takes, zero if the end has no use for it. No other end of the host
    /// has its turn in that time, so that a receiver can grant what its host's link carries.
    fn take_turn(&mut self, _call: &mut Call<'_, Self::Settings, impl Wire>, _waited: Waits) -> Time {
        Time::ZERO
    }

    /// The earliest timer; `NEVER` if none runs.
    fn deadline(&self) -> Time;

    /// Serves due timers.
    fn expire(&mut self, call: &mut Call<'_, Self::Settings, impl Wire>) -> Expiry;

    /// Where the connection stands.
    fn phase(&self) -> Phase;

    /// The timer that the sender waits for, if some sent data is unacknowledged and nothing was sent since `since`.
    fn waits_since(&self, since: Time) -> Option<Timer>;

    /// Bytes delivered in order to the application.
    fn delivered(&self) -> u64;

    /// Progress of written data.
    fn written(&self) -> Written;

    /// The limit of the sender, to be shown.
    fn limit(&self) -> SendLimit;

    /// The smoothed round-trip time.
    fn srtt(&self) -> Time;

    /// Counters.
    fn stats(&self) -> Stats;

    /// Congestion notifications that the sender has received as messages of their own; `None` for a protocol without them.
    fn notified(&self) -> Option<u64> {
        None
    }

    /// Payload of a full packet, bytes.
    fn full_payload(settings: &Self::Settings) -> u32;

    /// Bytes of the IP packet of a data packet beyond its payload.
    fn header_bytes(settings: &Self::Settings) -> u32;

    /// Bytes of the IP packet that opens a connection.
    fn opening_bytes(settings: &Self::Settings) -> u32;
}

#[cfg(test)]
mod tests {
    use super::Offer;

    #[test]
    fn offers_limit_windows_and_right_edges() {
        assert_eq!([10, 20, 30].map(|own| Offer::window(20).limit(own, u32::MAX)), [10, 20, 20]);
        // The edge is 20 bytes ahead, also where numbers wrap; at the acknowledged byte; or behind it.
        for ack in [1_000, u32::MAX - 5] {
            let edges = [20, 0, u32::MAX].map(|ahead| Offer::edge(ack.wrapping_add(ahead)).limit(30, ack));
            assert_eq!(edges, [20, 0, 0]);
        }
        assert_eq!(Offer::UNLIMITED.limit(1 << 30, 77), 1 << 30);
    }
}
