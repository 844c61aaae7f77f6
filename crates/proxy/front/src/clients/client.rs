//! A client: its connection, input, and pending responses.

use std::io;
use std::sync::Arc;

use super::input::{Input, Unfinished};
use super::responses::Responses;
use crate::upstreams::ask::Expected;
use fanin_proxy_config as config;
use fanin_proxy_core::clock::Nanos;
use fanin_proxy_core::memory::table::Id;
use fanin_proxy_core::tenants::{Identity, Tenant};
use fanin_proxy_net::Net;
use fanin_proxy_observe::metrics::Class;
use fanin_proxy_state::handover::{Departures, PoolName};

/// Limit of requested value bytes per client, estimated with the mean of its earlier values; with a minimum and a maximum number of keys.
const ENOUGH_ASKED: usize = 4 << 20;
const LEAST_KEYS: usize = 4;
const MOST_KEYS: usize = 1024;
/// Least change of a client's memory that is reported to its tenant.
const WORTH_A_REPORT: usize = 4 << 10;
/// Assumed mean for a client of a tenant without values so far.
const FIRST_MEAN: usize = ENOUGH_ASKED / 64;

/// A client's tenant, and the memory that was last reported to it.
#[derive(Debug)]
struct Account {
    tenant: Arc<Tenant>,
    reported: usize,
}

impl Account {
    /// The client has this much memory.
    fn report(&mut self, holds: usize) {
        if holds.abs_diff(self.reported) >= WORTH_A_REPORT {
            self.tenant.holds_instead(self.reported, holds);
            self.reported = holds;
        }
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        self.tenant.holds_instead(self.reported, 0);
    }
}

/// A client.
#[derive(Debug)]
pub struct Client<S> {
    socket: S,
    pool: usize,
    account: Account,
    pub input: Input,
    pub responses: Responses,
    /// A multiget with unsent batches: later requests must wait.
    unfinished_multiget: Option<Id>,
    /// No requests are read before all responses are complete.
    alone: bool,
    /// None is read before the responses to all gets are complete.
    after_gets: bool,
    /// Gets that wait for room at their servers: later requests must wait.
    waiting_gets: u32,
    /// Moving average of its values' lengths, and whether there has been a value; until then, that of its tenant's, if it is known.
    mean_value: Option<usize>,
    has_values: bool,
    /// Time of the last request or response.
    active: Nanos,
    /// Whether it is in the list for the end of this loop iteration.
    marked: bool,
}

impl<S> Client<S> {
    pub fn new(socket: S, pool: usize, tenant: Arc<Tenant>, now: Nanos) -> Client<S> {
        Client {
            socket,
            pool,
            account: Account { tenant, reported: 0 },
            input: Input::default(),
            responses: Responses::new(),
            unfinished_multiget: None,
            alone: false,
            after_gets: false,
            waiting_gets: 0,
            mean_value: None,
            has_values: false,
            active: now,
            marked: false,
        }
    }

    pub fn pool(&self) -> usize {
        self.pool
    }

    pub fn tenant(&self) -> &Tenant {
        &self.account.tenant
    }

    /// Belongs to this tenant from now on.
    pub fn belongs_to<N: Net<Socket = S>>(&mut self, net: &mut N, tenant: Arc<Tenant>) {
        net.belongs_to(&mut self.socket, tenant.clone());
        self.account = Account { tenant, reported: 0 };
    }

    /// Who it is, once that is known better than by its connection.
    pub fn identity<N: Net<Socket = S>>(&mut self, net: &mut N) -> Option<Identity> {
        net.identity(&mut self.socket)
    }

    /// Since when it has not finished a request, if it could send the rest.
    pub fn unfinished(&self) -> Option<Unfinished> {
        self.input.unfinished().filter(|_| !self.is_blocked())
    }

    /// Belongs to this pool from now on.
    pub fn enter(&mut self, pool: usize) {
        self.pool = pool;
    }

    /// Whether responses are outstanding; if so, the next request waits for all of them.
    pub fn waits_for_all(&mut self) -> bool {
        self.alone |= self.responses.waits_for_answers();
        self.responses.waits_for_answers()
    }

