//! A table of requests: `time,query,key,size`, in seconds and bytes, one key per line, and `server_by_hash` in a proxy's log: the number,
//! from 1, of the key's server. Columns may have any order; further ones are ignored.

use std::io::Read;

use csv::{ByteRecord, ErrorKind, Position, Reader, ReaderBuilder};

use super::catalogue::Seen;
use super::sink::{Nanos, Said, Source, Unreadable, seconds};

/// The columns that there have to be.
pub(super) const COLUMNS: [&str; 4] = ["time", "query", "key", "size"];
/// One that may be there.
pub(super) const SERVER: &str = "server_by_hash";

/// A table that is read as RFC 4180 has it.
pub(super) struct Csv<R> {
    reader: Reader<R>,
    /// Indices of [`COLUMNS`].
    places: [usize; 4],
    /// Index of [`SERVER`].
    server: Option<usize>,
    record: ByteRecord,
    /// Actual and expected number of fields of a line, if different.
    unequal: Option<(u64, u64)>,
}

impl<R: Read> Csv<R> {
    pub(super) fn open(file: R) -> Result<Csv<R>, Unreadable> {
        let mut reader = ReaderBuilder::new().from_reader(file);
        let header = reader.byte_headers().map_err(unread)?;
        let mut places = [0; 4];
        let place_of =
            |column: &str| header.iter().position(|name| name.trim_ascii().eq_ignore_ascii_case(column.as_bytes()));
        let server = place_of(SERVER);
        for (place, column) in places.iter_mut().zip(COLUMNS) {
            *place = place_of(column).ok_or_else(|| {
                let what = format!("no column `{column}`: use the header time,query,key,size");
                Unreadable::Bad { place: "line", number: 1, what }
            })?;
        }
        Ok(Csv { reader, places, server, record: ByteRecord::new(), unequal: None })
    }
}

impl<R: Read> Source for Csv<R> {
    fn next(&mut self) -> Result<bool, Unreadable> {
        self.unequal = None;
        self.reader.read_byte_record(&mut self.record).or_else(|error| match error.kind() {
            ErrorKind::UnequalLengths { len, expected_len, .. } => {
                self.unequal = Some((*len, *expected_len));
                Ok(true)
            }
            _ => Err(unread(error)),
        })
    }

    fn said(&self) -> Result<Said<'_>, String> {
        match self.unequal {
            Some((fields, wanted)) => Err(format!("{fields} fields: the header has {wanted}")),
            None => {
                asked(self.places.map(|place| &self.record[place]), self.server.map_or(&b""[..], |at| &self.record[at]))
            }
        }
    }

    fn place(&self) -> (&'static str, u64) {
        ("line", self.record.position().map_or(0, Position::line))
    }
}

fn unread(error: csv::Error) -> Unreadable {
    match error.into_kind() {
        ErrorKind::Io(error) => Unreadable::Io(error),
        kind => Unreadable::Form(format!("{kind:?}")),
    }
}

fn asked<'a>([time, query, key, size]: [&'a [u8]; 4], server: &[u8]) -> Result<Said<'a>, String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let at = std::str::from_utf8(time).ok().and_then(|time| seconds(time.trim()));
    let at = at.ok_or_else(|| format!("`{}` is not a time: use seconds, such as 12.5", text(time)))?;
    let size = number(size).map_err(|text| {
        format!("`{text}` is not a size: use bytes, such as 512, or leave the field empty if unknown")
    })?;
    let server = number(server).map_err(|said| no_server(&said))?;
    row(at, query, key, Seen { size, server })
}

/// A whole number, `None` if empty, or the invalid text.
fn number(field: &[u8]) -> Result<Option<u32>, String> {
    match String::from_utf8_lossy(field).trim() {
        "" => Ok(None),
        text => text.parse().map(Some).map_err(|_| text.to_string()),
    }
}

/// The error for an invalid server number.
pub(super) fn no_server(said: &str) -> String {
    format!("`{said}` is not a server: use its number, from 1, or leave the field empty if unknown")
}

/// Contents of a row of any table.
pub(super) fn row<'a>(at: Nanos, query: &'a [u8], key: &'a [u8], seen: Seen) -> Result<Said<'a>, String> {
    match (query.is_empty(), key.is_empty()) {
        (true, _) => Err("no query: add its name".into()),
        (_, true) => Err("no key".into()),
        _ if seen.server == Some(0) => Err(no_server("0")),
        _ => Ok(Said::Asked { at, of: query, key, seen }),
    }
}
