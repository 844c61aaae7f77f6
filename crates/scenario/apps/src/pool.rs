//! Connections between hosts: one per flow, or persistent ones.

use std::collections::BTreeMap;

use fanin_driver::{ConnectionId, Driver, EndpointId};
use fanin_fabric::HostId;
use fanin_tables::FlowKind;

pub(crate) enum Pool {
    /// Each flow has a new one, which is closed after it.
    New,
    /// The first flow between two hosts opens one, by opener and acceptor; later flows reuse it.
    Standing(BTreeMap<(HostId, HostId), ConnectionId>),
}

impl Pool {
    /// Persistent or new ones.
    pub fn new(stand: bool) -> Pool {
        if stand { Pool::Standing(BTreeMap::new()) } else { Pool::New }
    }

    /// A connection from one host to another, new or reused.
    pub fn between(&mut self, driver: &mut dyn Driver, from: HostId, to: HostId, kind: FlowKind) -> ConnectionId {
        match self {
            Pool::New => driver.connect(from, to, kind),
            Pool::Standing(open) => *open.entry((from, to)).or_insert_with(|| driver.connect(from, to, kind)),
        }
    }

    /// An end has sent all data of a flow.
    pub fn served(&self, driver: &mut dyn Driver, at: EndpointId) {
        if let Pool::New = self {
            driver.close(at);
        }
    }
}
