//! A multiget: its keys, the server of each, their results, and the progress of writing them to the client.
//!
//! All keys of one server are a batch: one command, whose response is held until its keys are next, since a response follows the order of
//! the keys, as in memcached. All work is linear in the keys; buffers are reused.

use std::ops::Range;
use std::sync::Arc;

use fanin_fanout::Window;
use fanin_memcache::{Get, LONGEST_KEY};
use fanin_placement::Server as Replica;

use super::batch::{Batch, KeyResult, Settled};
use super::schedule::Schedule;
use super::spare::{Spare, Tables};
use crate::upstreams::ask::Recipient;
use crate::upstreams::pool::Pool;
use fanin_proxy_core::clock::{Nanos, nanos, span};
use fanin_proxy_core::memory::table::Id;
use fanin_proxy_core::memory::{Buffer, Charge};
use fanin_proxy_migration::{Location, MigrationState};
use fanin_proxy_state::incast::EndedMultiget;

/// Kind of retrieval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retrieval {
    /// Values.
    Plain,
    /// With CAS unique.
    WithCas,
    /// With a new time to live.
    Touch,
}

/// End of a request.
const END: &[u8] = b"\r\n";

/// A multiget.
#[derive(Debug)]
pub struct Multiget {
    /// The client and its request.
    pub client: Id,
    pub number: u64,
    /// When it began, and time zero of its schedule.
    begun: Nanos,
    since: Nanos,
    schedule: Schedule,
    /// Whether a check for late batches is scheduled.
    is_watched: bool,
    /// Whether its next batch waits for room at its server.
    is_listed: bool,
    /// The migration by which its keys were located, if some are moving; and the kind of retrieval.
    plan_state: Option<Arc<MigrationState>>,
    asked: Retrieval,
    /// Whether keys have replicas: a server's misses and failures are not final.
    has_replicas: bool,
    /// Number of its query in the log, if logged.
    logged: Option<u64>,
    batches: Vec<Batch>,
    /// Requests of the batches, concatenated.
    text: Vec<u8>,
    /// Batch of each key.
    of_key: Vec<u16>,
    /// Place of each key in the text, batch by batch, and its result.
    places: Vec<u32>,
    results: Vec<KeyResult>,
    written: usize,
    /// Batches not finished.
    left: u32,
    /// The batch that ended last, and when.
    ended: (u32, Nanos),
    /// First error.
    failed: Option<&'static str>,
    /// Whether it is the last part of the client's list of keys.
    last: bool,
    charge: Charge,
}

/// The request of a client that a multiget is for.
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    pub recipient: Recipient,
    /// Its number in the log, if it is logged.
    pub logged: Option<u64>,
    pub begun: Nanos,
    /// Start of the pool's time for concurrency limits.
    pub since: Nanos,
}

impl Retrieval {
    fn of(get: &Get<'_>) -> Retrieval {
        match (get.time, get.unique) {
            (Some(_), _) => Retrieval::Touch,
            (None, true) => Retrieval::WithCas,
            (None, false) => Retrieval::Plain,
        }
    }
}

