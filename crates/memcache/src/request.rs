//! Requests: lines of clients, and how many bytes of value follow each.

use crate::flags;
use crate::number::{signed, unsigned};
use crate::text;
use crate::token::{Each, Words, place};
use crate::{LONGEST_KEY, LONGEST_LINE};

/// The first byte of a client that speaks the binary protocol.
const BINARY: u8 = 0x80;
/// A meta command with more words, itself among them, is refused.
const MOST_META_WORDS: usize = 19;

/// What is accepted of a client.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of a value.
    pub value: u32,
    /// Bytes of a line that names keys to get: memcached has no limit of its own for these.
    pub keys: usize,
}

/// What a client's bytes begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next<'a> {
    /// No whole line yet.
    More,
    /// A request, and the bytes of its line with its end: its value, if it has one, follows them.
    Request(Request<'a>, usize),
    /// The binary protocol.
    Binary,
    /// A line that is no list of keys and goes on and on: memcached closes the connection.
    Endless,
    /// A list of keys that is longer than the limit.
    TooManyKeys,
}

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request<'a> {
    /// `get`, `gets`, `gat`, `gats`.
    Get(Get<'a>),
    /// What is of one key, value apart: for that key's server, whose answer is one line or one value.
    Keyed(Keyed<'a>),
    /// A value for one key.
    Store(Store<'a>),
    /// For every server: `flush_all`, `verbosity`, `cache_memlimit`. The line, and whether the client wants no answer.
    Every(&'a [u8], bool),
    /// `stats`, with what follows it.
    Stats(&'a [u8]),
    /// `version`.
    Version,
    /// `mn`: answered when everything before it has been.
    Barrier,
    /// `quit`, or what a browser sends: the connection is closed.
    Quit,
    /// A command that can be answered as it stands, in memcached's own words; no words where the client wants no answer.
    Refused(&'static str),
}

/// A retrieval: any number of keys. Their lengths have not been looked at ([`Get::is_refused`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Get<'a> {
    /// The command, and the time to live where it has one: what each server is asked in front of its keys.
    pub head: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Get<'a> {
    /// The keys, in their order.
    pub fn keys(&self) -> impl Iterator<Item = &'a [u8]> + Clone + use<'a> {
        Each(self.rest)
    }

    /// Whether a key is too long, so that memcached answers none: [`text::BAD_FORMAT`].
    pub fn is_refused(&self) -> bool {
        self.keys().any(|key| key.len() > LONGEST_KEY)
    }
}

/// What is left unsaid of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quiet {
    /// Nothing.
    No,
    /// All of it: `noreply`, which is cut from the line so that there is an answer to wait for.
    All,
    /// One answer, flag `q`, which is cut from the line too: a miss (`EN`) or a plain success (`HD`).
    Answer([u8; 2]),
    /// What the server will leave unsaid, which differs between versions; the line stands as it is, and `mn` behind it tells when
    /// the server is through.
    Servers,
}

/// A command for one key's server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keyed<'a> {
    /// The key as it is written.
    pub key: &'a [u8],
    /// Whether that is base64.
    pub base64: bool,
    /// The line in two parts, whatever asks for silence cut out between them.
    pub line: [&'a [u8]; 2],
    /// What the client does not want to hear.
    pub quiet: Quiet,
    /// Whether the answer may have a value behind it.
    pub meta: bool,
}

/// A command with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Store<'a> {
    /// The command.
    pub keyed: Keyed<'a>,
    /// Bytes that follow the line: the value and its end.
    pub follow: u32,
    /// Whether the value is over the limit: it is to be swallowed, and the answer is [`text::TOO_LARGE`].
    pub too_large: bool,
    /// Whether memcached would forget the key's old value then.
    pub forgets: bool,
}

/// A client's lines, one after another.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lines {
    /// Bytes in which there is no end of a line.
    looked_at: usize,
    /// Whether a line has been taken: the protocol is settled.
    begun: bool,
}

impl Lines {
    /// What `bytes` begin with: what follows the last request that was taken and its value. Whoever comes again with
    /// more bytes, because there was no whole line, has these looked at once.
    pub fn next<'a>(&mut self, bytes: &'a [u8], limits: &Limits) -> Next<'a> {
        match bytes.first() {
            None => return Next::More,
            Some(&BINARY) if !self.begun => return Next::Binary,
            Some(_) => {}
        }
        let Some(end) = memchr::memchr(b'\n', &bytes[self.looked_at.min(bytes.len())..]) else {
            self.looked_at = bytes.len();
            return too_long(bytes, bytes.len(), limits).unwrap_or(Next::More);
        };
        let end = self.looked_at + end;
        if let Some(refused) = too_long(bytes, end, limits) {
            return refused;
        }
        *self = Lines { looked_at: 0, begun: true };
        // A line that is nothing but \r\n keeps its \r, as it does there.
        let line = if end > 1 && bytes[end - 1] == b'\r' { &bytes[..end - 1] } else { &bytes[..end] };
        // Words end at a NUL, being C's strings.
        let line = memchr::memchr(0, line).map_or(line, |nul| &line[..nul]);
        Next::Request(request(line, limits), end + 1)
    }
}

