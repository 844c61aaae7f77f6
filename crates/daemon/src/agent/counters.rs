//! Counters of an agent.

use crate::metrics::Counter;

macro_rules! counters {
    ($($name:ident: $help:literal;)*) => {
        /// Counters of an agent.
        #[derive(Debug, Default)]
        pub struct AgentCounters {
            $(#[doc = $help] pub $name: Counter,)*
        }

        impl AgentCounters {
            /// Names, descriptions and values.
            pub fn all(&self) -> impl Iterator<Item = (&'static str, &'static str, u64)> {
                [$((stringify!($name), $help, self.$name.get()),)*].into_iter()
            }
        }
    };
}

counters! {
    peers_greeted: "Connections of front ends and other agents.";
    peers_refused: "Connections refused: no greeting, another version, another node, or too many.";
    peers_cut_off: "Peers closed because memory was short.";
    gets: "Keys looked up as a data server.";
    hub_gets: "Keys requested from servers of the rack as a hub.";
    hub_objects: "Values sent on as a hub.";
    memcached_failures: "Failed connections to servers.";
}
