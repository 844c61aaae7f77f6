//! Servers that misbehave on request, and clients that check every value: each contains its key.
#![expect(clippy::disallowed_types, reason = "these servers and clients wait for one another, as simple programs do")]

use std::collections::BTreeMap;
use std::fmt;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use fanin_daemon::{Running, Settings};
use fanin_memcache::{Argument, Command, Figures, Flags, Keyed, Limits, Lines, Meta, Next, Request};
pub use fanin_testing::{LIMIT, own_address, wait_until};

/// Timeout of test pools: a server that hangs costs a test this much, and on a busy machine one that responds takes less.
pub const TIMEOUT: Duration = Duration::from_secs(3);

/// Variable that is set for the tests over sockets with epoll.
pub const EPOLL: &str = "FANIN_TEST_EPOLL";

/// The setting of the event loop, in a configuration.
pub const EVENT_LOOP: EventLoop = EventLoop;

/// Writes the setting: none for the default.
#[derive(Clone, Copy, Debug)]
pub struct EventLoop;

impl EventLoop {
    #[expect(clippy::disallowed_methods, reason = "one test starts the others with it")]
    pub fn is_epoll(self) -> bool {
        std::env::var_os(EPOLL).is_some()
    }
}

impl fmt::Display for EventLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_epoll() { "event_loop = \"epoll\"\n" } else { "" })
    }
}

/// A server's response to `get`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    Answers,
    /// None as long as this lasts; those that are owed come afterwards, in order, as from a process that was stopped.
    Hangs,
    /// After this many milliseconds.
    Slow(u64),
    Garbage,
    /// Another key's value.
    Mistakes,
    /// Half of a value, then a close.
    ClosesInTheMiddle,
    /// Additional data after each response.
    SaysMore,
    /// A length that is too small.
    WrongLength,
    /// This key's value under its own name.
    AnswersFor(&'static str),
}

/// Output of a server for a stored key that contains a response.
pub const INJECTED: &str = "evil\r\nVALUE 1-key 0 5\r\nEVIL!\r\nEND\r\nEN\r\nSTORED\r\n";

/// Figures of a server by slab class and without one, as in memcached's lists.
const LISTED: &str =
    "STAT active_slabs 1\r\nSTAT 1:chunk_size 96\r\nSTAT items:1:number 2\r\nSTAT evictions on\r\nEND\r\n";

type Items = Arc<Mutex<BTreeMap<Vec<u8>, Vec<u8>>>>;

/// A server with basic commands.
pub struct Server {
    pub address: SocketAddr,
    manner: Arc<Mutex<Manner>>,
    items: Items,
    printed: Arc<AtomicBool>,
    open: Arc<Mutex<Vec<TcpStream>>>,
    dead: Arc<AtomicBool>,
}

impl Server {
    pub fn start() -> Server {
        Server::at(own_address())
    }

    fn at(address: SocketAddr) -> Server {
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
        socket.set_reuse_address(true).unwrap();
        socket.bind(&address.into()).unwrap();
        socket.listen(64).unwrap();
        let listener: TcpListener = socket.into();
        let (manner, items, open) = (Arc::new(Mutex::new(Manner::Answers)), Items::default(), Arc::default());
        let server = Server {
            address: listener.local_addr().unwrap(),
            manner,
            items,
            printed: Arc::default(),
            open,
            dead: Arc::default(),
        };
        let (manner, items, open, dead) =
            (server.manner.clone(), server.items.clone(), server.open.clone(), server.dead.clone());
        let printed = server.printed.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if dead.load(SeqCst) {
                    return;
                }
                open.lock().unwrap().push(stream.try_clone().unwrap());
                let (manner, items, printed) = (manner.clone(), items.clone(), printed.clone());
                thread::spawn(move || serve(stream, &manner, &items, &printed));
            }
        });
        server
    }

    pub fn set(&self, manner: Manner) {
        *self.manner.lock().unwrap() = manner;
    }

    /// Closes the listener and all connections.
    pub fn kill(&self) {
        self.dead.store(true, SeqCst);
        // Wakes the accept.
        let _ = TcpStream::connect(self.address);
        for stream in self.open.lock().unwrap().drain(..) {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
        wait_until("the listener is closed", || TcpStream::connect(self.address).is_err());
    }

    /// Whether it has a key.
    pub fn has(&self, key: &str) -> bool {
        self.items.lock().unwrap().contains_key(key.as_bytes())
    }

    /// Number of accepted connections.
    pub fn accepted(&self) -> usize {
        self.open.lock().unwrap().len()
    }

    /// Whether it was asked to print a key stored in base64.
    pub fn has_printed_a_key(&self) -> bool {
        self.printed.load(SeqCst)
    }

    /// Starts an empty server at the same address.
    pub fn restart(&self) -> Server {
        Server::at(self.address)
    }
}