/// What becomes of a line of at least `len` bytes, where that is too many.
fn too_long<'a>(bytes: &[u8], len: usize, limits: &Limits) -> Option<Next<'a>> {
    if len <= LONGEST_LINE {
        return None;
    }
    let spaces = bytes.iter().take_while(|byte| **byte == b' ').count();
    let names_keys = [&b"get "[..], b"gets ", b"gat ", b"gats "].iter().any(|word| bytes[spaces..].starts_with(word));
    match names_keys && spaces <= 100 {
        false => Some(Next::Endless),
        true => (len > limits.keys).then_some(Next::TooManyKeys),
    }
}

/// What a line asks for.
fn request<'a>(line: &'a [u8], limits: &Limits) -> Request<'a> {
    let mut words = Each(line);
    let command = words.next().unwrap_or_default();
    match command {
        b"get" | b"gets" | b"bget" => get(command, words.0),
        b"gat" | b"gats" => get_and_touch(line, words),
        b"mg" | b"ms" | b"md" | b"ma" | b"me" => meta(command, line, limits),
        b"mn" => Request::Barrier,
        b"version" => Request::Version,
        b"quit" => Request::Quit,
        b"stats" => Request::Stats(words.0),
        _ => classic(command, line, limits),
    }
}

fn get<'a>(head: &'a [u8], rest: &'a [u8]) -> Request<'a> {
    match Each(rest).next() {
        Some(_) => Request::Get(Get { head, rest }),
        None => Request::Refused(text::ERROR),
    }
}

fn get_and_touch<'a>(line: &'a [u8], mut words: Each<'a>) -> Request<'a> {
    match words.next() {
        None => Request::Refused(text::ERROR),
        Some(time) if signed(time).is_none() => Request::Refused(text::BAD_EXPTIME),
        Some(_) if words.clone().next().is_none() => Request::Refused(text::END),
        Some(time) => Request::Get(Get { head: &line[..place(line, time) + time.len()], rest: words.0 }),
    }
}

fn classic<'a>(command: &'a [u8], line: &'a [u8], limits: &Limits) -> Request<'a> {
    let words = Words::of(line);
    let noreply = words.count() > 1 && words.last() == b"noreply";
    let refused = |text| if noreply { Request::Refused("") } else { Request::Refused(text) };
    let count = words.count();
    let keyed = || keyed(line, &words, noreply);
    let key_fits = words.get(1).len() <= LONGEST_KEY;
    match command {
        b"set" | b"add" | b"replace" | b"append" | b"prepend" if count == 5 || count == 6 => {
            store(&words, line, noreply, limits)
        }
        b"cas" if count == 6 || count == 7 => store(&words, line, noreply, limits),
        b"incr" | b"decr" if count == 3 || count == 4 => match (key_fits, unsigned(words.get(2))) {
            (false, _) => refused(text::BAD_FORMAT),
            (true, None) => refused(text::BAD_DELTA),
            (true, Some(_)) => Request::Keyed(keyed()),
        },
        b"touch" if count == 3 || count == 4 => match (key_fits, signed(words.get(2))) {
            (false, _) => refused(text::BAD_FORMAT),
            (true, None) => refused(text::BAD_EXPTIME),
            (true, Some(_)) => Request::Keyed(keyed()),
        },
        b"delete" if (2..=4).contains(&count) => {
            let zero = words.get(2) == b"0";
            // A single word is the key, whatever it says.
            let noreply = noreply && count > 2;
            let right = match count {
                2 => true,
                3 => zero || noreply,
                _ => zero && noreply,
            };
            match (right, key_fits) {
                (false, _) => refused(text::BAD_DELETE),
                (true, false) => refused(text::BAD_FORMAT),
                (true, true) => Request::Keyed(self::keyed(line, &words, noreply)),
            }
        }
        b"flush_all" if count <= 3 => match count == if noreply { 2 } else { 1 } || signed(words.get(1)).is_some() {
            true => Request::Every(without(line, noreply), noreply),
            false => refused(text::BAD_EXPTIME),
        },
        b"verbosity" if count == 2 || count == 3 => match unsigned(words.get(1)) {
            Some(_) => Request::Every(without(line, noreply), noreply),
            None => refused(text::BAD_FORMAT),
        },
        b"cache_memlimit" if count == 2 || count == 3 => match unsigned(words.get(1)) {
            Some(_) => Request::Every(without(line, noreply), noreply),
            None => refused(text::ERROR),
        },
        b"shutdown" => Request::Refused(text::NO_SHUTDOWN),
        _ => unknown(&words),
    }
}