impl Multiget {
    /// Builds the batches of a request's first keys, up to a maximum number, in the order of their first keys; returns the remaining keys,
    /// if any. None if a key is too long.
    pub fn new<'a>(
        get: &Get<'a>,
        most: usize,
        origin: Origin,
        window: Window,
        pool: &Pool,
        chosen: Option<Vec<Replica>>,
        spare: &mut Spare,
    ) -> Option<(Multiget, Option<Get<'a>>)> {
        let (Tables { mut text, mut of_key, mut places, mut results, charge }, mut batches) =
            spare.tables(pool.servers().len());
        let (asked, mut moving) = (Retrieval::of(get), false);
        let mut keys = get.keys();
        let mut chosen = chosen.unwrap_or_default().into_iter();
        for key in keys.by_ref().take(most) {
            if key.len() > LONGEST_KEY {
                spare.take_back(Tables { text, of_key, places, results, charge }, batches);
                return None;
            }
            let (place, plainly) = (pool.place(key), asked == Retrieval::Plain);
            moving |=
                matches!(place, Location::Moving(_)) || pool.replica_move(key).is_some_and(|one| one.is_under_way());
            let server = chosen.next().map_or_else(|| place.asked_of(plainly), |replica| replica.0 as usize);
            let number = &mut spare.of_server[server];
            if *number == u16::MAX {
                *number = batches.len() as u16;
                batches.push(Batch { server: server as u32, ..Batch::default() });
            }
            let batch = &mut batches[*number as usize];
            if pool.is_unclear(key, &place, plainly) {
                batch.unclear.push(batch.count as u32);
            }
            batch.count += 1;
            batch.asked.end += 1 + key.len();
            of_key.push(*number);
        }
        lay_out(get, spare.head_of(get), &mut batches, &mut text, &of_key, &mut places);
        results.resize(of_key.len(), KeyResult::MISSED);
        let left = batches.len() as u32;
        let last = keys.clone().next().is_none();
        let mut multiget = Multiget {
            client: origin.recipient.client,
            number: origin.recipient.number,
            begun: origin.begun,
            since: origin.since,
            schedule: Schedule::new(window, left),
            is_watched: false,
            is_listed: false,
            plan_state: pool.plan_state().filter(|_| moving).cloned(),
            has_replicas: pool.has_replicas(),
            asked,
            logged: origin.logged,
            batches,
            text,
            of_key,
            places,
            results,
            written: 0,
            left,
            ended: (0, 0),
            failed: None,
            last,
            charge,
        };
        multiget.charge.set(multiget.tables());
        Some((multiget, (!last).then(|| get.of(&keys))))
    }

    /// Memory of its tables, without values.
    pub fn tables(&self) -> usize {
        let of_batches = size_of::<Batch>() * self.batches.capacity() + Schedule::BATCH * self.batches.len();
        self.text.capacity()
            + 2 * self.of_key.capacity()
            + size_of::<u32>() * self.places.capacity()
            + size_of::<KeyResult>() * self.results.capacity()
            + of_batches
    }

    // Schedule.

    /// When it began.
    pub fn begun(&self) -> Nanos {
        self.begun
    }

    /// The next batch to request, if the concurrency limit allows one.
    pub fn next_batch(&mut self, now: Nanos) -> Option<u32> {
        loop {
            let batch = self.schedule.ask(span(self.since, now))?;
            if self.batches[batch as usize].waits == 0 {
                return Some(batch);
            }
            // Its keys have been requested from hubs.
            self.schedule.lost(batch);
        }
    }

    /// The server of the next batch, in its pool, and the number of its keys; none if it is not requested there.
    pub fn next_server(&self) -> Option<(usize, usize)> {
        let batch = self.batches.get(self.schedule.next()? as usize).filter(|batch| batch.waits == 0)?;
        Some((batch.server as usize, batch.count))
    }

    /// It enters a server's list of those that wait; returns whether it was not there.
    pub fn enters_list(&mut self) -> bool {
        !std::mem::replace(&mut self.is_listed, true)
    }

    /// It is not in a server's list any more.
    pub fn leaves_list(&mut self) {
        self.is_listed = false;
    }

    /// Whether every batch has been requested.
    pub fn has_asked_all(&self) -> bool {
        self.schedule.has_asked_all()
    }

    /// The server of a batch, in its pool.
    pub fn server_of(&self, batch: u32) -> usize {
        self.batches[batch as usize].server as usize
    }

    /// When to check for late batches, if the concurrency limit uses that and no check is scheduled. The caller schedules it.
    pub fn watch(&mut self) -> Option<Nanos> {
        let late_at = if self.is_watched { None } else { self.schedule.late_at() }?;
        self.is_watched = true;
        Some(self.since + nanos(late_at))
    }

    /// Reports late batches to the concurrency limit, when the check is due.
    pub fn report_late(&mut self, now: Nanos) {
        self.is_watched = false;
        self.schedule.report_late(span(self.since, now));
    }

    /// Ends a batch with a complete response; returns the number and bytes of its values.
    pub fn answered(&mut self, batch: u32, now: Nanos) -> (usize, usize) {
        let bytes = self.bytes_of(batch);
        self.schedule.answered(span(self.since, now), batch, bytes);
        self.ended = (batch, now);
        self.end(batch, true, None);
        (self.batches[batch as usize].found, bytes as usize)
    }

    /// Ends a batch whose server has failed; without an error its keys are misses.
    pub fn lost(&mut self, batch: u32, now: Nanos, failed: Option<&'static str>) {
        self.schedule.lost(batch);
        self.ended = (batch, now);
        self.end(batch, false, failed);
    }

    /// The server of the batch that ended last, in its pool; when that batch was requested, and when it ended.
    pub fn slowest(&self) -> (usize, Nanos, Nanos) {
        let (batch, ended) = self.ended;
        let asked = self.schedule.asked_at(batch).map_or(ended, |asked| self.since + nanos(asked));
        (self.server_of(batch), asked, ended)
    }

    /// Its figures, when its last batch has ended.
    pub fn ended(&self) -> EndedMultiget {
        EndedMultiget {
            keys: self.keys(),
            servers: self.batches(),
            values: self.batches.iter().map(|batch| batch.found).sum(),
            bytes: self.bytes(),
            took: self.ended.1.saturating_sub(self.begun),
        }
    }

    /// Time zero and concurrency limit, for the pool's next multiget.
    pub fn window(&self) -> (Nanos, Window) {
        (self.since, self.schedule.window())
    }

    // Keys and results.

    /// The plan by which its keys were located, if some are moving.
    pub fn plan_state(&self) -> Option<Arc<MigrationState>> {
        self.plan_state.clone()
    }

    /// Whether a batch's results may change until it ends.
    fn is_provisional(&self) -> bool {
        self.plan_state.is_some() || self.has_replicas
    }

    /// Whether keys have replicas.
    pub fn has_replicas(&self) -> bool {
        self.has_replicas
    }

    /// Forgets the values of a batch, and waits for its keys, which are looked up elsewhere; returns them with their places.
    pub fn take_keys(&mut self, batch: u32) -> Vec<(u32, Vec<u8>)> {
        let of = &self.batches[batch as usize];
        self.results[of.first..of.first + of.count].fill(KeyResult::MISSED);
        let mut keys = Vec::new();
        self.each_of(batch, |place, key, _| keys.push((place, key.to_vec())));
        self.waits_for(batch, keys.len());
        keys
    }

    /// The pending response that it is for.
    pub fn recipient(&self) -> Recipient {
        Recipient { client: self.client, number: self.number }
    }

    /// Kind of retrieval.
    pub fn retrieval(&self) -> Retrieval {
        self.asked
    }

    /// Number of its query in the log, if logged.
    pub fn logged(&self) -> Option<u64> {
        self.logged
    }

    /// Whether batches are missing.
    pub fn is_unfinished(&self) -> bool {
        self.left > 0
    }

    /// Whether it is the last part of the client's list of keys.
    pub fn is_last(&self) -> bool {
        self.last
    }

    /// Its error, if any.
    pub fn failure(&self) -> Option<&'static str> {
        self.failed
    }

    /// Replaces its error.
    pub fn fail(&mut self, text: &'static str) {
        self.failed = Some(text);
    }

    /// Sets its error, unless there is one.
    pub fn fail_first(&mut self, text: Option<&'static str>) {
        self.failed = self.failed.or(text);
    }

    /// A key, by its number.
    pub fn key(&self, number: usize) -> Option<&[u8]> {
        let of = *self.of_key.get(number)?;
        let before = self.of_key[..number].iter().filter(|other| **other == of).count();
        Some(self.key_of(&self.batches[usize::from(of)], before))
    }

    /// A key of a batch, by its place there.
    fn key_of(&self, batch: &Batch, place: usize) -> &[u8] {
        &self.text[range_of(batch, place, &self.places)]
    }

    /// Number of batches: as many as servers.
    pub fn batches(&self) -> usize {
        self.batches.len()
    }

    /// Its concurrency limit, if it has one.
    pub fn limit(&self) -> Option<u32> {
        let limit = self.schedule.window().window();
        (limit < u32::MAX).then_some(limit)
    }

    /// Response bytes of all batches.
    pub fn bytes(&self) -> usize {
        (0..self.batches.len()).map(|batch| self.bytes_of(batch as u32) as usize).sum()
    }

    /// Number of keys of a batch.
    pub fn keys_of(&self, batch: u32) -> usize {
        self.batches[batch as usize].count
    }

    /// Number of keys.
    pub fn keys(&self) -> usize {
        self.of_key.len()
    }

    /// Request of a batch.
    pub fn request(&self, batch: u32) -> &[u8] {
        &self.text[self.batches[batch as usize].asked.clone()]
    }

    /// Records a value whose bytes follow in [`Multiget::hold`]. Returns whether the key is valid here; keys before it are misses.
    #[must_use]
    #[inline]
    pub fn value(&mut self, batch: u32, key: &[u8], result: KeyResult) -> bool {
        let batch = &mut self.batches[batch as usize];
        while batch.come < batch.count {
            let is_it = self.text[range_of(batch, batch.come, &self.places)] == *key;
            self.results[batch.first + batch.come] = if is_it { result } else { KeyResult::MISSED };
            batch.come += 1;
            if is_it {
                batch.found += 1;
                return true;
            }
        }
        false
    }

    /// Takes response bytes of a batch.
    #[inline]
    pub fn hold(&mut self, batch: u32, bytes: &[u8], spare: &mut Spare) {
        let held = &mut self.batches[batch as usize].held;
        if held.capacity() == 0 {
            *held = spare.buffer(false);
        }
        held.extend(bytes);
    }

    /// Ends a batch. If it is not whole, its missing keys are misses, and `failed` is the error for the client.
    pub fn end(&mut self, batch: u32, whole: bool, failed: Option<&'static str>) {
        self.failed = self.failed.or(failed);
        let is_provisional = self.is_provisional();
        let batch = &mut self.batches[batch as usize];
        if std::mem::replace(&mut batch.over, true) {
            return;
        }
        self.left -= 1;
        let results = &mut self.results[batch.first..batch.first + batch.count];
        if !whole && is_provisional {
            // These have not been checked for values older than the plan.
            results.fill(KeyResult::MISSED);
        } else if !whole && batch.come > 0 {
            // The last value may be incomplete.
            let size: usize = results[..batch.come].iter().map(|result| result.size as usize).sum();
            if size > batch.held.len() {
                results[batch.come - 1] = KeyResult::MISSED;
            }
        }
        results[batch.come..].fill(KeyResult::MISSED);
        batch.come = batch.count;
        if self.left == 0 {
            // A client that does not read must not delay a stage.
            self.plan_state = None;
        }
    }

    /// Keys of a batch whose server was not known to be clear at the request.
    pub fn unclear(&mut self, batch: u32) -> Vec<u32> {
        std::mem::take(&mut self.batches[batch as usize].unclear)
    }

    /// Response bytes of a batch.
    pub fn bytes_of(&self, batch: u32) -> u64 {
        let batch = &self.batches[batch as usize];
        (batch.held.len() + batch.more_bytes) as u64
    }

    /// Writes results in key order until `out` has `enough` bytes; returns whether all are written.
    pub fn write(&mut self, out: &mut Buffer, enough: usize) -> bool {
        let is_provisional = self.is_provisional();
        while let Some(number) = self.of_key.get(self.written) {
            if out.len() >= enough {
                return false;
            }
            let batch = &mut self.batches[*number as usize];
            if batch.written == batch.come || is_provisional && !batch.over {
                return false;
            }
            let result = self.results[batch.first + batch.written];
            // It may be incomplete.
            let Some(answer) = batch.next_answer(result) else { return false };
            out.extend(answer);
            batch.written += 1;
            self.written += 1;
        }
        self.left == 0
    }

    /// Calls `each` for every key, by servers, with the size of its value.
    pub fn each(&self, mut each: impl FnMut(&[u8], Option<u32>)) {
        for batch in 0..self.batches.len() as u32 {
            self.each_of(batch, |_, key, size| each(key, size));
        }
    }

    /// The same for one batch, with each key's index.
    pub fn each_of(&self, batch: u32, mut each: impl FnMut(u32, &[u8], Option<u32>)) {
        let batch = &self.batches[batch as usize];
        for (place, result) in self.results[batch.first..batch.first + batch.count].iter().enumerate() {
            each(place as u32, self.key_of(batch, place), result.value());
        }
    }

    /// Whether a batch has ended.
    pub fn is_over(&self, batch: u32) -> bool {
        self.batches[batch as usize].over
    }

    /// Makes a batch wait for keys that are looked up elsewhere.
    pub fn waits_for(&mut self, batch: u32, keys: usize) {
        self.batches[batch as usize].waits = keys;
    }

    /// Records the result of such a key; returns whether it was the last. Then all results are merged.
    #[must_use]
    pub fn settle(&mut self, batch: u32, place: u32, settled: Settled) -> bool {
        let batch = &mut self.batches[batch as usize];
        let results = &mut self.results[batch.first..batch.first + batch.count];
        batch.settle(place, settled, results)
    }

    /// Returns its buffers.
    pub fn over(self, spare: &mut Spare) {
        let Multiget { text, of_key, places, results, charge, batches, .. } = self;
        spare.take_back(Tables { text, of_key, places, results, charge }, batches);
    }
}

