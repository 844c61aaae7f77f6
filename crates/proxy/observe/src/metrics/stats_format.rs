//! Figures as memcached's `stats`.
//!
//! A name has no colon but that of a server's port, since a monitor for memcached takes the word between two colons, or before one, for the
//! number of a slab class, and fails if it is none.

use std::fmt::Write;

use fanin_memcache::text;

use super::{Figure, Subject, Value};

/// A response to `stats`.
pub fn stats_text<'a>(figures: impl IntoIterator<Item = Figure<'a>>) -> String {
    let mut out = String::new();
    for Figure { metric, subject, value } in figures {
        let name = metric.name;
        // Writing to a string cannot fail.
        let _ = match subject {
            Subject::All => write!(out, "STAT {name} "),
            Subject::Multigets(keys) => write!(out, "STAT {name}_of_{keys}_keys_or_more "),
            Subject::Pool(pool) => write!(out, "STAT {}.{name} ", plain(pool)),
            Subject::Requests { pool, kind, percentile } => {
                write!(out, "STAT {}.{kind}_{name}_{percentile} ", plain(pool))
            }
            Subject::Server(server) => write!(out, "STAT {server}:{name} "),
        };
        let _ = match value {
            Value::Number(number) => write!(out, "{number}\r\n"),
            Value::Text(text) => write!(out, "{text}\r\n"),
            Value::Micros(micros) => write!(out, "{}.{:06}\r\n", micros / 1_000_000, micros % 1_000_000),
        };
    }
    out.push_str(text::END);
    out
}

/// A name without colons.
fn plain(name: &str) -> String {
    name.replace(':', "_")
}
