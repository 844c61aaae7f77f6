//! Requests: clients' lines, and the length of the value after each.
//!
//! A line is parsed word by word like memcached 1.6.45, and only its meaning is kept: the request to a server is rewritten (`compose`) in a
//! form that every version from 1.6.18 on interprets alike.

use crate::base64::decoded;
use crate::flags::Flags;
use crate::number::{signed_32, unsigned_32, unsigned_64};
use crate::response::Shape;
use crate::text;
use crate::token::{Each, Words};
use crate::verb::{Meta, Verb};
use crate::{LONGEST_KEY, LONGEST_LINE};

/// First byte of the binary protocol.
const BINARY: u8 = 0x80;
/// Length of the shortest line, its end included.
const SHORTEST_LINE: usize = 4;
/// Maximum number of words of a meta command, its name included.
const MOST_META_WORDS: usize = 20;

/// Limits for a client.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Length of a value.
    pub value: u32,
    /// Length of a line with a list of keys, which memcached does not limit.
    pub keys: usize,
}

/// Start of a client's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next<'a> {
    /// An incomplete line.
    More,
    /// A request, and the length of its line with its end, which its value follows, if it has one.
    Request(Request<'a>, usize),
    /// The binary protocol.
    Binary,
    /// An overlong line without a list of keys: memcached closes the connection.
    Endless,
    /// A list of keys above the limit.
    TooManyKeys,
}

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request<'a> {
    /// `get`, `gets`, `gat`, `gats`.
    Get(Get<'a>),
    /// A command without a value, for one key's server.
    Keyed(Keyed<'a>),
    /// A command with a value, for one key.
    Store(Store<'a>),
    /// For every server; and whether the client wants no response.
    Every(Every, bool),
    /// `stats`.
    Stats(Figures),
    /// `version`.
    Version,
    /// `mn`: answered after everything before it.
    Barrier,
    /// `quit`, or an HTTP request: the connection is closed.
    Quit,
    /// Refused with this text of memcached, which is empty if the client wants no response; and the length of its value, which is to be
    /// discarded.
    Refused(&'static str, u32),
}

/// The list of key prefixes.
const DETAIL_DUMP: &str = "detail dump";

impl Request<'_> {
    /// The refusal of an administrative command for clients without permission, which may be empty; none for other commands.
    pub fn administers(&self) -> Option<&'static str> {
        match self {
            Request::Every(_, true) => Some(""),
            Request::Every(Every::Flush(_), false) => Some(text::NO_FLUSH),
            Request::Every(..) | Request::Stats(Figures::Command(..)) => Some(text::NO_ADMIN),
            // They list keys of everybody, up to megabytes of them.
            Request::Stats(Figures::Dump(..) | Figures::List(DETAIL_DUMP)) => Some(text::NO_ADMIN),
            _ => None,
        }
    }
}

/// A retrieval with any number of keys. The keys' lengths have not been checked ([`Get::is_refused`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Get<'a> {
    /// Whether CAS uniques are requested.
    pub unique: bool,
    /// New time to live, with `gat` and `gats`.
    pub time: Option<i32>,
    rest: &'a [u8],
}

impl<'a> Get<'a> {
    /// The keys, in order.
    pub fn keys(&self) -> Keys<'a> {
        Keys(Each(self.rest))
    }

    /// The same for remaining keys.
    pub fn of(&self, keys: &Keys<'a>) -> Get<'a> {
        Get { rest: keys.0.0, ..*self }
    }

    /// Whether a key is too long, so that memcached answers none: [`text::BAD_FORMAT`].
    pub fn is_refused(&self) -> bool {
        self.keys().any(|key| key.len() > LONGEST_KEY)
    }
}

/// Keys of a list.
#[derive(Clone, Debug)]
pub struct Keys<'a>(Each<'a>);

impl<'a> Iterator for Keys<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        self.0.next()
    }
}

/// A command for one key's server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keyed<'a> {
    /// The operation.
    pub command: Command<'a>,
    /// The key as sent.
    pub key: &'a [u8],
    /// Whether the client suppresses success, or a miss with `mg`.
    pub quiet: bool,
}

/// Operation on a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command<'a> {
    /// `delete`.
    Delete,
    /// `touch`, with the time to live.
    Touch(i32),
    /// `incr` by this amount.
    Increase(u64),
    /// `decr` by this amount.
    Decrease(u64),
    /// `set`, `add` and so on.
    Store {
        /// The command.
        verb: Verb,
        /// The client's flags.
        flags: u32,
        /// Time to live.
        time: i32,
        /// CAS unique of `cas`.
        unique: u64,
    },
    /// A meta command.
    Meta(Meta, Flags<'a>),
    /// `me`; whether the key is in base64.
    Inspect(bool),
}