/// The range of a key in the text, by its place in its batch: up to the space before the next one.
#[inline]
fn range_of(batch: &Batch, place: usize, places: &[u32]) -> Range<usize> {
    let places = &places[batch.first..batch.first + batch.count];
    let end = places.get(place + 1).map_or(batch.asked.end - END.len(), |next| *next as usize - 1);
    places[place] as usize..end
}

/// Lays out the batches' requests.
fn lay_out(
    get: &Get<'_>,
    head: &[u8],
    batches: &mut [Batch],
    text: &mut Vec<u8>,
    of_key: &[u16],
    places: &mut Vec<u32>,
) {
    let (mut at, mut first) = (0, 0);
    for batch in batches.iter_mut() {
        let end = at + head.len() + batch.asked.end + END.len();
        (batch.asked, batch.laid_out, batch.first) = (at..end, at + head.len(), first);
        (at, first) = (end, first + batch.count);
    }
    text.resize(at, b' ');
    places.resize(first, 0);
    for (key, number) in get.keys().zip(of_key) {
        let batch = &mut batches[*number as usize];
        let place = batch.laid_out + 1;
        places[batch.first + batch.come] = place as u32;
        text[place..][..key.len()].copy_from_slice(key);
        (batch.come, batch.laid_out) = (batch.come + 1, place + key.len());
    }
    for batch in batches {
        text[batch.asked.start..][..head.len()].copy_from_slice(head);
        text[batch.laid_out..][..END.len()].copy_from_slice(END);
        // None has come.
        batch.come = 0;
    }
}
