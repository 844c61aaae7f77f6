//! Parts of a run below its applications: ports, switches, hosts and faults.

use std::sync::Arc;

use fanin_driver::Owner;
use fanin_fabric::{Change, Fabric, Framing, HostFault, HostId, LinkId};
use fanin_laws::dynamic_threshold::Memory;
use fanin_laws::port::Law;
use fanin_laws::port::trimming::Trim;
use fanin_laws::receiver::{grants, ictcp};
use fanin_laws::scheduler::{CLASSES, Scheduling};
use fanin_transport::Class;
use fanin_units::{Rate, Share, Time};

use crate::flow_control::FlowControl;

/// Queue disciplines of a network's ports. Each is asked for when the port's first flow begins.
///
/// A closure from a link's rate to the discipline of a switch's port is one, too: its hosts' own queues are unlimited.
pub trait Ports: Send + Sync {
    /// The queue discipline of a switch's port on a link of this rate.
    fn switch(&self, rate: Rate) -> Law;

    /// The queue discipline of a traffic class at a switch's port with [`Classes`]; packets of a class without a queue have none.
    fn class(&self, rate: Rate, _class: Class) -> Law {
        self.switch(rate)
    }

    /// The queue discipline of a host's own port, or of each traffic class there.
    fn host(&self, _rate: Rate) -> Law {
        Law::UNLIMITED
    }

    /// How a switch's port trims, if switches do.
    fn trim(&self, _rate: Rate) -> Trim {
        Trim { bytes: 64, room: u64::MAX }
    }

    /// The memory that the ports of each switch share, with room for all their reserves; `None` if each port has its own.
    fn memory(&self) -> Option<Memory> {
        None
    }

    /// Bytes that a switch's port holds, for applications that ask; `None` if they may not.
    fn buffer(&self, _rate: Rate) -> Option<u64> {
        None
    }
}

impl<F: Fn(Rate) -> Law + Send + Sync> Ports for F {
    fn switch(&self, rate: Rate) -> Law {
        self(rate)
    }
}

/// Behaviour of switches beyond the queue disciplines of their ports.
#[derive(Default)]
pub struct Switches {
    /// Ports trim packets that do not fit, by [`Ports::trim`], and serve their headers first.
    pub trims: bool,
    /// Ports serve higher classes first.
    pub by_class: bool,
    /// Ports of switches and hosts have traffic classes; not if they trim.
    pub classes: Option<Classes>,
    /// Of equal-cost links, a packet takes the one with the shortest queue.
    pub adaptive: bool,
    /// Ports pause their neighbours.
    pub flow_control: Option<Box<dyn FlowControl>>,
}

/// Traffic classes of every port of a network, and those of its packets.
#[derive(Clone, Copy, Debug)]
pub struct Classes {
    /// Scheduling of each class; `None` for a class without a queue.
    pub queues: [Option<Scheduling>; CLASSES],
    /// The largest packet, in bytes that it takes in a buffer.
    pub packet: u32,
    /// Class of the workload's packets.
    pub workload: Class,
    /// Class of background traffic.
    pub background: Class,
    /// Class of packets that a transport puts into the highest class, such as RDMA's acknowledgements; `None`: that of its data.
    pub control: Option<Class>,
}

impl Classes {
    /// The class of an owner's packet that its transport has put into a class.
    pub(crate) fn of(&self, owner: Owner, own: Class) -> Class {
        let data = if owner == Owner::WORKLOAD { self.workload } else { self.background };
        self.control.filter(|_| own == Class::HIGHEST).unwrap_or(data)
    }
}

/// Random faults of packets that leave a host.
#[derive(Clone, Copy, Debug, Default)]
pub struct PacketFaults {
    /// Share of lost packets.
    pub loss: Share,
    /// Share of duplicated packets.
    pub duplication: Share,
    /// Share of delayed packets.
    pub reordering: Share,
    /// The longest delay.
    pub reordering_delay: Time,
}

/// The receiving half of a host's network card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Card {
    /// Bytes of its ingress buffer.
    pub buffer: u64,
    /// Rate at which it drains that, below the link's.
    pub drain: Rate,
    /// Bytes in the buffer beyond which it marks an ECN-capable packet, as a switch does, if it does.
    pub notify_at: Option<u64>,
}

/// Clock ticks of hosts: with these, a timer is served at its host's next one.
#[derive(Clone, Copy, Debug)]
pub struct HostTicks {
    /// Time from one tick to the next, above zero.
    pub period: Time,
    /// Whether all hosts tick in phase.
    pub together: bool,
}

/// Algorithm of receiving hosts.
#[derive(Clone, Copy, Debug)]
pub enum Receiving {
    /// ICTCP.
    Ictcp(ictcp::Params),
    /// Grants.
    Grants(grants::Params),
}

/// Receive windows set by hosts below their endpoints.
#[derive(Clone, Copy, Debug)]
pub struct ReceiveWindows {
    /// The algorithm.
    pub law: Receiving,
    /// Maximum segment size in bytes.
    pub mss: u32,
    /// The largest window in bytes.
    pub window: u32,
}

/// Clients: hosts that wait for responses.
#[derive(Clone, Debug, Default)]
pub struct Clients {
    /// Hosts at which the workload's traffic converges: their ports have the longest queue of the totals, and drops at the first one's
    /// are counted as incasts. Without any, every switch's port counts.
    pub converge_at: Vec<HostId>,
    /// The longest round trip to a server over idle links. A client that waits for ten of these without an arrival stalls.
    pub round_trip: Time,
    /// Whether clients are servers, too, so that requests of others end no stall.
    pub serve: bool,
}

/// All of a run but its fabric, its transport and its applications.
#[derive(Clone)]
pub(crate) struct Config {
    pub ports: Arc<dyn Ports>,
    pub seed: u64,
    pub framing: Framing,
    /// Maximum jitter of a host's packets.
    pub jitter: Time,
    pub faults: PacketFaults,
    /// In order of time.
    pub changes: Arc<[Change]>,
    pub host_faults: Arc<[HostFault]>,
    pub ticks: Option<HostTicks>,
    pub receive_windows: Option<ReceiveWindows>,
    pub card: Option<Card>,
    /// Whether a run has a row for each queue pair.
    pub measures_pairs: bool,
    pub clients: Clients,
    /// About how many connections are open at once.
    pub connections: usize,
    pub measures_latencies: bool,
}

impl Config {
    /// Whether packets or hosts can meet a fault.
    pub fn has_faults(&self) -> bool {
        let PacketFaults { loss, duplication, reordering, .. } = self.faults;
        !self.host_faults.is_empty() || ![loss, duplication, reordering].iter().all(|share| share.is_zero())
    }

    /// Whether a link changes, or its host fails: departures cannot be computed in advance.
    pub fn is_fickle(&self, id: LinkId, fabric: &Fabric) -> bool {
        self.changes(id) || self.host_faults.iter().any(|fault| fabric.link(id).from == fault.host.node())
    }

    /// Whether a link changes.
    pub fn changes(&self, id: LinkId) -> bool {
        self.changes.iter().any(|change| change.links.contains(&id))
    }
}