impl<'a> Keyed<'a> {
    /// The key as stored; `room` is for a decoded key.
    pub fn stored<'r>(&self, room: &'r mut [u8; LONGEST_KEY]) -> &'r [u8]
    where
        'a: 'r,
    {
        if self.base64() { decoded(self.key, room).unwrap_or(self.key) } else { self.key }
    }

    /// Whether the key is in base64.
    pub fn base64(&self) -> bool {
        match self.command {
            Command::Meta(_, flags) => flags.has(b'b'),
            Command::Inspect(base64) => base64,
            _ => false,
        }
    }

    /// Form of the response.
    pub fn shape(&self) -> Shape {
        match self.command {
            Command::Delete => Shape::Deleted,
            Command::Touch(_) => Shape::Touched,
            Command::Increase(_) | Command::Decrease(_) => Shape::Number,
            Command::Store { verb, .. } => Shape::Stored { verb },
            Command::Meta(meta, flags) => Shape::Meta { command: meta, value: flags.has(b'v') },
            Command::Inspect(_) => Shape::Alone,
        }
    }

    /// Whether a value that is too large deletes the old one.
    pub fn forgets(&self) -> bool {
        matches!(self.command, Command::Store { verb: Verb::Set, .. } | Command::Meta(..))
    }
}

/// A command with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Store<'a> {
    /// The command.
    pub keyed: Keyed<'a>,
    /// Length after the line: the value and its end.
    pub follow: u32,
    /// Whether the value is above the limit: it is to be discarded, with the response [`text::TOO_LARGE`].
    pub too_large: bool,
}

/// A command for every server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Every {
    /// `flush_all`, at once or after seconds.
    Flush(Option<i32>),
    /// `verbosity`.
    Verbosity(u32),
    /// `cache_memlimit`, in megabytes.
    Memory(u32),
}

/// Kind of `stats`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figures {
    /// Figures of the front end.
    Own,
    /// Reset of the front end's figures.
    Reset,
    /// General figures of each server.
    General,
    /// A list of each server, by name.
    List(&'static str),
    /// `cachedump` of each server: a slab class and a limit.
    Dump(u32, u32),
    /// A command to each server with a single-line response, and the response on success.
    Command(&'static str, &'static str),
}

/// Parser of a client's lines.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lines {
    /// Length of a prefix without the end of a line.
    looked_at: usize,
    /// Whether a line has been parsed, so that the protocol is known.
    begun: bool,
    /// A list of keys that is not completely taken.
    list: Option<List>,
}

/// Rest of a list of keys.
#[derive(Clone, Copy, Debug)]
struct List {
    unique: bool,
    time: Option<i32>,
    /// Bytes up to and including its end.
    left: usize,
}

impl Lines {
    /// Leaves these keys of a line, its end included, for later; returns the length taken now. The next request has the keys.
    pub fn leave(&mut self, rest: &Get<'_>, line: &[u8]) -> usize {
        let end = if line.ends_with(b"\r\n") { 2 } else { 1 };
        let left = rest.rest.len() + end;
        self.list = Some(List { unique: rest.unique, time: rest.time, left });
        line.len() - left
    }

    /// Whether there are such keys.
    pub fn is_in_a_list(&self) -> bool {
        self.list.is_some()
    }

    /// Parses the start of `bytes`, which begin after the last request and its value. If the line is incomplete, call again with more
    /// bytes; each byte is scanned once.
    pub fn next<'a>(&mut self, bytes: &'a [u8], limits: &Limits) -> Next<'a> {
        if let Some(List { unique, time, left }) = self.list {
            let Some(line) = bytes.get(..left) else { return Next::More };
            self.list = None;
            let line = &line[..left - 1];
            let rest = line.strip_suffix(b"\r").unwrap_or(line);
            return Next::Request(Request::Get(Get { unique, time, rest }), left);
        }
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
        *self = Lines { looked_at: 0, begun: true, list: None };
        let line = bytes[..end].strip_suffix(b"\r").unwrap_or(&bytes[..end]);
        let request =
            if end + 1 < SHORTEST_LINE { Request::Refused(text::BAD_FORMAT, 0) } else { request(line, limits) };
        Next::Request(request, end + 1)
    }
}

/// Result for a line of at least `len` bytes, if that is too long.
fn too_long<'a>(bytes: &[u8], len: usize, limits: &Limits) -> Option<Next<'a>> {
    if len <= LONGEST_LINE {
        return None;
    }
    match bytes.starts_with(b"get ") || bytes.starts_with(b"gets ") {
        false => Some(Next::Endless),
        true => (len > limits.keys).then_some(Next::TooManyKeys),
    }
}

