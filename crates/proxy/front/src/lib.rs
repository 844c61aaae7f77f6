//! Front end of one thread: its components, and one iteration of its loop. It has no sockets and no clock; the caller passes events and
//! time, and [`Net`] has the connections.
//!
//! The components own their state: `clients`, `upstreams` (pools and servers), `multigets`, `limits` (memory), `lifecycle`. The life of a
//! request through them is in `request`; other paths through several components are in the other files.

mod admission;
mod arriving;
mod clients;
mod counting;
mod delivery;
mod departing;
mod failover;
mod hubs;
mod key_migration;
mod lifecycle;
mod limits;
mod listening;
mod migrations;
mod moving;
mod multigets;
mod observation;
mod primary_reads;
mod read_again;
mod refusal;
mod reload;
mod replicas;
mod request;
mod response;
mod second;
mod stats;
mod through_hubs;
mod upstreams;
mod writing;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::SyncSender;

use fanin_ring::Event;

use clients::Clients;
use fanin_proxy_config::Settings;
use fanin_proxy_core::clock::{Nanos, nanos};
use fanin_proxy_core::memory::table::Id;
use fanin_proxy_core::pulse::Work;
use fanin_proxy_core::server_error::ServerError;
use fanin_proxy_net::pace::Pace;
use fanin_proxy_net::{Net, Token};
use fanin_proxy_observe::log::{Rows, Tap};
use fanin_proxy_observe::messages::Report;
use fanin_proxy_observe::metrics::Counters;
use fanin_proxy_state::handover::Departures;
use fanin_proxy_state::shared::Shared;
use hubs::Hubs;
use lifecycle::Lifecycle;
use limits::{Excess, Limits};
use listening::Listening;
use migrations::Migrations;
use multigets::{Coalescing, Multigets};
use observation::Observation;
use primary_reads::PrimaryReads;
use upstreams::Upstreams;

#[doc(hidden)]
pub use multigets::schedule::Schedule;

/// Bytes per read.
const READ: usize = 256 << 10;
/// Time without a byte after which a request that is not finished may be given up for memory.
const STALLED: Nanos = 1_000_000_000;
/// memcached's error for a client above the limit.
const TOO_MANY: &[u8] = b"ERROR Too many open connections\r\n";

/// Front end of one thread.
pub struct Front<N: Net> {
    net: N,
    now: Nanos,
    /// Number of the thread, and of the edition of its settings.
    thread: usize,
    edition: u64,
    /// Number of changes of pools' members that it has followed.
    members: u64,
    listening: Listening,
    clients: Clients<N::Socket>,
    upstreams: Upstreams<N::Socket>,
    multigets: Multigets,
    coalescing: Coalescing,
    migrations: Migrations,
    primary_reads: PrimaryReads,
    hubs: Hubs<N::Socket>,
    limits: Limits,
    lifecycle: Lifecycle,
    /// The way to a successor, if there is one.
    departures: Option<Arc<Departures>>,
    observation: Observation,
    pace: Pace,
    log: Option<Tap>,
    scratch: Scratch,
    shared: Arc<Shared>,
    counters: Arc<Counters>,
}

/// Buffers that are reused.
#[derive(Default)]
struct Scratch {
    /// For reads.
    bytes: Vec<u8>,
    /// For a request and its note, or for a response line.
    line: Vec<u8>,
    note: Vec<u8>,
}

