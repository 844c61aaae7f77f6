//! Memory limit of a front end.
//!
//! Tenants share it: a tenant that holds less than its fair share has no limit. Above three quarters of the limit, clients of others that
//! hold more than the mean of their tenant send no new requests. At the limit, servers are not read either, and clients are closed: first
//! those that have begun a request and sent nothing more for a second, of the tenant that holds most by such ones; then the largest of tenants
//! above their share. Below the limit, the first measure may not have helped for a second: then those of the first kind are closed until it
//! does, or else the largest one.
//!
//! A client is charged for its unparsed input, its unread output, its pending responses, and its requests to servers.

use std::collections::BTreeMap;
use std::sync::Arc;

use fanin_proxy_core::clock::Nanos;
use fanin_proxy_core::memory::charged;
use fanin_proxy_core::memory::table::Id;
use fanin_proxy_core::tenants::Tenant;
use fanin_proxy_net::Net;
use fanin_proxy_state::shared::Shared;

/// A client may always have this much.
const LEAST: usize = 64 << 10;
/// After this time of short memory, a client is closed, since all may be waiting for each other.
const MAX_SHORT_TIME: Nanos = 1_000_000_000;
/// Minimum time between returns of free memory to the system.
const BETWEEN_TRIMS: Nanos = 50_000_000;
/// Freed bytes for which that is worthwhile.
const WORTH_TRIM: usize = 8 << 20;
/// At the limit, clients are closed until this fraction (1/16) is free.
const FREED: usize = 16;

/// Time between two computations of tenants' shares, which look at every client.
const BETWEEN_SHARES: Nanos = 20_000_000;

/// Pause between checks while memory is short.
const SHORT_PAUSE: Nanos = 5_000_000;

/// Memory of a tenant.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    holds: usize,
    clients: usize,
    /// Limit of each of its clients.
    of_client: usize,
}

/// Limits by tenant: none for one that holds less than its fair share, if there are others; else the mean of its clients.
fn shares<'c>(clients: impl Iterator<Item = (&'c Tenant, usize)>) -> BTreeMap<u32, Share> {
    let mut shares = BTreeMap::<u32, Share>::new();
    for (tenant, holds) in clients {
        let share = shares.entry(tenant.number).or_default();
        (share.holds, share.clients) = (share.holds + holds, share.clients + 1);
    }
    let fair = shares.values().map(|share| share.holds).sum::<usize>() / shares.len().max(1);
    let is_only = shares.len() == 1;
    for share in shares.values_mut() {
        let has_fair = share.holds <= fair && !is_only;
        share.of_client = if has_fair { usize::MAX } else { (share.holds / share.clients).max(LEAST) };
    }
    shares
}

/// Memory account of one thread, and the connections that wait for memory.
#[derive(Debug)]
pub struct Limits {
    shared: Arc<Shared>,
    /// Bytes charged to the thread before this account began.
    before: usize,
    /// Bytes last reported to the other threads.
    told: usize,
    /// The most since free memory was last returned.
    peak: usize,
    /// Whether memory is short; then, by the tenant's number, its memory, its clients and the limit of each of them, and when that was
    /// computed.
    is_short: bool,
    tenants: BTreeMap<u32, Share>,
    shared_at: Nanos,
    /// When memory became short, or when a client was last closed for it.
    short_since: Option<Nanos>,
    /// When free memory was last returned to the system.
    trimmed: Option<Nanos>,
    /// Clients and servers that wait for memory.
    clients: Vec<Id>,
    servers: Vec<usize>,
}

/// Clients to close because memory is short.
#[derive(Clone, Copy, Debug)]
pub struct Excess {
    /// Only those that hold more than this.
    pub above: usize,
    /// All of them until memory suffices, or one, besides those that do not finish a request.
    pub all: bool,
}

impl Limits {
    /// An empty account.
    pub fn new(shared: Arc<Shared>) -> Limits {
        Limits {
            shared,
            before: charged(),
            told: 0,
            peak: 0,
            is_short: false,
            tenants: BTreeMap::new(),
            shared_at: 0,
            short_since: None,
            trimmed: None,
            clients: Vec::new(),
            servers: Vec::new(),
        }
    }

    /// Bytes that this thread holds.
    fn held(&self, net: &impl Net) -> usize {
        charged().wrapping_sub(self.before).wrapping_add(net.held())
    }

    /// Bytes that all threads hold; the other threads' figures are their last reports.
    fn all_held(&self, net: &impl Net) -> usize {
        self.shared.memory.held().wrapping_sub(self.told).wrapping_add(self.held(net))
    }

