//! A client of a memcached that waits for each response.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};

use fanin_tables::RequestRow;
use fanin_units::Time;

use crate::trouble::Trouble;

/// Values stored at once.
const BATCH: usize = 500;

/// A client of the front end.
pub struct Client {
    stream: BufReader<TcpStream>,
    line: String,
}

/// Response to a multiget.
#[derive(Default)]
pub struct Response {
    pub values: u64,
    pub bytes: u64,
    /// Some server failed.
    pub failed: bool,
}

impl Response {
    /// Row of a request.
    pub fn row(&self, request: u32, objects: u64, start: Time, took: Time) -> RequestRow {
        let others = objects.saturating_sub(self.values);
        let (missed, failed) = if self.failed { (0, others) } else { (others, 0) };
        RequestRow {
            request,
            objects,
            answered: self.values,
            missed,
            failed,
            payload_bytes: self.bytes,
            start_ps: start.0,
            latency_ps: Some(took.0),
            ..RequestRow::default()
        }
    }
}

impl Client {
    /// A client with this connection.
    pub fn new(stream: TcpStream) -> Client {
        Client { stream: BufReader::new(stream), line: String::new() }
    }

    /// Stores values of these sizes.
    pub fn store(&mut self, objects: &[(u32, u32)], stop: &AtomicBool) -> Result<(), Trouble> {
        for batch in objects.chunks(BATCH) {
            if stop.load(Ordering::Relaxed) {
                return Err(Trouble::Stopped);
            }
            let mut text = Vec::new();
            for (object, bytes) in batch {
                writeln!(text, "set {object} 0 0 {bytes}\r")?;
                text.resize(text.len() + *bytes as usize, b'x');
                text.extend(b"\r\n");
            }
            self.stream.get_mut().write_all(&text)?;
            for _ in batch {
                if self.next_line()? != "STORED" {
                    return Err(Trouble::Lacks(format!("memcached did not store a value: {}", self.line.trim_end())));
                }
            }
        }
        Ok(())
    }

    /// Requests values.
    pub fn get(&mut self, objects: &[u32]) -> Result<Response, Trouble> {
        let keys: Vec<String> = objects.iter().map(u32::to_string).collect();
        self.stream.get_mut().write_all(format!("get {}\r\n", keys.join(" ")).as_bytes())?;
        let mut response = Response::default();
        loop {
            let line = self.next_line()?;
            let Some(header) = line.strip_prefix("VALUE ") else {
                response.failed = line != "END";
                return Ok(response);
            };
            let bytes = header.rsplit(' ').next().and_then(|word| word.parse().ok());
            let bytes: u64 = bytes.ok_or_else(|| io::Error::other(format!("a response without a size: {header}")))?;
            io::copy(&mut self.stream.by_ref().take(bytes + 2), &mut io::sink())?;
            response.values += 1;
            response.bytes += bytes;
        }
    }

    /// The value of a statistic of the front end's only pool.
    pub fn statistic(&mut self, name: &str) -> io::Result<Option<String>> {
        self.stream.get_mut().write_all(b"stats\r\n")?;
        let (mut found, end) = (None, format!(".{name} "));
        while let Some(line) = self.next_line()?.strip_prefix("STAT ") {
            found = found.or(line.split_once(&end).map(|(_, value)| value.to_owned()));
        }
        Ok(found)
    }

    fn next_line(&mut self) -> io::Result<&str> {
        self.line.clear();
        match self.stream.read_line(&mut self.line)? {
            0 => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "`fanin front` closed the connection")),
            _ => Ok(self.line.trim_end()),
        }
    }
}
