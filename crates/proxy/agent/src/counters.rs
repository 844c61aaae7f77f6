//! Counters of an agent.

use fanin_proxy_core::pulse::Pulse;
use fanin_proxy_observe::metrics::{Counter, Metric, MetricKind};

macro_rules! counters {
    ($($kind:ident $name:ident: $help:literal;)*) => {
        /// Counters of an agent.
        #[derive(Debug, Default)]
        pub struct AgentCounters {
            $(#[doc = $help] pub $name: Counter,)*
            /// The present loop iteration.
            pub pulse: Pulse,
        }

        impl AgentCounters {
            /// All of them with their values.
            pub fn all(&self) -> impl Iterator<Item = (Metric, u64)> {
                [$((Metric { name: stringify!($name), kind: MetricKind::$kind, help: $help }, self.$name.get()),)*].into_iter()
            }
        }
    };
}

counters! {
    Gauge peers: "Connections of front ends and other agents now.";
    Gauge hub_requests: "Requests in progress as a hub.";
    Gauge memory_bytes: "Memory for peers, servers and the data between them.";
    Counter peers_greeted: "Connections of front ends and other agents.";
    Counter peers_refused: "Connections refused: no greeting, another version, another node, or too many.";
    Counter peers_cut_off: "Peers closed because memory was short.";
    Counter hub_gets: "Keys requested from servers of the rack as a hub.";
    Counter hub_objects: "Values sent on as a hub.";
    Counter server_objects: "Values sent as a data server.";
    Counter stalls: "Loop iterations of over a second.";
    Counter memcached_failures: "Failed connections to servers.";
}
