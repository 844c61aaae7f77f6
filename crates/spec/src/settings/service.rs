//! A service beside the workload.

use crate::Connections;
use fanin_units::Bytes;

use crate::declare::section;
use crate::setting::Optional;

section! {
    /// A query service beside the workload, from its beginning to its end: at random times a random host asks others over
    /// connections of their own, and waits for all answers.
    Service in "service" {
        /// Queries a second, of all hosts together; "none": there is no service.
        #[range(1.., "\"none\" is for no service")]
        queries_per_s: Optional<u32> = Optional::NONE,
        /// How many hosts a query asks.
        #[needs(SERVICE)]
        fan_out: u32 = 20,
        /// What each of them answers, at once.
        #[needs(SERVICE)]
        #[range(Bytes(1)..)]
        answer: Bytes = Bytes(2_000),
        /// Size of a request.
        #[needs(SERVICE)]
        #[range(Bytes(1)..)]
        request: Bytes = Bytes(64),
        /// What they go over: a standing connection between two hosts, or a new one for each, which is usual.
        #[needs(SERVICE)]
        connections: Connections = Connections::Usual,
    }
}
