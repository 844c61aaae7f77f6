//! A multiget: its keys, whose server each is at, what has come of it, and how far it has been written to the client.
//!
//! All that one server has of it is a batch: one command there, whose answer is held until its keys' turn comes, since an answer is in
//! the order of its keys, as memcached's is. Everything is done once a key; buffers are used again by later multigets.

use std::ops::Range;
use std::sync::Arc;

use fanin_fanout::Window;
use fanin_memcache::{Get, LONGEST_KEY};

use crate::carrying::{Place, Standing};
use crate::memory::{Buffer, Charge};
use crate::pool::Pool;
use crate::schedule::Schedule;
use crate::table::Id;

/// All that one server is asked for.
#[derive(Debug, Default)]
pub struct Batch {
    /// Which server.
    pub server: u32,
    /// What it is asked, as a range of the multiget's text, and the next key there that may be answered.
    asked: Range<usize>,
    next_key: usize,
    /// Its keys' place among what came of all, in their order, and how many of them something has come of.
    first: usize,
    count: usize,
    come: usize,
    found: usize,
    /// Of these, how many were written, and of what is held, how much.
    written: usize,
    written_bytes: usize,
    /// The answers, as they came, which is in the order of the keys.
    held: Buffer,
    over: bool,
    /// Keys of which more is to come than its server has said, and what came of others, by their place.
    waits: usize,
    /// Keys whose place was not known to be clear when it was asked.
    unclear: Vec<u32>,
    more: Vec<(u32, Settled)>,
    more_bytes: usize,
}

/// What came of a key beside what its server has said.
#[derive(Debug)]
pub enum Settled {
    /// Its value, in the place of what there is.
    Value(Buffer),
    /// It has none.
    Missed,
    /// Nothing: what there is stands.
    Stands,
}

/// How keys are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// For their values.
    Plainly,
    /// With unique numbers.
    Uniquely,
    /// With a new time to live.
    Touching,
}

/// The end of a request.
const END: &[u8] = b"\r\n";
/// What came of a key that is not there; what is there has its size.
const MISSED: u32 = 0;

/// One multiget.
#[derive(Debug)]
pub struct Multiget {
    /// Whose it is, and which of his requests.
    pub client: Id,
    pub number: u64,
    /// Since when its schedule counts time.
    pub since: u64,
    pub schedule: Schedule,
    /// The plan by which its keys were found, where some of them are on their way; and how they are asked for.
    pub standing: Option<Arc<Standing>>,
    pub asked: Asked,
    /// The number of its query in the log, where it is logged.
    pub logged: Option<u64>,
    pub batches: Vec<Batch>,
    /// The batches' requests, one after another.
    text: Vec<u8>,
    /// Each key's batch, in the order of the keys.
    of_key: Vec<u16>,
    /// What came of each key, batch by batch.
    sizes: Vec<u32>,
    written: usize,
    /// Batches that are not over.
    pub left: u32,
    /// What went wrong first.
    pub failed: Option<&'static str>,
    /// Whether the client's list of keys ends with it.
    pub last: bool,
    charge: Charge,
}

/// A multiget's requests, its keys' batches, what came of them, and the charge for these.
type Texts = (Vec<u8>, Vec<u16>, Vec<u32>, Charge);

/// Buffers that nobody uses.
#[derive(Debug, Default)]
pub struct Spare {
    texts: Vec<Texts>,
    batches: Vec<Vec<Batch>>,
    /// Small ones, for what a batch brings, and large ones, for whole answers.
    buffers: [Vec<Buffer>; 2],
    /// What they could hold, and may.
    room: usize,
    most: usize,
    /// For each server, its batch in the multiget that is being made.
    of_server: Vec<u16>,
    /// What stands in front of its keys.
    head: Vec<u8>,
}

/// Multigets whose tables are kept, and the bytes of buffers that are.
const KEPT: usize = 256;
/// From so many bytes on a buffer is a large one; above so many it is not kept.
const LARGE: usize = 64 << 10;
const LARGEST_KEPT: usize = 1 << 20;

impl Asked {
    fn of(get: &Get<'_>) -> Asked {
        match (get.time, get.unique) {
            (Some(_), _) => Asked::Touching,
            (None, true) => Asked::Uniquely,
            (None, false) => Asked::Plainly,
        }
    }
}

