//! Tenants: clients by user, certificate or address, among which memory, connections and work are shared.
//!
//! Their number is bounded: beyond, new ones count as one.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::clock::Nanos;

/// Most tenants by name.
const MOST: usize = 4096;
/// Bits of an IPv6 address that belong to one network.
const NETWORK: u32 = 64;
/// Time that a wrong password costs, and how much of it may be spent ahead.
const GUESS: Nanos = 100_000_000;
const GUESSES_AHEAD: Nanos = 10 * GUESS;

/// Who a client is: the user as whom it has logged in, else the name in its certificate, else its address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Identity {
    /// The user as whom it has logged in.
    User(String),
    /// The name in its certificate.
    Certificate(String),
    /// Of IPv6 the network.
    Address(IpAddr),
    /// At a UNIX socket.
    Local,
}

impl Identity {
    /// Of a connection from this address, or of one at a UNIX socket.
    pub fn of_address(from: Option<IpAddr>) -> Identity {
        match from.map(|ip| ip.to_canonical()) {
            None => Identity::Local,
            Some(IpAddr::V6(ip)) => Identity::Address(Ipv6Addr::from_bits(ip.to_bits() >> NETWORK << NETWORK).into()),
            Some(ip) => Identity::Address(ip),
        }
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Identity::User(name) => write!(f, "user {name}"),
            Identity::Certificate(name) => write!(f, "certificate {name}"),
            Identity::Address(IpAddr::V6(network)) => write!(f, "{network}/{NETWORK}"),
            Identity::Address(ip) => ip.fmt(f),
            Identity::Local => f.write_str("UNIX socket"),
        }
    }
}

/// A tenant.
#[derive(Debug)]
pub struct Tenant {
    /// Its name for operators.
    pub name: String,
    /// A small number, which another tenant may have later.
    pub number: u32,
    clients: AtomicUsize,
    requests: AtomicU64,
    /// Clients closed because of it.
    closed: AtomicU64,
    /// Memory of its clients, as they last reported it.
    memory: AtomicUsize,
    /// Its wrong passwords, and until when they have been paid.
    guesses: AtomicU64,
    guessed: AtomicU64,
}

/// Figures of a tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TenantFigures {
    /// User, name of a certificate, or address.
    pub name: String,
    /// Connected clients.
    pub clients: usize,
    /// Requests.
    pub requests: u64,
    /// Clients that were refused or closed because they took too much or too long.
    pub closed: u64,
    /// Bytes of its clients' memory.
    pub memory: usize,
    /// Wrong passwords.
    pub guesses: u64,
}

impl Tenant {
    fn new(name: String, number: u32) -> Arc<Tenant> {
        let [clients, memory] = [0; 2].map(AtomicUsize::new);
        let [requests, closed, guesses, guessed] = [0; 4].map(AtomicU64::new);
        Arc::new(Tenant { name, number, clients, requests, closed, memory, guesses, guessed })
    }

    /// Number of its clients.
    pub fn clients(&self) -> usize {
        self.clients.load(Relaxed)
    }

    /// Counts requests.
    pub fn has_requested(&self, count: u64) {
        self.requests.fetch_add(count, Relaxed);
    }

    /// Counts a client that was closed because it took too much or was too slow.
    pub fn is_cut_off(&self) {
        self.closed.fetch_add(1, Relaxed);
    }

    /// The memory of one of its clients has changed.
    pub fn holds_instead(&self, before: usize, now: usize) {
        self.memory.fetch_add(now.wrapping_sub(before), Relaxed);
    }

    /// When the next password may be compared.
    pub fn next_guess(&self) -> Nanos {
        self.guessed.load(Relaxed).saturating_sub(GUESSES_AHEAD)
    }

    /// Counts a wrong password.
    pub fn has_guessed(&self, now: Nanos) {
        self.guesses.fetch_add(1, Relaxed);
        // Another thread may have done the same.
        let _ = self.guessed.fetch_update(Relaxed, Relaxed, |until| Some(until.max(now) + GUESS));
    }

