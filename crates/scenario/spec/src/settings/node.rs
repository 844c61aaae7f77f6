//! Settings of switches and hosts.

use fanin_units::{Bytes, QueueSize, Rate, Ratio, Time};

use crate::PacketJitter;
use crate::chips::Chip;
use crate::declare::{section, words};
use crate::setting::Optional;

section! {
    /// Switches: one queue per port, with its own buffer or in a memory that all ports share.
    Switch in "switch" {
        /// Switch model with published memory: sets shared_buffer, alpha, reserved, headroom and ports; explicit keys override it. `fanin list` prints all models.
        profile: Optional<Chip> = Optional::NONE,
        /// Capacity of a port's queue, not counting the packet in transmission.
        #[needs(NoMemory)]
        buffer: QueueSize = QueueSize::Bytes(65_536),
        /// Memory shared by all ports of a switch, in place of `buffer`: a queue may hold its reserved part plus alpha times the unused rest (dynamic thresholds, Choudhury and Hahne). Hosts' queues do not use it. "none": each port has its own buffer.
        #[range(Bytes(1)..=Bytes(1 << 40))]
        shared_buffer: Optional<Bytes> = Optional::NONE,
        /// Share of the free memory that a port may use: a single congested port gets alpha/(1 + alpha) of it.
        #[needs(Memory)]
            #[range(Ratio::of(1, 1_024)..=Ratio::of(1_024, 1), "at 0 no port could buffer a packet")]
        alpha: Ratio = Ratio::of(1, 1),
        /// Memory reserved for each port and not shared.
        #[needs(Memory)]
        reserved: Bytes = Bytes(0),
        /// Memory set aside and used by no port, such as the headroom of lossless classes that the scenario leaves out.
        #[needs(Memory)]
        headroom: Bytes = Bytes(0),
        /// Overrides for ports of a given rate, such as "100 Gbit/s: k 200 packets, buffer 1 MB": `ecn_threshold.k`, `buffer` or both.
        ports: Vec<String> = Vec::new(),
    }
}

words! {
    /// Queue discipline of a host's transmit queue.
    HostQueue, "\"plain\" or \"switch\"" {
        /// Drop-tail.
        Plain = "plain",
        /// The scheme's discipline for switch ports, as in ns-2, whose links have one at both ends.
        Switch = "switch",
    }
}

section! {
    /// Hosts.
    Host in "host" {
        /// Capacity of a host's transmit queue, not counting the packet in transmission.
        buffer: Optional<QueueSize> = Optional::NONE,
        /// Queue discipline of a host's transmit queue; "switch" uses that of the scheme's switch ports and, unless buffer is set, their size (ns-2).
        queue: HostQueue = HostQueue::Plain,
        /// Random delay of a host's packets at the other end of its link, uniform between 0 and this time, without reordering. "transmission": up to the transmission time of a full packet on the slowest link (Floyd and Jacobson's rule against phase effects); "0.3 of a transmission": up to this share of that time, the default with `tcp.profile`; "none": no jitter, as in other simulators, where phase effects may starve flows.
        packet_jitter: PacketJitter = PacketJitter::TRANSMISSION,
        /// Time that a server processes a request before it responds; for a key_value workload, per object.
        #[only(Barrier, WebSearch, Pulls, KeyValue)]
        #[range(..=Time::from_secs(1_000))]
        service_time: Time = Time::ZERO,
        /// Upper end of a uniform random addition to the service time.
        #[only(Barrier, WebSearch, Pulls, KeyValue)]
        #[range(..=Time::from_secs(1_000))]
        service_jitter: Time = Time::ZERO,
    }
}

section! {
    /// Network cards of hosts, written `[host.nic]`. They cost nothing and lose nothing unless a key is set.
    Nic in "nic" {
        /// Rate at which a card drains its ingress buffer, in bytes of frames, below the link's; "none": it drains as fast as packets come, and loses none.
        drain: Optional<Rate> = Optional::NONE,
        /// Its ingress buffer. Packets that find it full are dropped by the card, apart from the drops of ports.
        #[needs(Drain)]
        buffer: Bytes = Bytes(262_144),
        /// Bytes in that buffer beyond which the card marks packets itself, so that it returns congestion notifications although no switch marks; "none": it marks none.
        #[needs(Drain)]
        notify_at: Optional<Bytes> = Optional::NONE,
        /// Time that a sending card needs between two messages of a queue pair: it begins the next one so long after the last packet of the one before, or after the acknowledgement for which it waited. A queue pair that is idle begins at once.
        #[needs(Rdma)]
        #[range(..=Time::from_millis(1))]
        message_cost: Time = Time::ZERO,
    }
}
