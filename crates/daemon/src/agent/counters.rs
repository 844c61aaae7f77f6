//! Counters of an agent.

use crate::metrics::Counter;

macro_rules! counters {
    ($($kind:ident $name:ident: $help:literal;)*) => {
        /// Counters of an agent.
        #[derive(Debug, Default)]
        pub struct AgentCounters {
            $(#[doc = $help] pub $name: Counter,)*
        }

        impl AgentCounters {
            /// Names, descriptions, whether they are gauges, and values.
            pub fn all(&self) -> impl Iterator<Item = (&'static str, &'static str, bool, u64)> {
                [$((stringify!($name), $help, stringify!($kind) == "gauge", self.$name.get()),)*].into_iter()
            }
        }
    };
}

counters! {
    gauge peers: "Connections of front ends and other agents now.";
    gauge hub_requests: "Requests in progress as a hub.";
    gauge memory_bytes: "Memory for peers, servers and the data between them.";
    counter peers_greeted: "Connections of front ends and other agents.";
    counter peers_refused: "Connections refused: no greeting, another version, another node, or too many.";
    counter peers_cut_off: "Peers closed because memory was short.";
    counter gets: "Keys looked up as a data server.";
    counter hub_gets: "Keys requested from servers of the rack as a hub.";
    counter hub_objects: "Values sent on as a hub.";
    counter memcached_failures: "Failed connections to servers.";
}
