//! Memory limit under attack: a front end allocates no more than its limit and a small margin.
//!
//! It runs without sockets. Allocations of the simulated network do not count.

#[path = "memory/tls.rs"]
mod tls;
#[path = "all/machine/world.rs"]
#[allow(dead_code)]
mod world;

use std::alloc::System;
use std::cell::{Cell, RefCell};
use std::io::{self, Read};
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use fanin_daemon::Settings;
use fanin_daemon::machine::{Address, Entry, Front, Net, Outgoing, Received, Shared, Target, Token, begin, charged};
use fanin_daemon::settings::racks::node_of;
use fanin_memcache::{Limits, Lines, Next, Request};
use fanin_roles::wire::{Hello, VERSION};
use sha2::{Digest, Sha256};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use world::{Scripted, World};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const BUDGET: usize = 32 << 20;
/// Margin: its tables, its read buffer, and outstanding data when it notices that the limit is reached.
const BESIDE: usize = 4 << 20;
/// Margin for small lists.
const UNCHARGED: usize = 1 << 20;
const MS: u64 = 1_000_000;

fn allocated() -> usize {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated.wrapping_sub(stats.bytes_deallocated)
}

/// Allocations of the front end in a loop iteration.
#[derive(Default)]
struct Account {
    /// At the start of the iteration, plus the network's allocations since.
    zero: Cell<usize>,
    held: Cell<usize>,
    most: Cell<usize>,
}

impl Account {
    fn now(&self) -> usize {
        self.held.get().wrapping_add(allocated()).wrapping_sub(self.zero.get())
    }

    fn look(&self) {
        self.most.set(self.most.get().max(self.now()));
    }

    /// Runs code of the network, whose allocations do not count.
    fn apart<R>(&self, work: impl FnOnce() -> R) -> R {
        let before = allocated();
        let result = work();
        self.zero.set(self.zero.get().wrapping_add(allocated()).wrapping_sub(before));
        self.look();
        result
    }

    fn turn(&self, work: impl FnOnce()) {
        self.zero.set(allocated());
        work();
        self.held.set(self.now());
        self.zero.set(allocated());
        self.look();
    }
}

/// A network whose own allocations do not count.
struct Apart(Scripted, Rc<Account>);

impl Net for Apart {
    type Stream = usize;
    type Socket = usize;

    fn name(&self) -> &'static str {
        "memory"
    }

    fn listen(&mut self, listener: usize, at: &Address) -> io::Result<()> {
        self.0.listen(listener, at)
    }

    fn accept(&mut self, listener: usize, entry: &Arc<Entry>) -> io::Result<usize> {
        self.1.apart(|| self.0.accept(listener, entry))
    }

    fn unlisten(&mut self, pool: usize) {
        self.0.unlisten(pool);
    }

    fn connect(&mut self, to: &Arc<Target>) -> io::Result<usize> {
        self.1.apart(|| self.0.connect(to))
    }

    fn refuse(&mut self, stream: usize, text: &[u8]) {
        self.1.apart(|| self.0.refuse(stream, text));
    }

    fn add(&mut self, stream: usize, token: Token, opening: bool) -> io::Result<usize> {
        self.1.apart(|| self.0.add(stream, token, opening))
    }

    fn is_open(&mut self, socket: &mut usize) -> io::Result<bool> {
        self.0.is_open(socket)
    }

    fn read(&mut self, socket: &mut usize, into: &mut [u8]) -> io::Result<Received> {
        self.1.apart(|| self.0.read(socket, into))
    }

    fn write(&mut self, socket: &mut usize, out: &mut Outgoing) -> io::Result<()> {
        // Freed bytes are the front end's; the network reserves its space before.
        let count = out.left();
        let world = self.0.0.clone();
        self.1.apart(|| world.borrow_mut().connections[*socket].outbox.reserve(count));
        self.0.write(socket, out)
    }

    fn finish(&mut self, socket: usize, held: Arc<()>) {
        self.1.apart(|| self.0.finish(socket, held));
    }

    fn close(&mut self, socket: usize) {
        self.1.apart(|| self.0.close(socket));
    }

    fn tell(&mut self, _: &str) {}

    fn held(&self) -> usize {
        0
    }
}