impl Multiget {
    /// The batches of a request's first keys, so many at most, in the order of their first keys; and the keys that are left, where there
    /// are more. None where one of those is too long.
    pub fn new<'a>(
        get: &Get<'a>,
        most: usize,
        (client, number): (Id, u64),
        (since, window): (u64, Window),
        pool: &Pool,
        spare: &mut Spare,
    ) -> Option<(Multiget, Option<Get<'a>>)> {
        let (mut text, mut of_key, mut sizes, charge) = spare.texts.pop().unwrap_or_default();
        let mut batches: Vec<Batch> = spare.batches.pop().unwrap_or_default();
        spare.of_server.clear();
        spare.of_server.resize(pool.servers, u16::MAX);
        let (asked, mut moving) = (Asked::of(get), false);
        let mut keys = get.keys();
        for key in keys.by_ref().take(most) {
            if key.len() > LONGEST_KEY {
                spare.take_back((text, of_key, sizes, charge), batches);
                return None;
            }
            let (place, plainly) = (pool.place(key), asked == Asked::Plainly);
            moving |= matches!(place, Place::Moving(_));
            let server = place.asked_of(plainly);
            let number = &mut spare.of_server[server];
            if *number == u16::MAX {
                *number = batches.len() as u16;
                batches.push(Batch { server: server as u32, ..Batch::default() });
            }
            let batch = &mut batches[*number as usize];
            if pool.is_unclear(&place, plainly) {
                batch.unclear.push(batch.count as u32);
            }
            batch.count += 1;
            batch.asked.end += 1 + key.len();
            of_key.push(*number);
        }
        lay_out(get, spare.head_of(get), &mut batches, (&mut text, &of_key, &mut sizes));
        let left = batches.len() as u32;
        let last = keys.clone().next().is_none();
        let mut multiget = Multiget {
            client,
            number,
            since,
            schedule: Schedule::new(window, left),
            standing: pool.standing.clone().filter(|_| moving),
            asked,
            logged: None,
            batches,
            text,
            of_key,
            sizes,
            written: 0,
            left,
            failed: None,
            last,
            charge,
        };
        multiget.charge.set(multiget.tables());
        Some((multiget, (!last).then(|| get.of(&keys))))
    }

    /// What memory it takes, values apart.
    pub fn tables(&self) -> usize {
        let of_batches = size_of::<Batch>() * self.batches.capacity() + Schedule::BATCH * self.batches.len();
        self.text.capacity() + 2 * self.of_key.capacity() + 4 * self.sizes.capacity() + of_batches
    }

    /// How many keys a batch has.
    pub fn keys_of(&self, batch: u32) -> usize {
        self.batches[batch as usize].count
    }

    /// How many keys it has.
    pub fn keys(&self) -> usize {
        self.of_key.len()
    }

    /// What a batch's server is asked.
    pub fn request(&self, batch: u32) -> &[u8] {
        &self.text[self.batches[batch as usize].asked.clone()]
    }

    /// A batch's server answers with a key's value, so many bytes with its line, which [`Multiget::hold`] gets: whether the key is one
    /// that can come now. Those before it are not there.
    #[must_use]
    #[inline]
    pub fn value(&mut self, batch: u32, key: &[u8], size: u32) -> bool {
        let batch = &mut self.batches[batch as usize];
        let keys_end = batch.asked.end - END.len();
        while batch.come < batch.count {
            // A key is a whole word of the line: any byte but a space and a newline may be part of one, a carriage return too.
            let rest = &self.text[batch.next_key..keys_end];
            let is_it = rest.starts_with(key) && rest.get(key.len()).is_none_or(|byte| *byte == b' ');
            let word = || rest.iter().position(|byte| *byte == b' ').unwrap_or(rest.len());
            let len = if is_it { key.len() } else { word() };
            self.sizes[batch.first + batch.come] = if is_it { size } else { MISSED };
            batch.come += 1;
            batch.next_key = (batch.next_key + len + 1).min(keys_end);
            if is_it {
                batch.found += 1;
                return true;
            }
        }
        false
    }

    /// Takes bytes of a batch's answers.
    #[inline]
    pub fn hold(&mut self, batch: u32, bytes: &[u8], spare: &mut Spare) {
        let held = &mut self.batches[batch as usize].held;
        if held.capacity() == 0 {
            *held = spare.buffer(false);
        }
        held.extend(bytes);
    }

    /// A batch's answer has ended, whole or not: what has not come of it will not. `failed` is what the client is told of that.
    pub fn end(&mut self, batch: u32, whole: bool, failed: Option<&'static str>) {
        self.failed = self.failed.or(failed);
        let batch = &mut self.batches[batch as usize];
        if std::mem::replace(&mut batch.over, true) {
            return;
        }
        self.left -= 1;
        let sizes = &mut self.sizes[batch.first..batch.first + batch.count];
        if !whole && self.standing.is_some() {
            // Nobody has looked at whether these may be from before the plan.
            sizes.fill(MISSED);
        } else if !whole && batch.come > 0 {
            // The last one that was told of may not have come whole.
            let before: usize = sizes[..batch.come - 1].iter().map(|size| *size as usize).sum();
            if before + sizes[batch.come - 1] as usize > batch.held.len() {
                sizes[batch.come - 1] = MISSED;
            }
        }
        sizes[batch.come..].fill(MISSED);
        batch.come = batch.count;
        if self.left == 0 {
            // A client that does not read keeps no stage from ending.
            self.standing = None;
        }
    }

    /// The keys of a batch whose place was not known to be clear when it was asked.
    pub fn unclear(&mut self, batch: u32) -> Vec<u32> {
        std::mem::take(&mut self.batches[batch as usize].unclear)
    }

    /// How many of a batch's keys have values.
    pub fn values_of(&self, batch: u32) -> usize {
        self.batches[batch as usize].found
    }

    /// The bytes that a batch has brought.
    pub fn bytes_of(&self, batch: u32) -> u64 {
        let batch = &self.batches[batch as usize];
        (batch.held.len() + batch.more_bytes) as u64
    }

    /// Writes what can be written in the keys' order until `out` has `enough`: whether that was all.
    pub fn write(&mut self, out: &mut Buffer, enough: usize) -> bool {
        while let Some(number) = self.of_key.get(self.written) {
            if out.len() >= enough {
                return false;
            }
            let batch = &mut self.batches[*number as usize];
            if batch.written == batch.come || self.standing.is_some() && !batch.over {
                return false;
            }
            let size = self.sizes[batch.first + batch.written] as usize;
            // It may not have come whole.
            let Some(answer) = batch.held.get(batch.written_bytes..batch.written_bytes + size) else { return false };
            out.extend(answer);
            batch.written += 1;
            batch.written_bytes += size;
            self.written += 1;
        }
        self.left == 0
    }

    /// Every key, by servers, with the size of its value where there is one.
    pub fn each(&self, mut each: impl FnMut(&[u8], Option<u32>)) {
        for batch in 0..self.batches.len() as u32 {
            self.each_of(batch, |_, key, size| each(key, size));
        }
    }

    /// The same of a batch, each with its place.
    pub fn each_of(&self, batch: u32, mut each: impl FnMut(u32, &[u8], Option<u32>)) {
        let batch = &self.batches[batch as usize];
        let (mut held, sizes) = (&batch.held[..], &self.sizes[batch.first..batch.first + batch.count]);
        let asked = self.text[batch.asked.clone()].strip_suffix(END).unwrap_or_default();
        // Behind the head of the line.
        let keys = asked.rsplit(|byte| *byte == b' ').take(batch.count).collect::<Vec<_>>();
        for (place, (key, size)) in (0..).zip(keys.into_iter().rev().zip(sizes)) {
            let (line, rest) = held.split_at((*size as usize).min(held.len()));
            held = rest;
            each(place, key, value_size(line));
        }
    }

    /// Whether a batch has ended.
    pub fn is_over(&self, batch: u32) -> bool {
        self.batches[batch as usize].over
    }

    /// A batch waits for what comes of so many keys beside what its server has said.
    pub fn waits_for(&mut self, batch: u32, keys: usize) {
        self.batches[batch as usize].waits = keys;
    }

    /// This has come of one of them: whether it was the last. Then all stands in its place.
    #[must_use]
    pub fn settle(&mut self, batch: u32, settled: (u32, Settled)) -> bool {
        let batch = &mut self.batches[batch as usize];
        if let Settled::Value(bytes) = &settled.1 {
            batch.more_bytes += bytes.len();
        }
        batch.more.push(settled);
        if batch.more.len() < batch.waits {
            return false;
        }
        let (mut more, held) = (std::mem::take(&mut batch.more), std::mem::take(&mut batch.held));
        more.sort_unstable_by_key(|(place, _)| *place);
        let (mut more, mut at) = (more.into_iter().peekable(), 0);
        batch.found = 0;
        for (place, size) in self.sizes[batch.first..batch.first + batch.count].iter_mut().enumerate() {
            let own = &held[at..at + *size as usize];
            at += own.len();
            match more.next_if(|(of, _)| *of as usize == place) {
                Some((_, Settled::Value(bytes))) => {
                    *size = bytes.len() as u32;
                    batch.held.extend(&bytes);
                }
                Some((_, Settled::Missed)) => *size = MISSED,
                _ => batch.held.extend(own),
            }
            batch.found += usize::from(*size != MISSED);
        }
        (batch.come, batch.more_bytes) = (batch.count, 0);
        true
    }

    /// Gives its buffers back.
    pub fn over(self, spare: &mut Spare) {
        spare.take_back((self.text, self.of_key, self.sizes, self.charge), self.batches);
    }
}

