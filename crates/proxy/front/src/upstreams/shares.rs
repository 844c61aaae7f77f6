//! Shares of tenants in a server's queue.

use fanin_proxy_core::memory::Charge;

/// Number in place of a tenant's for requests of the front end itself.
pub const NOBODY: u32 = u32::MAX;

/// Unanswered requests of a tenant, and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    pub requests: usize,
    pub bytes: usize,
}

/// Shares by the tenants' numbers, which are small.
#[derive(Debug, Default)]
pub struct Shares {
    of_tenants: Vec<Share>,
    charge: Charge,
}

impl Shares {
    /// The share of a tenant.
    pub fn of(&self, tenant: u32) -> Share {
        self.of_tenants.get(tenant as usize).copied().unwrap_or_default()
    }

    /// A request is sent.
    pub fn add(&mut self, tenant: u32, bytes: u32) {
        if tenant == NOBODY {
            return;
        }
        let tenant = tenant as usize;
        if tenant >= self.of_tenants.len() {
            self.of_tenants.resize(tenant + 1, Share::default());
            self.charge.set(self.of_tenants.capacity() * size_of::<Share>());
        }
        let share = &mut self.of_tenants[tenant];
        (share.requests, share.bytes) = (share.requests + 1, share.bytes + bytes as usize);
    }

    /// A request is answered.
    pub fn remove(&mut self, tenant: u32, bytes: u32) {
        if let Some(share) = self.of_tenants.get_mut(tenant as usize) {
            (share.requests, share.bytes) = (share.requests - 1, share.bytes - bytes as usize);
        }
    }

    /// No request is outstanding any more.
    pub fn clear(&mut self) {
        *self = Shares::default();
    }
}
