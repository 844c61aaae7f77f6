//! Link-level flow control of switches, such as IEEE 802.1Qbb.

use std::any::Any;

use fanin_fabric::NodeId;
use fanin_units::Time;

use crate::event::PauseFrame;
use crate::link::Queued;

/// Reaction of a switch's ports to their queues.
pub trait FlowControl: Any + Send {
    /// Whether a packet that has come over a link may be queued; it is dropped otherwise.
    fn admits(&self, _packet: Queued) -> bool {
        true
    }

    /// The longest that a port that is not paused takes to send all that its switch can hold: links that wait for one another for longer
    /// are deadlocked.
    fn drains_within(&self) -> Time {
        Time::NEVER
    }

    /// A packet has been queued: what to ask of the sending end of the link by which it came.
    fn queued(&mut self, packet: Queued) -> Option<PauseFrame>;

    /// A packet has left its queue, likewise.
    fn left(&mut self, packet: Queued) -> Option<PauseFrame>;

    /// A copy for a part of the network, which is simulated by itself.
    fn copy(&self) -> Box<dyn FlowControl>;

    /// Takes the state of the switches that are `own` from such a copy.
    fn take_over(&mut self, copy: Box<dyn FlowControl>, own: &dyn Fn(NodeId) -> bool);
}
