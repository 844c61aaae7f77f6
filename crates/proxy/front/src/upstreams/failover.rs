//! A thread's part in replacing failed servers: it follows the members of pools, reports failures, and takes servers back.

use std::collections::VecDeque;
use std::sync::Arc;

use fanin_memcache::{Command, Flags, Keyed, Meta, Shape};

use super::Front;
use super::clients::Client;
use super::multigets::Multiget;
use super::upstreams::ask::{Ask, Destination, Recipient};
use super::upstreams::room::Waiter;
use super::upstreams::server::Server;
use fanin_proxy_core::clock::Nanos;
use fanin_proxy_core::server_error::ServerError;
use fanin_proxy_failover::{Entry, Failover, Phase};
use fanin_proxy_net::Net;
use fanin_proxy_routing::writes::OpenWrite;

/// Keys that are deleted at a time when a server returns.
const AT_ONCE: usize = 64;
/// Pause between looks whether the next step of a change can be taken.
const LOOK: Nanos = 2_000_000;

impl<N: Net> Front<N> {
    /// Follows the members of the pools, if some have changed; at the start of a loop iteration.
    pub(super) fn follow_members(&mut self) {
        let number = self.shared.members_number();
        if self.members == number {
            return;
        }
        self.members = number;
        for slot in self.upstreams.current_slots().collect::<Vec<_>>() {
            let Some(members) = self.upstreams.pool_mut(slot).follow_members() else { continue };
            for index in 0..members.list.len() {
                let server = self.upstreams.pool(slot).server(index);
                self.follow_phase(server, members.phase(index));
            }
        }
        self.connect_due();
    }

    /// A server of this thread is in use or not. While it leaves, what is outstanding there fails.
    fn follow_phase(&mut self, server: usize, phase: Phase) {
        let was_out = self.upstreams.server(server).is_out();
        for server in [server, server + 1] {
            self.upstreams.server_mut(server).follow(phase);
            if phase == Phase::Leaving && self.upstreams.server(server).has_connection() {
                let asked = self.close_server(server);
                asked.iter().for_each(|ask| self.fails(server, ask, ServerError::Closed, false));
            }
        }
        let is_reported = matches!(phase, Phase::Away | Phase::Joining) || phase == Phase::Up && was_out;
        if is_reported {
            self.report_phase(server, phase);
        }
    }

    /// Closes the connection of a server; returns its requests. One with a change is watched until the server has executed it, or never
    /// will.
    pub(super) fn close_server(&mut self, server: usize) -> VecDeque<Ask> {
        let from = self.upstreams.server(server);
        let held =
            (self.fails_over(server) && from.is_open() && from.has_changes()).then(|| from.state_of_all().unfinished());
        let (socket, mut asked) = self.upstreams.close(server, self.now);
        for waiter in self.upstreams.server_mut(server).take_waiting() {
            match waiter {
                Waiter::Batch(get) => {
                    self.multigets.get_mut(get).into_iter().for_each(Multiget::leaves_list);
                    self.ask_batches(get);
                }
                Waiter::Get(get) => {
                    self.clients.get_mut(get.ask.client).into_iter().for_each(Client::get_is_sent);
                    asked.push_back(get.ask);
                }
            }
        }
        match (socket, held) {
            (Some(socket), Some(held)) => self.net.finish(socket, held),
            (Some(socket), None) => self.net.close(socket),
            (None, _) => {}
        }
        asked
    }

    /// The failover of a server's pool, and the server's number there.
    pub(super) fn failover_of(&self, server: usize) -> Option<(Arc<Failover>, usize)> {
        let failover = self.upstreams.pool_of(server).shared.failover.as_ref()?;
        let number = failover.position(self.upstreams.server(server).state_of_all())?;
        Some((failover.clone(), number))
    }

    /// Whether other servers may answer for one.
    pub(super) fn fails_over(&self, server: usize) -> bool {
        self.upstreams.pool_of(server).shared.failover.is_some()
    }