fn serve(mut stream: TcpStream, manner: &Mutex<Manner>, items: &Items, printed: &AtomicBool) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let limits = Limits { value: 1 << 30, keys: 1 << 24 };
    let (mut lines, mut bytes, mut scratch) = (Lines::default(), Vec::new(), vec![0; 1 << 16]);
    loop {
        let mut at = 0;
        while let Next::Request(request, line) = lines.next(&bytes[at..], &limits) {
            let mut took = line;
            if matches!(request, Request::Get(_) | Request::Keyed(_) | Request::Stats(_) | Request::Version) {
                while *manner.lock().unwrap() == Manner::Hangs {
                    thread::sleep(Duration::from_millis(10));
                }
            }
            let manner = *manner.lock().unwrap();
            match request {
                Request::Get(get) => answer(&mut stream, manner, items, get.keys())?,
                Request::Store(store) => {
                    let follow = store.follow as usize;
                    if bytes.len() < at + line + follow {
                        break;
                    }
                    let value = bytes[at + line..at + line + follow - 2].to_vec();
                    items.lock().unwrap().insert(store.keyed.key.to_vec(), value);
                    stream.write_all(&told(&store.keyed.command, "STORED")).ok()?;
                    took += follow;
                }
                Request::Keyed(Keyed { command: Command::Inspect(_), .. }) => {
                    stream.write_all(format!("ME {INJECTED}").as_bytes()).ok()?;
                }
                Request::Keyed(Keyed { command: Command::Meta(Meta::Get, flags), key, .. }) => {
                    if flags.has(b'b') && flags.has(b'k') {
                        printed.store(true, SeqCst);
                    }
                    let item = items.lock().unwrap().get(key).cloned();
                    let mark = [b" O", opaque(&flags), b"\r\n"].concat();
                    let answer = match item.filter(|_| flags.has(b'v')) {
                        Some(item) => [format!("VA {}", item.len()).as_bytes(), &mark, &item, b"\r\n"].concat(),
                        None => [b"EN", &mark[..]].concat(),
                    };
                    stream.write_all(&answer).ok()?;
                }
                Request::Keyed(keyed) => {
                    let there = items.lock().unwrap().remove(keyed.key).is_some();
                    stream.write_all(&told(&keyed.command, if there { "DELETED" } else { "NOT_FOUND" })).ok()?;
                }
                Request::Every(..) => stream.write_all(b"OK\r\n").ok()?,
                Request::Stats(Figures::Dump(..)) => stream.write_all(format!("ITEM {INJECTED}").as_bytes()).ok()?,
                Request::Stats(Figures::Command(_, well)) => stream.write_all(well.as_bytes()).ok()?,
                Request::Stats(Figures::Reset) => stream.write_all(b"RESET\r\n").ok()?,
                Request::Stats(Figures::List(_)) => stream.write_all(LISTED.as_bytes()).ok()?,
                Request::Stats(_) => stream.write_all(b"STAT pid 1\r\nEND\r\n").ok()?,
                Request::Barrier => stream.write_all(b"MN\r\n").ok()?,
                Request::Version => stream.write_all(b"VERSION 1.6.18\r\n").ok()?,
                Request::Refused(text, _) => stream.write_all(text.as_bytes()).ok()?,
                Request::Quit => return None,
            }
            at += took;
        }
        bytes.drain(..at);
        match stream.read(&mut scratch) {
            Ok(count) if count > 0 => bytes.extend_from_slice(&scratch[..count]),
            _ => return None,
        }
    }
}