impl<N: Net> Front<N> {
    /// Front end of the `number`th thread. The seed must be unpredictable. With a log: the channel for rows, and Unix time at the clock's
    /// start.
    pub fn new(
        net: N,
        shared: Arc<Shared>,
        number: usize,
        stop: Arc<AtomicBool>,
        seed: [u8; 32],
        rows: Option<(SyncSender<Rows>, u64)>,
    ) -> Front<N> {
        let edition = shared.edition();
        let settings: &Settings = &edition.settings;
        let mut upstreams = Upstreams::new(number, seed);
        let counters = shared.threads[number].clone();
        let seed = counters.hot_keys.is_some().then(|| upstreams.random());
        let observation = Observation::new(settings.observes_servers(), seed);
        let log = settings.log.as_ref().zip(rows);
        let log = log.map(|(log, (rows, unix))| Tap::new(log, rows, upstreams.random(), unix));
        let mut front = Front {
            net,
            now: 0,
            thread: number,
            edition: 0,
            members: 0,
            listening: Listening::default(),
            clients: Clients::new(),
            upstreams,
            multigets: Multigets::new(shared.memory.spare()),
            coalescing: Coalescing::default(),
            migrations: Migrations::default(),
            primary_reads: PrimaryReads::default(),
            hubs: Hubs::new(shared.writes.clone()),
            limits: Limits::new(shared.clone()),
            lifecycle: Lifecycle::new(settings, stop),
            departures: None,
            observation,
            pace: Pace::new(nanos(settings.batching_delay)),
            log,
            scratch: Scratch { bytes: vec![0; READ], ..Scratch::default() },
            counters,
            shared,
        };
        front.install_settings();
        front
    }

    /// Runs one iteration: handles events and what follows from them. Returns how long to sleep, so that more events are handled together.
    pub fn turn(&mut self, now: Nanos, events: impl Iterator<Item = Event>) -> Nanos {
        self.now = now;
        self.net.begin_turn(now);
        self.counters.turns.add(1);
        let before = self.counters.requests.get() + self.counters.batches.get();
        self.update_limits();
        self.install_settings();
        self.begin_to_depart();
        self.follow_members();
        self.refresh_plans();
        self.take_arrivals();
        for event in self.net.take_waiting().into_iter().chain(events) {
            self.counters.pulse.works(Work::Event(Token::decode(event.token)));
            self.event(event);
        }
        self.counters.pulse.works(Work::Timers);
        self.timers();
        self.advance_failover();
        self.counters.pulse.works(Work::Writes);
        self.flush();
        self.counters.pulse.works(Work::Timers);
        self.close_retired_servers();
        self.hand_on_log();
        self.enforce_memory_limit();
        let asked = self.counters.requests.get() + self.counters.batches.get() - before;
        let delay = self.pace.delay(self.now, asked);
        if self.has_more() { 0 } else { delay }
    }

    /// It has slept for as long as [`turn`](Front::turn) returned, which took this long.
    pub fn has_delayed(&mut self, now: Nanos, took: Nanos) {
        self.pace.has_lasted(now, took);
    }

    /// How long it may wait for events.
    pub fn waits(&self) -> Option<Nanos> {
        if self.has_more() { Some(0) } else { self.next_due().map(|at| at.saturating_sub(self.now)) }
    }

    /// Whether it has been stopped and has answered all requests, or has passed its deadline.
    pub fn is_over(&self) -> bool {
        self.lifecycle.is_over(self.now, self.clients.len())
    }

    /// Its network, to wait for events.
    pub fn net(&mut self) -> &mut N {
        &mut self.net
    }

    fn has_more(&self) -> bool {
        self.net.has_waiting() || self.members != self.shared.members_number()
    }

    fn event(&mut self, event: Event) {
        match Token::decode(event.token) {
            Token::Client(slot) => {
                if let Some(id) = self.clients.in_slot(slot) {
                    self.client_event(id, event);
                }
            }
            Token::Server(server) => self.server_event(server, event),
            Token::Agent(agent) => self.agent_event(agent, &event),
            Token::Listener(listener) => self.accept(listener),
            Token::Waker => {}
        }
    }

    fn hand_on_log(&mut self) {
        if let Some(tap) = &mut self.log {
            self.counters
                .log_full
                .add(tap.hand_on(self.now, self.lifecycle.is_stopping() || self.departures.is_some()));
        }
    }
}

