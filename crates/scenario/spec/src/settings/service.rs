//! Settings of a query service in the background.

use crate::Connections;
use fanin_units::Bytes;

use crate::declare::section;
use crate::setting::Optional;

section! {
    /// A query service in the background of the workload: at random times, a random host queries others over separate connections and
    /// waits for all responses.
    Service in "service" {
        /// Queries per second over all hosts; "none": no service.
            #[range(1.., "\"none\" disables the service")]
        queries_per_s: Optional<u32> = Optional::NONE,
        /// Number of hosts that each query asks.
        #[needs(Service)]
        fan_out: u32 = 20,
        /// Size of each host's response, which is immediate.
        #[needs(Service)]
        #[range(Bytes(1)..)]
        answer: Bytes = Bytes(2_000),
        /// Size of a request.
        #[needs(Service)]
        #[range(Bytes(1)..)]
        request: Bytes = Bytes(64),
        /// Connections: one persistent connection per pair of hosts, or a new one for each response (the usual choice).
        #[needs(Service)]
        connections: Connections = Connections::Usual,
    }
}
