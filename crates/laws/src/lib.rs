//! Packet laws: what a sender's window does on every ACK, and what a port does with every packet.
//!
//! Each law is written once, pure and in integers, one a file: time, randomness and settings are arguments, a law
//! returns a verdict, and its driver acts. The file's header states the law, its source, its units and its departures.
#![no_std]

extern crate alloc;

pub mod fixed;
pub mod port;
pub mod sender;

/// The laws' own file headers, by the law's name: what `fanin explain` prints.
pub fn headers() -> &'static [(&'static str, &'static str)] {
    &[
        ("newreno", include_str!("sender/newreno.rs")),
        ("cubic", include_str!("sender/cubic.rs")),
        ("dctcp", include_str!("sender/dctcp.rs")),
        ("d2tcp", include_str!("sender/d2tcp.rs")),
        ("l2dct", include_str!("sender/l2dct.rs")),
        ("gentle_slow_start", include_str!("sender/gentle_slow_start.rs")),
        ("max_cwnd", include_str!("sender/max_cwnd.rs")),
        ("drop_tail", include_str!("port/drop_tail.rs")),
        ("red", include_str!("port/red.rs")),
        ("codel", include_str!("port/codel.rs")),
        ("ecn_threshold", include_str!("port/ecn_threshold.rs")),
        ("many_to_one", include_str!("port/many_to_one.rs")),
    ]
}
