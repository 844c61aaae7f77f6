//! Work that connections may cause in a loop iteration, whatever they send: bytes, TLS records, requests and messages.
//!
//! Work is counted in units of about a nanosecond, and is counted when it is done: a connection may exceed its budget by one read. A
//! connection whose budget is spent, or whose turn does not come because the thread's is, waits for the next iteration: its token is
//! returned then, as by an event. Those that had no turn go first, so that connections that always have input cannot keep others waiting.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::sync::Arc;

use super::{Net, Received};
use fanin_proxy_core::tenants::Tenant;

/// Work of a connection, of all connections of a tenant, and of all of a thread, in an iteration.
const OF_CONNECTION: u64 = 2 << 20;
const OF_TENANT: u64 = 8 << 20;
const OF_THREAD: u64 = 16 << 20;
/// Connections accepted in an iteration, and reads of handshakes, each of which may take a millisecond for a signature.
const ACCEPTS: u32 = 64;
const HANDSHAKES: u32 = 4;

/// Work of a read apart from its bytes; a byte is one unit.
const READ: u64 = 512;
/// Work of a TLS record with plaintext, in bytes.
pub const RECORD: u64 = 2048;
/// Work of one without plaintext, such as a key update with its response: some 10 us of key derivations.
pub const SILENT_RECORD: u64 = 32 << 10;
/// Length of such a record for which the same work counts again, since it may have many messages.
pub const SILENT_LENGTH: u64 = 256;
/// Work of a request with its response, in bytes.
pub const REQUEST: u64 = 2048;
/// Work of a key of a multiget, in bytes.
pub const KEY: u64 = 128;
/// Work of a response of a server, in bytes.
pub const RESPONSE: u64 = 512;
/// Work of a message of a peer, in bytes.
pub const MESSAGE: u64 = 1024;

/// Work of a connection.
#[derive(Debug)]
pub struct Account {
    /// Token of its events.
    token: usize,
    /// Whose it is, if it is a client's.
    tenant: Option<Arc<Tenant>>,
    /// The iteration, and the work in it.
    turn: u64,
    spent: u64,
    /// The last iteration in which it was put into a list.
    waits: u64,
}

impl Account {
    /// Of a connection with this token.
    pub fn new(token: usize) -> Account {
        Account { token, tenant: None, turn: 0, spent: 0, waits: 0 }
    }

    /// It is a connection of this tenant.
    pub fn belongs_to(&mut self, tenant: Arc<Tenant>) {
        self.tenant = Some(tenant);
    }

    /// Token of its events.
    pub fn token(&self) -> usize {
        self.token
    }

    /// Whose it is, if it is a client's.
    pub fn tenant(&self) -> Option<&Tenant> {
        self.tenant.as_deref()
    }
}

/// Work of a thread.
#[derive(Debug)]
pub struct Budget {
    turn: u64,
    spent: u64,
    /// By the tenant's number: the iteration, and the work in it.
    tenants: Vec<(u64, u64)>,
    accepts: u32,
    handshakes: u32,
    /// Tokens that wait for the next iteration: those that had no turn, and those that have spent their budget.
    starved: VecDeque<usize>,
    exhausted: VecDeque<usize>,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget {
            turn: 1,
            spent: 0,
            tenants: Vec::new(),
            accepts: ACCEPTS,
            handshakes: HANDSHAKES,
            starved: VecDeque::new(),
            exhausted: VecDeque::new(),
        }
    }
}

impl Budget {
    /// Begins an iteration.
    pub fn begin_turn(&mut self) {
        self.turn += 1;
        (self.spent, self.accepts, self.handshakes) = (0, ACCEPTS, HANDSHAKES);
    }

    /// Whether a connection may work in this iteration. If not, it waits for the next one.
    #[inline]
    pub fn admits(&mut self, account: &mut Account) -> bool {
        if account.turn != self.turn {
            (account.turn, account.spent) = (self.turn, 0);
        }
        let of_tenant = account.tenant.as_ref().map_or(0, |tenant| self.of_tenant(tenant));
        let admits = account.spent < OF_CONNECTION && of_tenant < OF_TENANT && self.spent < OF_THREAD;
        if !admits {
            self.wait(account);
        }
        admits
    }

    /// Work of a tenant in this iteration.
    fn of_tenant(&self, tenant: &Tenant) -> u64 {
        self.tenants.get(tenant.number as usize).filter(|(turn, _)| *turn == self.turn).map_or(0, |(_, spent)| *spent)
    }

    /// Whether a handshake may go on in this iteration; counts it. If not, its connection waits for the next one.
    pub fn admits_handshake(&mut self, account: &mut Account) -> bool {
        let admits = self.handshakes > 0;
        if admits {
            self.handshakes -= 1;
        } else {
            self.wait(account);
        }
        admits
    }

    /// Whether the listener with this token may accept a connection in this iteration; counts it. If not, it waits for the next one.
    pub fn admits_accept(&mut self, token: usize) -> bool {
        let admits = self.accepts > 0;
        if admits {
            self.accepts -= 1;
        } else if !self.exhausted.contains(&token) {
            self.exhausted.push_back(token);
        }
        admits
    }

    #[cold]
    fn wait(&mut self, account: &mut Account) {
        if std::mem::replace(&mut account.waits, self.turn) != self.turn {
            let list = if account.spent == 0 { &mut self.starved } else { &mut self.exhausted };
            list.push_back(account.token);
        }
    }

    /// Work that a connection may still cause in this iteration.
    pub fn left(&self, account: &Account) -> u64 {
        let of_connection = if account.turn == self.turn { account.spent } else { 0 };
        let of_tenant = account.tenant.as_ref().map_or(0, |tenant| self.of_tenant(tenant));
        let left = [(OF_CONNECTION, of_connection), (OF_TENANT, of_tenant), (OF_THREAD, self.spent)];
        left.into_iter().map(|(most, spent)| most.saturating_sub(spent)).min().unwrap_or(0)
    }