/// Response line to a command; for a meta command with its opaque token, reporting a miss or success.
fn told(command: &Command<'_>, classic: &str) -> Vec<u8> {
    let Command::Meta(meta, flags) = command else { return format!("{classic}\r\n").into_bytes() };
    let code = match meta {
        Meta::Get => "EN",
        Meta::Set => "HD",
        Meta::Delete | Meta::Arithmetic => "NF",
    };
    [code.as_bytes(), b" O", opaque(flags), b"\r\n"].concat()
}

fn opaque<'a>(flags: &Flags<'a>) -> &'a [u8] {
    let mut opaque = flags.each().filter_map(|(_, argument)| match argument {
        Argument::Opaque(opaque) => Some(opaque),
        _ => None,
    });
    opaque.next().unwrap_or_default()
}

fn answer<'a>(
    stream: &mut TcpStream,
    manner: Manner,
    items: &Items,
    keys: impl Iterator<Item = &'a [u8]>,
) -> Option<()> {
    let mut out = Vec::new();
    for key in keys {
        let key = if let Manner::AnswersFor(other) = manner { other.as_bytes() } else { key };
        let Some(value) = items.lock().unwrap().get(key).cloned() else { continue };
        let told = if manner == Manner::Mistakes { b"another" } else { key };
        let len = if manner == Manner::WrongLength { 3 } else { value.len() };
        out.extend_from_slice(&[b"VALUE ", told, format!(" 0 {len}\r\n").as_bytes(), &value, b"\r\n"].concat());
    }
    out.extend_from_slice(b"END\r\n");
    match manner {
        Manner::Slow(millis) => thread::sleep(Duration::from_millis(millis)),
        Manner::SaysMore => out.extend_from_slice(b"VALUE 1-key 0 5\r\nEVIL!\r\nEND\r\n"),
        Manner::Garbage => out = b"\x00\xff\r\nVALUE\r\n\r\n\r\n".to_vec(),
        Manner::ClosesInTheMiddle => {
            stream.write_all(&out[..out.len() / 2]).ok()?;
            let _ = stream.shutdown(std::net::Shutdown::Both);
            return None;
        }
        _ => {}
    }
    stream.write_all(&out).ok()
}

/// A front end with servers.
pub struct Cluster {
    pub servers: Vec<Server>,
    pub front: Running,
}

impl Cluster {
    /// With additional settings of the front end and the pool, whose timeout is [`TIMEOUT`] without one of its own.
    pub fn with(servers: usize, more: &str, of_pool: &str) -> Cluster {
        let servers: Vec<Server> = (0..servers).map(|_| Server::start()).collect();
        let listed: Vec<String> = servers.iter().map(|server| format!("\"{}\"", server.address)).collect();
        let timeout =
            if of_pool.contains("timeout") { String::new() } else { format!("timeout = \"{} s\"", TIMEOUT.as_secs()) };
        let text = format!(
            "threads = 2\n{more}\n[[pool]]\nlisten = \"127.0.0.1:0\"\n{timeout}\nservers = [{}]\n{of_pool}\n",
            listed.join(",")
        );
        let settings = Settings::of_file("test.toml", &text).unwrap();
        let front = fanin_daemon::start(&settings).unwrap();
        Cluster { servers, front }
    }

    pub fn client(&self) -> Client {
        Client::to(self.front.listens()[0].ip().unwrap())
    }

    /// Sets keys with values. Keys differ at the front, since FNV barely separates keys that differ in the last byte.
    pub fn filled(&self, count: usize) -> Vec<String> {
        let keys: Vec<String> = (0..count).map(|number| format!("{number}-key")).collect();
        let mut client = self.client();
        keys.iter().for_each(|key| assert_eq!(client.set(key, &value(key, 100)), "STORED"));
        keys
    }

    /// Keys on a server.
    pub fn keys_of(&self, server: usize, keys: &[String]) -> Vec<String> {
        let items = self.servers[server].items.lock().unwrap();
        keys.iter().filter(|key| items.contains_key(key.as_bytes())).cloned().collect()
    }
}