/// Whether a word is a valid key.
fn is_key(word: &[u8]) -> bool {
    word.len() <= LONGEST_KEY && has_no_nul(word)
}

/// Checks for NUL, at which 1.6.18 ends a line.
fn has_no_nul(words: &[u8]) -> bool {
    memchr::memchr(0, words).is_none()
}

const fn refused<'a>(text: &'static str) -> Request<'a> {
    Request::Refused(text, 0)
}

/// Parses a line.
fn request<'a>(line: &'a [u8], limits: &Limits) -> Request<'a> {
    let end = memchr::memchr(b' ', line).unwrap_or(line.len());
    let (command, rest) = line.split_at(end);
    match command {
        b"get" => get(false, None, rest),
        b"gets" => get(true, None, rest),
        b"gat" | b"gats" => get_and_touch(command == b"gats", rest),
        b"mg" => meta(Meta::Get, line, rest, limits),
        b"ms" => meta(Meta::Set, line, rest, limits),
        b"md" => meta(Meta::Delete, line, rest, limits),
        b"ma" => meta(Meta::Arithmetic, line, rest, limits),
        b"me" => inspect(&Words::of(line)),
        b"mn" => Request::Barrier,
        b"version" => Request::Version,
        b"quit" => Request::Quit,
        b"stats" => stats(rest),
        b"watch" => refused(text::ERROR),
        _ => classic(command, line, limits),
    }
}

fn get<'a>(unique: bool, time: Option<i32>, rest: &'a [u8]) -> Request<'a> {
    match Each(rest).next() {
        Some(_) if has_no_nul(rest) => Request::Get(Get { unique, time, rest }),
        _ => refused(text::BAD_FORMAT),
    }
}

fn get_and_touch(unique: bool, rest: &[u8]) -> Request<'_> {
    let mut words = Each(rest);
    let time = words.next();
    match (words.clone().next(), time.and_then(signed_32)) {
        (None, _) => refused(text::BAD_FORMAT),
        (Some(_), None) => refused(text::BAD_EXPTIME),
        (Some(_), time) => get(unique, time, words.0),
    }
}

/// Parses other classic commands.
fn classic<'a>(command: &[u8], line: &'a [u8], limits: &Limits) -> Request<'a> {
    let words = Words::of(line);
    let quiet = words.last() == b"noreply";
    if let Some((_, verb)) = Verb::WORDS.iter().find(|(word, _)| *word == command) {
        return store(*verb, &words, quiet, limits);
    }
    let (least, wrong) = match command {
        b"delete" => (2, text::BAD_DELETE),
        b"incr" | b"decr" => (3, text::BAD_DELTA),
        b"touch" => (3, text::BAD_EXPTIME),
        _ => return unkeyed(&words, quiet),
    };
    if words.count() < least {
        return refused(text::BAD_FORMAT);
    }
    let (key, argument) = (words.get(1), words.get(2));
    let command = match command {
        // Newer ones accept other words, but clients' test suites expect an error.
        b"delete" if !matches!(words.from(2), [] | [b"0"] | [b"noreply"] | [b"0", b"noreply"]) => None,
        b"delete" => Some(Command::Delete),
        b"touch" => signed_32(argument).map(Command::Touch),
        b"incr" => unsigned_64(argument).map(Command::Increase),
        _ => unsigned_64(argument).map(Command::Decrease),
    };
    match command {
        _ if !is_key(key) => refused(if quiet { "" } else { text::BAD_FORMAT }),
        None => refused(if quiet { "" } else { wrong }),
        Some(command) => Request::Keyed(Keyed { command, key, quiet }),
    }
}

/// Parses commands without a key, which may have leading spaces; an HTTP request gets no response.
fn unkeyed<'a>(words: &Words<'a>, quiet: bool) -> Request<'a> {
    let argument = words.get(1);
    let every = |every: Option<Every>, wrong| match every {
        Some(every) => Request::Every(every, quiet),
        None => refused(if quiet { "" } else { wrong }),
    };
    match words.get(0) {
        b"flush_all" if words.count() == if quiet { 2 } else { 1 } => Request::Every(Every::Flush(None), quiet),
        b"flush_all" => every(signed_32(argument).map(|time| Every::Flush(Some(time))), text::BAD_EXPTIME),
        b"verbosity" => every(unsigned_32(argument).map(Every::Verbosity), text::BAD_FORMAT),
        b"cache_memlimit" => every(unsigned_32(argument).map(Every::Memory), text::ERROR),
        b"shutdown" => refused(if quiet { "" } else { text::NO_SHUTDOWN }),
        _ if words.count() > 1 && words.last().starts_with(b"HTTP/") => Request::Quit,
        _ => refused(if quiet { "" } else { text::ERROR }),
    }
}

