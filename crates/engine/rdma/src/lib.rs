//! RDMA's reliable connection, as RoCEv2 carries it: [`QueuePair`] is one end, without I/O, and [`Settings`] is shared by all ends of a run.
//!
//! Every data packet is acknowledged. A receiver discards packets out of order and asks for the first missing byte once
//! (go-back-N; InfiniBand Architecture Specification 1.4, section 9.7.5), or keeps them and gets the missing ones only (selective repeat;
//! Mittal et al., "Revisiting Network Support for RDMA", SIGCOMM 2018). Packets leave at the rate of the congestion control, and at most
//! one waits in the network card, so that a paused card holds its senders back and no burst follows a pause.
//!
//! ```
//! use fanin_laws::rate::{Kind, Place, Settings as Laws};
//! use fanin_rdma::Settings;
//! use fanin_units::{Rate, Time};
//!
//! let place = Place { line: Rate(100_000_000_000), rtt: Time::from_micros(8) };
//! let settings = Settings::new(Kind::Hpcc, &Laws::default(), &place);
//! assert_eq!(settings.window, Some(100_000), "HPCC limits the bytes in flight to one round trip's");
//! ```

mod blocks;
mod packet;
mod queue_pair;
mod receiver;
mod sender;
mod settings;

pub use packet::{Header, Kind};
pub use queue_pair::QueuePair;
pub use settings::{Messages, Settings};
