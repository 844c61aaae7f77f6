//! The interface between applications and their drivers. An [`Application`] handles events of its own connections, messages and timers,
//! and acts through a [`Driver`], which hides the transport: the simulator is one, sockets of a real kernel are another.

mod application;
mod applications;
mod ids;
mod message;
mod message_queue;
mod streams;
mod waits;
mod watch;

pub use application::{Application, Driver, Record, Share, View};
pub use applications::Applications;
pub use ids::{ConnectionId, EndpointId, Owner};
pub use message::{Meaning, Message};
pub use message_queue::MessageQueue;
pub use streams::{Purpose, SmallStream, Stream, StreamOf};
pub use waits::Waits;
pub use watch::Watch;