/// A word that is no command; a browser's are not answered.
fn unknown<'a>(words: &Words<'a>) -> Request<'a> {
    let command = words.get(0);
    let one_of_these =
        [&b"replace"[..], b"prepend", b"flush_all", b"verbosity", b"lru", b"lru_crawler", b"watch", b"extstore"];
    let begins_like_one =
        matches!(command, [] | [_] | [b'm', _] | [b'g' | b's' | b'a' | b'c' | b'i' | b'd' | b't', ..]);
    let settled = begins_like_one || one_of_these.contains(&command);
    match !settled && words.last().starts_with(b"HTTP/") {
        true => Request::Quit,
        false => Request::Refused(text::ERROR),
    }
}

fn store<'a>(words: &Words<'a>, line: &'a [u8], noreply: bool, limits: &Limits) -> Request<'a> {
    let is_cas = words.get(0) == b"cas";
    let numbers = unsigned(words.get(2)).is_some() && signed(words.get(3)).is_some();
    let unique = !is_cas || unsigned(words.get(5)).is_some();
    let follow = signed(words.get(4)).and_then(follow);
    let right = words.get(1).len() <= LONGEST_KEY && numbers && unique;
    let Some(follow) = follow.filter(|_| right) else {
        return Request::Refused(if noreply { "" } else { text::BAD_FORMAT });
    };
    let too_large = follow - 2 > limits.value;
    let forgets = words.get(0) == b"set";
    Request::Store(Store { keyed: keyed(line, words, noreply), follow, too_large, forgets })
}

/// Bytes that follow a line which announces a value of so many.
fn follow(value: i32) -> Option<u32> {
    (0..=i32::MAX - 2).contains(&value).then(|| value as u32 + 2)
}

/// A classic command of the line's second word.
fn keyed<'a>(line: &'a [u8], words: &Words<'a>, noreply: bool) -> Keyed<'a> {
    let quiet = if noreply { Quiet::All } else { Quiet::No };
    Keyed { key: words.get(1), base64: false, line: [without(line, noreply), &[]], quiet, meta: false }
}

/// A line without the `noreply` at its end.
fn without(line: &[u8], noreply: bool) -> &[u8] {
    let line = line.trimmed();
    if noreply { line[..line.len() - b"noreply".len()].trimmed() } else { line }
}

/// A slice of bytes that is a line.
trait Line {
    fn trimmed(&self) -> &Self;
}

impl Line for [u8] {
    /// Without the spaces at its end, and no other white space, which is a word's own.
    fn trimmed(&self) -> &[u8] {
        let end = self.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
        &self[..end]
    }
}

fn meta<'a>(command: &'a [u8], line: &'a [u8], limits: &Limits) -> Request<'a> {
    let words = Words::of(line);
    let (count, key) = (words.count(), words.get(1));
    if count < 2 {
        return Request::Refused(if command == b"me" { text::BAD_FORMAT } else { text::ERROR });
    }
    if key.len() > LONGEST_KEY || command == b"ms" && count == 2 {
        return Request::Refused(text::BAD_FORMAT);
    }
    if count > MOST_META_WORDS && command != b"me" {
        return Request::Refused(if command == b"mg" { text::GET_FLAGS_TOO_LONG } else { text::FLAGS_TOO_LONG });
    }
    let flags = flags::of(words.from(if command == b"ms" { 3 } else { 2 }));
    let whole = Keyed { key, base64: flags.base64, line: [line, &[]], quiet: Quiet::No, meta: true };
    let cut = |answer: &[u8; 2]| match flags.quiet {
        Some(word) => {
            let at = place(line, word);
            Keyed { line: [&line[..at], &line[at + word.len()..]], quiet: Quiet::Answer(*answer), ..whole }
        }
        None => whole,
    };
    match command {
        b"mg" => Request::Keyed(cut(b"EN")),
        b"ms" => match signed(words.get(2)).and_then(follow) {
            None => Request::Refused(text::BAD_FORMAT),
            Some(follow) => {
                let too_large = follow - 2 > limits.value;
                Request::Store(Store { keyed: cut(b"HD"), follow, too_large, forgets: true })
            }
        },
        b"md" | b"ma" if flags.quiet.is_some() => Request::Keyed(Keyed { quiet: Quiet::Servers, ..whole }),
        b"me" => Request::Keyed(Keyed { base64: words.get(2) == b"b", ..whole }),
        _ => Request::Keyed(whole),
    }
}
