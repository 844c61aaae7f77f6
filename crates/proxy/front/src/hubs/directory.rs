//! The servers of a pool, as its front end of `roles` sees them.

use std::collections::BTreeMap;

use fanin_roles::Node;
use fanin_roles::front_end::Directory;
use fanin_roles::wire::ItemKey;

use super::agent_link::AgentLink;
use crate::upstreams::pool::Pool;
use fanin_proxy_config::racks::Racks;
use fanin_proxy_routing::writes::Writes;

/// A pool's servers, racks and agents.
pub struct HubDirectory<'a, S> {
    pub pool: &'a Pool,
    /// Node of each server of the pool.
    pub nodes: &'a [Node],
    /// Servers of requested keys that do not follow from the hash: of those with replicas, the primary first.
    pub replicas: &'a BTreeMap<ItemKey, (u32, Vec<Node>)>,
    pub writes: &'a Writes,
    pub links: &'a [AgentLink<S>],
    pub racks: &'a Racks,
}

impl<S> Directory<ItemKey> for HubDirectory<'_, S> {
    fn replicas(&self, key: &ItemKey) -> &[Node] {
        if let Some((_, nodes)) = self.replicas.get(key) {
            // Only the primary has the value while a write is incomplete.
            let is_open = self.writes.is_open(Writes::group(key.key.bytes()));
            return if is_open { &nodes[..1] } else { nodes };
        }
        let server = self.pool.router.server(key.key.bytes());
        &self.nodes[server..=server]
    }

    fn rack(&self, node: Node) -> u32 {
        self.racks.of_node(node).map_or(0, |place| self.racks.servers[place].rack)
    }

    /// One for all: equation 1 and Algorithm 1 count the front end's own uplink.
    fn aggregation(&self, _: u32) -> u32 {
        0
    }

    fn spare_io(&self, node: Node) -> u32 {
        self.racks.of_node(node).map_or(0, |place| self.links[place].spare_io())
    }

    fn size(&self, _: &ItemKey) -> Option<u32> {
        None
    }
}
