//! Reports for operators: what happened, with its figures.

use std::fmt;

use super::IncastReport;

/// A report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report<'a> {
    /// A server is down, or up again.
    Server {
        /// Its pool.
        pool: &'a str,
        /// Its name.
        server: &'a str,
        /// Its address.
        address: &'a str,
        /// Its new state.
        state: &'a str,
        /// Whether it is up.
        up: bool,
    },
    /// A multiget that took longer than its pool's `slow`.
    SlowMultiget(SlowMultiget<'a>),
    /// A prediction of incast.
    Incast(IncastReport<'a>),
}

/// A slow multiget: the server that ended last, and where the time went, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlowMultiget<'a> {
    /// Its pool.
    pub pool: &'a str,
    /// Number of its keys.
    pub keys: usize,
    /// Number of their servers.
    pub servers: usize,
    /// From the request to the response.
    pub took: u64,
    /// The server that ended last.
    pub slowest: &'a str,
    /// Until the concurrency limit allowed its batch.
    pub waited: u64,
    /// From then until that was answered or failed.
    pub responded: u64,
    /// From then until the response was written.
    pub unread: u64,
    /// The multiget's error, if any.
    pub error: Option<&'a str>,
}

impl SlowMultiget<'_> {
    /// The longest part.
    pub fn why(&self) -> &'static str {
        match self {
            _ if self.error.is_some() => "a server failed",
            _ if self.responded >= self.waited.max(self.unread) => "the server was slow",
            _ if self.waited >= self.unread => "it waited for the concurrency limit",
            _ => "the client was slow to read",
        }
    }
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Report::Server { pool, server, address, state, .. } => {
                write!(f, "{pool}: server {server} ({address}) is {state}")
            }
            Report::SlowMultiget(slow) => slow.fmt(f),
            Report::Incast(incast) => incast.fmt(f),
        }
    }
}

impl fmt::Display for SlowMultiget<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = |micros: u64| micros as f64 / 1000.0;
        write!(
            f,
            "{}: a multiget of {} keys from {} servers took {:.1} ms: {}; {} ended last: waited {:.1} ms, responded in {:.1} ms, then {:.1} ms",
            self.pool,
            self.keys,
            self.servers,
            millis(self.took),
            self.why(),
            self.slowest,
            millis(self.waited),
            millis(self.responded),
            millis(self.unread)
        )?;
        self.error.map_or(Ok(()), |error| write!(f, "; {}", error.trim_end()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longest_part_is_the_reason() {
        let slow = |waited, responded, unread, error| SlowMultiget {
            pool: "a",
            keys: 3,
            servers: 2,
            took: 9000,
            slowest: "s",
            waited,
            responded,
            unread,
            error,
        };
        for (one, why) in [
            (slow(1, 2, 0, None), "the server was slow"),
            (slow(3, 2, 0, None), "it waited for the concurrency limit"),
            (slow(3, 2, 4, None), "the client was slow to read"),
            (slow(3, 2, 4, Some("SERVER_ERROR x\r\n")), "a server failed"),
        ] {
            assert_eq!(one.why(), why);
        }
        let text = Report::SlowMultiget(slow(1000, 7500, 500, Some("SERVER_ERROR x\r\n"))).to_string();
        assert!(text.contains("took 9.0 ms") && text.ends_with("7.5 ms, then 0.5 ms; SERVER_ERROR x"), "{text}");
    }
}