/// Times at which there is work without an event.
impl<N: Net> Front<N> {
    /// The next one.
    fn next_due(&self) -> Option<Nanos> {
        let log = self.log.as_ref().and_then(Tap::due);
        let servers = self.upstreams.next_due(self.lifecycle.is_stopping());
        let limits = self.limits.next_due(self.now);
        let lifecycle = self.lifecycle.next_due(self.clients.len());
        let own = [
            lifecycle,
            limits,
            log,
            self.net.next_due(),
            self.observation.next_due(),
            self.failover_due(),
            self.clients.next_look(),
            self.hubs.next_due(),
            self.primary_reads.next_due(),
        ];
        own.into_iter().flatten().chain(servers).min()
    }

    fn timers(&mut self) {
        for server in self.upstreams.in_use() {
            if self.upstreams.server(server).has_timed_out(self.now) {
                self.server_fails(server, ServerError::Timeout, false);
            }
            self.give_up_late(server);
            self.fail_expired_requests(server);
            self.ask_waiting(server);
        }
        self.check_for_late();
        self.hub_timers();
        self.hedge_slow_gets();
        self.ask_due_again();
        if let Some(longest) = self.lifecycle.idle_check(self.now) {
            for id in self.clients.idle(self.now, longest) {
                self.counters.clients_idle.add(1);
                self.close_client(id);
            }
        }
        for id in self.clients.late(self.now) {
            self.counters.clients_unfinished.add(1);
            self.cut_off(id);
        }
        while let Some(Token::Client(slot)) = self.net.next_overdue() {
            self.clients.in_slot(slot).into_iter().for_each(|id| self.close_client(id));
        }
        self.observe_servers();
        self.connect_due();
        if self.lifecycle.accepts_again(self.now) {
            self.listening.numbers().into_iter().for_each(|listener| self.accept(listener));
        }
        if self.lifecycle.begins_to_stop(self.now) {
            self.begin_to_stop();
        }
    }

    /// Opens connections that are due.
    fn connect_due(&mut self) {
        for server in self.upstreams.in_use() {
            let to = self.upstreams.server_mut(server);
            if !to.is_due(self.now) {
                continue;
            }
            let rests = if to.is_second() { to.rests() } else { self.lifecycle.is_stopping() };
            if !rests && !self.upstreams.connect(server, &mut self.net, self.now) {
                self.server_fails(server, ServerError::Down, false);
            }
        }
        self.upstreams.rest_if_idle();
    }

    /// Closes a failed server connection: all its requests fail, and a client with a partial response may be closed.
    fn server_fails(&mut self, server: usize, trouble: ServerError, closes: bool) {
        self.report_state(server, Some(trouble));
        self.count_failure(server, trouble);
        self.observe_server(server);
        self.eject_failed(server);
        let asked = self.close_server(server);
        for (index, ask) in asked.into_iter().enumerate() {
            self.fails(server, &ask, trouble, closes && index == 0);
        }
    }

    /// Clients get timeouts for late requests of a server that goes on to respond: it is busy, not down.
    fn give_up_late(&mut self, server: usize) {
        while let Some(ask) = self.upstreams.server_mut(server).give_up(self.now) {
            self.count_refusal(server, ServerError::Busy);
            self.fails(server, &ask, ServerError::Timeout, false);
        }
    }

    /// Reports on stderr that a server is down, or up again, once for all threads.
    fn report_state(&mut self, server: usize, trouble: Option<ServerError>) {
        let from = self.upstreams.server(server);
        if from.is_second() || from.is_retired() || from.stays(trouble.is_none()) {
            return;
        }
        // Its phases are reported.
        if trouble.is_none() && self.fails_over(server) {
            return;
        }
        let pool = &self.upstreams.pool_of(server).shared.settings.name;
        let state = match (trouble, from.failure()) {
            (None, _) => "up again".to_owned(),
            (Some(_), Some(why)) => format!("down: {why}"),
            (Some(trouble), None) => trouble.state().to_owned(),
        };
        let (address, up) = (from.target.address_now().to_string(), trouble.is_none());
        self.net.report(&Report::Server { pool, server: &from.name, address: &address, state: &state, up });
    }