/// Responses of all servers.
#[derive(Clone, Copy, PartialEq)]
enum Servers {
    /// A value of this size for every key.
    Values(usize),
    /// An endless list, and no values.
    EndlessLists,
    /// None.
    Hang,
    /// None, and connections are closed.
    Close,
}

struct Attack {
    name: &'static str,
    clients: usize,
    says: fn(usize) -> Vec<u8>,
    /// Bytes of responses that clients read.
    room: usize,
    servers: Servers,
    of_pool: &'static str,
}

fn answers(request: &Request<'_>, size: usize, out: &mut Vec<u8>) {
    let value = vec![b'v'; size];
    match request {
        Request::Get(get) => {
            for key in get.keys() {
                out.extend([b"VALUE ", key, format!(" 0 {size}\r\n").as_bytes(), &value, b"\r\n"].concat());
            }
            out.extend(b"END\r\n");
        }
        Request::Keyed(keyed) => {
            let (mut mark, mut question) = (Vec::new(), Vec::new());
            keyed.line(None, fanin_memcache::Mark::of(0), |bytes| question.extend_from_slice(bytes));
            if let fanin_memcache::Command::Meta(meta, flags) = keyed.command {
                for (letter, argument) in flags.each() {
                    if let (b'O', fanin_memcache::Argument::Opaque(opaque)) = (letter, argument) {
                        mark = [b" O", opaque].concat();
                    }
                }
                if meta == fanin_memcache::Meta::Get && flags.has(b'v') {
                    let line = [format!("VA {size}").as_bytes(), &mark, b"\r\n", &value, b"\r\n"].concat();
                    return out.extend(line);
                }
                let code: &[u8] = if meta == fanin_memcache::Meta::Get { b"EN" } else { b"NF" };
                out.extend([code, &mark, b"\r\n"].concat());
            } else {
                out.extend(b"ME a exp=-1\r\n");
            }
        }
        Request::Store(_) => out.extend(b"STORED\r\n"),
        Request::Version => out.extend(b"VERSION 1\r\n"),
        _ => out.extend(b"END\r\n"),
    }
}

/// Sends the servers' responses as far as the front end reads.
fn serve(world: &mut World, talks: &mut Vec<(Vec<u8>, Lines)>, servers: Servers) {
    talks.resize_with(world.connections.len(), Default::default);
    for (connection, (read, lines)) in world.connections.iter_mut().zip(talks) {
        if connection.server.is_none() || connection.closed {
            continue;
        }
        let opens = !connection.open;
        if opens {
            connection.opens(true);
        }
        if let Some(agent) = connection.server.filter(|server| *server >= 2) {
            // It greets, and nothing more.
            let node = node_of(&format!("10.0.0.{}:1", agent - 1));
            let mut hello = Vec::new();
            Hello { version: VERSION, node, proves: false }.put(&mut hello);
            connection.send(if opens { &hello } else { b"" });
            connection.outbox.clear();
            continue;
        }
        connection.outbox.read_to_end(read).unwrap();
        let size = match servers {
            Servers::Hang => continue,
            Servers::Close => {
                connection.break_off();
                continue;
            }
            Servers::EndlessLists if !read.is_empty() => {
                if connection.inbox.len() < 1 << 20 {
                    connection.send(&b"STAT items:1:number 1\r\n".repeat(50_000));
                }
                continue;
            }
            Servers::EndlessLists => continue,
            Servers::Values(size) => size,
        };
        let (mut at, limits) = (0, Limits { value: 1 << 30, keys: 1 << 24 });
        while connection.inbox.len() < 1 << 20
            && let Next::Request(request, line) = lines.next(&read[at..], &limits)
        {
            let follow = if let Request::Store(store) = &request { store.follow as usize } else { 0 };
            if read.len() < at + line + follow {
                break;
            }
            let mut out = Vec::new();
            answers(&request, size, &mut out);
            connection.send(&out);
            at += line + follow;
        }
        read.drain(..at);
    }
}

