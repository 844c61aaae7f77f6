//! Ultra Ethernet's transport and its ancestors NDP and EQDS: [`Endpoint`] is one end, without I/O, and [`Settings`] is shared by all ends
//! of a run.
//!
//! Packets have numbers, take any path, and are acknowledged selectively (Ultra Ethernet Specification 1.0). A port that is full
//! trims a packet to its header, which the receiver answers at once, so that the sender repeats it without a timeout. The sender's window
//! or the receiver's credit limits its packets.
//!
//! ```
//! use fanin_laws::uet::{Kind, Place, Settings as Laws};
//! use fanin_uet::Settings;
//! use fanin_units::{Rate, Time};
//!
//! let place = Place { line: Rate(400_000_000_000), rtt: Time::from_micros(8), packet: 4_160, header: 64 };
//! let settings = Settings::new(Kind::Nscc, &Laws::default(), place, 400_000);
//! assert_eq!(settings.wire_bytes(settings.payload), 64 + u64::from(settings.payload));
//! ```

mod endpoint;
mod packet;
mod receiver;
mod sender;
mod settings;

pub use endpoint::Endpoint;
pub use packet::{Header, Sack};
pub use settings::Settings;