/// Lays out the batches' requests, one after another, and room for what comes of their keys.
fn lay_out(
    get: &Get<'_>,
    head: &[u8],
    batches: &mut [Batch],
    (text, of_key, sizes): (&mut Vec<u8>, &[u16], &mut Vec<u32>),
) {
    let (mut at, mut first) = (0, 0);
    for batch in batches.iter_mut() {
        let end = at + head.len() + batch.asked.end + END.len();
        (batch.asked, batch.next_key, batch.first) = (at..end, at + head.len(), first);
        (at, first) = (end, first + batch.count);
    }
    text.resize(at, b' ');
    sizes.resize(first, MISSED);
    for (key, number) in get.keys().zip(of_key) {
        let batch = &mut batches[*number as usize];
        text[batch.next_key + 1..][..key.len()].copy_from_slice(key);
        batch.next_key += 1 + key.len();
    }
    for batch in batches {
        text[batch.asked.start..][..head.len()].copy_from_slice(head);
        text[batch.next_key..][..END.len()].copy_from_slice(END);
        batch.next_key = batch.asked.start + head.len() + 1;
    }
}

/// The size in a value's line, `VALUE key flags size`.
fn value_size(answer: &[u8]) -> Option<u32> {
    let line = answer.split(|byte| *byte == b'\r').next()?;
    str::from_utf8(line.split(|byte| *byte == b' ').nth(3)?).ok()?.parse().ok()
}