    /// Whether the limit is reached.
    pub fn is_spent(&self, net: &impl Net) -> bool {
        self.all_held(net) >= self.shared.memory.most
    }

    /// Whether a client of a tenant that holds this much must wait.
    #[inline]
    pub fn exceeds_share(&self, tenant: &Tenant, holds: impl FnOnce() -> usize) -> bool {
        self.is_short && holds() > self.tenants.get(&tenant.number).map_or(LEAST, |share| share.of_client)
    }

    /// Whether a tenant holds more than its fair share.
    pub fn is_large(&self, tenant: &Tenant) -> bool {
        self.tenants.get(&tenant.number).is_some_and(|share| share.of_client < usize::MAX)
    }

    /// Looks whether memory is short, at the start of a loop iteration; returns that. Then it computes the limits of clients, of which each
    /// has a tenant and holds some memory.
    pub fn update<'c, C: Iterator<Item = (&'c Tenant, usize)>>(
        &mut self,
        net: &impl Net,
        now: Nanos,
        clients: impl FnOnce() -> C,
    ) -> bool {
        let (most, held) = (self.shared.memory.most, self.all_held(net));
        self.shared.memory.holds_much(held >= most / 2);
        let was_short = std::mem::replace(&mut self.is_short, held >= most / 4 * 3);
        if !self.is_short {
            self.short_since = None;
            return false;
        }
        self.short_since = self.short_since.or(Some(now));
        if !was_short || self.shared_at + BETWEEN_SHARES <= now {
            self.shared_at = now;
            self.tenants = shares(clients());
        }
        true
    }

    /// Continues with a client when there is memory.
    pub fn delay_client(&mut self, id: Id) {
        self.clients.push(id);
    }

    /// Reads from a server when there is memory.
    pub fn delay_server(&mut self, server: usize) {
        self.servers.push(server);
    }

    /// The clients and servers that waited.
    pub fn take_delayed(&mut self) -> (Vec<Id>, Vec<usize>) {
        (std::mem::take(&mut self.clients), std::mem::take(&mut self.servers))
    }

    /// The next time at which there is work without an event.
    pub fn next_due(&self, now: Nanos) -> Option<Nanos> {
        (!self.clients.is_empty() || !self.servers.is_empty()).then_some(now + SHORT_PAUSE)
    }

    /// Reports this thread's memory to the others.
    pub fn report(&mut self, net: &impl Net) {
        let held = self.held(net);
        self.shared.memory.report(held.wrapping_sub(self.told));
        self.told = held;
        self.peak = self.peak.max(held);
    }

    /// Returns free memory to the system if much has been freed, for example by clients that have left.
    pub fn trim_if_freed(&mut self, now: Nanos) {
        if self.peak >= WORTH_TRIM && self.told < self.peak / 2 {
            self.peak = self.told;
            self.trim(now);
        }
    }

    /// The clients to close at the end of a loop iteration, if any.
    pub fn excess(&self, net: &impl Net, now: Nanos) -> Option<Excess> {
        let is_spent = self.is_spent(net);
        let too_long = self.short_since.is_some_and(|since| since + MAX_SHORT_TIME <= now);
        // At the limit, close all clients above half of the mean, since the memory may be another thread's; after a second without
        // success, all that hold memory. Below the limit, close one.
        let above = match (is_spent, too_long) {
            (false, false) => return None,
            (true, true) => 0,
            (true, false) => self.all_held(net) / self.shared.clients().max(1) / 2,
            (false, true) => LEAST,
        };
        Some(Excess { above, all: is_spent })
    }

    /// Whether enough is free again after closing clients.
    pub fn is_relieved(&self, net: &impl Net, excess: Excess) -> bool {
        let most = self.shared.memory.most;
        self.all_held(net) < if excess.all { most / FREED * (FREED - 1) } else { most / 4 * 3 }
    }

    /// A client has been closed because memory was short.
    pub fn has_closed_one(&mut self, now: Nanos) {
        self.short_since = self.short_since.map(|_| now);
    }

    /// Returns free memory to the system now and then: the allocator keeps small freed blocks, which would count twice.
    pub fn trim(&mut self, now: Nanos) {
        if self.trimmed.is_none_or(|at| at + BETWEEN_TRIMS <= now) {
            fanin_ring::heap::trim();
            self.trimmed = Some(now);
        }
    }
}

impl Drop for Limits {
    /// Releases the account of an ended thread.
    fn drop(&mut self) {
        self.shared.memory.release(self.told);
    }
}
