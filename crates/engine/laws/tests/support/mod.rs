//! Algorithms as named and configured by `vectors/*.json`.

#[path = "credits.rs"]
mod credits;
#[path = "files.rs"]
mod files;
#[path = "grants.rs"]
mod grants;
#[path = "rates.rs"]
mod rates;

use fanin_laws::port::many_to_one::ManyToOne;
use fanin_laws::port::{self, Place};
use fanin_laws::receiver::ictcp;
use fanin_laws::sender::gentle_slow_start::GentleSlowStart;
use fanin_laws::sender::max_cwnd::MaxCwnd;
use fanin_laws::sender::{self, Control, Law};
use fanin_laws::{Settings, rows};
use fanin_units::{QueueSize, Rate};
use serde_json::Value;

pub use credits::{Pair, is_over_trimming};
use files::{set_from, vectors};
pub use grants::Granting;
pub use rates::{Lossless, Sender, is_of_rates, micros};

/// Keys of a case besides settings, which describe where the algorithm acts.
const PLACE: [&str; 15] = [
    "packet",
    "mss",
    "option_bytes",
    "count_in_buffer",
    "limit",
    "ecn",
    "rate",
    "max_packet",
    "buffer",
    "line",
    "rtt_us",
    "memory",
    "headroom_bytes",
    "times",
    "switches",
];

/// The vectors of every algorithm in some row.
pub fn files() -> impl Iterator<Item = (&'static str, Value)> {
    vectors(rows())
}

/// Whether this is a port algorithm.
pub fn is_of_ports(law: &str) -> bool {
    law == "many_to_one" || port::Kind::ALL.iter().any(|kind| kind.row().laws[0].law == law)
}

/// A sender algorithm; a part is combined with NewReno.
pub fn sender_law(name: &str, case: &Value, mss: u32) -> Law {
    let set = settings(name, case);
    let kind = sender::Kind::ALL.iter().find(|kind| kind.row().laws[0].law == name);
    let option_bytes = whole(&case["option_bytes"]) as u8;
    let cap = || match case["count_in_buffer"].as_u64() {
        Some(buffer) => MaxCwnd::counting(buffer as u32, option_bytes),
        None => MaxCwnd::new(option_bytes),
    };
    let mut base = kind.unwrap_or(&sender::Kind::NewReno).start(&set.senders);
    base.passes(whole(&case["switches"]) as u32);
    Law {
        mss,
        base,
        slow_start: (name == "gentle_slow_start").then(|| GentleSlowStart::start(&set.parts.gss)),
        cap: (name == "max_cwnd").then(cap),
    }
}

/// A port algorithm.
pub fn port_law(name: &str, case: &Value) -> port::Law {
    let set = settings(name, case);
    let limit = case["limit"].as_str().map(|text| text.parse::<QueueSize>().expect("a size"));
    let place = Place {
        rate: case["rate"].as_str().map_or(Rate(1_000_000_000), |text| text.parse().expect("a rate")),
        buffer: limit.unwrap_or(QueueSize::Bytes(u64::MAX)),
        full_packet: whole(&case["max_packet"]),
        ecn: case["ecn"] == true,
    };
    let kind = port::Kind::ALL.iter().find(|kind| kind.row().laws[0].law == name);
    let many_to_one = || ManyToOne::new(set.parts.m21.offer, whole(&case["buffer"]));
    port::Law {
        limit,
        discipline: kind.unwrap_or(&port::Kind::DropTail).start(&set.ports, &place),
        many_to_one: (name == "many_to_one").then(many_to_one),
        ..port::Law::UNLIMITED
    }
}

/// Whether this is a receiver algorithm.
pub fn is_of_receivers(law: &str) -> bool {
    law == "ictcp"
}

/// A receiving host.
pub fn receiver(case: &Value, mss: u32) -> ictcp::Host {
    let rate = case["rate"].as_str().expect("a rate").parse().expect("a rate");
    ictcp::Host::new(&settings("ictcp", case).parts.ictcp, rate, mss)
}

/// An algorithm's settings from a case.
fn settings(law: &str, case: &Value) -> Settings {
    let mut set = Settings::default();
    set_from(case, law, rows(), set.sections_mut(), &PLACE);
    set
}

/// A number, or zero if missing.
pub fn whole(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}