fn store<'a>(verb: Verb, words: &Words<'a>, quiet: bool, limits: &Limits) -> Request<'a> {
    let Some(follow) = signed_32(words.get(4)).and_then(follow) else { return refused(text::BAD_FORMAT) };
    let key = words.get(1);
    let unique = if verb == Verb::Cas { unsigned_64(words.get(5)) } else { Some(0) };
    let (flags, time) = (unsigned_32(words.get(2)), signed_32(words.get(3)));
    let (true, Some(flags), Some(time), Some(unique)) = (is_key(key), flags, time, unique) else {
        return Request::Refused(if quiet { "" } else { text::BAD_FORMAT }, follow);
    };
    let command = Command::Store { verb, flags, time, unique };
    Request::Store(Store { keyed: Keyed { command, key, quiet }, follow, too_large: follow - 2 > limits.value })
}

/// Length after a line with a value of this length.
fn follow(value: i32) -> Option<u32> {
    (0..=i32::MAX - 2).contains(&value).then(|| value as u32 + 2)
}

fn meta<'a>(command: Meta, line: &'a [u8], rest: &'a [u8], limits: &Limits) -> Request<'a> {
    let words = Words::of(line);
    let first_flag = if command == Meta::Set { 3 } else { 2 };
    if words.count() < first_flag || !words.from(first_flag).iter().all(|word| begins_like_a_flag(word)) {
        return refused(text::BAD_FORMAT);
    }
    let follow = match command {
        Meta::Set => signed_32(words.get(2)).and_then(follow),
        _ => Some(0),
    };
    let Some(follow) = follow else { return refused(text::BAD_FORMAT) };
    let key = words.get(1);
    let wrong = |text| match command {
        Meta::Arithmetic => text::NO_FLAG_OR_TWICE,
        _ => text,
    };
    if !is_key(key) {
        return Request::Refused(wrong(text::BAD_FORMAT), follow);
    }
    if words.count() > MOST_META_WORDS {
        return Request::Refused(wrong(text::FLAGS_TOO_LONG), follow);
    }
    let mut flags = Each(rest);
    for _ in 1..first_flag {
        flags.next();
    }
    match Flags::read(command, key, flags.0) {
        Err(text) => Request::Refused(text, follow),
        Ok(flags) => {
            let keyed = Keyed { command: Command::Meta(command, flags), key, quiet: flags.has(b'q') };
            match command {
                Meta::Set => Request::Store(Store { keyed, follow, too_large: follow - 2 > limits.value }),
                _ => Request::Keyed(keyed),
            }
        }
    }
}

/// Whether memcached treats a word of a meta command as a flag, known or not.
fn begins_like_a_flag(word: &[u8]) -> bool {
    word.first().is_some_and(|byte| matches!(byte, b'A'..=b'z' | b'0'..=b'9'))
}

fn inspect<'a>(words: &Words<'a>) -> Request<'a> {
    let key = words.get(1);
    if key.is_empty() || !is_key(key) {
        return refused(text::BAD_FORMAT);
    }
    Request::Keyed(Keyed { command: Command::Inspect(words.get(2) == b"b"), key, quiet: false })
}

/// Lists of servers, by name.
const LISTS: [&str; 6] = ["settings", "items", "slabs", "sizes", "conns", "extstore"];

fn stats(rest: &[u8]) -> Request<'_> {
    let words = Words::of(rest);
    let words = words.from(0);
    let words = match words {
        [] => return Request::Stats(Figures::Own),
        [b"reset"] => return Request::Stats(Figures::Reset),
        [b"servers"] => return Request::Stats(Figures::General),
        [b"servers", more @ ..] => more,
        words => words,
    };
    let figures = match words {
        [b"reset"] => Figures::Command("reset", "RESET\r\n"),
        [b"detail", b"on"] => Figures::Command("detail on", "OK\r\n"),
        [b"detail", b"off"] => Figures::Command("detail off", "OK\r\n"),
        [b"detail", b"dump"] => Figures::List(DETAIL_DUMP),
        [b"detail", ..] => return refused(text::DETAIL_USAGE),
        [b"cachedump", class, limit] => match (unsigned_32(class), unsigned_32(limit)) {
            (Some(class), Some(limit)) => Figures::Dump(class, limit),
            _ => return refused(text::BAD_FORMAT),
        },
        [b"cachedump", ..] => return refused(text::BAD_LINE),
        [name] => match LISTS.iter().find(|list| list.as_bytes() == *name) {
            Some(list) => Figures::List(list),
            None => return refused(text::ERROR),
        },
        _ => return refused(text::ERROR),
    };
    Request::Stats(figures)
}
