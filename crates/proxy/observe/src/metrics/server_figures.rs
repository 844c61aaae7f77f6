//! Figures of a server in one thread.

use super::counter::Counter;
use super::histogram::Times;
use fanin_proxy_core::server_error::ServerError;

/// TCP's own figures of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tcp {
    /// Smoothed round-trip time in nanoseconds.
    pub rtt: u64,
    /// Segments that were sent again.
    pub retransmits: u64,
}

/// Figures of a server.
#[derive(Debug)]
pub struct ServerFigures {
    /// From a request to the end of its response, if metrics are exposed.
    pub responses: Option<Times>,
    /// Failed connections by cause.
    failures: [Counter; ServerError::ALL.len()],
    /// Requests refused because too many waited for it.
    pub refused: Counter,
    /// Requests that have no response yet, when last observed.
    pub outstanding: Counter,
    /// TCP's smoothed round-trip time in nanoseconds, when last observed; zero if there is no connection.
    pub rtt: Counter,
    /// Segments that TCP sent again.
    pub retransmits: Counter,
    /// The same of the present connection, when last observed.
    pub retransmits_now: Counter,
}

impl ServerFigures {
    /// Empty figures; `exposed`: with those that an exposition reports.
    pub fn new(exposed: bool) -> ServerFigures {
        ServerFigures {
            responses: exposed.then(Times::coarse),
            failures: Default::default(),
            refused: Counter::default(),
            outstanding: Counter::default(),
            rtt: Counter::default(),
            retransmits: Counter::default(),
            retransmits_now: Counter::default(),
        }
    }

    /// Failed connections by a cause.
    pub fn failures(&self, cause: ServerError) -> &Counter {
        &self.failures[cause as usize]
    }

    /// Takes TCP's state of the present connection, none without one, and the number of requests without a response.
    pub fn observe(&self, tcp: Option<Tcp>, outstanding: u64) {
        let Tcp { rtt, retransmits } = tcp.unwrap_or_default();
        // A new connection begins at zero.
        self.retransmits.add(retransmits.saturating_sub(self.retransmits_now.get()));
        self.retransmits_now.set(retransmits);
        self.rtt.set(rtt);
        self.outstanding.set(outstanding);
    }
}
