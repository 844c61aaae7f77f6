//! The lines of memcached's `watch fetchers mutations`: `ts=S.U gid=N type=item_get key=K status=found clsid=C cfd=F size=B`.
//!
//! Source: memcached, `logger.c`. A time's fraction is a number of microseconds without leading zeros: `7.42` is 7 s and 42 us. `cfd`
//! is the connection. Where a watcher is too slow, `skipped=N` stands in place of N lines. Keys stay as they are written, URI-encoded.

use super::sink::{Nanos, Said};

/// What a line says.
pub(super) fn said(line: &[u8]) -> Result<Said<'_>, String> {
    let line = std::str::from_utf8(line).map_err(|_| "it is no text".to_string())?;
    if line == "OK" {
        return Ok(Said::Else);
    }
    if let Some(count) = line.strip_prefix("skipped=") {
        return count.parse().map(Said::Dropped).map_err(|_| format!("`{line}`: right would be a number of lines"));
    }
    let field = |name: &str| line.split(' ').find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
    let needs = |name: &str| field(name).ok_or_else(|| format!("no `{name}=`: is it a line of `watch fetchers`?"));
    let bytes = || {
        let size = needs("size")?;
        size.parse::<u32>().map_err(|_| format!("size=`{size}`: right would be bytes"))
    };
    let at = time(needs("ts")?)?;
    match (needs("type")?, field("status")) {
        ("item_get", Some("found")) => {
            let (of, key) = (needs("cfd")?.as_bytes(), needs("key")?.as_bytes());
            Ok(Said::Asked { at, of, key, size: Some(bytes()?) })
        }
        ("item_get", _) => Ok(Said::Missed),
        ("item_store", Some("stored")) => Ok(Said::Stored { key: needs("key")?.as_bytes(), size: bytes()? }),
        _ => Ok(Said::Else),
    }
}

fn time(text: &str) -> Result<Nanos, String> {
    let wrong = || format!("ts=`{text}`: right would be seconds and microseconds, such as 7.42");
    let (seconds, micros) = text.split_once('.').ok_or_else(wrong)?;
    let number = |text: &str| text.parse::<Nanos>().map_err(|_| wrong());
    let (seconds, micros) = (number(seconds)?, number(micros)?);
    let micros = (micros < 1_000_000).then_some(micros * 1_000).ok_or_else(wrong)?;
    seconds.checked_mul(1_000_000_000).and_then(|seconds| seconds.checked_add(micros)).ok_or_else(wrong)
}
