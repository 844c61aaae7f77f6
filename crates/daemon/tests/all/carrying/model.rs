//! A memcached as far as a plan needs it: values with flags, unique numbers, times to live and leases, and answers that may take a while.
#![expect(clippy::disallowed_types, reason = "these servers wait, as simple programs do")]

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use fanin_memcache::{Argument, Command, Flags, Keyed, LONGEST_KEY, Limits, Lines, Meta, Next, Request, Verb};

use crate::support::now;

#[derive(Clone)]
pub struct Item {
    pub value: Vec<u8>,
    flags: u64,
    unique: u64,
    ends: Option<Instant>,
    /// Whether it is a lease that nobody has filled.
    lease: bool,
}

#[derive(Default)]
struct Store {
    items: BTreeMap<Vec<u8>, Item>,
    last: u64,
}

#[derive(Clone)]
pub struct Model {
    pub address: SocketAddr,
    store: Arc<Mutex<Store>>,
    /// The longest that most answers take, in microseconds; and from what it is drawn.
    pub slow: Arc<AtomicU64>,
    draws: Arc<AtomicU64>,
    /// Commands that it was asked.
    pub asked: Arc<AtomicU64>,
}

impl Model {
    pub fn start() -> Model {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let model = Model {
            address: listener.local_addr().unwrap(),
            store: Arc::default(),
            slow: Arc::default(),
            draws: Arc::new(AtomicU64::new(1)),
            asked: Arc::default(),
        };
        let serves = model.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let model = serves.clone();
                thread::spawn(move || model.serve(stream));
            }
        });
        model
    }

    /// What it has of a key.
    pub fn has(&self, key: &str) -> Option<String> {
        let store = self.store.lock().unwrap();
        store.items.get(key.as_bytes()).map(|item| String::from_utf8(item.value.clone()).unwrap())
    }

    /// How long that lives, in seconds.
    pub fn lives(&self, key: &str) -> Option<u64> {
        let store = self.store.lock().unwrap();
        store.items.get(key.as_bytes())?.ends.map(|ends| ends.duration_since(now()).as_secs() + 1)
    }

    pub fn put(&self, key: &str, value: &str) {
        self.store.lock().unwrap().put(key.as_bytes(), value.as_bytes(), 0, 0);
    }

    fn serve(&self, mut stream: TcpStream) -> Option<()> {
        stream.set_nodelay(true).unwrap();
        let limits = Limits { value: 1 << 30, keys: 1 << 24 };
        let (mut lines, mut bytes, mut scratch) = (Lines::default(), Vec::new(), vec![0; 1 << 16]);
        loop {
            let mut at = 0;
            while let Next::Request(request, line) = lines.next(&bytes[at..], &limits) {
                let mut took = line;
                let mut value: &[u8] = &[];
                if let Request::Store(store) = &request {
                    let follow = store.follow as usize;
                    let Some(there) = bytes.get(at + line..at + line + follow) else { break };
                    (value, took) = (&there[..follow - 2], line + follow);
                }
                self.waits();
                self.asked.fetch_add(1, SeqCst);
                let answer = self.store.lock().unwrap().answer(&request, value);
                self.waits();
                stream.write_all(&answer).ok()?;
                at += took;
            }
            bytes.drain(..at);
            match stream.read(&mut scratch) {
                Ok(count) if count > 0 => bytes.extend_from_slice(&scratch[..count]),
                _ => return None,
            }
        }
    }

    fn waits(&self) {
        let slow = self.slow.load(SeqCst);
        let draw = self.draws.fetch_add(1, SeqCst).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        // Some answers take long, so that others overtake them by other connections.
        let longest = if draw.is_multiple_of(61) { 40 * slow } else { slow };
        if slow > 0 && draw.is_multiple_of(3) || longest > slow {
            thread::sleep(Duration::from_micros(draw % longest));
        }
    }
}

impl Store {
    fn find(&mut self, key: &[u8]) -> Option<&mut Item> {
        if self.items.get(key).is_some_and(|item| item.ends.is_some_and(|ends| ends <= now())) {
            self.items.remove(key);
        }
        self.items.get_mut(key)
    }

    fn put(&mut self, key: &[u8], value: &[u8], flags: u64, time: i64) {
        self.last += 1;
        let ends = (time > 0).then(|| now() + Duration::from_secs(time as u64));
        let item = Item { value: value.to_vec(), flags, unique: self.last, ends, lease: false };
        self.items.insert(key.to_vec(), item);
    }

    fn answer(&mut self, request: &Request<'_>, value: &[u8]) -> Vec<u8> {
        match request {
            Request::Get(get) => {
                let mut out = Vec::new();
                for key in get.keys() {
                    let Some(item) = self.find(key) else { continue };
                    if let Some(time) = get.time {
                        item.ends = (time > 0).then(|| now() + Duration::from_secs(time as u64));
                    }
                    let unique = if get.unique { format!(" {}", item.unique) } else { String::new() };
                    let head = format!(" {} {}{unique}\r\n", item.flags, item.value.len());
                    out.extend([b"VALUE ", key, head.as_bytes(), &item.value, b"\r\n"].concat());
                }
                [&out[..], b"END\r\n"].concat()
            }
            Request::Store(store) => self.keyed(&store.keyed, value),
            Request::Keyed(keyed) => self.keyed(keyed, value),
            Request::Every(..) => {
                self.items.clear();
                b"OK\r\n".to_vec()
            }
            Request::Version => b"VERSION 1.6.18\r\n".to_vec(),
            Request::Refused(text, _) => text.as_bytes().to_vec(),
            other => panic!("{other:?} is not asked here"),
        }
    }

