//! Figures as memcached's `stats`.

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
            Subject::Pool(pool) => write!(out, "STAT {pool}:{name} "),
            Subject::Requests { pool, kind, percentile } => write!(out, "STAT {pool}:{kind}_{name}_{percentile} "),
            Subject::Server(server) => write!(out, "STAT {name}:{server} "),
        };
        let _ = match value {
            Value::Number(number) => write!(out, "{number}\r\n"),
            Value::Text(text) => write!(out, "{text}\r\n"),
        };
    }
    out.push_str(text::END);
    out
}
