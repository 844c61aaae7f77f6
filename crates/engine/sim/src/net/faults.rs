//! State of injected faults: random draws and condition of each host, delayed packets, counters. A network without faults has no
//! such state. `fault_effects.rs` applies them.

use std::collections::{BTreeMap, VecDeque};

use fanin_driver::{ConnectionId, EndpointId, Purpose, SmallStream};
use fanin_fabric::{Fabric, LinkId};
use fanin_units::{Rate, Share, Time};

use crate::network::{Config, PacketFaults};
use crate::packet::InFlight;

/// Fault counters of a link.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub lost: u64,
    pub duplicated: u64,
    pub reordered: u64,
    pub crashed: u64,
}

impl Counts {
    /// Counts since an earlier state.
    pub fn since(self, before: Counts) -> Counts {
        Counts {
            lost: self.lost - before.lost,
            duplicated: self.duplicated - before.duplicated,
            reordered: self.reordered - before.reordered,
            crashed: self.crashed - before.crashed,
        }
    }
}

/// By the link.
pub(crate) type ByLink = BTreeMap<LinkId, Counts>;

/// How a packet was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    /// A port dropped it.
    AtPort,
    /// Random loss.
    OnPurpose,
    /// Its source or destination host was down.
    WithHost,
}

/// A host: its random draws and its state.
pub(super) struct Host {
    loss: SmallStream,
    duplication: SmallStream,
    reordering: SmallStream,
    pub down: bool,
    /// Time of its last crash, return or change of speed.
    pub on_host_fault: Option<Time>,
    pub pace: Share,
}

/// Random faults of a packet.
pub(super) struct Fate {
    pub lost: bool,
    pub twice: bool,
    /// Delay.
    pub late: Option<u64>,
}

impl Host {
    /// Draw from each stream for every packet, whatever the other draws are.
    pub fn fate(&mut self, settings: &PacketFaults) -> Fate {
        let late = self.reordering.falls_into(settings.reordering);
        Fate {
            lost: self.loss.falls_into(settings.loss),
            twice: self.duplication.falls_into(settings.duplication),
            late: late.then(|| self.reordering.up_to(settings.reordering_delay).0),
        }
    }
}

/// Fault settings and state.
pub(crate) struct Faults {
    pub(super) settings: PacketFaults,
    pub(super) hosts: Vec<Host>,
    /// Rates at full speed of hosts' links that have changed.
    pub(super) rates: BTreeMap<LinkId, Rate>,
    /// Delayed packets by the link that they crossed, earliest first.
    pub(super) late: BTreeMap<LinkId, VecDeque<(u64, InFlight)>>,
    pub(super) counts: ByLink,
    /// How each connection's last lost packet was lost.
    pub(super) last_lost: BTreeMap<ConnectionId, Lost>,
}

impl Faults {
    /// Faults of a run, if there are any.
    pub fn new(config: &Config, fabric: &Fabric) -> Option<Box<Faults>> {
        if !config.has_faults() {
            return None;
        }
        let seed = config.seed;
        let host = |number| Host {
            loss: SmallStream::new(seed, Purpose::Loss, number),
            duplication: SmallStream::new(seed, Purpose::Duplication, number),
            reordering: SmallStream::new(seed, Purpose::Reordering, number),
            down: false,
            on_host_fault: None,
            pace: Share::of(1, 1),
        };
        let hosts = (0..fabric.hosts()).map(host).collect();
        let (rates, late, counts, last_lost) = Default::default();
        Some(Box::new(Faults { settings: config.faults, hosts, rates, late, counts, last_lost }))
    }

    /// A packet for an endpoint is lost.
    pub fn lost(&mut self, to: EndpointId, how: Lost) {
        self.last_lost.insert(to.connection(), how);
    }
}