    fn figures(&self) -> TenantFigures {
        let [requests, closed, guesses] = [&self.requests, &self.closed, &self.guesses].map(|one| one.load(Relaxed));
        let (name, memory) = (self.name.clone(), self.memory.load(Relaxed));
        TenantFigures { name, clients: self.clients(), requests, closed, memory, guesses }
    }
}

/// Tenants by identity, and their numbers: those that are free again, and the next new one.
#[derive(Debug)]
struct Known {
    tenants: BTreeMap<Identity, Arc<Tenant>>,
    free: Vec<u32>,
    next: u32,
}

/// The tenants.
#[derive(Debug)]
pub struct Tenants {
    known: Mutex<Known>,
    /// Those for which there is no place.
    others: Arc<Tenant>,
    /// Number of tenants with clients, and of all clients.
    active: AtomicUsize,
    clients: AtomicUsize,
}

impl Default for Tenants {
    fn default() -> Tenants {
        let others = Tenant::new("others".to_owned(), 0);
        let (active, clients) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Tenants {
            known: Mutex::new(Known { tenants: BTreeMap::new(), free: Vec::new(), next: 1 }),
            others,
            active,
            clients,
        }
    }
}

impl Tenants {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tenant with this identity.
    pub fn of(&self, identity: Identity) -> Arc<Tenant> {
        let Known { tenants, free, next } = &mut *self.known();
        if let Some(tenant) = tenants.get(&identity) {
            return tenant.clone();
        }
        if tenants.len() >= MOST && self.active.load(Relaxed) < MOST {
            // Figures of tenants that have left are lost.
            let left = tenants.extract_if(.., |_, tenant| Arc::strong_count(tenant) == 1);
            free.extend(left.map(|(_, tenant)| tenant.number));
        }
        if tenants.len() >= MOST {
            return self.others.clone();
        }
        let number = free.pop().unwrap_or_else(|| {
            *next += 1;
            *next - 1
        });
        let tenant = Tenant::new(identity.to_string(), number);
        tenants.insert(identity, tenant.clone());
        tenant
    }

    /// Counts a new client of a tenant, if there is a place for it among `most`.
    pub fn admit(&self, tenant: &Tenant, most: usize) -> bool {
        let admitted =
            self.clients.fetch_update(Relaxed, Relaxed, |clients| (clients < most).then_some(clients + 1)).is_ok();
        if admitted {
            self.enter(tenant);
        }
        admitted
    }

    /// Number of clients, of `most`, that a tenant may have at the expense of larger ones; another client of it connects.
    pub fn fair_share(&self, tenant: &Tenant, most: usize) -> usize {
        most / (self.active.load(Relaxed) + usize::from(tenant.clients() == 0)).max(1)
    }

    /// Counts a client, whatever the limit.
    pub fn admit_always(&self, tenant: &Tenant) {
        self.clients.fetch_add(1, Relaxed);
        self.enter(tenant);
    }

    /// Counts a client that has left.
    pub fn release(&self, tenant: &Tenant) {
        self.clients.fetch_sub(1, Relaxed);
        self.leave(tenant);
    }

    /// A client turns out to belong to another tenant.
    pub fn change(&self, from: &Tenant, to: &Tenant) {
        self.leave(from);
        self.enter(to);
    }

    fn enter(&self, tenant: &Tenant) {
        if tenant.clients.fetch_add(1, Relaxed) == 0 {
            self.active.fetch_add(1, Relaxed);
        }
    }

    fn leave(&self, tenant: &Tenant) {
        if tenant.clients.fetch_sub(1, Relaxed) == 1 {
            self.active.fetch_sub(1, Relaxed);
        }
    }

    /// Number of all clients.
    pub fn clients(&self) -> usize {
        self.clients.load(Relaxed)
    }

