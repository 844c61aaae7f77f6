//! Settings of a pool's incast prediction.

use fanin_units::{Bytes, Rate, Time};
use serde::Deserialize;
use std::ops::RangeInclusive;
use toml::Spanned;

use super::types::Incast;
use super::values::{LINKS, Written, Wrong, bounded, right};

/// Right form.
const FORM: &str = "incast = { buffer = \"64 KiB\", rto_min = \"200 ms\" }";
/// Bounds of the buffer, of RTOmin, of the round-trip time, and of a value.
const BUFFERS: RangeInclusive<Bytes> = Bytes(2 << 10)..=Bytes(1 << 30);
const RTO_MINS: RangeInclusive<Time> = Time::from_millis(1)..=Time::from_secs(60);
const ROUND_TRIPS: RangeInclusive<Time> = Time::from_micros(1)..=Time::from_secs(1);
const VALUES: RangeInclusive<Bytes> = Bytes(1)..=Bytes(1 << 20);
/// Most keys of a multiget.
const MOST_KEYS: i64 = 100_000;

/// The prediction in a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as incast = { buffer = \"64 KiB\", rto_min = \"200 ms\" }")]
pub struct IncastInFile {
    buffer: Option<Spanned<Written>>,
    rto_min: Option<Spanned<Written>>,
    link: Option<Spanned<Written>>,
    rtt: Option<Spanned<Written>>,
    keys: Option<Spanned<i64>>,
    value: Option<Spanned<Written>>,
}

/// Converts it; the pool's `link` is the default link.
pub fn incast_in_file(file: Spanned<IncastInFile>, link: Rate) -> Result<Incast, Wrong> {
    let place = file.span();
    let file = file.into_inner();
    if file.buffer.is_none() || file.rto_min.is_none() {
        let missing = if file.buffer.is_none() { "the buffer of the switch's port" } else { "the servers' RTOmin" };
        return Err(Wrong(Some(place), format!("a prediction needs {missing}: {FORM}")));
    }
    let keys = match file.keys {
        None => Incast::KEYS,
        Some(keys) if (2..=MOST_KEYS).contains(keys.get_ref()) => *keys.get_ref() as u32,
        Some(keys) => {
            let why = format!("{} is outside 2 to {MOST_KEYS}; use a value such as keys = 100", keys.get_ref());
            return Err(Wrong(Some(keys.span()), why));
        }
    };
    Ok(Incast {
        buffer: bounded(file.buffer, Bytes(0), right("buffer", "64 KiB", "KiB"), BUFFERS)?,
        rto_min: bounded(file.rto_min, Time::ZERO, right("rto_min", "200 ms", "ms"), RTO_MINS)?,
        link: bounded(file.link, link, right("link", "10 Gbit/s", "Gbit/s"), LINKS)?,
        rtt: bounded(file.rtt, Incast::RTT, right("rtt", "100 us", "us"), ROUND_TRIPS)?,
        keys,
        value: bounded(file.value, Incast::VALUE, right("value", "1 KiB", "B"), VALUES)?,
    })
}
