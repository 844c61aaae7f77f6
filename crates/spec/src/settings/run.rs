//! What is measured, broken, and how often it is run.

use fanin_units::{Share, Time};

use crate::declare::section;

section! {
    /// What goes wrong, at random or at its time, under every workload.
    Faults in "faults" {
        /// Share of the packets that hosts send, data and ACKs alike, that are lost: each is drawn once, at the other end of its host's link, so that as many are lost whatever way they have before them. Beside what ports drop.
        loss: Share = Share::of(0, 1),
        /// Share of these packets that come there twice, one copy right behind the other.
        duplication: Share = Share::of(0, 1),
        /// Share of these packets that come there late, behind some sent after them.
        reordering: Share = Share::of(0, 1),
        /// How late: uniform in 0 up to this.
        #[needs(REORDERING)]
        #[range(Time(1)..=Time::from_secs(10), "in no time nothing is overtaken")]
        reordering_delay: Time = Time::from_micros(100),
        /// Hosts that crash, return or slow down: a time, a host, then crashes, returns or slows to a share, such as "10 ms server3 crashes", "30 ms server3 returns", "20 ms server5 slows to 0.1". With a crash all connections of a host are gone, what waits in its port, and what comes for it until it returns; then it answers what it does not know with a reset. A slow host sends at that share of its link's rate and takes as much longer for a service or a task; "slows to 1" ends that.
        hosts: Vec<String> = Vec::new(),
    }
}

section! {
    /// What is measured beyond what every run does.
    Measure in "measure" {
        /// How long each packet takes from end to end: the table `latency`.
        latency: bool = false,
        /// How full ports are over time and how busy their links, in `ports` and `port_series`.
        ports: bool = false,
    }
}

section! {
    /// How often each point is run.
    Run in "run" {
        /// Runs of every point, each with its own seed.
        #[range(1..=1_000_000)]
        seeds: u32 = 3,
        /// The first seed; the others follow it.
        first_seed: u64 = 1,
    }
}
