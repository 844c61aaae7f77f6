//! Clients and memcached servers for tests in memory: clients know the valid responses; servers respond correctly or not.

use std::collections::{BTreeMap, VecDeque};

use fanin_memcache::{Argument, Command, Flags, Limits, Lines, Meta, Next, Request};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, RngExt};

/// A value that repeats its key and version.
pub fn value(key: &str, version: u64, len: usize) -> Vec<u8> {
    format!("{key}/{version}/").bytes().cycle().take(len).collect()
}

/// Whether bytes are the beginning of a value of a key.
fn explains(key: &str, bytes: &[u8]) -> bool {
    let text = format!("{key}/");
    let Some(rest) = bytes.strip_prefix(text.as_bytes()) else { return text.as_bytes().starts_with(bytes) };
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let version = std::str::from_utf8(&rest[..digits]).ok().and_then(|digits| digits.parse().ok());
    match version {
        Some(version) if rest.len() > digits => bytes == value(key, version, bytes.len()),
        _ => rest.len() == digits,
    }
}

/// An expected response.
#[derive(Clone, Debug)]
enum Waits {
    /// Values of these keys, in order.
    Values(VecDeque<String>),
    /// A line that begins with one of these words.
    Line(&'static [&'static str]),
    /// `mg` of a key, with this opaque.
    Meta(String, String),
}

/// A client: input to send, expected responses, and output read.
pub struct Client {
    pub connection: usize,
    pub to_send: VecDeque<u8>,
    waits: VecDeque<Waits>,
    read: Vec<u8>,
    /// Numbers of errors and of responses.
    pub errors: usize,
    pub answered: usize,
    /// Whether it closes its side after sending everything.
    pub half_closes: bool,
}

/// Keys that differ at the front, since FNV barely separates keys that differ in the last byte; some are similar otherwise.
pub fn key(number: usize) -> String {
    format!("{number}-user:1234:aaaa:{}:profile", number * 7 % 11)
}

impl Client {
    pub fn new(connection: usize, requests: usize, keys: usize, random: &mut StdRng) -> Client {
        let mut client = Client {
            connection,
            to_send: VecDeque::new(),
            waits: VecDeque::new(),
            read: Vec::new(),
            errors: 0,
            answered: 0,
            half_closes: random.random_bool(0.5),
        };
        for _ in 0..requests {
            client.draw(keys, random);
        }
        client
    }

    fn draw(&mut self, keys: usize, random: &mut StdRng) {
        let one = key(random.random_range(0..keys));
        // Large values only for some, or a long list would take hundreds of megabytes.
        let sizes = [1, 10, 100, 1000, 5000, if keys > 3 && random.random_bool(0.2) { 150_000 } else { 300 }];
        let (text, waits): (Vec<u8>, Waits) = match random.random_range(0..10) {
            0..3 => (format!("get {one}\r\n").into(), Waits::Values([one].into())),
            3..6 => {
                let most = *[2, 5, 40, 1500].choose(random).unwrap();
                let count = random.random_range(2..=most);
                let all: VecDeque<String> = (0..count).map(|_| key(random.random_range(0..keys))).collect();
                let line = format!("get {}\r\n", Vec::from(all.clone()).join(" "));
                (line.into(), Waits::Values(all))
            }
            6 => {
                let bytes = value(&one, random.next_u64() % 1000, *sizes.choose(random).unwrap());
                let line = format!("set {one} 0 0 {}\r\n", bytes.len());
                ([line.as_bytes(), &bytes, b"\r\n"].concat(), Waits::Line(&["STORED"]))
            }
            7 => (format!("delete {one}\r\n").into(), Waits::Line(&["DELETED", "NOT_FOUND"])),
            8 => {
                let opaque = format!("O{}", random.next_u64() % 100);
                (format!("mg {one} v {opaque}\r\n").into(), Waits::Meta(one, opaque))
            }
            _ => (b"mn\r\n".to_vec(), Waits::Line(&["MN"])),
        };
        self.to_send.extend(text);
        self.waits.push_back(waits);
    }

    /// Reads output; panics on an invalid response.
    pub fn reads(&mut self, bytes: impl Iterator<Item = u8>) {
        self.read.extend(bytes);
        let mut at = 0;
        while let Some(took) = self.piece(at) {
            at += took;
        }
        self.read.drain(..at);
    }

