//! Items of a memcached, without sockets: values with flags, CAS uniques, times to live and leases.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use fanin_memcache::{Argument, Command, Flags, Keyed, LONGEST_KEY, Meta, Request, Verb};

use crate::support::now;

#[derive(Clone)]
struct Item {
    value: Vec<u8>,
    flags: u64,
    unique: u64,
    ends: Option<Instant>,
    /// Whether it is an unfilled lease.
    lease: bool,
}

/// Items of a server.
#[derive(Default)]
pub struct Store {
    items: BTreeMap<Vec<u8>, Item>,
    last: u64,
    /// Offset of its clock.
    pub ahead: Duration,
}

impl Store {
    fn now(&self) -> Instant {
        now() + self.ahead
    }

    /// A restarted server: empty, with CAS uniques that repeat earlier ones.
    pub fn restarted(&self, fewer: u64) -> Store {
        Store { last: self.last.saturating_sub(fewer), ..Store::default() }
    }

    /// Value of a key.
    pub fn value(&self, key: &[u8]) -> Option<&[u8]> {
        self.items.get(key).map(|item| &item.value[..])
    }

    /// Expiry of a key, if any.
    pub fn ends(&self, key: &[u8]) -> Option<Instant> {
        self.items.get(key)?.ends
    }

    fn find(&mut self, key: &[u8]) -> Option<&mut Item> {
        let at = self.now();
        if self.items.get(key).is_some_and(|item| item.ends.is_some_and(|ends| ends <= at)) {
            self.items.remove(key);
        }
        self.items.get_mut(key)
    }

    pub fn put(&mut self, key: &[u8], value: &[u8], flags: u64, time: i64) {
        self.insert(key, value, flags, time);
    }

    fn insert(&mut self, key: &[u8], value: &[u8], flags: u64, time: i64) -> &mut Item {
        self.last += 1;
        let ends = (time > 0).then(|| self.now() + Duration::from_secs(time as u64));
        let item = Item { value: value.to_vec(), flags, unique: self.last, ends, lease: false };
        self.items.entry(key.to_vec()).insert_entry(item).into_mut()
    }

    /// Response to a request with this value.
    pub fn answer(&mut self, request: &Request<'_>, value: &[u8]) -> Vec<u8> {
        match request {
            Request::Get(get) => {
                let mut out = Vec::new();
                let at = self.now();
                for key in get.keys() {
                    let Some(item) = self.find(key) else { continue };
                    if let Some(time) = get.time {
                        item.ends = (time > 0).then(|| at + Duration::from_secs(time as u64));
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
        let (there, at) = (self.find(key).cloned(), self.now());
        let said: String = match keyed.command {
            Command::Meta(meta, flags) => return self.meta(meta, key, &flags, value),
            Command::Delete => match self.items.remove(key) {
                Some(_) => "DELETED".into(),
                None => "NOT_FOUND".into(),
            },
            Command::Touch(time) => match self.find(key) {
                Some(item) => {
                    item.ends = (time > 0).then(|| at + Duration::from_secs(time as u64));
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
                self.insert(key, b"", 0, seconds as i64).lease = true;
                last = " W";
            }
            (Some(item), _) if item.lease => last = " Z",
            _ => {}
        }
        let at = self.now();
        // Not `find`: its time may have ended since, if this thread did not run for long.
        let item = &self.items[key];
        let mut line = format!("VA {}", item.value.len());
        for (letter, _) in flags.each() {
            match letter {
                b'f' => line += &format!(" f{}", item.flags),
                b'c' => line += &format!(" c{}", item.unique),
                b't' => {
                    let lives = item.ends.map_or(-1, |ends| ends.duration_since(at).as_secs() as i64);
                    line += &format!(" t{lives}");
                }
                _ => {}
            }
        }
        [line.as_bytes(), mark.as_bytes(), last.as_bytes(), b"\r\n", &item.value, b"\r\n"].concat()
    }
}
