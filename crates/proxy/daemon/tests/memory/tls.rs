//! Memory of clients with TLS.

use std::cell::RefCell;
use std::fs;
use std::io::Write;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, PoisonError};

use fanin_daemon::Settings;
use fanin_daemon::machine::{Front, Secure, Shared, charged};
use rustls::crypto::ring::default_provider;
use rustls::{ClientConfig, ClientConnection, RootCertStore};

use super::world::{Scripted, World};
use super::{Account, Apart, BESIDE, BUDGET, MS, TURN};

/// A front end with TLS, and its clients.
struct Site {
    world: Rc<RefCell<World>>,
    account: Rc<Account>,
    front: Front<Secure<Apart>>,
    clients: Vec<(usize, ClientConnection)>,
    before: usize,
    now: u64,
    /// Most bytes that were not charged.
    uncharged: usize,
}

impl Site {
    fn new(count: usize) -> Site {
        let folder = tempfile::tempdir().unwrap();
        let rcgen::CertifiedKey { cert, signing_key } =
            rcgen::generate_simple_self_signed(["front.test".to_owned()]).unwrap();
        fs::write(folder.path().join("c.pem"), cert.pem()).unwrap();
        fs::write(folder.path().join("k.pem"), signing_key.serialize_pem()).unwrap();
        let text = "threads = 1\nmemory = \"32 MiB\"\n[[pool]]\nlisten = \"127.0.0.1:0\"\nservers = [\"10.0.0.1:1\"]\n\
                    tls = { certificate = \"c.pem\", key = \"k.pem\" }\n";
        let name = folder.path().join("case.toml").display().to_string();
        let settings = Settings::of_file(&name, text).unwrap();
        let server = settings.pools[0].servers[0].target.address.ip().unwrap();
        let world = Rc::new(RefCell::new(World::new(&[server])));
        let shared = Arc::new(Shared::new(&settings, 100_000));
        let account = Rc::new(Account::default());
        let before = charged();
        let net = Secure::new(Apart(Scripted(world.clone()), account.clone()), shared.counters(0));
        let front = Front::new(net, shared, 0, Arc::new(AtomicBool::new(false)), [1; 32], None);
        let mut roots = RootCertStore::empty();
        roots.add(cert.der().clone()).unwrap();
        let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()));
        let builder = builder.with_safe_default_protocol_versions().unwrap();
        let config = Arc::new(builder.with_root_certificates(roots).with_no_client_auth());
        let client = |_| {
            let tls = ClientConnection::new(config.clone(), "front.test".try_into().unwrap()).unwrap();
            (world.borrow_mut().client(usize::MAX / 2), tls)
        };
        let clients = (0..count).map(client).collect();
        Site { world, account, front, clients, before, now: 0, uncharged: 0 }
    }

    fn turn(&mut self) {
        self.now += MS;
        let events = self.world.borrow_mut().events(|| true);
        self.account.turn(|| {
            self.front.turn(self.now, events.iter().copied());
        });
        let held = self.account.held.get();
        self.uncharged = self.uncharged.max(held.saturating_sub(charged() - self.before));
    }

    /// Exchanges the clients' records.
    fn exchange(&mut self) {
        let world = &mut *self.world.borrow_mut();
        for (number, tls) in &mut self.clients {
            let connection = &mut world.connections[*number];
            let mut bytes = Vec::new();
            while tls.wants_write() {
                tls.write_tls(&mut bytes).unwrap();
            }
            if !bytes.is_empty() {
                connection.send(&bytes);
            }
            let said: Vec<u8> = connection.outbox.drain(..).collect();
            let mut said = &said[..];
            while !said.is_empty() {
                tls.read_tls(&mut said).unwrap();
                tls.process_new_packets().unwrap();
            }
        }
    }
}

#[test]
fn idle_client_with_tls_takes_little_memory() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    const CLIENTS: usize = 500;
    let mut site = Site::new(CLIENTS);
    for _ in 0..400 {
        site.exchange();
        site.turn();
    }
    assert!(site.clients.iter().all(|(_, tls)| !tls.is_handshaking()));
    for round in 0..3 {
        for (_, tls) in &mut site.clients {
            tls.writer().write_all(b"mn\r\n").unwrap();
        }
        for _ in 0..4 {
            site.exchange();
            site.turn();
        }
        for (number, tls) in &mut site.clients {
            let mut line = [0; 4];
            std::io::Read::read_exact(&mut tls.reader(), &mut line)
                .unwrap_or_else(|error| panic!("{number} {round}: {error}"));
            assert_eq!(&line, b"MN\r\n");
        }
    }
    let (held, uncharged) = (site.account.held.get(), site.uncharged);
    println!("{} bytes a client, {uncharged} not charged of {held}", held / CLIENTS);
    assert!(held / CLIENTS < 8192 && uncharged < 1 << 20, "{held}, {uncharged}");
}

#[test]
fn stalled_handshakes_stay_within_memory_limit() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut site = Site::new(3000);
    site.exchange();
    for _ in 0..1000 {
        site.turn();
    }
    let (most, uncharged) = (site.account.most.get(), site.uncharged);
    println!("{most} bytes at most, {uncharged} not charged");
    assert!(most <= BUDGET + BESIDE && uncharged < 2 << 20, "{most}, {uncharged}");
    // After ten seconds all are closed.
    site.now += 10_000 * MS;
    (0..3).for_each(|_| site.turn());
    let world = site.world.borrow();
    assert!(site.clients.iter().all(|(number, _)| world.connections[*number].closed));
    let figures = site.front.figures();
    let slow = figures.iter().find(|figure| figure.metric.name == "clients_slow").unwrap();
    assert!(matches!(slow.value, fanin_daemon::machine::Value::Number(count) if count > 500), "{slow:?}");
}