    fn keyed(&mut self, keyed: &Keyed<'_>, value: &[u8]) -> Vec<u8> {
        let mut room = [0; LONGEST_KEY];
        let key = keyed.stored(&mut room);
        let there = self.find(key).cloned();
        let said: String = match keyed.command {
            Command::Meta(meta, flags) => return self.meta(meta, key, &flags, value),
            Command::Delete => match self.items.remove(key) {
                Some(_) => "DELETED".into(),
                None => "NOT_FOUND".into(),
            },
            Command::Touch(time) => match self.find(key) {
                Some(item) => {
                    item.ends = (time > 0).then(|| now() + Duration::from_secs(time as u64));
                    "TOUCHED".into()
                }
                None => "NOT_FOUND".into(),
            },
            Command::Increase(by) => match there {
                Some(item) => {
                    let sum: u64 = String::from_utf8(item.value).unwrap().parse::<u64>().unwrap() + by;
                    self.put(key, sum.to_string().as_bytes(), item.flags, 0);
                    sum.to_string()
                }
                None => "NOT_FOUND".into(),
            },
            Command::Store { verb, flags, time, unique } => {
                let (flags, time) = (u64::from(flags), i64::from(time));
                let new = match (verb, &there) {
                    (Verb::Set, _) | (Verb::Add, None) | (Verb::Replace, Some(_)) => Ok(value.to_vec()),
                    (Verb::Append, Some(item)) => Ok([&item.value[..], value].concat()),
                    (Verb::Cas, Some(item)) if item.unique == unique => Ok(value.to_vec()),
                    (Verb::Cas, Some(_)) => Err("EXISTS"),
                    (Verb::Cas, None) => Err("NOT_FOUND"),
                    _ => Err("NOT_STORED"),
                };
                match new {
                    Ok(value) => {
                        self.put(key, &value, flags, time);
                        "STORED".into()
                    }
                    Err(why) => why.into(),
                }
            }
            other => panic!("{other:?} is not asked here"),
        };
        format!("{said}\r\n").into_bytes()
    }

    fn meta(&mut self, meta: Meta, key: &[u8], flags: &Flags<'_>, value: &[u8]) -> Vec<u8> {
        let number = |letter: u8| {
            flags.each().find_map(|(found, argument)| match argument {
                Argument::Number(number) if found == letter => Some(number),
                Argument::Time(time) if found == letter => Some(time as u64),
                _ => None,
            })
        };
        let opaque = flags.each().find_map(|(_, argument)| match argument {
            Argument::Opaque(opaque) => Some(String::from_utf8(opaque.to_vec()).unwrap()),
            _ => None,
        });
        let mark = format!(" O{}", opaque.expect("every meta command bears a mark"));
        let unique = self.find(key).map(|item| item.unique);
        let differs = number(b'C').is_some_and(|wanted| unique.is_some_and(|unique| unique != wanted));
        let code = match meta {
            Meta::Get => return self.meta_get(key, flags, number(b'N'), &mark),
            _ if differs => "EX",
            Meta::Set if number(b'C').is_some() && unique.is_none() => "NF",
            Meta::Set => {
                self.put(key, value, number(b'F').unwrap_or(0), number(b'T').unwrap_or(0) as i64);
                "HD"
            }
            Meta::Delete if self.items.remove(key).is_some() => "HD",
            _ => "NF",
        };
        format!("{code}{mark}\r\n").into_bytes()
    }

    fn meta_get(&mut self, key: &[u8], flags: &Flags<'_>, lease: Option<u64>, mark: &str) -> Vec<u8> {
        let mut last = "";
        match (self.find(key), lease) {
            (None, None) => return format!("EN{mark}\r\n").into_bytes(),
            (None, Some(seconds)) => {
                self.put(key, b"", 0, seconds as i64);
                self.find(key).unwrap().lease = true;
                last = " W";
            }
            (Some(item), _) if item.lease => last = " Z",
            _ => {}
        }
        let item = self.find(key).unwrap();
        let mut line = format!("VA {}", item.value.len());
        for (letter, _) in flags.each() {
            match letter {
                b'f' => line += &format!(" f{}", item.flags),
                b'c' => line += &format!(" c{}", item.unique),
                b't' => {
                    let lives = item.ends.map_or(-1, |ends| ends.duration_since(now()).as_secs() as i64);
                    line += &format!(" t{lives}");
                }
                _ => {}
            }
        }
        [line.as_bytes(), mark.as_bytes(), last.as_bytes(), b"\r\n", &item.value, b"\r\n"].concat()
    }
}
