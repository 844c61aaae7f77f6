//! Ultra Ethernet's transport and its ancestors NDP and EQDS: [`Endpoint`] is one end, without I/O, and [`Settings`] is shared by all ends
//! of a run.
//!
//! Packets have numbers, take any path, and are acknowledged selectively (Ultra Ethernet Specification 1.0). A port that is full
//! trims a packet to its header, which the receiver answers at once, so that the sender repeats it without a timeout. The sender's window
//! or the receiver's credit limits its packets.

mod endpoint;
mod packet;
mod receiver;
mod sender;
mod settings;

pub use endpoint::Endpoint;
pub use settings::Settings;