    /// Checks the next line with its value, if complete; returns its length.
    fn piece(&mut self, at: usize) -> Option<usize> {
        let bytes = &self.read[at..];
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let line = std::str::from_utf8(&bytes[..end]).expect("lines are text").trim_end();
        let waits = self.waits.front_mut().unwrap_or_else(|| panic!("nobody asked for {line:?}"));
        let words: Vec<&str> = line.split(' ').collect();
        let is_error = line.starts_with("SERVER_ERROR ");
        // Key and size of a value; none if the response ends with the line.
        let value_of: Option<(String, usize)> = match (waits, &words[..]) {
            (Waits::Values(keys), ["VALUE", key, "0", size]) => {
                while keys.pop_front().unwrap_or_else(|| panic!("{key} was not asked for, or not in this order"))
                    != *key
                {}
                Some(((*key).to_owned(), size.parse().unwrap()))
            }
            (Waits::Values(_), ["END"]) => None,
            (Waits::Line(told), _) if told.contains(&line) => None,
            (Waits::Meta(key, opaque), ["VA", size, found]) if found == opaque => {
                Some((key.clone(), size.parse().unwrap()))
            }
            (Waits::Meta(_, opaque), ["EN", found]) if found == opaque => None,
            (_, _) if is_error => None,
            (waits, _) => panic!("{line:?} is no answer where it waits for {waits:?}"),
        };
        let is_meta = matches!(self.waits.front(), Some(Waits::Meta(..)));
        let mut took = end + 1;
        let ends = match &value_of {
            None => true,
            Some((key, size)) => {
                let there = &bytes[took..bytes.len().min(took + size)];
                assert!(explains(key, there), "bytes of another value in the place of {key}'s");
                took += size + 2;
                if bytes.len() < took {
                    // Keys that were skipped are not checked again.
                    self.put_back(key.clone(), is_meta);
                    return None;
                }
                assert!(bytes[..took].ends_with(b"\r\n"));
                is_meta
            }
        };
        if ends {
            self.waits.pop_front();
            self.answered += 1;
            self.errors += usize::from(is_error);
        }
        Some(took)
    }

    fn put_back(&mut self, key: String, is_meta: bool) {
        if let Some(Waits::Values(keys)) = self.waits.front_mut().filter(|_| !is_meta) {
            keys.push_front(key);
        }
    }

    /// Whether it has all responses.
    pub fn is_through(&self) -> bool {
        self.to_send.is_empty() && self.waits.is_empty()
    }

    /// Number of missing responses.
    pub fn lacks(&self) -> usize {
        self.waits.len()
    }
}

/// Behaviour of a memcached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    Answers,
    Hangs,
    /// Arbitrary responses.
    Lies,
}

/// A memcached with basic commands.
pub struct Memcached {
    pub manner: Manner,
    items: BTreeMap<Vec<u8>, Vec<u8>>,
}

/// One of its connections.
#[derive(Default)]
pub struct Talk {
    read: Vec<u8>,
    lines: Lines,
    pub says: VecDeque<u8>,
    /// Last responses, to repeat them.
    last: Vec<u8>,
    /// It has stopped in the middle of a response; more output could look like the rest of a value.
    mute: bool,
}

impl Memcached {
    pub fn new() -> Memcached {
        Memcached { manner: Manner::Answers, items: BTreeMap::new() }
    }

    /// Reads input; returns its responses.
    pub fn reads(&mut self, talk: &mut Talk, bytes: impl Iterator<Item = u8>, random: &mut StdRng) {
        talk.read.extend(bytes);
        let read = std::mem::take(&mut talk.read);
        let (mut at, limits) = (0, Limits { value: 1 << 20, keys: 1 << 24 });
        while let Next::Request(request, line) = talk.lines.next(&read[at..], &limits) {
            let mut answer = Vec::new();
            let mut took = line;
            if let Request::Store(store) = &request {
                let Some(value) = read[at + line..].get(..store.follow as usize) else { break };
                assert!(value.ends_with(b"\r\n"), "a value without its end is never asked to be stored");
                took += value.len();
                self.items.insert(store.keyed.key.to_vec(), value[..value.len() - 2].to_vec());
            }
            self.answer(&request, &mut answer);
            at += took;
            let truth = answer.clone();
            if self.manner == Manner::Lies && random.random_bool(0.1) {
                answer.truncate(random.random_range(0..=answer.len()));
                talk.says.extend(if talk.mute { &[] } else { &answer[..] });
                talk.mute = true;
            } else if self.manner == Manner::Lies && random.random_bool(0.3) {
                answer = lie(&answer, &talk.last, &self.items, random);
            }
            talk.last = truth;
            talk.says.extend(if talk.mute { &[] } else { &answer[..] });
        }
        talk.read = read[at..].to_vec();
    }