/// Returns the maximum of held bytes, the final number, and the maximum of uncharged bytes.
fn suffers(attack: &Attack) -> [usize; 3] {
    let folder = tempfile::tempdir().unwrap();
    let table = "key,server,was\na,2,1\n";
    let digest: String = Sha256::digest(table).iter().map(|byte| format!("{byte:02x}")).collect();
    let plan = format!("{{\"cluster\": {{\"servers\": 2, \"replicas\": 1}}, \"placement_sha256\": \"{digest}\"}}");
    std::fs::write(folder.path().join("placement.csv"), table).unwrap();
    std::fs::write(folder.path().join("plan.json"), plan).unwrap();
    let text = format!(
        "threads = 1\nmemory = \"32 MiB\"\n[[pool]]\nlisten = \"127.0.0.1:0\"\nservers = [\"10.0.0.1:1\", \"10.0.0.2:1\"]\n{}\n",
        attack.of_pool.replace("FOLDER", &folder.path().display().to_string())
    );
    let racks = "[[server]]\nmemcached = \"10.0.0.1:1\"\nagent = \"10.0.1.1:1\"\nrack = \"a\"\n\
                 [[server]]\nmemcached = \"10.0.0.2:1\"\nagent = \"10.0.1.2:1\"\nrack = \"b\"\n";
    std::fs::write(folder.path().join("racks.toml"), racks).unwrap();
    let settings = Settings::of_file("case.toml", &text).unwrap();
    let servers = settings.pools[0].servers.iter().map(|server| server.target.address.ip().unwrap());
    let addresses: Vec<_> = servers.chain(["10.0.1.1:1", "10.0.1.2:1"].map(|agent| agent.parse().unwrap())).collect();
    let world = Rc::new(RefCell::new(World::new(&addresses)));
    let shared = Arc::new(Shared::new(&settings, 100_000));
    drop(begin(&settings, &shared).unwrap());
    let account = Rc::new(Account::default());
    let net = Apart(Scripted(world.clone()), account.clone());
    let before = charged();
    let mut front = Front::new(net, shared, 0, Arc::new(AtomicBool::new(false)), [1; 32], None);
    let (mut talks, mut uncharged) = (Vec::new(), 0);
    let mut turn = |now: u64| {
        let events = world.borrow_mut().events(|| true);
        account.turn(|| {
            front.turn(now, events.iter().copied());
        });
        uncharged = uncharged.max(account.held.get().saturating_sub(charged() - before));
        serve(&mut world.borrow_mut(), &mut talks, attack.servers);
    };
    (0..20).for_each(|step| turn(step * MS));
    for client in 0..attack.clients {
        let connection = world.borrow_mut().client(attack.room);
        world.borrow_mut().connections[connection].send(&(attack.says)(client));
    }
    for step in 20..70 {
        turn(step * MS);
        if attack.room > 1 << 20 {
            world
                .borrow_mut()
                .connections
                .iter_mut()
                .filter(|one| one.server.is_none())
                .for_each(|one| one.outbox.clear());
        }
    }
    [account.most.get(), account.held.get(), uncharged]
}

fn list(client: usize) -> Vec<u8> {
    let keys: Vec<String> = (0..1000).map(|number| format!("{client}:{number}")).collect();
    format!("get {}\r\n", keys.join(" ")).into()
}

const PLAIN: Attack =
    Attack { name: "", clients: 0, says: list, room: 0, servers: Servers::Values(1_000_000), of_pool: "" };

