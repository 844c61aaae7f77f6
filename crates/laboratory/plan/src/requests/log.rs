//! Logs as they are read, line by line or row by row, and several of them as one.

use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

#[cfg(feature = "parquet")]
use super::parquet_table::Parquet;
use super::sink::{Nanos, Place, Said, Sink, Source, Unread, Unreadable};
use super::table::Csv;
use super::watch::Lines;

/// Longest line: a list of keys has up to 16 MiB by default.
const LONGEST_LINE: usize = 64 << 20;
/// Logs that are so far apart may still be of one time.
const APART: Nanos = 60_000_000_000;

/// One log.
pub(super) struct Log {
    path: PathBuf,
    source: Box<dyn Source>,
    /// Server of these connections; in tables, a query's name is global.
    server: Option<usize>,
    /// The time of its next line, as far as that is known.
    at: Nanos,
    /// The first and the last time of those before.
    span: Option<(Nanos, Nanos)>,
}

impl Log {
    /// Opens a server's log.
    pub fn open(path: &Path, server: usize) -> Result<Log, Unread> {
        let unread = |why| Unread { path: path.into(), why };
        let (packing, ending) = endings(path);
        let source = source(path, packing, &ending).map_err(unread)?;
        let server = (!matches!(ending.as_str(), "csv" | "parquet")).then_some(server);
        Ok(Log { path: path.into(), source, server, at: 0, span: None })
    }

    /// Whether its queries have names.
    pub fn is_table(&self) -> bool {
        self.server.is_none()
    }

    /// The error.
    pub fn unread(&self, why: Unreadable) -> Unread {
        Unread { path: self.path.clone(), why }
    }

    /// Reads on as long as its lines are no later than a time; whether more is left.
    fn read_until(&mut self, until: Nanos, sink: &mut Sink<'_>) -> Result<bool, Unreadable> {
        loop {
            let said = self.source.said();
            if let Some(at) = said.as_ref().ok().and_then(Said::at) {
                if at > until {
                    self.at = at;
                    return Ok(true);
                }
                let (first, last) = self.span.get_or_insert((at, at));
                (*first, *last) = ((*first).min(at), (*last).max(at));
            }
            let (kind, number) = self.source.place();
            sink.take(Place { server: self.server.unwrap_or(0), kind, number }, said)?;
            if !self.source.next()? {
                return Ok(false);
            }
        }
    }
}

/// How a log is packed.
#[derive(Clone, Copy)]
enum Packing {
    Not,
    Gzip,
    Zstd,
}

/// The compression by a file's extension, and the extension before it.
fn endings(path: &Path) -> (Packing, String) {
    let ending = |path: &Path| path.extension().map_or(String::new(), |ending| ending.to_string_lossy().to_lowercase());
    let inner = || path.file_stem().map_or(String::new(), |stem| ending(Path::new(stem)));
    match ending(path).as_str() {
        "gz" => (Packing::Gzip, inner()),
        "zst" => (Packing::Zstd, inner()),
        last => (Packing::Not, last.to_owned()),
    }
}

fn source(path: &Path, packing: Packing, ending: &str) -> Result<Box<dyn Source>, Unreadable> {
    let file = File::open(path)?;
    if !file.metadata()?.is_file() {
        let what = "not a regular file; a log is read more than once";
        return Err(io::Error::new(ErrorKind::InvalidInput, what).into());
    }
    let bytes: Box<dyn Read> = match (packing, ending) {
        #[cfg(feature = "parquet")]
        (Packing::Not, "parquet") => return Ok(Box::new(Parquet::open(file)?)),
        #[cfg(not(feature = "parquet"))]
        (Packing::Not, "parquet") => {
            let what =
                "a Parquet file, which this build cannot read: convert it to CSV, or build with the feature `parquet`";
            return Err(Unreadable::Form(what.into()));
        }
        (_, "parquet") => {
            let what = "a compressed Parquet file: decompress it; Parquet has its own compression";
            return Err(Unreadable::Form(what.into()));
        }
        (Packing::Not, _) => Box::new(file),
        (Packing::Gzip, _) => Box::new(MultiGzDecoder::new(file)),
        (Packing::Zstd, _) => Box::new(zstd::Decoder::new(file)?),
    };
    Ok(match ending {
        "csv" => Box::new(Csv::open(ShortLines { bytes, length: 0 })?),
        _ => Box::new(Lines::new(BufReader::new(bytes))),
    })
}

/// Bytes of a table whose lines have a maximum length: a few compressed ones may be gigabytes of one line.
struct ShortLines<R> {
    bytes: R,
    /// Length of the present line so far.
    length: usize,
}

impl<R: Read> Read for ShortLines<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.bytes.read(into)?;
        let end = into[..count].iter().rposition(|byte| *byte == b'\n');
        self.length = end.map_or(self.length + count, |end| count - end - 1);
        if self.length > LONGEST_LINE {
            let what = format!("a line is longer than {} MiB: this is no log of requests", LONGEST_LINE >> 20);
            return Err(io::Error::new(ErrorKind::InvalidData, what));
        }
        Ok(count)
    }
}

/// Reads logs to their ends in the order of their times.
pub(super) fn merge(logs: Vec<Log>, sink: &mut Sink<'_>) -> Result<(), Unread> {
    let mut left = Vec::new();
    for mut log in logs {
        if log.source.next().map_err(|why| log.unread(why))? {
            left.push(log);
        }
    }
    let mut read = Vec::new();
    while let Some(first) = (0..left.len()).min_by_key(|place| left[*place].at) {
        let others = left.iter().enumerate().filter(|(place, _)| *place != first);
        let until = others.map(|(_, log)| log.at).min().unwrap_or(Nanos::MAX);
        let log = &mut left[first];
        if !log.read_until(until, sink).map_err(|why| log.unread(why))? {
            read.push(left.remove(first));
        }
    }
    of_one_time(read)
}

/// Refuses logs that are further apart than any of them lasts, because they do not cover the same time.
fn of_one_time(mut logs: Vec<Log>) -> Result<(), Unread> {
    logs.retain(|log| log.span.is_some());
    let span = |log: &Log| log.span.unwrap_or_default();
    let longest = logs.iter().map(|log| span(log).1 - span(log).0).max().unwrap_or(0).max(APART);
    logs.sort_by_key(span);
    let mut end = logs.first().map_or(0, |log| span(log).1);
    for log in &logs {
        let (first, last) = span(log);
        if first > end.saturating_add(longest) {
            let apart = (first - end) / 1_000_000_000;
            let what =
                format!("the log starts {apart} s after the others end: use logs of the same time, one per server");
            return Err(log.unread(Unreadable::Form(what)));
        }
        end = end.max(last);
    }
    Ok(())
}
