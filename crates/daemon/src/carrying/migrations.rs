//! A front end's errands between two servers: a key's value looked for, copied, changed and forgotten, step by step.

use fanin_memcache::{Flags, Get, Keyed, LONGEST_KEY, Meta, Request, Shape, text};

use super::migration::{
    Change, Found, KeyMigration, LEASE, Lease, Step, Whose, changes, copy_flags, found, is_done, value_line,
};
use super::{Moves, Place, Side, Stage, Way};
use crate::client::Kind;
use crate::front::Front;
use crate::memory::Buffer;
use crate::multiget::{Asked, Settled};
use crate::net::Net;
use crate::server::{Ask, Part, ServerError};
use crate::table::Id;

/// While there are so many errands, none is begun for nobody.
const ENOUGH: usize = 4096;

/// What must be cleared before a key on its way is read: the place with the last word, then the one that has copies.
fn first_step(moves: &Moves, way: &Way) -> Option<Step> {
    let copies = matches!(way.stage, Stage::Move | Stage::Copied);
    let of_copies = (copies && !moves.is_clear(way.index, Side::New)).then_some(Side::New);
    way.unclear_side(moves).or(of_copies).map(Step::Clear)
}

/// What comes of an errand.
enum Outcome<'a> {
    /// A value, as `get` is answered.
    Value(&'a [u8]),
    /// Nothing is there.
    Missed,
    /// It is done; what was answered stands.
    Done,
    /// An error's line.
    Failed(&'a [u8]),
}

impl<N: Net> Front<N> {
    /// A turn begins: pools have the plans that all threads are to have now.
    pub(crate) fn heed_plans(&mut self) {
        let edition = self.shared.plans.edition();
        if edition != self.edition {
            self.edition = edition;
            (0..self.pools.len()).for_each(|pool| self.pools[pool].standing = self.shared.plans.of(pool));
        }
    }

    /// Whether a request must wait until its client has had all answers before it: it changes a key on its way. What follows waits, too.
    pub(crate) fn waits_alone(&mut self, id: Id, request: &Request<'_>) -> bool {
        let Some(client) = self.clients.get_mut(id) else { return false };
        let pool = &self.pools[client.pool];
        let keyed = match request {
            _ if pool.standing.is_none() => return false,
            Request::Store(store) => &store.keyed,
            Request::Keyed(keyed) => keyed,
            _ => return false,
        };
        let mut room = [0; LONGEST_KEY];
        let moving = changes(keyed) && matches!(pool.place(keyed.stored(&mut room)), Place::Moving(_));
        client.alone = moving || client.alone && client.waits_for_answers();
        moving && client.waits_for_answers()
    }

    /// The way of a key that is to be changed, or read, where one question to the place with the last word will not do.
    pub(crate) fn on_the_way(&self, pool: usize, place: Place, changes: bool) -> Option<Way> {
        let (Place::Moving(way), Some(standing)) = (place, &self.pools[pool].standing) else { return None };
        let is_clear = way.unclear_side(&standing.moves).is_none();
        (changes || !is_clear).then_some(way)
    }

    /// One more answer of a client to what changes a key on its way: it ends when the other place has forgotten the key.
    pub(crate) fn expect_change(&mut self, id: Id, way: Option<Way>, part: Part, shape: Shape) -> Ask {
        let (kind, left) = match way {
            Some(way) if !way.stage.is_turned() => (Kind::Kept, 2),
            _ => (Kind::Relay, 1),
        };
        let is_get = matches!(shape, Shape::Values | Shape::Meta { command: Meta::Get, .. });
        let taken = (self.now, is_get);
        let number = self.clients.get_mut(id).map_or(0, |client| client.expect(kind, left, 1, taken));
        Ask::new((id, number), part, shape, self.now)
    }

    /// A key that is on its way is asked for alone: whether that is done, or else one question does.
    pub(crate) fn get_on_the_way(&mut self, id: Id, get: &Get<'_>, key: &[u8], way: Way) -> bool {
        let Some(pool) = self.clients.get(id).map(|client| client.pool) else { return true };
        let touches = get.time.is_some();
        if matches!(way.stage, Stage::Move | Stage::Copied) && !touches && !get.unique {
            let number = self.expect_one(id, Part::Relay { quiet: false }, Shape::Values).number;
            let Some(standing) = &self.pools[pool].standing else { return false };
            let step = first_step(&standing.moves, &way).unwrap_or(Step::Copy);
            self.begin((id, Whose::Client { number }), pool, (key, false), way, (step, None));
            return true;
        }
        let Some(way) = self.on_the_way(pool, Place::Moving(way), touches) else { return false };
        let ask = self.expect_change(id, Some(way), Part::Relay { quiet: false }, Shape::Values);
        let mut bytes = Vec::new();
        get.head(|head| bytes.extend_from_slice(head));
        [b" ", key, b"\r\n"].iter().for_each(|part| bytes.extend_from_slice(part));
        let change = Change { ask, note: key.to_vec(), bytes, stores: false, silent: false };
        self.change(pool, (key, false), way, change, touches);
        true
    }

    /// Begins what changes a key on its way, or what may be asked of its new place only when that is cleared.
    pub(crate) fn change(&mut self, pool: usize, key: (&[u8], bool), way: Way, change: Change, changes: bool) {
        let unclear = self.pools[pool].standing.as_ref().and_then(|standing| way.unclear_side(&standing.moves));
        let step = match (way.stage, unclear) {
            (Stage::Turn, _) if changes => Step::Forget,
            (_, Some(side)) => Step::Clear(side),
            (_, None) => Step::Change,
        };
        let whose = Whose::Client { number: change.ask.number };
        self.begin((change.ask.client, whose), pool, key, way, (step, Some(change)));
    }

    fn begin(
        &mut self,
        (client, whose): (Id, Whose),
        pool: usize,
        (key, base64): (&[u8], bool),
        way: Way,
        (step, change): (Step, Option<Change>),
    ) {
        let Some(standing) = self.pools[pool].standing.clone() else { return };
        let (first, key) = (self.pools[pool].first, (key.to_vec(), base64));
        let migration = KeyMigration::new((client, whose), first, key, (way, standing), (step, change));
        let migration = self.migrations.insert(migration);
        self.take_step(migration, step);
    }

    /// Asks what an errand needs next.
    fn take_step(&mut self, id: Id, step: Step) {
        let Some(migration) = self.migrations.get_mut(id) else { return };
        (migration.step, migration.come) = (step, Buffer::default());
        let (old, new) = (migration.first + migration.way.old, migration.first + migration.way.new);
        match step {
            Step::Change => self.ask_change(id),
            Step::Clear(side) => self.ask_step(id, if side == Side::Old { old } else { new }, Meta::Delete, "", None),
            Step::Copy if migration.way.stage == Stage::Move => {
                self.ask_step(id, new, Meta::Get, &format!("f v c N{LEASE}"), None);
            }
            Step::Copy => self.ask_step(id, new, Meta::Get, "f v c", None),
            Step::Old => self.ask_step(id, old, Meta::Get, "f t v", None),
            Step::GiveUp => {
                let flags = migration.lease.map_or(String::new(), |lease| format!("C{}", lease.token));
                self.ask_step(id, new, Meta::Delete, &flags, None);
            }
            Step::Forget => {
                let other = if migration.way.stage.is_turned() { old } else { new };
                self.ask_step(id, other, Meta::Delete, "", None);
            }
            // It has its value with it.
            Step::Fill => {}
        }
    }

    /// Asks a server about an errand's key by a meta command with these flags.
    fn ask_step(&mut self, id: Id, server: usize, command: Meta, flags: &str, value: Option<&[u8]>) {
        let mark = self.mark();
        let Some(migration) = self.migrations.get(id) else { return };
        let words = format!("{}{flags}", if migration.base64 { "b " } else { "" });
        let Ok(flags) = Flags::read(command, &migration.key, words.as_bytes()) else { return };
        let keyed = Keyed { command: fanin_memcache::Command::Meta(command, flags), key: &migration.key, quiet: false };
        let (mut line, mut note) = (Vec::new(), Vec::new());
        keyed.line(value.map(|value| value.len() as u32), mark, |bytes| line.extend_from_slice(bytes));
        keyed.note(mark, |bytes| note.extend_from_slice(bytes));
        // It is no part of an answer.
        let ask = Ask::new((migration.client, u64::MAX), Part::KeyMigration(id), keyed.shape(), self.now);
        self.ask(server, ask, &note, &[&line, value.unwrap_or_default()]);
    }

    /// Asks the place with the last word to change the key. After the turn that is the end of the errand.
    fn ask_change(&mut self, id: Id) {
        let Some(migration) = self.migrations.get_mut(id) else { return };
        let Some(change) = &mut migration.change else { return };
        let (bytes, note) = (std::mem::take(&mut change.bytes), std::mem::take(&mut change.note));
        let (ask, server) = (change.ask, migration.first + migration.way.authority());
        let then = (!migration.way.stage.is_turned()).then_some(id);
        if then.is_none() {
            self.migrations.remove(id);
        }
        self.ask(server, Ask { then, at: self.now, ..ask }, &note, &[&bytes]);
    }

    /// What changes a key has been answered, or has failed: it may be done all the same.
    pub(crate) fn has_changed(&mut self, id: Id) {
        self.take_step(id, Step::Forget);
    }

    /// Bytes of an answer to an errand's step.
    pub(crate) fn migration_hears(&mut self, id: Id, bytes: &[u8]) {
        if let Some(migration) = self.migrations.get_mut(id) {
            migration.come.extend(bytes);
        }
    }

    /// An errand's step has been answered.
    pub(crate) fn migration_continues(&mut self, id: Id) {
        let Some(migration) = self.migrations.get_mut(id) else { return };
        let come = std::mem::take(&mut migration.come);
        let (step, turned) = (migration.step, migration.way.stage.is_turned());
        match step {
            Step::Forget | Step::Clear(_) if !is_done(&come) => self.migration_ends(id, Outcome::Failed(&come)),
            Step::Clear(side) => {
                migration.standing.moves.cleared(migration.way.index, side);
                match (&migration.change, turned || side == Side::Old) {
                    (Some(_), _) => self.take_step(id, Step::Change),
                    // The place with the last word has nothing now.
                    (None, true) => self.migration_ends(id, Outcome::Missed),
                    // A copy is made of the old place's value, so that place must be clear first.
                    (None, false) => {
                        let next = first_step(&migration.standing.moves, &migration.way).unwrap_or(Step::Copy);
                        self.take_step(id, next);
                    }
                }
            }
            Step::Forget if turned && migration.change.is_some() => {
                let unclear = migration.way.unclear_side(&migration.standing.moves);
                self.take_step(id, unclear.map_or(Step::Change, Step::Clear));
            }
            Step::Forget => self.has_forgotten(id),
            Step::Copy => self.copy_said(id, &come),
            Step::Old => self.old_said(id, &come),
            Step::Fill => {
                self.counters.moving_copied.add(u64::from(come.starts_with(b"HD")));
                self.migrations.remove(id);
            }
            Step::GiveUp | Step::Change => drop(self.migrations.remove(id)),
        }
    }

    /// The other place has forgotten the key that was changed; of a value that was stored, a copy is made.
    fn has_forgotten(&mut self, id: Id) {
        let many = self.migrations.len() >= ENOUGH;
        let Some(migration) = self.migrations.get_mut(id) else { return };
        if !migration.way.stage.is_turned() {
            migration.standing.moves.cleared(migration.way.index, Side::New);
        }
        let copies =
            migration.way.stage == Stage::Move && migration.change.as_ref().is_some_and(|change| change.stores);
        self.deliver(id, Outcome::Done);
        if copies && !many { self.take_step(id, Step::Copy) } else { drop(self.migrations.remove(id)) }
    }

    /// The new place was asked for the value.
    fn copy_said(&mut self, id: Id, come: &[u8]) {
        let Some(migration) = self.migrations.get_mut(id) else { return };
        match found(come, true) {
            Found::Error(line) => self.migration_ends(id, Outcome::Failed(line)),
            Found::Value { value, flags, .. } => {
                let mut answer = Vec::new();
                value_line(&migration.key, flags, value, &mut answer);
                self.counters.moving_found.add(u64::from(!matches!(migration.whose, Whose::Nobody)));
                self.migration_ends(id, Outcome::Value(&answer));
            }
            lacks => {
                let life = self.servers[migration.first + migration.way.new].life;
                migration.lease = if let Found::Lease(token) = lacks { Some(Lease { token, life }) } else { None };
                match (migration.lease, migration.whose) {
                    (None, Whose::Nobody) => drop(self.migrations.remove(id)),
                    _ => self.take_step(id, Step::Old),
                }
            }
        }
    }

    /// The old place was.
    fn old_said(&mut self, id: Id, come: &[u8]) {
        let Some(migration) = self.migrations.get_mut(id) else { return };
        self.counters.moving_fell_back.add(u64::from(!matches!(migration.whose, Whose::Nobody)));
        let said = found(come, false);
        let lease = self.lease_of(id);
        let Found::Value { value, flags, lives } = said else {
            let outcome = if let Found::Error(line) = said { Outcome::Failed(line) } else { Outcome::Missed };
            self.deliver(id, outcome);
            return self.give_up(id);
        };
        let Some(migration) = self.migrations.get(id) else { return };
        let mut answer = Vec::new();
        value_line(&migration.key, flags, value, &mut answer);
        let copy = lease.and_then(|lease| copy_flags(lease.token, flags, lives)).filter(|_| value.len() > 2);
        let server = migration.first + migration.way.new;
        self.deliver(id, Outcome::Value(&answer));
        match copy {
            Some(flags) => {
                self.take_step(id, Step::Fill);
                self.ask_step(id, server, Meta::Set, &flags, Some(value));
            }
            None => self.give_up(id),
        }
    }

    /// A lease that is of no use is given up.
    fn give_up(&mut self, id: Id) {
        match self.lease_of(id) {
            Some(_) => self.take_step(id, Step::GiveUp),
            None => drop(self.migrations.remove(id)),
        }
    }

    /// An errand's lease, if it was given by the connection that there is now: a server that began anew counts its numbers anew, and
    /// another item may have the same one.
    fn lease_of(&self, id: Id) -> Option<Lease> {
        let migration = self.migrations.get(id)?;
        migration.lease.filter(|lease| lease.life == self.servers[migration.first + migration.way.new].life)
    }

    /// An errand's step has failed.
    pub(crate) fn migration_fails(&mut self, id: Id, trouble: ServerError) {
        let Some(migration) = self.migrations.get(id) else { return };
        let pool = self.servers[migration.first].pool;
        let misses = migration.change.is_none() && self.pools[pool].misses(trouble);
        let outcome = if misses { Outcome::Missed } else { Outcome::Failed(trouble.text().as_bytes()) };
        if migration.step == Step::Old {
            self.deliver(id, outcome);
            return self.give_up(id);
        }
        self.migration_ends(id, outcome);
    }

    fn migration_ends(&mut self, id: Id, outcome: Outcome<'_>) {
        self.deliver(id, outcome);
        self.migrations.remove(id);
    }

    /// Whoever waits for an errand hears what comes of it, and waits no longer.
    fn deliver(&mut self, id: Id, outcome: Outcome<'_>) {
        let Some(migration) = self.migrations.get_mut(id) else { return };
        let change = migration.change.take();
        match std::mem::replace(&mut migration.whose, Whose::Nobody) {
            Whose::Nobody => {}
            Whose::Client { number } => {
                let whose = migration.client;
                let silent = change.is_some_and(|change| change.silent);
                let Some(client) = self.clients.get_mut(whose) else { return };
                // It is the last part of the answer, whichever came before it.
                client.answer(number).into_iter().for_each(|answer| answer.left = 1);
                match outcome {
                    Outcome::Value(answer) => {
                        [answer, text::END.as_bytes()].iter().for_each(|part| client.put(number, part))
                    }
                    Outcome::Missed => client.put(number, text::END.as_bytes()),
                    Outcome::Done => {}
                    Outcome::Failed(_) if silent => client.retract(number),
                    Outcome::Failed(line) => {
                        client.retract(number);
                        client.put(number, line);
                    }
                }
                client.part_ends(number);
                self.mark_client(whose);
            }
            Whose::Batch { get, batch, slot } => {
                let (settled, failed) = match outcome {
                    Outcome::Value(answer) => (Settled::Value(answer.to_vec().into()), None),
                    Outcome::Missed => (Settled::Missed, None),
                    Outcome::Done => (Settled::Stands, None),
                    Outcome::Failed(_) => (Settled::Missed, Some("SERVER_ERROR a server answered with an error\r\n")),
                };
                self.batch_settles(get, batch, (slot, settled), failed);
            }
        }
    }

    /// All of a batch that is to be had of its own server has come; errands are begun for keys on their way of which that does not say
    /// all. Whether there are any.
    pub(crate) fn batch_needs_more(&mut self, get: Id, batch: u32, pool: usize) -> bool {
        let Some(multiget) = self.gets.get_mut(get).filter(|multiget| !multiget.is_over(batch)) else { return false };
        let Some(standing) = multiget.standing.clone() else { return false };
        let (asked, router) = (multiget.asked, &self.pools[pool].router);
        let mut needs = Vec::new();
        let unclear = multiget.unclear(batch);
        multiget.each_of(batch, |slot, key, size| {
            let was_unclear = unclear.binary_search(&slot).is_ok();
            let Some(way) = standing.way(key, router, was_unclear) else { return };
            let copies = matches!(way.stage, Stage::Move | Stage::Copied);
            let step = match (asked, first_step(&standing.moves, &way)) {
                (Asked::Plainly, Some(step)) => step,
                (_, _) if let Some(side) = way.unclear_side(&standing.moves) => Step::Clear(side),
                // Another thread has cleared the place since: what was read is from before.
                _ if was_unclear => Step::Clear(way.side_asked(asked == Asked::Plainly)),
                (Asked::Touching, _) => Step::Forget,
                (Asked::Plainly, _) if copies && size.is_none_or(|size| size == 0) => Step::Copy,
                (Asked::Plainly, _) if copies => return self.counters.moving_found.add(1),
                _ => return,
            };
            needs.push((slot, key.to_vec(), way, step));
        });
        multiget.waits_for(batch, needs.len());
        let (client, any) = (multiget.client, !needs.is_empty());
        let first = self.pools[pool].first;
        for (slot, key, way, step) in needs {
            let (whose, standing) = (Whose::Batch { get, batch, slot }, standing.clone());
            let migration = KeyMigration::new((client, whose), first, (key, false), (way, standing), (step, None));
            let migration = self.migrations.insert(migration);
            self.take_step(migration, step);
        }
        any
    }
}