    /// Ejects a server whose connection fails, if it has failed before without an answer since, or if a change is outstanding.
    pub(super) fn eject_failed(&mut self, server: usize) {
        let from = self.upstreams.server(server);
        if from.is_second() || !from.has_failed() && !from.has_changes() {
            return;
        }
        let Some((failover, number)) = self.failover_of(server) else { return };
        if !from.state_of_all().is_known() {
            // It may have values from before this front end started.
            from.state_of_all().journal().flush_instead();
        }
        self.fail_member(server, &failover, number, None);
    }

    /// A server has failed: this thread does not use it any more, and the others soon. It may still execute a change that has failed, so no
    /// later one may be sent there.
    pub(super) fn fail_member(&mut self, server: usize, failover: &Failover, number: usize, open: Option<OpenWrite>) {
        failover.fail(number, open);
        if failover.members().phase(number) == Phase::Up {
            for server in [server, server + 1] {
                self.upstreams.server_mut(server).follow(Phase::Leaving);
            }
        }
        self.shared.wake();
    }

    /// Whether a server that has just been connected must show that it responds.
    pub(super) fn wants_answer(&self, server: usize) -> bool {
        let to = self.upstreams.server(server);
        // Its journal is complete from its first answer on.
        to.is_doubtful() || to.is_out() || to.is_new() && !to.is_second() && self.fails_over(server)
    }

    /// A server that is not in use has answered.
    pub(super) fn answers_again(&mut self, server: usize) {
        if self.upstreams.server(server).is_out()
            && let Some((failover, number)) = self.failover_of(server)
        {
            failover.answers(number, self.thread, self.now);
        }
    }

    /// The next time at which a change of members may go on.
    pub(super) fn failover_due(&self) -> Option<Nanos> {
        let is_busy =
            self.upstreams.current().any(|pool| pool.shared.failover.as_ref().is_some_and(|one| one.is_busy()));
        is_busy.then_some(self.now + LOOK)
    }

    /// Takes the next steps of changes of members, and deletes what returning servers must not have.
    pub(super) fn advance_failover(&mut self) {
        for slot in self.upstreams.current_slots().collect::<Vec<_>>() {
            let pool = self.upstreams.pool(slot);
            let Some(failover) = pool.shared.failover.clone().filter(|failover| failover.is_busy()) else { continue };
            let settle = self.upstreams.server(pool.server(0)).timeout;
            if failover.advance(self.thread, self.now, settle) {
                self.shared.members_change();
            }
            for number in failover.silent() {
                let server = self.upstreams.pool(slot).server(number);
                if self.upstreams.server(server).is_open() && self.upstreams.server(server).front().is_none() {
                    self.upstreams.probe(server, self.now);
                }
            }
            for number in failover.duties(self.thread) {
                self.purge(&failover, slot, number);
            }
        }
    }

    /// Begins the next round of deletions for a server that returns.
    fn purge(&mut self, failover: &Failover, slot: usize, number: usize) {
        let server = self.upstreams.pool(slot).server(number);
        let state = self.upstreams.server(server).state_of_all().clone();
        let mut deletions: Vec<(usize, Option<Entry>)> = Vec::new();
        // Not both locks at once: `advance` takes them in the other order.
        let (flushes, left) = {
            let mut journal = state.journal();
            journal.give_back();
            (journal.begin_flush(), journal.len())
        };
        let entries = if flushes {
            deletions.push((server, None));
            Vec::new()
        } else if failover.is_enough(number, left) {
            Vec::new()
        } else {
            state.journal().take(AT_ONCE)
        };
        for entry in entries {
            deletions.extend(
                self.other_servers(failover, slot, &entry).into_iter().map(|other| (other, Some(entry.clone()))),
            );
            deletions.push((server, Some(entry)));
        }
        let round = failover.begin_round(number, deletions.len());
        for (at, entry) in deletions {
            let to = Destination::Purge { of: server as u32, round };
            if !self.queue_deletion(at, to, entry.as_ref()) {
                self.purge_fails(server, round, at);
            }
        }
    }

