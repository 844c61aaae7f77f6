//! RDMA's reliable connection, as RoCEv2 carries it: [`QueuePair`] is one end, without I/O, and [`Settings`] is shared by all ends of a run.
//!
//! Every data packet is acknowledged. A receiver discards packets out of order and asks for the first missing byte once
//! (go-back-N; InfiniBand Architecture Specification 1.4, section 9.7.5). Packets leave at the rate of the congestion control, and at most
//! one waits in the network card, so that a paused card holds its senders back and no burst follows a pause.

mod packet;
mod queue_pair;
mod receiver;
mod sender;
mod settings;

pub use queue_pair::QueuePair;
pub use settings::Settings;
