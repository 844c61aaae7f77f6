//! Settings of faults, measurements and repetitions.

use fanin_units::{Share, Time};

use crate::declare::section;

section! {
    /// Faults, at random or at given times, under any workload.
    Faults in "faults" {
        /// Share of hosts' packets, data and ACKs, that are lost. Each packet is drawn once, at the other end of its host's link, so the share does not depend on the path. Ports drop packets in addition.
        loss: Share = Share::of(0, 1),
        /// Share of hosts' packets that are duplicated; the copy follows immediately.
        duplication: Share = Share::of(0, 1),
        /// Share of hosts' packets that are delayed past packets sent after them.
        reordering: Share = Share::of(0, 1),
        /// Largest delay of a reordered packet; delays are uniform from 0.
        #[needs(Reordering)]
            #[range(Time(1)..=Time::from_secs(10), "a delay of zero reorders nothing")]
        reordering_delay: Time = Time::from_micros(100),
        /// Hosts that crash, return or slow down: a time, a host, then crashes, returns or slows to a share, such as "10 ms server3 crashes", "30 ms server3 returns", "20 ms server5 slows to 0.1". A crash removes the host's connections and its ports' queues, and packets to it are lost until it returns; it then answers unknown segments with a reset. A slow host sends at that share of its links' rates and needs proportionally longer for a service or task; "slows to 1" ends this.
        hosts: Vec<String> = Vec::new(),
    }
}

section! {
    /// Optional measurements.
    Measure in "measure" {
        /// Record the end-to-end delay of each packet in the table `latency`.
        latency: bool = false,
        /// Record queue occupancy and link utilisation over time in `ports` and `port_series`.
        ports: bool = false,
    }
}

section! {
    /// Repetitions of each point.
    Run in "run" {
        /// Runs of each point, each with its own seed.
        #[range(1..=1_000_000)]
        seeds: u32 = 3,
        /// First seed; the others are consecutive.
        first_seed: u64 = 1,
    }
}
