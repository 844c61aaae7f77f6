//! Counters of a thread, as typed values with their descriptions.

use std::sync::Mutex;

use super::counter::Counter;
use super::histogram::Times;
use super::hot_keys::Sketch;
use super::{Metric, MetricKind};
use fanin_proxy_core::pulse::Pulse;
use fanin_proxy_core::server_error::ServerError;

/// Classes of multigets by the binary logarithm of their number of keys: 2 to 3, 4 to 7, and so on.
pub const MULTIGET_CLASSES: usize = 16;

macro_rules! counters {
    ($($name:ident: $kind:ident, $help:literal;)*) => {
        /// Counters of one thread.
        #[derive(Debug, Default)]
        pub struct Counters {
            $(#[doc = $help] pub $name: Counter,)*
            multigets: [Counter; MULTIGET_CLASSES],
            /// The present loop iteration.
            pub pulse: Pulse,
            /// Times of loop iterations, if an exposition reports them.
            pub iterations: Option<Times>,
            /// The most requested keys, if an exposition reports them.
            pub hot_keys: Option<Mutex<Sketch>>,
        }

        /// Descriptions of the plain counters, in the order of their values.
        pub const COUNTERS: &[Metric] = &[$(Metric::new(stringify!($name), MetricKind::$kind, $help),)*];

        impl Counters {
            /// Values of the plain counters.
            pub fn values(&self) -> [u64; COUNTERS.len()] {
                [$(self.$name.get(),)*]
            }
        }
    };
}

counters! {
    curr_connections: Gauge, "Connected clients.";
    total_connections: Counter, "Accepted connections of clients.";
    rejected_connections: Counter, "Connections rejected because of the limit of clients.";
    clients_denied: Counter, "Clients refused by a list of addresses or names.";
    clients_slow: Counter, "Clients closed because header, handshake or login took too long.";
    proxy_headers_refused: Counter, "Clients without a valid header of the PROXY protocol.";
    auth_cmds: Counter, "Logins of clients, successful or not.";
    auth_errors: Counter, "Logins of clients with an unknown user or a wrong password.";
    tls_handshakes: Counter, "TLS handshakes of clients completed.";
    tls_resumed: Counter, "TLS handshakes of clients that resumed a session.";
    tls_failed_plain: Counter, "TLS handshakes of clients that failed because the client does not use TLS.";
    tls_failed_certificate: Counter, "TLS handshakes of clients that failed because either side refused a certificate.";
    tls_failed_protocol: Counter, "TLS handshakes of clients that failed for other reasons, such as no common version.";
    tls_failed_closed: Counter, "TLS handshakes of clients that closed the connection during it.";
    server_tls_handshakes: Counter, "TLS handshakes with servers completed.";
    server_tls_resumed: Counter, "TLS handshakes with servers that resumed a session.";
    server_tls_failed: Counter, "TLS handshakes with servers that failed.";
    server_auth_failed: Counter, "Logins that servers refused.";
    requests: Counter, "Requests of clients.";
    requests_active: Gauge, "Requests without a complete response.";
    get_keys: Counter, "Keys of classic gets.";
    meta_gets: Counter, "Keys of meta gets.";
    get_hits: Counter, "Keys found by gets.";
    get_misses: Counter, "Keys not found by gets.";
    get_joined: Counter, "Gets that joined an equal one.";
    stores: Counter, "Requests that store a value.";
    moving_found: Counter, "Hits of moving keys at the new server.";
    moving_fell_back: Counter, "Requests for moving keys to the old server.";
    moving_copied: Counter, "Copies of moving keys made.";
    servers_ejected: Counter, "Servers that were replaced by others because they failed.";
    replicas_copied: Counter, "Copies of keys made at replicas that did not have them.";
    replicas_retried: Counter, "Keys read from another replica because one failed.";
    replicas_hedged: Counter, "Gets sent to a second replica because the first one was slow.";
    hub_requests: Counter, "Multigets through hubs.";
    hub_keys: Counter, "Keys of multigets through hubs.";
    hub_keys_direct: Counter, "Keys requested from their servers because no hub answered for them.";
    hub_failures: Counter, "Failed connections to agents.";
    batches: Counter, "Batches of multigets.";
    late_batches: Counter, "Checks that may have found late batches.";
    turns: Counter, "Iterations of the event loops.";
    naps: Counter, "Batching delays.";
    stalls: Counter, "Loop iterations of over a second.";
    errors_refused: Counter, "Requests refused by the front end.";
    errors_down: Counter, "Requests failed because a server was unreachable.";
    errors_timeout: Counter, "Requests failed because a server did not respond in time.";
    errors_closed: Counter, "Requests failed because a server closed the connection.";
    errors_nonsense: Counter, "Requests failed because of an invalid response.";
    errors_busy: Counter, "Requests failed because a server's queue was full.";
    clients_cut_off: Counter, "Clients closed because memory was short.";
    clients_idle: Counter, "Clients closed because they were idle.";
    clients_unfinished: Counter, "Clients closed because they did not finish a request in time.";
    server_failures: Counter, "Failed connections to servers.";
    server_connects: Counter, "Connections opened to servers.";
    log_keys: Counter, "Logged keys.";
    log_full: Counter, "Batches of log rows dropped because the log was behind.";
    threads_restarted: Counter, "Restarts of threads after a panic.";
}

impl Counters {
    /// Counters of a thread, with times of its loop iterations and with popular keys if wanted.
    pub fn new(iterations: bool, hot_keys: bool) -> Counters {
        Counters {
            iterations: iterations.then(Times::coarse),
            hot_keys: hot_keys.then(Mutex::default),
            ..Counters::default()
        }
    }

    /// Counts a multiget of this many keys.
    pub fn multiget(&self, keys: usize) {
        self.multigets[(keys.ilog2() as usize).min(MULTIGET_CLASSES - 1)].add(1);
    }

    /// Multigets of a class.
    pub fn multigets(&self, class: usize) -> u64 {
        self.multigets[class].get()
    }

    /// Counts a failed request.
    pub fn failed(&self, trouble: ServerError) {
        let counter = match trouble {
            ServerError::Down => &self.errors_down,
            ServerError::Timeout => &self.errors_timeout,
            ServerError::Closed => &self.errors_closed,
            ServerError::Invalid => &self.errors_nonsense,
            ServerError::Busy => &self.errors_busy,
        };
        counter.add(1);
    }
}