    /// Reads once; returns the number of bytes.
    pub fn read<N: Net<Socket = S>>(&mut self, net: &mut N, into: &mut [u8], now: Nanos) -> usize {
        let count = self.input.received(net.read(&mut self.socket, into));
        if count > 0 {
            self.active = now;
        }
        count
    }

    /// Whether it may work in this loop iteration; if not, an event follows in the next one.
    pub fn may_work<N: Net<Socket = S>>(&mut self, net: &mut N) -> bool {
        net.may_work(&mut self.socket)
    }

    /// Counts work for it.
    pub fn works<N: Net<Socket = S>>(&mut self, net: &mut N, work: u64) {
        net.works(&mut self.socket, work);
    }

    /// Writes as much output as possible.
    pub fn write<N: Net<Socket = S>>(&mut self, net: &mut N) -> io::Result<()> {
        net.write(&mut self.socket, self.responses.output())
    }

    pub fn into_socket(self) -> S {
        self.socket
    }

    /// Whether its next request has not begun, and it is not closing.
    fn is_between_requests(&self) -> bool {
        self.input.is_between_requests() && self.unfinished_multiget.is_none()
    }

    /// Whether another process can continue its connection.
    fn is_portable<N: Net<Socket = S>>(&self, net: &N) -> bool {
        net.is_portable(&self.socket)
    }

    /// Whether it goes to a successor process, which takes clients of its pool, once its outstanding responses are complete.
    pub fn departs<N: Net<Socket = S>>(&self, departures: &Departures, pool: &config::Pool, net: &N) -> bool {
        self.is_between_requests() && self.is_portable(net) && departures.takes(&PoolName::of(pool))
    }

    /// Stops to receive; returns whether its connection has stopped.
    pub fn stop_receiving<N: Net<Socket = S>>(&mut self, net: &mut N) -> bool {
        net.stop_receiving(&mut self.socket)
    }

    /// Whether nothing is pending: no list of keys, no response, no output.
    pub fn is_through(&self) -> bool {
        !self.responses.waits_for_answers() && self.responses.unsent() == 0 && !self.input.is_in_a_list()
    }

    /// Whether it is to be closed now.
    pub fn is_over(&self) -> bool {
        self.input.is_broken() || self.input.is_closing() && self.is_through()
    }

    /// Whether it has had neither requests nor responses for this long.
    pub fn is_idle(&self, now: Nanos, longest: Nanos) -> bool {
        self.is_through() && self.active + longest <= now
    }

    /// Its number of requests, whether it is closing, and its output: if they change, there is something to write.
    pub fn progress(&self) -> (u64, bool, usize) {
        (self.responses.next_number(), self.input.is_closing(), self.responses.unsent())
    }

    /// Maximum number of keys to request before other clients get their share.
    pub fn keys_at_once(&self) -> usize {
        (ENOUGH_ASKED / self.mean_value.unwrap_or(FIRST_MEAN).max(1)).clamp(LEAST_KEYS, MOST_KEYS)
    }

    /// Estimate of this many values; without earlier ones, their number.
    pub fn expects(&self, values: usize) -> Expected {
        let bytes = values * self.mean_value.unwrap_or(0);
        Expected { values: values as u32, bytes: u32::try_from(bytes).unwrap_or(u32::MAX) }
    }

    /// A get waits for room at its server.
    pub fn get_waits(&mut self) {
        self.waiting_gets += 1;
    }

    /// Such a get is sent, or has failed.
    pub fn get_is_sent(&mut self) {
        self.waiting_gets -= 1;
    }

    /// Updates the mean with values received or stored. The first ones are the mean, and so are those of a list that are larger.
    pub fn has_seen(&mut self, values: usize, bytes: usize) {
        let Some(size) = bytes.checked_div(values) else { return };
        // A long list counts as eight values.
        let weight = values.min(8);
        let is_mean = |mean: usize| !self.has_values || values > 1 && size > mean;
        self.mean_value = match self.mean_value {
            Some(mean) if !is_mean(mean) => Some((mean * (64 - weight) + size * weight) / 64),
            _ => Some(size),
        };
        self.has_values = true;
    }

    /// Whether it has had a value.
    pub fn has_values(&self) -> bool {
        self.has_values
    }

    /// Until it has values, the mean length of its tenant's.
    pub fn assumes(&mut self, mean: Option<usize>) {
        self.mean_value = mean;
    }

