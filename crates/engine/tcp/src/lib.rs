//! One TCP endpoint without I/O: segments and expired timers go in, segments and [`Progress`] come out.
//!
//! The endpoint carries lengths, not bytes. It owns the handshake and the close (RFC 9293), loss recovery (RFC 6582, or
//! RFC 6675 with 6937, or RFC 8985), the retransmission timer (RFC 6298), acknowledgements (RFC 5681, section 4.2), and ECN
//! (RFC 3168, RFC 8257); [`fanin_laws::sender::Law`] controls the window. Sequence numbers are 64 bits wide internally (SYN
//! is 0, data starts at 1) and 32 bits on the wire.
//!
//! Files, bottom up: segments (`segment`) and call arguments (`call`); the state of the two halves (`snd`, `rcv`);
//! the control block (`tcb`); the receiving half (`receive`) and the sending half by loss detection (`counts` or `rack`,
//! behind `loss`); the endpoint.
//!
//! A driver calls [`Endpoint::handle`] with every segment and [`Endpoint::expire`] at [`Endpoint::deadline`],
//! each with a [`Call`]: the settings, the time, and a [`Wire`] that takes outgoing segments.
//!
//! An endpoint sends through a [`Wire`](fanin_transport::Wire) that its driver gives:
//!
//! ```
//! use fanin_laws::sender::Kind;
//! use fanin_tcp::{Endpoint, Params, Settings};
//! use fanin_transport::{Call, Metadata, Packet, Phase, Transport, Wire};
//! use fanin_units::Time;
//!
//! struct Sent(Vec<Packet>);
//!
//! impl Wire for Sent {
//!     fn send(&mut self, packet: Packet, _: Metadata<'_>) {
//!         self.0.push(packet);
//!     }
//! }
//!
//! let settings = Settings::of(Params::default(), Kind::NewReno);
//! let (mut endpoint, mut wire) = (<Endpoint as Transport>::new(&settings), Sent(Vec::new()));
//! let call = &mut Call { settings: &settings, now: Time::ZERO, wire: &mut wire };
//! Transport::connect(&mut endpoint, call);
//! assert_eq!(endpoint.phase(), Phase::Opening);
//! assert_eq!(wire.0.len(), 1, "a SYN");
//! ```

mod call;
mod counts;
mod endpoint;
mod loss;
mod params;
mod prr;
mod rack;
mod rcv;
mod receive;
mod rtt;
mod segment;
mod snd;
mod tcb;
mod transport;
mod validation;
mod variance;

pub use call::Call;
pub use endpoint::Endpoint;
pub use fanin_laws::stack::{Ect, NewReno, RtoFloor, RttVariance};
pub use fanin_transport::{Block, HeaderOptions, Metadata, Progress, Stats, Timer, Written};
pub use params::{Echo, Params, Stack};
pub use rack::{Marks, Phase};
pub use segment::{Flags, Segment, Wire};
pub use transport::Settings;
