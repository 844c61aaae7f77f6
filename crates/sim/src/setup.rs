//! Parts of a run that a spec does not describe: the hosts' transport, and switches that trim, have classes, or pause their neighbours.

use fanin_assemble::{fabric, rdma_settings, tcp_settings, uet_settings};
use fanin_rdma::QueuePair;
use fanin_spec::{RateBased, RunSpec, TrimBased};
use fanin_tcp::Endpoint;
use fanin_transport::Transport;
use fanin_uet::Endpoint as UetEndpoint;

use crate::flow_control::FlowControl;
use crate::pauses::Pauses;

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
    /// Ports trim packets that do not fit, by the spec's `[trimming]`, and serve their headers first.
    pub trims: bool,
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

impl Setup<QueuePair> {
    /// RDMA over lossless ports as a spec describes it.
    pub fn rdma(spec: &RunSpec, kind: RateBased) -> Setup<QueuePair> {
        let pauses = Pauses::new(&spec.settings, &fabric(spec));
        let switches = Switches { by_class: true, flow_control: Some(Box::new(pauses)), ..Switches::default() };
        Setup { transport: rdma_settings(spec, kind), switches }
    }
}

impl Setup<UetEndpoint> {
    /// Ultra Ethernet's transport over ports that trim, as a spec describes it.
    pub fn uet(spec: &RunSpec, kind: TrimBased) -> Setup<UetEndpoint> {
        let switches = Switches { trims: true, by_class: true, ..Switches::default() };
        Setup { transport: uet_settings(spec, kind), switches }
    }
}