/// Attacks on pools with hubs.
fn attacks_on_hubs() -> Vec<Attack> {
    vec![
        Attack {
            name: "lists for hubs that hang",
            clients: 700,
            of_pool: "multiget = \"sicc\"\nracks = \"FOLDER/racks.toml\"\nplaintext = true\ntimeout = \"60 s\"",
            ..PLAIN
        },
        Attack {
            name: "lists with replicas for hubs that hang",
            clients: 700,
            of_pool: "multiget = \"sicc-balanced\"\nracks = \"FOLDER/racks.toml\"\nplaintext = true\ntimeout = \"60 s\"\n\
                      replicas = 2",
            ..PLAIN
        },
    ]
}

fn attacks() -> Vec<Attack> {
    let plain = PLAIN;
    vec![
        Attack {
            name: "many equal gets are joined",
            clients: 20,
            says: |_| b"get a\r\n".repeat(1000),
            of_pool: "join = true",
            ..plain
        },
        Attack { name: "equal gets are not joined", clients: 20, says: |_| b"get a\r\n".repeat(1000), ..plain },
        Attack { name: "lists of large values that nobody reads", clients: 60, ..plain },
        Attack {
            name: "a list of one key that is on its way",
            clients: 20,
            says: |_| [&b"get"[..], &b" a".repeat(7000), b"\r\n"].concat(),
            of_pool: "plan = \"FOLDER\"",
            ..plain
        },
        Attack {
            name: "a list of a server without end",
            clients: 5,
            says: |_| b"stats items\r\nstats servers items\r\nstats\r\n".to_vec(),
            servers: Servers::EndlessLists,
            ..plain
        },
        Attack {
            name: "a list of shared connections without end",
            clients: 5,
            says: |_| b"stats servers\r\n".to_vec(),
            servers: Servers::EndlessLists,
            ..plain
        },
        Attack {
            name: "values of which half is sent",
            clients: 300,
            says: |_| [&b"set a 0 0 1000000\r\n"[..], &[b'v'; 500_000]].concat(),
            ..plain
        },
        Attack {
            name: "values for servers that hang",
            clients: 100,
            says: |_| [&b"set a 0 0 500000\r\n"[..], &[b'v'; 500_000], b"\r\n"].concat().repeat(4),
            servers: Servers::Hang,
            ..plain
        },
        Attack {
            name: "requests for servers that hang",
            clients: 2000,
            says: |_| b"mg a v\r\nget a b\r\nme a\r\nget a\r\n".repeat(500),
            servers: Servers::Hang,
            ..plain
        },
        Attack {
            name: "long lines",
            clients: 20,
            says: |client| list(client).repeat(600).into_iter().filter(|byte| *byte > b'\r').collect(),
            ..plain
        },
        Attack {
            name: "lists with replicas for servers that are out",
            clients: 350,
            servers: Servers::Close,
            of_pool: "replicas = 2",
            ..plain
        },
        Attack { name: "small values that nobody reads", clients: 1000, servers: Servers::Values(100), ..plain },
    ]
}

/// Runs tests one at a time, since allocations cannot be attributed.
static TURN: Mutex<()> = Mutex::new(());

#[test]
fn attacks_stay_within_memory_limit() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    for attack in attacks().iter().chain(&attacks_on_hubs()) {
        let [most, end, uncharged] = suffers(attack);
        println!("{}: {most} bytes at most, {end} in the end, {uncharged} not charged", attack.name);
        assert!(
            most <= BUDGET + BESIDE && uncharged <= UNCHARGED,
            "{}: {most} bytes, {uncharged} not charged",
            attack.name
        );
    }
}

#[test]
fn idle_client_takes_little_memory() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let attack = Attack {
        name: "bursts of small gets that are read",
        clients: 4000,
        says: |_| b"get a b c d\r\nget a\r\n".repeat(60),
        room: 1 << 40,
        servers: Servers::Values(100),
        of_pool: "",
    };
    let [most, end, _] = suffers(&attack);
    println!("{}: {most} bytes at most, {} a client in the end", attack.name, end / attack.clients);
    assert!(most <= BUDGET + BESIDE && end < attack.clients * 8192, "{most}, {end}");
}
