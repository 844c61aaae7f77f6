//! A thread's part in replacing failed servers: it follows the members of pools, reports failures, and takes servers back.

use std::sync::{Arc, Weak};

use fanin_memcache::{Command, Flags, Keyed, Meta, Shape};

use super::Upstreams;
use super::ask::{Ask, Destination, Recipient};
use crate::context::Context;
use fanin_proxy_core::clock::Nanos;
use fanin_proxy_failover::{Entry, Failover, Phase};
use fanin_proxy_net::Net;
use fanin_proxy_routing::writes::OpenWrite;
use fanin_proxy_state::shared::ServerState;

/// Keys that are deleted at a time when a server returns.
const AT_ONCE: usize = 64;
/// Pause between looks whether the next step of a change can be taken.
const LOOK: Nanos = 2_000_000;

/// A server, and the phase that it follows.
#[derive(Clone, Copy, Debug)]
pub struct Follows {
    pub server: usize,
    pub phase: Phase,
}

impl<S> Upstreams<S> {
    /// Whether members of pools have changed that this thread has not followed.
    pub fn has_other_members<N: Net<Socket = S>>(&self, context: &Context<N>) -> bool {
        self.members != context.shared.members_number()
    }

    /// Begins to follow the members of the pools; returns the slots of these.
    pub fn begin_to_follow<N: Net<Socket = S>>(&mut self, context: &Context<N>) -> Vec<usize> {
        self.members = context.shared.members_number();
        self.current_slots().collect()
    }

    /// Takes the current members of a pool, if they are others; returns the phases that its servers have to follow.
    pub fn follow_members(&mut self, slot: usize) -> Vec<Follows> {
        let pool = self.pool_mut(slot);
        let Some(members) = pool.follow_members() else { return Vec::new() };
        let follows = |number| Follows { server: pool.server(number), phase: members.phase(number) };
        (0..members.list.len()).map(follows).collect()
    }

    /// The phases of the servers of a pool that is new to this thread.
    pub fn phases(&self, slot: usize) -> Vec<Follows> {
        let pool = self.pool(slot);
        let follows =
            |(number, server): (usize, &u32)| Follows { server: *server as usize, phase: pool.members().phase(number) };
        pool.servers().iter().enumerate().map(follows).collect()
    }

    /// A connection of a server follows a phase; returns whether it is closed for that.
    pub fn follow_phase(&mut self, server: usize, phase: Phase) -> bool {
        self.server_mut(server).follow(phase);
        phase == Phase::Leaving && self.server(server).has_connection()
    }

    /// The failover of a server's pool, and the server's number there.
    fn failover_of(&self, server: usize) -> Option<(Arc<Failover>, usize)> {
        let failover = self.pool_of(server).shared.failover.as_ref()?;
        let number = failover.position(self.server(server).state_of_all())?;
        Some((failover.clone(), number))
    }

    /// Whether other servers may answer for one.
    pub fn fails_over(&self, server: usize) -> bool {
        self.pool_of(server).fails_over()
    }

    /// Whether a server may leave and return, or is about to return.
    pub(super) fn has_phases(&self, server: usize) -> bool {
        self.pool_of(server).shared.failover.is_some()
    }

    /// Ejects a server whose connection fails, if it has failed before without an answer since, or if a change is outstanding.
    pub(super) fn eject_failed<N: Net<Socket = S>>(&mut self, server: usize, context: &Context<N>) {
        let from = self.server(server);
        if from.is_second() || !from.has_failed() && !from.has_changes() {
            return;
        }
        let Some((failover, number)) = self.failover_of(server) else { return };
        if failover.replaces() && !from.state_of_all().is_known() {
            // It may have values from before this front end started.
            from.state_of_all().journal().flush_instead();
        }
        self.fail_member(server, &failover, number, None, context);
    }

    /// A server may not have executed a change, so that it leaves, if others answer for it. A write of a group of keys is incomplete until
    /// then.
    pub fn is_uncertain<N: Net<Socket = S>>(&mut self, server: usize, group: Option<u16>, context: &Context<N>) {
        if let Some((failover, number)) = self.failover_of(server) {
            let open = group.map(|group| OpenWrite::new(context.writes(), group));
            self.fail_member(server, &failover, number, open, context);
        }
    }

    /// A server has failed: this thread does not use it any more, and the others soon. It may still execute a change that has failed, so no
    /// later one may be sent there.
    fn fail_member<N: Net<Socket = S>>(
        &mut self,
        server: usize,
        failover: &Failover,
        number: usize,
        open: Option<OpenWrite>,
        context: &Context<N>,
    ) {
        if !failover.fail(number, open) {
            return;
        }
        if failover.members().phase(number) == Phase::Up {
            for server in [server, server + 1] {
                self.server_mut(server).follow(Phase::Leaving);
            }
        }
        context.shared.wake();
    }

    /// Whether a server that has just been connected must show that it responds.
    pub(super) fn wants_answer(&self, server: usize) -> bool {
        let to = self.server(server);
        // Its journal is complete from its first answer on.
        to.is_doubtful() || to.is_out() || to.is_new() && !to.is_second() && self.fails_over(server)
    }