impl Spare {
    /// Buffers of so many bytes are kept at most.
    pub fn new(most: usize) -> Spare {
        Spare { most, ..Spare::default() }
    }

    /// What stands in front of a request's keys.
    fn head_of(&mut self, get: &Get<'_>) -> &[u8] {
        self.head.clear();
        get.head(|bytes| self.head.extend_from_slice(bytes));
        &self.head
    }

    /// Lets go of all buffers.
    pub fn clear(&mut self) {
        *self = Spare::new(self.most);
    }

    /// An empty buffer.
    pub fn buffer(&mut self, large: bool) -> Buffer {
        let buffer = self.buffers[usize::from(large)].pop().unwrap_or_default();
        self.room -= buffer.capacity();
        buffer
    }

    /// Takes a buffer that nobody uses any more.
    pub fn keep(&mut self, mut buffer: Buffer) {
        let room = buffer.capacity();
        if room > 0 && room <= LARGEST_KEPT && self.room + room <= self.most {
            buffer.clear();
            self.room += room;
            self.buffers[usize::from(room >= LARGE)].push(buffer);
        }
    }

    fn take_back(&mut self, (mut text, mut of_key, mut sizes, charge): Texts, mut batches: Vec<Batch>) {
        for batch in batches.drain(..) {
            self.keep(batch.held);
        }
        if self.texts.len() < KEPT && text.capacity() <= LARGEST_KEPT {
            text.clear();
            of_key.clear();
            sizes.clear();
            self.texts.push((text, of_key, sizes, charge));
            self.batches.push(batches);
        }
    }
}
