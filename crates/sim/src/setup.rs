//! Parts of a run that a spec does not describe: the hosts' transport, and switches that trim, have classes, or pause their neighbours.

use fanin_assemble::tcp_settings;
use fanin_laws::port::trim::Trim;
use fanin_spec::RunSpec;
use fanin_tcp::Endpoint;
use fanin_transport::Transport;

use crate::event::PauseFrame;
use crate::link::Queued;

/// Reaction of a switch's ports to what waits in them: link-level flow control, such as IEEE 802.1Qbb.
pub trait FlowControl: Send {
    /// A packet has been queued: what to ask of the sending end of the link by which it came.
    fn queued(&mut self, packet: Queued) -> Option<PauseFrame>;

    /// A packet has left its queue, likewise.
    fn left(&mut self, packet: Queued) -> Option<PauseFrame>;
}

/// The transport of a run's hosts, and its switches.
pub struct Setup<T: Transport> {
    /// Settings of the transport.
    pub transport: T::Settings,
    /// The switches.
    pub switches: Switches,
}

/// Behaviour of switches beyond the queue disciplines of the spec.
#[derive(Default)]
pub struct Switches {
    /// Ports trim packets that do not fit.
    pub trim: Option<Trim>,
    /// Ports serve higher classes first.
    pub by_class: bool,
    /// Ports pause their neighbours.
    pub flow_control: Option<Box<dyn FlowControl>>,
}

impl<T: Transport> Setup<T> {
    /// A transport over the ports of the spec.
    pub fn new(transport: T::Settings) -> Setup<T> {
        Setup { transport, switches: Switches::default() }
    }
}

impl Setup<Endpoint> {
    /// TCP as a spec describes it.
    pub fn tcp(spec: &RunSpec) -> Setup<Endpoint> {
        Setup::new(tcp_settings(spec))
    }
}
