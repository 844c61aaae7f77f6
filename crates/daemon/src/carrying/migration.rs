//! What one key's business between two servers takes: which step it is at, and what servers say to it. Pure.

use std::sync::Arc;

use fanin_memcache::{Keyed, response};

use super::{Side, Standing, Way};
use crate::memory::{Buffer, Charge};
use crate::server::Ask;
use crate::table::Id;

/// How long the new place keeps a lease, in seconds; its clock ticks in these.
pub const LEASE: u32 = 3;
/// To memcached a longer time to live is a date: a copy of what lives longer lives so long.
const LONGEST: i64 = 30 * 24 * 3600;

/// Whose it is.
#[derive(Clone, Copy, Debug)]
pub enum Whose {
    /// A client's, who asked for this key alone.
    Client { number: u64 },
    /// A multiget's: a batch, and which of its keys.
    Batch { get: Id, batch: u32, slot: u32 },
    /// Nobody waits for it.
    Nobody,
}

/// What the servers are asked next, or were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// What changes the key, at the server that has the last word; the client hears the answer.
    Change,
    /// A place forgets what it may have from before the key's last change.
    Clear(Side),
    /// The new place for the value, and for the lease to make a copy where it has none.
    Copy,
    /// The old place for the value.
    Old,
    /// The new place to store it.
    Fill,
    /// The new place to give the lease up.
    GiveUp,
    /// The place that does not have the last word forgets what it has.
    Forget,
}

/// What changes a key, or must be asked of the place with the last word: its question as it is sent.
#[derive(Debug)]
pub struct Change {
    pub ask: Ask,
    pub note: Vec<u8>,
    pub bytes: Vec<u8>,
    /// Whether it stores a value, of which a copy is made.
    pub stores: bool,
    /// Whether the client hears of nothing.
    pub silent: bool,
}

/// One key's.
#[derive(Debug)]
pub struct KeyMigration {
    pub whose: Whose,
    /// Who had it begun.
    pub client: Id,
    /// Which pool's first server, so that places are numbers of servers.
    pub first: usize,
    /// The key as it is written, and whether that is base64.
    pub key: Vec<u8>,
    pub base64: bool,
    pub way: Way,
    /// As long as there is one of a stage, the next but one does not begin.
    pub standing: Arc<Standing>,
    pub step: Step,
    /// The lease that the new place has given, and by which of its connections: it says nothing to a server that began anew since.
    pub lease: Option<Lease>,
    /// What has come of the present step.
    pub come: Buffer,
    pub change: Option<Change>,
    /// Its key and what it is to send.
    _charge: Charge,
}

/// The right to store a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The unique number of the empty item.
    pub token: u64,
    /// Which connection to the server it came by.
    pub life: u64,
}

impl KeyMigration {
    /// One that is about to begin, with this step.
    pub fn new(
        (client, whose): (Id, Whose),
        first: usize,
        (key, base64): (Vec<u8>, bool),
        (way, standing): (Way, Arc<Standing>),
        (step, change): (Step, Option<Change>),
    ) -> KeyMigration {
        let mut charge = Charge::default();
        charge.set(key.capacity() + change.as_ref().map_or(0, |change| change.bytes.len() + change.note.len()));
        let (lease, come) = (None, Buffer::default());
        KeyMigration { whose, client, first, key, base64, way, standing, step, lease, come, change, _charge: charge }
    }
}