/// Starts a front end with one thread, in a folder. Each pool is `listen = "127.0.0.1:0"` with these settings.
pub fn front(folder: &Path, pools: &[String]) -> Running {
    let pools = pools.iter().enumerate().map(|(number, pool)| {
        // Port 0 differs by host, since two pools may not have the same address.
        format!("[[pool]]\nname = \"p{number}\"\nlisten = \"127.0.0.{}:0\"\ntimeout = \"2 s\"\n{pool}\n", number + 1)
    });
    let text = format!("threads = 1\n{EVENT_LOOP}{}", pools.collect::<String>());
    let settings = Settings::of_file(&folder.join("front.toml").display().to_string(), &text);
    fanin_daemon::start(&settings.unwrap_or_else(|problem| panic!("{problem}"))).unwrap()
}

/// A value that contains its key.
pub fn value(key: &str, len: usize) -> String {
    format!("{key}/").chars().cycle().take(len).collect()
}

/// A connection.
pub fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// A client.
pub struct Client<S = TcpStream>(pub BufReader<S>);

impl Client {
    pub fn to(address: SocketAddr) -> Client {
        Client(BufReader::new(connect(address)))
    }
}

impl Client<UnixStream> {
    /// At a UNIX socket.
    pub fn at(path: &Path) -> Client<UnixStream> {
        let stream = UnixStream::connect(path).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        Client(BufReader::new(stream))
    }
}

impl<S: Read + Write> Client<S> {
    pub fn send(&mut self, text: &str) {
        self.0.get_mut().write_all(text.as_bytes()).unwrap();
    }

    /// Next line without its terminator; empty at the end of the stream.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap_or(0);
        line.trim_end().to_owned()
    }

    pub fn ask(&mut self, text: &str) -> String {
        self.send(text);
        self.line()
    }

    pub fn set(&mut self, key: &str, value: &str) -> String {
        self.ask(&format!("set {key} 0 0 {}\r\n{value}\r\n", value.len()))
    }

    /// Keys of the values received, and the last line. Panics on a value of another key.
    pub fn get(&mut self, keys: &[String]) -> (Vec<String>, String) {
        self.send(&format!("get {}\r\n", keys.join(" ")));
        self.values()
    }

    pub fn values(&mut self) -> (Vec<String>, String) {
        let mut found = Vec::new();
        loop {
            let line = self.line();
            let Some(rest) = line.strip_prefix("VALUE ") else { return (found, line) };
            let words: Vec<&str> = rest.split(' ').collect();
            let mut bytes = vec![0; words[2].parse::<usize>().unwrap() + 2];
            if self.0.read_exact(&mut bytes).is_err() {
                return (found, String::new());
            }
            let text = String::from_utf8(bytes).unwrap();
            assert_eq!(text, format!("{}\r\n", value(words[0], text.len() - 2)), "a wrong value");
            found.push(words[0].to_owned());
        }
    }

    /// A number in `stats`.
    pub fn figure(&mut self, name: &str) -> u64 {
        self.word(name).parse().unwrap()
    }

    /// A word in `stats`.
    pub fn word(&mut self, name: &str) -> String {
        self.word_if(name).unwrap_or_else(|| panic!("no figure {name}"))
    }

    /// The same, if it is there.
    pub fn word_if(&mut self, name: &str) -> Option<String> {
        self.send("stats\r\n");
        let mut found = None;
        loop {
            let line = self.line();
            match line.strip_prefix("STAT ").and_then(|rest| rest.split_once(' ')) {
                Some((other, value)) => found = found.or((other == name).then(|| value.to_owned())),
                None => return found,
            }
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "test deadlines use wall-clock time")]
pub fn now() -> std::time::Instant {
    std::time::Instant::now()
}

/// First case and number of cases; the environment variables FIRST and CASES override them.
#[expect(clippy::disallowed_methods, reason = "a failed case is rerun by these variables")]
pub fn cases(count: u64) -> (u64, u64) {
    let told = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    (told("FIRST").unwrap_or(0), told("CASES").unwrap_or(count))
}