    /// Reports that a server refuses requests because of its queue, or no longer does, once for all threads.
    fn report_busy(&mut self, server: usize, busy: bool) {
        let from = self.upstreams.server(server);
        if from.is_second() || from.is_retired() || !from.state_of_all().has_changed_business(busy) {
            return;
        }
        let pool = &self.upstreams.pool_of(server).shared.settings.name;
        let state =
            if busy { "busy: requests are refused or late, since too many wait for it" } else { "not busy any more" };
        let address = from.target.address_now().to_string();
        self.net.report(&Report::Server { pool, server: &from.name, address: &address, state, up: !busy });
    }

    /// Begins to stop: accepts no clients and no requests, but completes outstanding ones.
    fn begin_to_stop(&mut self) {
        self.listening.close(&mut self.net);
        for id in self.clients.ids() {
            self.clients.get_mut(id).into_iter().for_each(|client| client.input.close_after_output());
            self.clients.mark(id);
        }
        self.flush();
    }
}

/// Memory.
impl<N: Net> Front<N> {
    /// Computes the memory limit per client at the start of a loop iteration, and resumes clients and servers that waited.
    fn update_limits(&mut self) {
        let (net, all) = (&self.net, &self.clients);
        let holds = || all.all().map(|(_, client)| (client.tenant(), client.holds() + client.holds_in(net)));
        if self.limits.update(net, self.now, holds) {
            self.multigets.spare().clear();
        }
        let (clients, servers) = self.limits.take_delayed();
        clients.into_iter().for_each(|id| self.clients.mark(id));
        for server in servers {
            self.upstreams.server_mut(server).resume(self.now);
            self.read_server(server);
        }
    }

    /// Reports this thread's memory at the end of a loop iteration, and closes the largest clients if it is too much.
    fn enforce_memory_limit(&mut self) {
        self.limits.report(&self.net);
        let Some(excess) = self.limits.excess(&self.net, self.now) else { return self.limits.trim_if_freed(self.now) };
        self.multigets.spare().clear();
        for id in self.clients_to_close(excess) {
            if self.limits.is_relieved(&self.net, excess) {
                break;
            }
            self.counters.clients_cut_off.add(1);
            self.cut_off(id);
            self.limits.has_closed_one(self.now);
        }
        self.limits.report(&self.net);
        self.limits.trim(self.now);
    }
}

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

impl<N: Net> Front<N> {
    /// Clients to close because memory is short, in order: those that do not finish a request, of the tenant that holds most by such ones, the
    /// oldest first; then the largest, those of large tenants before others.
    fn clients_to_close(&self, excess: Excess) -> Vec<Id> {
        let (mut stalled, mut large) = (Vec::new(), Vec::new());
        for (id, client) in self.clients.all() {
            let holds = client.holds() + client.holds_in(&self.net);
            match client.unfinished().filter(|one| one.since + STALLED <= self.now) {
                Some(unfinished) => {
                    stalled.push(Stalled { tenant: client.tenant().number, since: unfinished.since, holds, id })
                }
                None if holds > excess.above => {
                    large.push(((!self.limits.is_large(client.tenant()), Reverse(holds)), id));
                }
                None => {}
            }
        }
        large.sort_unstable_by_key(|(order, _)| *order);
        large.truncate(if excess.all { large.len() } else { usize::from(stalled.is_empty()) });
        in_turn(stalled).into_iter().chain(large.into_iter().map(|(_, id)| id)).collect()
    }

    /// Closes a client that takes too much, or too long.
    fn cut_off(&mut self, id: Id) {
        self.clients.get(id).into_iter().for_each(|client| client.tenant().is_cut_off());
        self.close_client(id);
    }
}

impl<N: Net> Drop for Front<N> {
    /// Releases the clients of an ended thread.
    fn drop(&mut self) {
        for (_, client) in self.clients.all() {
            self.shared.tenants.release(client.tenant());
        }
        self.counters.curr_connections.less(self.clients.len() as u64);
        for pool in self.upstreams.current() {
            pool.shared.failover.iter().for_each(|failover| failover.thread_ended(self.thread));
        }
    }
}
