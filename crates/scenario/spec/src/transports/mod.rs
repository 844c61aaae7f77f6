//! Transports of hosts. What a transport brings to a scenario (its packets, its ports, checks and warnings) is in a file of its own.

mod rdma;
mod tcp;
mod uet;

use fanin_laws::row::Row;
use fanin_units::{QueueSize, Time};

use crate::problem::Wrong;
use crate::{Packets, RateBased, Scheme, Settings, TrimBased, Variant};

/// A transport, with its congestion control unless it is TCP's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// TCP.
    Tcp,
    /// RDMA over lossless ports.
    Rdma(RateBased),
    /// Ultra Ethernet's, or an ancestor of it, over ports that trim.
    Uet(TrimBased),
}

impl Transport {
    /// The transports other than TCP, each with a congestion control.
    pub(crate) fn others() -> impl Iterator<Item = Transport> {
        let rdma = RateBased::ALL.iter().copied().map(Transport::Rdma);
        rdma.chain(TrimBased::ALL.iter().copied().map(Transport::Uet))
    }

    pub(crate) fn properties(&self) -> &dyn Properties {
        match self {
            Transport::Tcp => &tcp::Tcp,
            Transport::Rdma(kind) => kind,
            Transport::Uet(kind) => kind,
        }
    }

    /// Its name in tables.
    pub fn word(self) -> &'static str {
        self.properties().word()
    }

    /// The row of its congestion control, unless it is TCP's.
    pub(crate) fn row(self) -> Option<&'static Row> {
        self.properties().row()
    }

    /// Whether every packet takes a path of its own.
    pub fn sprays(self) -> bool {
        self.properties().sprays()
    }

    /// Why its runs use one core; `None` if they may use several.
    pub fn one_core(self) -> Option<&'static str> {
        self.properties().one_core()
    }

    /// What a Linux kernel lacks for it; `None` if it has it.
    pub fn lacks_in_linux(self) -> Option<&'static str> {
        self.properties().lacks_in_linux()
    }

    /// Seconds to simulate a data packet on one link of its path.
    pub fn packet_s(self) -> f64 {
        self.properties().packet_s()
    }

    /// Capacity of the queue of a switch's port without an override.
    pub fn port_buffer(self, s: &Settings) -> QueueSize {
        self.properties().port_buffer(s)
    }

    /// Limit of the queue of a switch's port with this capacity; `None` if pauses bound it.
    pub fn port_limit(self, s: &Settings, capacity: QueueSize) -> Option<QueueSize> {
        self.properties().port_limit(s, capacity)
    }
}

/// What a transport brings to a scenario.
pub(crate) trait Properties {
    fn word(&self) -> &'static str;

    fn row(&self) -> Option<&'static Row>;

    fn packets(&self, s: &Settings) -> Packets;

    /// How long a sender waits at least before it takes a packet for lost.
    fn least_timeout(&self, s: &Settings) -> Time;

    fn port_buffer(&self, s: &Settings) -> QueueSize {
        s.port_buffer()
    }

    fn port_limit(&self, s: &Settings, capacity: QueueSize) -> Option<QueueSize>;

    fn sprays(&self) -> bool {
        false
    }

    fn one_core(&self) -> Option<&'static str>;

    fn lacks_in_linux(&self) -> Option<&'static str>;

    fn packet_s(&self) -> f64;

    /// Why it does not use a key; `None` if it does.
    fn ignores(&self, path: &str) -> Option<&'static str>;

    /// Values with which it cannot run.
    fn check(&self, scheme: &Scheme, s: &Settings) -> Result<(), Wrong>;

    /// Values that work but probably not as intended.
    fn doubts(&self, variant: &Variant) -> Option<Wrong>;
}

/// Why a transport other than TCP does not use a key that TCP uses; `None` if it does.
fn ignores_keys_of_tcp(path: &str) -> Option<&'static str> {
    match path {
        // Counts packets of buffers and thresholds.
        "tcp.mss" => None,
        "host.buffer" | "host.queue" => Some("a network card takes one packet of each sender at a time"),
        path if path.starts_with("tcp.") => Some("none of these schemes uses TCP"),
        _ => None,
    }
}
