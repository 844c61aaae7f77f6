//! Front end of one thread: an event loop over its parts. It has no sockets and no clock; the caller passes events and time, and [`Net`] has
//! the connections.
//!
//! Each part owns its state, and no other part sees it: `clients`, `upstreams` (pools and servers), `multigets`, `migrations` (of keys),
//! `primary_reads`, `hubs`, `limits` (memory), `lifecycle`, `observation`. A part gets [`Context`] and narrow arguments, and returns actions
//! for other parts. [`Front`] carries these out, in `event_loop`; `event_loop/requests.rs` has the life of a request.

mod clients;
mod context;
mod event_loop;
mod hubs;
mod lifecycle;
mod limits;
mod listening;
mod migrations;
mod multigets;
mod observation;
mod primary_reads;
mod upstreams;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::SyncSender;

use fanin_ring::Event;

use clients::Clients;
use context::{Context, READ};
use fanin_proxy_config::Settings;
use fanin_proxy_core::clock::{LONG_TURN, Nanos, nanos};
use fanin_proxy_core::pulse::Work;
use fanin_proxy_net::pace::Pace;
use fanin_proxy_net::{Net, Token};
use fanin_proxy_observe::log::{Rows, Tap};
use fanin_proxy_observe::metrics::Figure;
use fanin_proxy_state::shared::Shared;
use hubs::Hubs;
use lifecycle::Lifecycle;
use limits::Limits;
use migrations::Migrations;
use multigets::{Coalescing, Multigets};
use observation::Observation;
use primary_reads::PrimaryReads;
use upstreams::Upstreams;

#[doc(hidden)]
pub use multigets::schedule::Schedule;

/// Front end of one thread.
pub struct Front<N: Net> {
    context: Context<N>,
    clients: Clients<N::Socket>,
    upstreams: Upstreams<N::Socket>,
    multigets: Multigets,
    coalescing: Coalescing,
    migrations: Migrations,
    primary_reads: PrimaryReads,
    hubs: Hubs<N::Socket>,
    limits: Limits,
    lifecycle: Lifecycle,
    observation: Observation,
    pace: Pace,
    scratch: Scratch,
}

/// Buffers that are reused.
#[derive(Default)]
struct Scratch {
    /// For reads.
    bytes: Vec<u8>,
    /// For a request and its note.
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
        let mut context = Context::new(net, number, shared.clone(), seed);
        let seed = context.counters.hot_keys.is_some().then(|| context.random());
        let log = settings.log.as_ref().zip(rows);
        let log = log.map(|(log, (rows, unix))| Tap::new(log, rows, context.random(), unix));
        let mut front = Front {
            context,
            clients: Clients::new(),
            upstreams: Upstreams::new(number),
            multigets: Multigets::new(shared.memory.spare()),
            coalescing: Coalescing::default(),
            migrations: Migrations::default(),
            primary_reads: PrimaryReads::default(),
            hubs: Hubs::new(shared.writes.clone()),
            limits: Limits::new(shared),
            lifecycle: Lifecycle::new(settings, stop),
            observation: Observation::new(settings.observes_servers(), seed, log),
            pace: Pace::new(nanos(settings.batching_delay)),
            scratch: Scratch { bytes: vec![0; READ], ..Scratch::default() },
        };
        front.install_settings();
        front
    }

    /// Runs one iteration: handles events and what follows from them. Returns how long to sleep, so that more events are handled together.
    pub fn turn(&mut self, now: Nanos, events: impl Iterator<Item = Event>) -> Nanos {
        self.context.polled = std::mem::replace(&mut self.context.now, now);
        self.context.net.begin_turn(now);
        self.context.counters.turns.add(1);
        let before = self.asked();
        self.update_limits();
        self.install_settings();
        self.begin_to_depart();
        self.follow_members();
        self.refresh_plans();
        self.take_arrivals();
        for event in self.context.net.take_waiting().into_iter().chain(events) {
            self.context.counters.pulse.works(Work::Event(Token::decode(event.token)));
            self.event(event);
        }
        self.context.counters.pulse.works(Work::Timers);
        self.timers();
        self.upstreams.advance_failover(&mut self.context);
        self.context.counters.pulse.works(Work::Writes);
        self.flush();
        self.context.counters.pulse.works(Work::Timers);
        self.upstreams.close_retired(&mut self.context);
        self.observation.hand_on_log(self.lifecycle.is_ending(), &self.context);
        self.enforce_memory_limit();
        let delay = self.pace.delay(now, self.asked() - before);
        if self.has_more() { 0 } else { delay }
    }

    /// The iteration has ended by now. If that took long, the thread has waited for the processor: its requests have left no earlier, so that their
    /// servers have the timeout from now on.
    pub fn has_turned(&mut self, ended: Nanos) {
        let begun = self.context.now;
        if ended.saturating_sub(begun) >= LONG_TURN {
            self.upstreams.has_sent_late(begun, ended);
        }
    }

    /// It has slept for as long as [`turn`](Front::turn) returned, which took this long.
    pub fn has_delayed(&mut self, now: Nanos, took: Nanos) {
        self.pace.has_lasted(now, took);
    }

    /// How long it may wait for events.
    pub fn waits(&self) -> Option<Nanos> {
        if self.has_more() { Some(0) } else { self.next_due().map(|at| at.saturating_sub(self.context.now)) }
    }

    /// Whether it has been stopped and has answered all requests, or has passed its deadline.
    pub fn is_over(&self) -> bool {
        self.lifecycle.is_over(self.context.now, self.clients.len())
    }

    /// Its network, to wait for events.
    pub fn net(&mut self) -> &mut N {
        &mut self.context.net
    }

    /// All figures, in the order of `stats`.
    pub fn figures(&self) -> Vec<Figure<'_>> {
        self.upstreams.figures(&self.context)
    }

    /// Number of requests and batches so far.
    fn asked(&self) -> u64 {
        self.context.counters.requests.get() + self.context.counters.batches.get()
    }

    fn has_more(&self) -> bool {
        self.context.net.has_waiting() || self.upstreams.has_other_members(&self.context)
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

    /// The next time at which there is work without an event.
    fn next_due(&self) -> Option<Nanos> {
        let now = self.context.now;
        let servers = self.upstreams.next_due(self.lifecycle.is_stopping());
        let own = [
            self.lifecycle.next_due(self.clients.len()),
            self.limits.next_due(now),
            self.context.net.next_due(),
            self.observation.next_due(),
            self.upstreams.failover_due(now),
            self.clients.next_look(),
            self.hubs.next_due(),
            self.primary_reads.next_due(),
        ];
        own.into_iter().flatten().chain(servers).min()
    }
}

impl<N: Net> Drop for Front<N> {
    /// Releases the clients of an ended thread.
    fn drop(&mut self) {
        self.clients.release(&self.context);
        for pool in self.upstreams.current() {
            pool.shared.failover.iter().for_each(|failover| failover.thread_ended(self.context.thread));
        }
    }
}