    fn answer(&mut self, request: &Request<'_>, out: &mut Vec<u8>) {
        match request {
            Request::Get(get) => {
                for key in get.keys() {
                    if let Some(value) = self.items.get(key) {
                        out.extend(
                            [b"VALUE ", key, format!(" 0 {}\r\n", value.len()).as_bytes(), value, b"\r\n"].concat(),
                        );
                    }
                }
                out.extend(b"END\r\n");
            }
            Request::Store(store) => match store.keyed.command {
                Command::Meta(_, flags) => out.extend([b"HD", &mark(&flags)[..], b"\r\n"].concat()),
                _ => out.extend(b"STORED\r\n"),
            },
            Request::Keyed(keyed) => match keyed.command {
                Command::Meta(Meta::Get, flags) => {
                    let (mark, wins) = (mark(&flags), flags.has(b'N') && !self.items.contains_key(keyed.key));
                    if wins {
                        self.items.insert(keyed.key.to_vec(), Vec::new());
                    }
                    let unique: &[u8] = if flags.has(b'c') { b" c1" } else { b"" };
                    let won: &[u8] = if wins { b" W" } else { b"" };
                    match self.items.get(keyed.key) {
                        Some(value) => {
                            let head = format!("VA {}", value.len());
                            out.extend([head.as_bytes(), unique, &mark, won, b"\r\n", value, b"\r\n"].concat());
                        }
                        None => out.extend([b"EN", &mark[..], b"\r\n"].concat()),
                    }
                }
                Command::Meta(_, flags) => {
                    let code: &[u8] = if self.items.remove(keyed.key).is_some() { b"HD" } else { b"NF" };
                    out.extend([code, &mark(&flags)[..], b"\r\n"].concat());
                }
                _ if self.items.remove(keyed.key).is_some() => out.extend(b"DELETED\r\n"),
                _ => out.extend(b"NOT_FOUND\r\n"),
            },
            Request::Version => out.extend(b"VERSION 1.6.18\r\n"),
            other => panic!("{other:?} is not asked here"),
        }
    }
}

/// Opaque token of a meta command, as the response repeats it.
fn mark(flags: &Flags<'_>) -> Vec<u8> {
    let opaque = flags.each().find_map(|(_, argument)| match argument {
        Argument::Opaque(opaque) => Some(opaque),
        _ => None,
    });
    [b" O", opaque.expect("every meta command bears a mark")].concat()
}

/// A wrong response. Values in it are valid, so misplaced bytes are detected.
fn lie(truth: &[u8], last: &[u8], items: &BTreeMap<Vec<u8>, Vec<u8>>, random: &mut StdRng) -> Vec<u8> {
    let another = || {
        let (key, value) = items.iter().next()?;
        Some([b"VALUE ", &key[..], format!(" 0 {}\r\n", value.len()).as_bytes(), value, b"\r\nEND\r\n"].concat())
    };
    match random.random_range(0..8) {
        // Shifted by one; doubled; empty; another key's; with another's appended.
        0 => last.to_vec(),
        1 => [truth, truth].concat(),
        2 => Vec::new(),
        3 => another().unwrap_or_default(),
        4 => [truth, &another().unwrap_or_default()].concat(),
        5 => (0..random.random_range(1..200)).map(|_| random.random()).collect(),
        // A length that is too small.
        6 => String::from_utf8_lossy(truth).replacen("0\r\n", "\r\n", 1).into_bytes(),
        _ => another().unwrap_or_default().repeat(random.random_range(1..2000)),
    }
}
