//! Reasons why a server gives no response.

/// Reason why there is no response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerError {
    /// The server cannot be reached.
    Down,
    /// Timed out.
    Timeout,
    /// The server closed the connection.
    Closed,
    /// The response is invalid.
    Invalid,
    /// The queue is full.
    Busy,
}

impl ServerError {
    /// All of them, with names for metrics.
    pub const ALL: [(ServerError, &'static str); 5] = [
        (ServerError::Down, "down"),
        (ServerError::Timeout, "timeout"),
        (ServerError::Closed, "closed"),
        (ServerError::Invalid, "nonsense"),
        (ServerError::Busy, "busy"),
    ];

    /// Its name for metrics.
    pub fn name(self) -> &'static str {
        ServerError::ALL[self as usize].1
    }

    /// Whether the server is unavailable, so gets can be answered as misses.
    pub fn is_away(self) -> bool {
        matches!(self, ServerError::Down | ServerError::Timeout | ServerError::Closed)
    }

    /// State of the server, for operators.
    pub fn state(self) -> &'static str {
        match self {
            ServerError::Down => "down: unreachable",
            ServerError::Timeout => "down: no response in time",
            ServerError::Closed => "down: it closed the connection",
            ServerError::Invalid => "faulty: invalid response",
            ServerError::Busy => "busy",
        }
    }

    /// Error text for clients.
    pub fn text(self) -> &'static str {
        match self {
            ServerError::Down => "SERVER_ERROR server is down\r\n",
            ServerError::Timeout => "SERVER_ERROR server did not answer in time\r\n",
            ServerError::Closed => "SERVER_ERROR server closed the connection\r\n",
            ServerError::Invalid => "SERVER_ERROR invalid response from server\r\n",
            ServerError::Busy => "SERVER_ERROR too many requests wait for the server\r\n",
        }
    }
}
