//! Keys of a request that agents were asked for as data servers.

use std::collections::BTreeMap;

use fanin_proxy_core::clock::Nanos;
use fanin_roles::{Node, Tag};

/// A key that an agent was asked for.
#[derive(Debug)]
pub struct Asked {
    pub agent: Node,
    pub tag: Tag,
    pub at: Nanos,
    /// Whether it has answered, or is not waited for any more.
    pub is_over: bool,
}

/// Those of a request, by index.
#[derive(Debug, Default)]
pub struct AskedAgents(pub BTreeMap<u32, Asked>);

impl AskedAgents {
    /// Memory of a key, in a tree that may be half empty.
    pub const OF_KEY: usize = 2 * size_of::<(u32, Asked)>();
}