    /// The other servers to which a key was written. Those that are not in use delete it when they return.
    fn other_servers(&self, failover: &Failover, slot: usize, entry: &Entry) -> Vec<usize> {
        let pool = self.upstreams.pool(slot);
        let mut others = Vec::new();
        for other in entry.others.iter().filter_map(std::sync::Weak::upgrade) {
            let is_it = |server: &&u32| Arc::ptr_eq(self.upstreams.server(**server as usize).state_of_all(), &other);
            match pool.servers().iter().find(is_it) {
                Some(server) if !self.upstreams.server(*server as usize).is_out() => others.push(*server as usize),
                _ => {
                    note(&other, &entry.key, entry.base64);
                    // It may have come into use since this thread looked.
                    if let Some(number) = failover.position(&other)
                        && failover.members().phase(number) == Phase::Up
                    {
                        failover.fail(number, None);
                    }
                }
            }
        }
        others
    }

    fn queue_deletion(&mut self, server: usize, to: Destination, entry: Option<&Entry>) -> bool {
        let own = |shape| Ask { changes: true, ..Ask::new(Recipient::NOBODY, to, shape, self.now) };
        let Some(entry) = entry else {
            return self.upstreams.queue_own(server, own(Shape::Done), &[], &[b"flush_all\r\n"]);
        };
        let mark = self.upstreams.random_mark();
        let Ok(flags) = Flags::read(Meta::Delete, &entry.key, if entry.base64 { b"b" } else { b"" }) else {
            return true;
        };
        let keyed = Keyed { command: Command::Meta(Meta::Delete, flags), key: &entry.key, quiet: false };
        let (mut line, mut note) = (Vec::new(), Vec::new());
        keyed.line(None, mark, |bytes| line.extend_from_slice(bytes));
        keyed.note(mark, |bytes| note.extend_from_slice(bytes));
        self.upstreams.queue_own(server, own(keyed.shape()), &note, &[&line])
    }

    /// A deletion at server `at` is over, or has failed there.
    pub(super) fn purge_ends(&mut self, of: usize, round: u32) {
        let Some((failover, number)) = self.failover_of(of) else { return };
        if failover.deleted(number, round) {
            self.upstreams.server(of).state_of_all().journal().has_deleted();
        }
    }

    /// A server refuses a deletion.
    pub(super) fn purge_refused(&mut self, of: usize) {
        if let Some((failover, number)) = self.failover_of(of) {
            failover.fail(number, None);
        }
    }

    /// A deletion for the journal of a server has failed at server `at`.
    pub(super) fn purge_fails(&mut self, of: usize, round: u32, at: usize) {
        let Some((failover, number)) = self.failover_of(of) else { return };
        if of == at {
            return failover.fail(number, None);
        }
        // That server deletes the keys when it returns.
        let (state, other) =
            (self.upstreams.server(of).state_of_all().clone(), self.upstreams.server(at).state_of_all().clone());
        let keys: Vec<Entry> = state.journal().taken().to_vec();
        keys.iter().for_each(|entry| note(&other, &entry.key, entry.base64));
        if let Some((failover, number)) = self.failover_of(at) {
            failover.fail(number, None);
        }
        self.purge_ends(of, round);
    }

    fn report_phase(&mut self, server: usize, phase: Phase) {
        if self.thread > 0 {
            return;
        }
        self.counters.servers_ejected.add(u64::from(phase == Phase::Away));
        let from: &Server<N::Socket> = self.upstreams.server(server);
        let pool = &self.upstreams.pool_of(server).shared.settings.name;
        let (address, up) = (from.target.address_now().to_string(), phase == Phase::Up);
        let text = match phase {
            Phase::Up => "in use again",
            Phase::Away => "not in use: other servers answer for it",
            _ => "answering again: keys that changed meanwhile are deleted there",
        };
        let report = fanin_proxy_observe::messages::Report::Server {
            pool,
            server: &from.name,
            address: &address,
            state: text,
            up,
        };
        self.net.report(&report);
    }
}

/// Notes a key that a server must delete when it returns. If there are too many, it deletes everything.
pub(super) fn note(server: &Arc<fanin_proxy_state::shared::ServerState>, key: &[u8], base64: bool) {
    let mut journal = server.journal();
    if !journal.add(key, base64, None, None) {
        journal.flush_instead();
    }
}
