//! The lines of memcached's `watch fetchers mutations`: `ts=S.U gid=N type=item_get key=K status=found clsid=C cfd=F size=B`.
//!
//! Source: memcached, `logger.c`. A time's fraction is a number of microseconds without leading zeros: `7.42` is 7 s and 42 us. `cfd`
//! is the connection. If a watcher is too slow, `skipped=N` replaces N lines. Keys remain URI-encoded.
//!
//! Every storage command first looks up its key, even if it then stores nothing: an `item_get` of the same connection and key precedes the
//! `item_store`, and is no request. A `set` that is refused, because the item is too large or memory is full, looks up the key after its
//! `item_store`, to remove the old item, and that line has another `cfd` (1.6.18). `touch`, `incr`, `decr` and `delete` look up too, and
//! their lines look like those of a get.

use std::io::{BufRead, Read};

use super::catalogue::Seen;
use super::sink::{Nanos, Said, Source, Unreadable};

/// Maximum length of a line.
const LINE_MAX: u64 = 1 << 16;

/// A log that is read line by line.
pub(super) struct Lines<R> {
    from: R,
    line: Vec<u8>,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(from: R) -> Lines<R> {
        Lines { from, line: Vec::new(), number: 0 }
    }
}

impl<R: BufRead> Source for Lines<R> {
    fn next(&mut self) -> Result<bool, Unreadable> {
        self.number += 1;
        self.line.clear();
        Ok(Read::take(&mut self.from, LINE_MAX + 1).read_until(b'\n', &mut self.line)? > 0)
    }

    fn said(&self) -> Result<Said<'_>, String> {
        match self.line.trim_ascii() {
            _ if self.line.len() as u64 > LINE_MAX => Err(format!("longer than {LINE_MAX} B")),
            [] => Ok(Said::Else),
            line => said(line),
        }
    }

    fn place(&self) -> (&'static str, u64) {
        ("line", self.number)
    }
}

/// Parses a line.
fn said(line: &[u8]) -> Result<Said<'_>, String> {
    let line = std::str::from_utf8(line).map_err(|_| "not UTF-8".to_string())?;
    if line == "OK" {
        return Ok(Said::Else);
    }
    if let Some(count) = line.strip_prefix("skipped=") {
        return count.parse().map(Said::Dropped).map_err(|_| format!("`{line}`: use a number of lines"));
    }
    let field = |name: &str| line.split(' ').find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
    let needs = |name: &str| field(name).ok_or_else(|| format!("no `{name}=`: is this a line of `watch fetchers`?"));
    let bytes = || {
        let size = needs("size")?;
        size.parse::<u32>().map_err(|_| format!("size=`{size}`: use bytes"))
    };
    let at = time(needs("ts")?)?;
    let (of, key) = (needs("cfd").map(str::as_bytes), needs("key").map(str::as_bytes));
    match (needs("type")?, field("status")) {
        ("item_get", Some("found")) => {
            Ok(Said::Asked { at, of: of?, key: key?, seen: Seen { size: Some(bytes()?), server: None } })
        }
        ("item_get", _) => Ok(Said::Missed { at, of: of?, key: key? }),
        ("item_store", Some("too_large" | "no_memory")) => {
            Ok(if field("cmd") == Some("set") { Said::Refused { key: key? } } else { Said::Else })
        }
        ("item_store", status) => {
            let size = if status == Some("stored") { Some(bytes()?) } else { None };
            Ok(Said::Stored { at, of: of?, key: key?, seen: Seen { size, server: None } })
        }
        _ => Ok(Said::Else),
    }
}

fn time(text: &str) -> Result<Nanos, String> {
    let wrong = || format!("ts=`{text}`: use seconds and microseconds, such as 7.42");
    let (seconds, micros) = text.split_once('.').ok_or_else(wrong)?;
    let number = |text: &str| text.parse::<Nanos>().map_err(|_| wrong());
    let (seconds, micros) = (number(seconds)?, number(micros)?);
    let micros = (micros < 1_000_000).then_some(micros * 1_000).ok_or_else(wrong)?;
    seconds.checked_mul(1_000_000_000).and_then(|seconds| seconds.checked_add(micros)).ok_or_else(wrong)
}