/// What the new place says to [`Step::Copy`], and the old one to [`Step::Old`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found<'a> {
    /// A line that tells of an error.
    Error(&'a [u8]),
    /// Nothing, or a lease that somebody else has.
    Nothing,
    /// Nothing, and this lease to make a copy.
    Lease(u64),
    /// A value with its end, its client's flags, and for how long it lives: for ever, unless it is told.
    Value { value: &'a [u8], flags: u32, lives: Option<i64> },
}

/// Reads such an answer. An empty value of the new place is a lease, or might be: there it counts for nothing.
pub fn found(come: &[u8], at_new: bool) -> Found<'_> {
    let Some(end) = come.iter().position(|byte| *byte == b'\n') else { return Found::Nothing };
    let (line, value) = come.split_at(end + 1);
    if response::is_error(line) {
        return Found::Error(line);
    }
    let mut words = line.trim_ascii_end().split(|byte| *byte == b' ');
    if words.next() != Some(b"VA") {
        return Found::Nothing;
    }
    let (mut flags, mut lives, mut token, mut wins) = (0, None, None, false);
    for word in words.skip(1) {
        let number = |text: &[u8]| str::from_utf8(text).ok()?.parse::<i64>().ok();
        match word.split_first() {
            Some((b'f', text)) => flags = number(text).and_then(|number| u32::try_from(number).ok()).unwrap_or(0),
            Some((b't', text)) => lives = number(text).filter(|number| *number >= 0),
            Some((b'c', text)) => token = str::from_utf8(text).ok().and_then(|text| text.parse().ok()),
            Some((b'W', _)) => wins = true,
            _ => {}
        }
    }
    match token {
        _ if value.len() > 2 || !at_new => Found::Value { value, flags, lives },
        Some(token) if wins => Found::Lease(token),
        _ => Found::Nothing,
    }
}

/// The flags of the `ms` that makes a copy; none where it would not live for a second.
pub fn copy_flags(token: u64, flags: u32, lives: Option<i64>) -> Option<String> {
    let time = match lives {
        None => 0,
        Some(0) => return None,
        Some(seconds) => seconds.min(LONGEST),
    };
    Some(format!("C{token} F{flags} T{time}"))
}

/// A value as `get` is answered.
pub fn value_line(key: &[u8], flags: u32, value: &[u8], out: &mut Vec<u8>) {
    let size = value.len().saturating_sub(2);
    [b"VALUE ", key, format!(" {flags} {size}\r\n").as_bytes(), value]
        .iter()
        .for_each(|bytes| out.extend_from_slice(bytes));
}

/// Whether an answer to `md`, or to `ms`, says that it is done, or that there was nothing to do.
pub fn is_done(come: &[u8]) -> bool {
    !response::is_error(come)
}

/// Whether a command changes what is stored, or how long.
pub fn changes(keyed: &Keyed<'_>) -> bool {
    use fanin_memcache::{Command, Meta};
    match keyed.command {
        Command::Inspect(_) => false,
        Command::Meta(Meta::Get, flags) => b"TNR".iter().any(|letter| flags.has(*letter)),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_new_place_says_is_a_value_a_lease_or_nothing() {
        let value = |value: &'static [u8], flags, lives| Found::Value { value, flags, lives };
        for (come, at_new, says) in [
            (&b"VA 2 f5 c7\r\nhi\r\n"[..], true, value(b"hi\r\n", 5, None)),
            (b"VA 0 f0 c7 W\r\n\r\n", true, Found::Lease(7)),
            (b"VA 0 f0 c7 Z\r\n\r\n", true, Found::Nothing),
            (b"VA 0 f0 c7\r\n\r\n", true, Found::Nothing),
            (b"EN\r\n", true, Found::Nothing),
            (b"", true, Found::Nothing),
            (b"VA 0 f9 t-1\r\n\r\n", false, value(b"\r\n", 9, None)),
            (b"VA 1 f9 t20 c18446744073709551615\r\nx\r\n", false, value(b"x\r\n", 9, Some(20))),
            (b"SERVER_ERROR out of memory\r\n", true, Found::Error(b"SERVER_ERROR out of memory\r\n")),
        ] {
            assert_eq!(found(come, at_new), says, "{}", come.escape_ascii());
        }
    }

    #[test]
    fn a_copy_lives_as_long_as_what_it_is_of() {
        assert_eq!(copy_flags(7, 5, None).as_deref(), Some("C7 F5 T0"));
        assert_eq!(copy_flags(7, 5, Some(20)).as_deref(), Some("C7 F5 T20"));
        assert_eq!(copy_flags(7, 5, Some(1 << 40)).as_deref(), Some("C7 F5 T2592000"));
        // No time to live is for ever.
        assert_eq!(copy_flags(7, 5, Some(0)), None);
    }
}
