//! Switches and hosts.

use fanin_units::Ratio;
use fanin_units::{Bytes, QueueSize, Time};

use crate::PacketJitter;
use crate::chips::Chip;
use crate::declare::{section, words};
use crate::setting::Optional;

section! {
    /// The switch: one queue a port, with a buffer each, or a memory that all ports share.
    Switch in "switch" {
        /// A switch whose memory somebody published: sets shared_buffer, alpha, reserved, headroom and ports; what is set beside it stands over it. `fanin list` has them all.
        profile: Optional<Chip> = Optional::NONE,
        /// What the queue of one port holds; the packet on the wire does not count.
        #[needs(NO_MEMORY)]
        buffer: QueueSize = QueueSize::Bytes(65_536),
        /// The memory that the ports of a switch share in the place of `buffer`, each switch one: a queue may hold what is reserved for it and alpha times what nobody uses of the rest (dynamic thresholds, Choudhury and Hahne). Hosts' queues are not part of it. "none": each port has its buffer.
        #[range(Bytes(1)..=Bytes(1 << 40))]
        shared_buffer: Optional<Bytes> = Optional::NONE,
        /// How much of what is free of the memory a port may have: a lone congested one gets alpha/(1 + alpha) of it.
        #[needs(MEMORY)]
        #[range(Ratio::of(1, 1_024)..=Ratio::of(1_024, 1), "at 0 no port would get anything")]
        alpha: Ratio = Ratio::of(1, 1),
        /// What each port has of the memory to itself, whatever others hold; it is not shared.
        #[needs(MEMORY)]
        reserved: Bytes = Bytes(0),
        /// What is set apart of the memory for what is not modelled, such as packets under way behind a pause (PFC).
        #[needs(MEMORY)]
        headroom: Bytes = Bytes(0),
        /// What is otherwise at ports of some rate, such as "100 Gbit/s: k 200 packets, buffer 1 MB": K in the place of `ecn_threshold.k`, a buffer in that of `buffer`; either may be left out.
        ports: Vec<String> = Vec::new(),
    }
}

words! {
    /// What law a host's transmit queue has.
    HostQueue, "\"plain\" or \"switch\"" {
        /// It drops what does not fit.
        Plain = "plain",
        /// That of the scheme's switch ports, as in ns-2, where both ends of a link have one.
        Switch = "switch",
    }
}

section! {
    /// The hosts.
    Host in "host" {
        /// What a host's transmit queue holds; the packet on the wire does not count.
        buffer: Optional<QueueSize> = Optional::NONE,
        /// The law of a host's transmit queue: "switch" gives it that of the scheme's switch ports and, unless buffer is set, their size (ns-2).
        queue: HostQueue = HostQueue::Plain,
        /// How late packets of a host come to the other end of its link: each uniform in 0 up to this, in their order. "transmission": up to the time of a full packet on the slowest link (Floyd and Jacobson's rule against phase effects); "none": as in simulators, where flows may starve for their phase.
        packet_jitter: PacketJitter = PacketJitter::Transmission,
        /// Time that a server works on a request before it answers; of a key_value workload, on each object.
        #[only(Barrier, WebSearch, KeyValue)]
        #[range(..=Time::from_secs(1_000))]
        service_time: Time = Time::ZERO,
        /// Uniform random addition to the service time, up to this.
        #[only(Barrier, WebSearch, KeyValue)]
        #[range(..=Time::from_secs(1_000))]
        service_jitter: Time = Time::ZERO,
    }
}
