//! Connections between hosts: one a flow, or one that stays and carries flow after flow.

use std::collections::BTreeMap;

use fanin_fabric::HostId;
use fanin_spec::FlowKind;

use super::application::Driver;
use crate::ids::{ConnectionId, EndpointId};

pub(crate) enum Pool {
    /// Each flow has a new one, which is closed behind it.
    New,
    /// The first flow between two hosts opens one, by who opens and who answers; those after it follow in it.
    Standing(BTreeMap<(HostId, HostId), ConnectionId>),
}

impl Pool {
    /// Those that stay, or new ones.
    pub fn new(stand: bool) -> Pool {
        if stand { Pool::Standing(BTreeMap::new()) } else { Pool::New }
    }

    /// A connection that one host opens, or has opened before, to another.
    pub fn between(&mut self, driver: &mut dyn Driver, from: HostId, to: HostId, kind: FlowKind) -> ConnectionId {
        match self {
            Pool::New => driver.connect(from, to, kind),
            Pool::Standing(open) => *open.entry((from, to)).or_insert_with(|| driver.connect(from, to, kind)),
        }
    }

    /// An end has sent what it had to send for a flow.
    pub fn served(&self, driver: &mut dyn Driver, at: EndpointId) {
        if let Pool::New = self {
            driver.close(at);
        }
    }
}
