//! A table of requests: `time,query,key,size`, in seconds and bytes, a key a line; columns in any order, others are left out.

use std::io::Read;

use csv::{ByteRecord, ErrorKind, ReaderBuilder};

use super::sink::{Nanos, Said, Sink, Unreadable, seconds};

/// The columns that there have to be.
pub(super) const COLUMNS: [&str; 4] = ["time", "query", "key", "size"];

/// Reads CSV as RFC 4180 has it.
pub(super) fn read_csv(file: impl Read, sink: &mut Sink<'_>) -> Result<(), Unreadable> {
    let mut reader = ReaderBuilder::new().from_reader(file);
    let header = reader.byte_headers().map_err(unread)?.clone();
    let place = |column: &str| {
        let found = header.iter().position(|name| name.trim_ascii().eq_ignore_ascii_case(column.as_bytes()));
        found.ok_or_else(|| {
            let what = format!("no column `{column}`: right would be the header time,query,key,size");
            Unreadable::Bad { place: "line", number: 1, what }
        })
    };
    let [time, query, key, size] = [place("time")?, place("query")?, place("key")?, place("size")?];
    let mut record = ByteRecord::new();
    loop {
        let said = match reader.read_byte_record(&mut record) {
            Ok(false) => return Ok(()),
            Ok(true) => asked([&record[time], &record[query], &record[key], &record[size]]),
            Err(error) => match error.kind() {
                ErrorKind::UnequalLengths { expected_len, len, .. } => {
                    Err(format!("{len} fields: the header has {expected_len}"))
                }
                _ => return Err(unread(error)),
            },
        };
        let number = record.position().map_or(0, csv::Position::line);
        sink.take("line", number, said)?;
    }
}

fn unread(error: csv::Error) -> Unreadable {
    match error.into_kind() {
        ErrorKind::Io(error) => Unreadable::Io(error),
        kind => Unreadable::Form(format!("{kind:?}")),
    }
}

fn asked([time, query, key, size]: [&[u8]; 4]) -> Result<Said<'_>, String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let at = std::str::from_utf8(time).ok().and_then(|time| seconds(time.trim()));
    let at = at.ok_or_else(|| format!("`{}` is no time: right would be seconds, such as 12.5", text(time)))?;
    let bytes = std::str::from_utf8(size).ok().and_then(|size| size.trim().parse().ok());
    let bytes = bytes.ok_or_else(|| format!("`{}` is no size: right would be bytes, such as 512", text(size)))?;
    row(at, query, key, bytes)
}

/// What a row of any table says.
pub(super) fn row<'a>(at: Nanos, query: &'a [u8], key: &'a [u8], size: u32) -> Result<Said<'a>, String> {
    match (query.is_empty(), key.is_empty()) {
        (true, _) => Err("no query: right would be its name".into()),
        (_, true) => Err("no key".into()),
        _ => Ok(Said::Asked { at, of: query, key, size: Some(size) }),
    }
}