    /// Whether its next request must wait for pending responses.
    pub fn is_blocked(&self) -> bool {
        self.unfinished_multiget.is_some()
            || self.waiting_gets > 0
            || self.alone && self.responses.waits_for_answers()
            || self.after_gets && self.responses.waits_for_gets()
            || self.responses.is_full(self.keys_at_once())
    }

    /// Whether a request must wait for all earlier responses, if it has to be `alone`. Later requests wait, too.
    pub fn waits_alone(&mut self, alone: bool) -> bool {
        let waits = self.responses.waits_for_answers();
        self.alone = alone || self.alone && waits;
        alone && waits
    }

    /// Whether a request must wait for the responses to all earlier gets, if it `changes` a value that they may still read.
    pub fn waits_for_gets(&mut self, changes: bool) -> bool {
        self.after_gets = changes && self.responses.waits_for_gets();
        self.after_gets
    }

    /// Memory that it takes.
    pub fn holds(&self) -> usize {
        self.input.holds() + self.responses.holds()
    }

    /// Reports its memory to its tenant, if that has changed by much.
    pub fn report_memory<N: Net<Socket = S>>(&mut self, net: &N) {
        let holds = self.holds() + self.holds_in(net);
        self.account.report(holds);
    }

    /// Memory that its connection takes in its network.
    pub fn holds_in<N: Net<Socket = S>>(&self, net: &N) -> usize {
        net.holds(&self.socket)
    }

    /// The multiget with unsent batches, if any.
    pub fn unfinished_multiget(&self) -> Option<Id> {
        self.unfinished_multiget
    }

    /// All batches of its multiget have been sent.
    pub fn has_asked_all(&mut self) {
        self.unfinished_multiget = None;
    }

    /// Adds a pending multiget with tables of this size, whose batches are not sent yet.
    pub fn expect_multiget(&mut self, get: Id, keys: usize, tables: usize, now: Nanos) {
        self.responses.expect_multiget(get, keys, tables, now);
        self.unfinished_multiget = Some(get);
    }

    /// Removes the first response; returns when its request was read, its class, and whether it was not complete at once.
    pub fn pop(&mut self, now: Nanos) -> Option<(Nanos, Class, bool)> {
        let ended = self.responses.pop()?;
        self.alone &= self.responses.waits_for_answers();
        self.active = now;
        Some(ended)
    }

    /// Marks it; returns whether it was not marked.
    pub(super) fn mark(&mut self) -> bool {
        !std::mem::replace(&mut self.marked, true)
    }

    /// Removes the mark.
    pub fn unmark(&mut self) {
        self.marked = false;
    }
}

#[cfg(test)]
mod tests {
    use super::super::responses::Kind;
    use super::*;
    use fanin_proxy_core::tenants::Tenants;

    fn client() -> Client<()> {
        Client::new((), 0, Tenants::default().of(Identity::Local), 0)
    }

    #[test]
    fn key_limit_follows_value_sizes() {
        let (mut small, mut large) = (client(), client());
        assert_eq!((small.keys_at_once(), large.keys_at_once()), (64, 64));
        small.has_seen(8, 800);
        large.has_seen(8, 8 << 20);
        assert_eq!((small.keys_at_once(), large.keys_at_once()), (MOST_KEYS, LEAST_KEYS));
        // A list of large values counts at once, small ones gradually.
        small.has_seen(2, 2 << 20);
        (0..5).for_each(|_| large.has_seen(8, 800));
        assert_eq!((small.keys_at_once(), large.keys_at_once()), (LEAST_KEYS, 7));
        // A new client of the tenant is like the last ones.
        let mut new = client();
        new.assumes(large.mean_value);
        assert_eq!((new.keys_at_once(), new.expects(1).bytes, new.has_values()), (7, 537_871, false));
        new.has_seen(1, 100);
        assert_eq!(new.keys_at_once(), MOST_KEYS);
    }

    #[test]
    fn client_with_much_outstanding_waits() {
        let mut client = client();
        let number = client.responses.expect(Kind::Relay, 1, 1, 0, Class::Other);
        client.responses.asks(number, 1 << 20);
        assert!(!client.is_blocked());
        client.responses.asks(number, 1);
        assert!(client.is_blocked());
        client.pop(0);
        assert!(!client.is_blocked());
    }
}