    /// Counts work of a connection.
    #[inline]
    pub fn spend(&mut self, account: &mut Account, work: u64) {
        account.spent += work;
        self.spent += work;
        if let Some(tenant) = &account.tenant {
            let number = tenant.number as usize;
            if self.tenants.len() <= number {
                self.tenants.resize(number + 1, (0, 0));
            }
            let before = self.of_tenant(tenant);
            self.tenants[number] = (self.turn, before + work);
        }
    }

    /// Counts a read of these bytes.
    fn spend_read(&mut self, account: &mut Account, bytes: usize) {
        self.spend(account, READ + bytes as u64);
    }

    /// Tokens that have waited for this iteration.
    pub fn take_waiting(&mut self) -> VecDeque<usize> {
        let mut waiting = std::mem::take(&mut self.starved);
        waiting.append(&mut self.exhausted);
        waiting
    }

    /// Whether connections wait for the next iteration.
    pub fn has_waiting(&self) -> bool {
        !self.starved.is_empty() || !self.exhausted.is_empty()
    }
}

/// A connection's work in this iteration.
pub struct Work<'a> {
    /// The thread's budget.
    pub budget: &'a mut Budget,
    /// The connection's account.
    pub account: &'a mut Account,
}

impl Work<'_> {
    /// Reads, within the budget.
    ///
    /// # Errors
    /// `WouldBlock` if nothing is there, or if the connection waits for the next iteration; or the connection's error.
    #[inline]
    pub fn read<N: Net>(&mut self, net: &mut N, socket: &mut N::Socket, into: &mut [u8]) -> io::Result<Received> {
        self.admit()?;
        let received = net.read(socket, into)?;
        self.budget.spend_read(self.account, received.count);
        Ok(received)
    }

    /// Work that the connection may still cause in this iteration.
    pub fn left(&self) -> u64 {
        self.budget.left(self.account)
    }

    /// Counts work.
    pub fn spend(&mut self, work: u64) {
        self.budget.spend(self.account, work);
    }

    /// Fails if the connection has to wait for the next iteration.
    ///
    /// # Errors
    /// `WouldBlock`.
    pub fn admit(&mut self) -> io::Result<()> {
        if self.budget.admits(self.account) { Ok(()) } else { Err(ErrorKind::WouldBlock.into()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets each of these connections work until it has to wait; returns how much each has worked.
    fn work(budget: &mut Budget, accounts: &mut [Account], order: impl Iterator<Item = usize>) -> Vec<u64> {
        let mut done = vec![0; accounts.len()];
        for token in order {
            while budget.admits(&mut accounts[token]) {
                budget.spend_read(&mut accounts[token], 256 << 10);
                done[token] += 256 << 10;
            }
        }
        done
    }

    #[test]
    fn everybody_has_a_turn_among_endless_connections() {
        let (mut budget, mut accounts) = (Budget::default(), (0..100).map(Account::new).collect::<Vec<_>>());
        let mut done = vec![0; accounts.len()];
        let mut waiting: VecDeque<usize> = (0..100).collect();
        for turn in 0..130 {
            budget.begin_turn();
            let some = work(&mut budget, &mut accounts, waiting.into_iter());
            assert!(some.iter().sum::<u64>() <= OF_THREAD + OF_CONNECTION, "iteration {turn}: {some:?}");
            done.iter_mut().zip(some).for_each(|(done, some)| *done += some);
            waiting = budget.take_waiting();
            assert_eq!(waiting.len(), 100, "everybody waits, once");
        }
        let (least, most) = (done.iter().min().unwrap(), done.iter().max().unwrap());
        assert!(*least > 0 && most - least <= OF_CONNECTION + (256 << 10), "{least} to {most}");
    }

    #[test]
    fn tenant_with_many_connections_leaves_work_for_others() {
        let tenants = fanin_proxy_core::tenants::Tenants::default();
        let of = |name: &str| tenants.of(fanin_proxy_core::tenants::Identity::User(name.to_owned()));
        let (many, few) = (of("many"), of("few"));
        let (mut budget, mut accounts) = (Budget::default(), (0..100).map(Account::new).collect::<Vec<_>>());
        accounts[..99].iter_mut().for_each(|account| account.belongs_to(many.clone()));
        accounts[99].belongs_to(few);
        for _ in 0..10 {
            budget.begin_turn();
            let waiting = budget.take_waiting();
            let order = if waiting.is_empty() { (0..100).collect() } else { waiting };
            let done = work(&mut budget, &mut accounts, order.into_iter());
            assert!(
                done[..99].iter().sum::<u64>() <= OF_TENANT + OF_CONNECTION && done[99] >= OF_CONNECTION,
                "{done:?}"
            );
        }
    }

    #[test]
    fn small_records_and_handshakes_are_work() {
        let (mut budget, mut account) = (Budget::default(), Account::new(7));
        let mut records = 0;
        while budget.admits(&mut account) {
            budget.spend(&mut account, 256 * (27 + RECORD));
            records += 256;
        }
        assert!(records <= 1024 && budget.has_waiting());
        budget.begin_turn();
        let mut others: Vec<Account> = (0..10).map(Account::new).collect();
        let admitted = others.iter_mut().filter_map(|other| budget.admits_handshake(other).then_some(())).count();
        assert_eq!((admitted, budget.take_waiting().len()), (HANDSHAKES as usize, 7));
        let accepted = (0..1000).filter(|_| budget.admits_accept(3)).count();
        assert_eq!((accepted, budget.take_waiting()), (ACCEPTS as usize, VecDeque::from([3])));
    }
}