    /// Figures of the tenants with most clients, requests, memory and wrong passwords, at most `most` of each.
    pub fn largest(&self, most: usize) -> Vec<TenantFigures> {
        let mut all: Vec<TenantFigures> = self.known().tenants.values().map(|tenant| tenant.figures()).collect();
        all.push(self.others.figures());
        let mut largest: Vec<TenantFigures> = Vec::new();
        let orders: [fn(&TenantFigures) -> u64; 4] =
            [|one| one.clients as u64, |one| one.requests, |one| one.memory as u64, |one| one.guesses];
        for by in orders {
            all.sort_by_key(|one| std::cmp::Reverse(by(one)));
            largest.extend(all.iter().filter(|one| by(one) > 0).take(most).cloned());
        }
        largest.sort_by(|one, other| one.name.cmp(&other.name));
        largest.dedup_by(|one, other| one.name == other.name);
        largest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Identity {
        Identity::of_address(Some(text.parse().unwrap()))
    }

    #[test]
    fn names_are_of_people_and_networks() {
        let names = ["10.0.0.7", "::ffff:10.0.0.7", "2001:db8::7"].map(|text| address(text).to_string());
        assert_eq!(names, ["10.0.0.7", "10.0.0.7", "2001:db8::/64"]);
        assert_eq!(address("2001:db8::1:2:3:4"), address("2001:db8::"));
        assert_eq!(Identity::User("ann".to_owned()).to_string(), "user ann");
    }

    #[test]
    fn tenants_have_fair_shares_of_places() {
        let tenants = Tenants::default();
        let (large, small) = (tenants.of(address("10.0.0.1")), tenants.of(address("10.0.0.2")));
        assert_eq!(tenants.fair_share(&large, 160), 160);
        assert_eq!((0..200).filter(|_| tenants.admit(&large, 160)).count(), 160);
        assert!(!tenants.admit(&small, 160));
        assert_eq!(tenants.fair_share(&small, 160), 80);
        tenants.release(&large);
        assert!(tenants.admit(&small, 160));
        assert_eq!((tenants.fair_share(&small, 160), tenants.clients(), large.clients()), (80, 160, 159));
    }

    #[test]
    fn number_of_tenants_is_bounded() {
        let tenants = Tenants::default();
        let all: Vec<_> =
            (0..MOST as u32 + 9).map(|number| tenants.of(Identity::Address(IpAddr::V4(number.into())))).collect();
        assert_eq!((all[MOST - 1].number, all[MOST].name.as_str()), (MOST as u32, "others"));
        drop(all);
        assert!(tenants.of(Identity::Local).number <= MOST as u32, "a place of one that has left");
        tenants.admit_always(&tenants.of(Identity::Local));
        tenants.of(address("10.0.0.1")).has_requested(7);
        let names = tenants.largest(5).into_iter().map(|one| (one.name, one.clients, one.requests)).collect::<Vec<_>>();
        assert_eq!(names, [("10.0.0.1".to_owned(), 0, 7), ("UNIX socket".to_owned(), 1, 0)]);
    }

    #[test]
    fn largest_tenants_have_most_of_something() {
        let tenants = Tenants::default();
        let all: Vec<_> = (0..9u32).map(|number| tenants.of(Identity::Address(IpAddr::V4(number.into())))).collect();
        all[1].holds_instead(0, 5000);
        all[1].holds_instead(5000, 100);
        all[2].holds_instead(0, 50);
        (0..3).for_each(|_| all[3].has_guessed(0));
        let figures = tenants.largest(1);
        let figures: Vec<_> = figures.iter().map(|one| (&one.name[..], one.memory, one.guesses)).collect();
        assert_eq!(figures, [("0.0.0.1", 100, 0), ("0.0.0.3", 0, 3)]);
    }

    #[test]
    fn wrong_passwords_are_few_a_second() {
        let tenant = Tenant::new("t".to_owned(), 1);
        let mut guesses = 0;
        for now in (1_000_000_000..11_000_000_000).step_by(1_000_000) {
            while tenant.next_guess() <= now {
                tenant.has_guessed(now);
                guesses += 1;
            }
        }
        assert!((100..=112).contains(&guesses), "{guesses} in ten seconds");
    }
}
