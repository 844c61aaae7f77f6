//! Clients to close because memory is short.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::Clients;
use crate::context::Context;
use crate::limits::{Excess, Limits};
use fanin_proxy_core::clock::Nanos;
use fanin_proxy_core::memory::table::Id;
use fanin_proxy_core::tenants::Tenant;
use fanin_proxy_net::Net;

/// Time without a byte after which a request that is not finished may be given up for memory.
const STALLED: Nanos = 1_000_000_000;

/// A client that does not finish a request, and since when.
struct Stalled {
    tenant: u32,
    since: Nanos,
    holds: usize,
    id: Id,
}

/// Such clients, the oldest of the tenant that holds most by those left first.
fn in_turn(mut stalled: Vec<Stalled>) -> Vec<Id> {
    let mut left = BTreeMap::<u32, usize>::new();
    stalled.iter().for_each(|one| *left.entry(one.tenant).or_default() += one.holds);
    stalled.sort_unstable_by_key(|one| one.since);
    let mut in_turn = Vec::with_capacity(stalled.len());
    for Stalled { tenant, since, holds, id } in stalled {
        let left = left.entry(tenant).or_default();
        in_turn.push((Reverse(*left), since, id));
        *left -= holds;
    }
    in_turn.sort_unstable_by_key(|(left, since, _)| (*left, *since));
    in_turn.into_iter().map(|(.., id)| id).collect()
}

impl<S> Clients<S> {
    /// Tenant and memory of each client.
    pub fn holds<N: Net<Socket = S>>(&self, net: &N) -> impl Iterator<Item = (&Tenant, usize)> {
        self.all().map(|(_, client)| (client.tenant(), client.holds() + client.holds_in(net)))
    }

    /// Clients to close because memory is short, in order: those that do not finish a request, of the tenant that holds most by such ones, the
    /// oldest first; then the largest, those of large tenants before others.
    pub fn to_close<N: Net<Socket = S>>(&self, excess: Excess, limits: &Limits, context: &Context<N>) -> Vec<Id> {
        let (mut stalled, mut large) = (Vec::new(), Vec::new());
        for (id, client) in self.all() {
            let holds = client.holds() + client.holds_in(&context.net);
            match client.unfinished().filter(|one| one.since + STALLED <= context.now) {
                Some(unfinished) => {
                    stalled.push(Stalled { tenant: client.tenant().number, since: unfinished.since, holds, id })
                }
                None if holds > excess.above => {
                    large.push(((!limits.is_large(client.tenant()), Reverse(holds)), id));
                }
                None => {}
            }
        }
        large.sort_unstable_by_key(|(order, _)| *order);
        large.truncate(if excess.all { large.len() } else { usize::from(stalled.is_empty()) });
        in_turn(stalled).into_iter().chain(large.into_iter().map(|(_, id)| id)).collect()
    }
}