    /// A server that is not in use has answered.
    pub(super) fn answers_again<N: Net<Socket = S>>(&self, server: usize, context: &Context<N>) {
        if self.server(server).is_out()
            && let Some((failover, number)) = self.failover_of(server)
        {
            failover.answers(number, context.thread, context.now);
        }
    }

    /// The next time at which a change of members may go on.
    pub fn failover_due(&self, now: Nanos) -> Option<Nanos> {
        let is_busy = self.current().any(|pool| pool.shared.failover.as_ref().is_some_and(|one| one.is_busy()));
        is_busy.then_some(now + LOOK)
    }

    /// Takes the next steps of changes of members, and deletes what returning servers must not have.
    pub fn advance_failover<N: Net<Socket = S>>(&mut self, context: &mut Context<N>) {
        for slot in self.current_slots().collect::<Vec<_>>() {
            let pool = self.pool(slot);
            let Some(failover) = pool.shared.failover.clone().filter(|failover| failover.is_busy()) else { continue };
            let settle = self.server(pool.server(0)).timeout;
            // A thread with earlier settings may use the servers as those have them.
            if context.shared.is_installed() && failover.advance(context.thread, context.now, settle) {
                context.shared.members_change();
            }
            for number in failover.silent() {
                let server = self.pool(slot).server(number);
                if self.server(server).is_open() && self.server(server).front().is_none() {
                    self.probe(server, context.now);
                }
            }
            for number in failover.duties(context.thread) {
                self.purge(&failover, slot, number, context);
            }
        }
    }

    /// Begins the next round of deletions for a server that returns.
    fn purge<N: Net<Socket = S>>(&mut self, failover: &Failover, slot: usize, number: usize, context: &mut Context<N>) {
        let server = self.pool(slot).server(number);
        let state = self.server(server).state_of_all().clone();
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
            if !self.queue_deletion(at, to, entry.as_ref(), context) {
                self.purge_fails(server, round, at);
            }
        }
    }

    /// The other servers to which a key was written. Those that are not in use delete it when they return.
    fn other_servers(&self, failover: &Failover, slot: usize, entry: &Entry) -> Vec<usize> {
        let pool = self.pool(slot);
        let mut others = Vec::new();
        for other in entry.others.iter().filter_map(Weak::upgrade) {
            let is_it = |server: &&u32| Arc::ptr_eq(self.server(**server as usize).state_of_all(), &other);
            match pool.servers().iter().find(is_it) {
                Some(server) if !self.server(*server as usize).is_out() => others.push(*server as usize),
                _ => {
                    note_key(&other, &entry.key, entry.base64);
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

    fn queue_deletion<N: Net<Socket = S>>(
        &mut self,
        server: usize,
        to: Destination,
        entry: Option<&Entry>,
        context: &mut Context<N>,
    ) -> bool {
        let now = context.now;
        let own = |shape| Ask { changes: true, ..Ask::new(Recipient::NOBODY, to, shape, now) };
        let Some(entry) = entry else {
            return self.queue_own(server, own(Shape::Done), &[], &[b"flush_all\r\n"]);
        };
        let mark = context.random_mark();
        let Ok(flags) = Flags::read(Meta::Delete, &entry.key, if entry.base64 { b"b" } else { b"" }) else {
            return true;
        };
        let keyed = Keyed { command: Command::Meta(Meta::Delete, flags), key: &entry.key, quiet: false };
        let (mut line, mut note) = (Vec::new(), Vec::new());
        keyed.line(None, mark, |bytes| line.extend_from_slice(bytes));
        keyed.note(mark, |bytes| note.extend_from_slice(bytes));
        self.queue_own(server, own(keyed.shape()), &note, &[&line])
    }

    /// A deletion for the journal of a server is over.
    pub fn purge_ends(&self, of: usize, round: u32) {
        let Some((failover, number)) = self.failover_of(of) else { return };
        if failover.deleted(number, round) {
            self.server(of).state_of_all().journal().has_deleted();
        }
    }

    /// A server refuses a deletion.
    pub fn purge_refused(&self, of: usize) {
        if let Some((failover, number)) = self.failover_of(of) {
            failover.fail(number, None);
        }
    }

    /// A deletion for the journal of a server has failed at server `at`.
    pub fn purge_fails(&self, of: usize, round: u32, at: usize) {
        let Some((failover, number)) = self.failover_of(of) else { return };
        if of == at {
            failover.fail(number, None);
            return;
        }
        // That server deletes the keys when it returns.
        let (state, other) = (self.server(of).state_of_all(), self.server(at).state_of_all());
        let keys: Vec<Entry> = state.journal().taken().to_vec();
        keys.iter().for_each(|entry| note_key(other, &entry.key, entry.base64));
        if let Some((failover, number)) = self.failover_of(at) {
            failover.fail(number, None);
        }
        self.purge_ends(of, round);
    }

    /// A server has not flushed everything when asked to: it does so before it is read again.
    pub fn note_flush(&self, server: usize, ask: &Ask) {
        if matches!(ask.to, Destination::Flush { .. }) && self.fails_over(server) {
            self.server(server).state_of_all().journal().flush_instead();
        }
    }
}

/// Notes a key that a server must delete when it returns. If there are too many, it deletes everything.
pub fn note_key(server: &Arc<ServerState>, key: &[u8], base64: bool) {
    let mut journal = server.journal();
    if !journal.add(key, base64, None, None) {
        journal.flush_instead();
    }
}
