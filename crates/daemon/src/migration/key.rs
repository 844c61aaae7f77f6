//! State of one key's migration: its current step, and the servers' responses to it. No I/O.

use std::sync::Arc;

use fanin_memcache::{Keyed, response};

use super::{KeyMove, MigrationState, Side};
use crate::front::upstreams::ask::Ask;
use crate::memory::table::Id;
use crate::memory::{Buffer, Charge};

/// Lifetime of a lease at the new server, in seconds.
pub const LEASE: u32 = 3;
/// Longest relative time to live; memcached reads larger numbers as dates, so copies are limited to this.
const LONGEST: i64 = 30 * 24 * 3600;

/// Who waits for the migration.
#[derive(Clone, Copy, Debug)]
pub enum Whose {
    /// A client that requested this key alone.
    Client { number: u64 },
    /// A key of a multiget's batch.
    Batch { get: Id, batch: u32, slot: u32 },
    /// Nobody.
    Nobody,
}

/// The next or current request to the servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Change the key at the authoritative server; the client gets its response.
    Change,
    /// Delete a copy that may be older than the key's last change.
    Clear(Side),
    /// Read from the new server, with a lease to make a copy on a miss.
    Copy,
    /// Read from the old server.
    Old,
    /// Store the value at the new server.
    Fill,
    /// Return the lease to the new server.
    ReturnLease,
    /// Delete the copy at the server that is not authoritative.
    DeleteCopy,
}

/// A request that changes a key or needs the authoritative server, as it is sent.
#[derive(Debug)]
pub struct Change {
    pub ask: Ask,
    pub note: Vec<u8>,
    pub bytes: Vec<u8>,
    /// Whether it stores a value, which is then copied.
    pub stores: bool,
    /// Whether the client gets no response.
    pub silent: bool,
}

/// Migration of one key.
#[derive(Debug)]
pub struct KeyMigration {
    pub whose: Whose,
    /// The client that started it.
    pub client: Id,
    /// Index of the pool's first server; server numbers are relative to it.
    pub first: usize,
    /// The key as sent, and whether it is in base64.
    pub key: Vec<u8>,
    pub base64: bool,
    pub key_move: KeyMove,
    /// Keeps the stage alive: the next but one does not begin while this exists.
    pub plan_state: Arc<MigrationState>,
    pub step: Step,
    /// The lease from the new server and the connection that got it; a restarted server does not know it.
    pub lease: Option<Lease>,
    /// Response bytes of the current step.
    pub come: Buffer,
    pub change: Option<Change>,
    /// Memory charged for the key and the request.
    _charge: Charge,
}

/// A lease: the right to store a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// CAS unique of the empty item.
    pub token: u64,
    /// The connection to the server that got it.
    pub life: u64,
}

impl KeyMigration {
    /// A migration that starts with this step.
    pub fn new(
        (client, whose): (Id, Whose),
        first: usize,
        (key, base64): (Vec<u8>, bool),
        (key_move, plan_state): (KeyMove, Arc<MigrationState>),
        (step, change): (Step, Option<Change>),
    ) -> KeyMigration {
        let mut charge = Charge::default();
        charge.set(key.capacity() + change.as_ref().map_or(0, |change| change.bytes.len() + change.note.len()));
        let (lease, come) = (None, Buffer::default());
        KeyMigration {
            whose,
            client,
            first,
            key,
            base64,
            key_move,
            plan_state,
            step,
            lease,
            come,
            change,
            _charge: charge,
        }
    }
}

/// The new server's response to [`Step::Copy`], and the old server's to [`Step::Old`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found<'a> {
    /// An error line.
    Error(&'a [u8]),
    /// A miss, or another client's lease.
    Nothing,
    /// A miss, with this lease.
    Lease(u64),
    /// A value with its terminator, the client's flags, and its time to live (none: unlimited).
    Value { value: &'a [u8], flags: u32, lives: Option<i64> },
}

/// Parses the response. An empty value at the new server counts as a miss, since it may be a lease.
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

/// Flags of the `ms` that makes a copy; none if the copy would live for less than a second.
pub fn copy_flags(token: u64, flags: u32, lives: Option<i64>) -> Option<String> {
    let time = match lives {
        None => 0,
        Some(0) => return None,
        Some(seconds) => seconds.min(LONGEST),
    };
    Some(format!("C{token} F{flags} T{time}"))
}

/// Writes a value as a response to `get`.
pub fn value_line(key: &[u8], flags: u32, value: &[u8], out: &mut Vec<u8>) {
    let size = value.len().saturating_sub(2);
    [b"VALUE ", key, format!(" {flags} {size}\r\n").as_bytes(), value]
        .iter()
        .for_each(|bytes| out.extend_from_slice(bytes));
}

/// Whether a response to `md` or `ms` reports success, or that there was nothing to do.
pub fn is_done(come: &[u8]) -> bool {
    !response::is_error(come)
}

/// Whether a command changes a stored value or its lifetime.
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
    fn parses_responses_of_new_server() {
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
    fn copy_keeps_time_to_live() {
        assert_eq!(copy_flags(7, 5, None).as_deref(), Some("C7 F5 T0"));
        assert_eq!(copy_flags(7, 5, Some(20)).as_deref(), Some("C7 F5 T20"));
        assert_eq!(copy_flags(7, 5, Some(1 << 40)).as_deref(), Some("C7 F5 T2592000"));
        // No time to live means unlimited.
        assert_eq!(copy_flags(7, 5, Some(0)), None);
    }
}
