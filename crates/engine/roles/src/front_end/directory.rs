//! A front end's knowledge of the cluster.

use crate::wire::Node;

/// A front end's knowledge of the cluster.
pub trait Directory<K> {
    /// The servers that have an object.
    fn replicas(&self, key: &K) -> &[Node];
    /// The rack of a server.
    fn rack(&self, node: Node) -> u32;
    /// The aggregation router above a rack.
    fn aggregation(&self, rack: u32) -> u32;
    /// Number of additional objects that a server could look up or forward now.
    fn spare_io(&self, node: Node) -> u32;
    /// Size of an object, if known.
    fn size(&self, key: &K) -> Option<u32>;
    /// Whether an object was moved from its original server.
    fn is_moved(&self, _key: &K) -> bool {
        false
    }
    /// The server that responds if `holder` is asked: another one if that has a link to it.
    fn answers(&self, _key: &K, holder: Node) -> Node {
        holder
    }
}
