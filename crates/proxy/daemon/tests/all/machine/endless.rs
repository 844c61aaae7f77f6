//! Peers that always have more to send, on each kind of connection: none keeps its thread for longer than its budget of a loop iteration,
//! and others are served meanwhile.

use std::collections::VecDeque;
use std::fs;
use std::sync::{Arc, Mutex};

use fanin_roles::wire::{Hello, ItemKey, Load, Swarm, VERSION};
use fanin_roles::{Body, Message, Node, Tag};
use fanin_units::Rate;
use rustls::crypto::CryptoProvider;
use rustls::crypto::cipher::{AeadKey, Iv, OutboundChunks, OutboundPlainMessage};
use rustls::crypto::ring::{cipher_suite, default_provider};
use rustls::crypto::tls13::OkmBlock;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{
    ClientConfig, ClientConnection, ContentType, KeyLog, ProtocolVersion, RootCertStore, ServerConfig,
    ServerConnection, SupportedCipherSuite,
};

use super::site::{SOON, Site, agent_settings, pool};
use crate::certificates;

/// The same text again and again.
fn repeats(text: &[u8]) -> impl FnMut(&mut VecDeque<u8>) + 'static {
    let text = text.repeat(1000);
    move |inbox| inbox.extend(&text)
}

#[test]
fn plain_clients() {
    let folder = super::in_memory();
    let value = format!("set a 0 0 100 noreply\r\n{}\r\n", "v".repeat(100));
    let list = format!("get {}\r\n", "k ".repeat(1000));
    for text in ["mn\r\n", &value, &list, "x", "set a 0 0 9999999\r\n"] {
        let mut site = Site::front(folder.path(), &pool(""));
        let clients: Vec<usize> = (0..9).map(|_| site.world.borrow_mut().client(0)).collect();
        site.turn();
        clients.into_iter().for_each(|client| site.floods(client, repeats(text.as_bytes())));
        site.serves_others(text);
    }
}

#[test]
fn clients_that_connect() {
    let folder = super::in_memory();
    let mut site = Site::front(folder.path(), &pool(""));
    site.turn();
    let before = site.world.borrow().connections.len();
    site.world.borrow_mut().endless_clients = true;
    site.world.borrow_mut().client(0);
    (0..10).for_each(|_| site.turn());
    let accepted = site.world.borrow().connections.len() - before;
    assert!((100..=2000).contains(&accepted), "{accepted}");
}

#[test]
fn clients_that_log_in() {
    let folder = super::in_memory();
    fs::write(folder.path().join("users"), "ann:secret\n").unwrap();
    for text in ["get a\r\n", "set a 0 0 10\r\nann guess1\r\n"] {
        let mut site = Site::front(folder.path(), &pool("auth = \"users\"\n"));
        let client = site.world.borrow_mut().client(usize::MAX / 2);
        site.turn();
        site.floods(client, repeats(text.as_bytes()));
        (0..50).for_each(|_| site.turn());
    }
}

#[test]
fn servers() {
    let folder = super::in_memory();
    let mut site = Site::front(folder.path(), &pool("timeout = \"10 s\"\n"));
    let client = site.world.borrow_mut().client(usize::MAX / 2);
    let server = site.connect_to_server(0);
    site.turn();
    // A value that is too large is not kept, but read to its end.
    let keys: String = (0..50).map(|number| format!("get {number}-key\r\n")).collect();
    site.send(client, keys.as_bytes());
    (0..3).for_each(|_| site.turn());
    let asked = String::from_utf8(site.said(server)).unwrap();
    let first = asked.lines().next().unwrap().strip_prefix("get ").unwrap();
    site.send(server, format!("VALUE {first} 0 2147483600\r\n").as_bytes());
    site.floods(server, repeats(b"v"));
    site.serves_others("a value without end");
    assert!(!site.is_closed(server), "it goes on");
}

/// A pool with the hub of these racks.
fn hubs() -> String {
    "[[pool]]\nlisten = \"127.0.0.1:0\"\nservers = [\"10.0.0.1:1\"]\nmultiget = \"sicc\"\nracks = \"racks.toml\"\nplaintext = true\n"
        .to_owned()
}

fn hello(node: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    Hello { version: VERSION, node: Node(node), proves: false }.put(&mut bytes);
    bytes
}

/// The node of a front end.
const FRONT_END: Node = Node(1 << 31 | 5);

fn message(body: Body<ItemKey, fanin_roles::wire::Item>) -> Vec<u8> {
    let mut bytes = Vec::new();
    Message { tag: Tag { origin: FRONT_END, request: 1, epoch: 0, nonce: 0 }, index: 0, body }.put(&mut bytes);
    bytes
}

#[test]
fn agents() {
    let folder = super::in_memory();
    let node = agent_settings(folder.path(), "").node();
    let mut site = Site::front(folder.path(), &hubs());
    let agent = site.connect_to_server(2);
    site.turn();
    site.send(agent, &hello(node.0));
    site.turn();
    site.floods(agent, repeats(&message(Body::Load(Load { spare: 5, round_trip: 9 }))));
    site.serves_others("an agent's reports");
    assert!(!site.is_closed(agent));
}

#[test]
fn peers_of_an_agent() {
    let folder = super::in_memory();
    for (greets, text) in [(true, message(Body::Over)), (true, message(Body::Miss)), (false, b"fan".to_vec())] {
        let mut site = Site::agent(folder.path(), "");
        let floods = site.world.borrow_mut().client(usize::MAX / 2);
        site.turn();
        if greets {
            site.send(floods, &hello(FRONT_END.0));
        }
        site.floods(floods, repeats(&text));
        let other = site.world.borrow_mut().client(usize::MAX / 2);
        (0..SOON).for_each(|_| site.turn());
        assert_eq!(site.said(other).len(), hello(0).len(), "it greets others");
    }
}

/// Records without plaintext, as TLS 1.3 sends them: thirty key updates that request others, then an empty record.
struct KeyUpdates {
    secret: OkmBlock,
    sent: u64,
    updates: u32,
}

impl KeyUpdates {
    fn label(&self, label: &str, out: &mut [u8]) {
        let SupportedCipherSuite::Tls13(suite) = cipher_suite::TLS13_CHACHA20_POLY1305_SHA256 else { unreachable!() };
        let (size, name) = ((out.len() as u16).to_be_bytes(), format!("tls13 {label}"));
        let info: [&[u8]; 4] = [&size, &[name.len() as u8], name.as_bytes(), &[0]];
        suite.hkdf_provider.expander_for_okm(&self.secret).expand_slice(&info, out).ok().unwrap();
    }

    fn record(&mut self, typ: ContentType, payload: &[u8]) -> Vec<u8> {
        let SupportedCipherSuite::Tls13(suite) = cipher_suite::TLS13_CHACHA20_POLY1305_SHA256 else { unreachable!() };
        let (mut key, mut iv) = ([0; 32], [0; 12]);
        self.label("key", &mut key);
        self.label("iv", &mut iv);
        let mut encrypter = suite.aead_alg.encrypter(AeadKey::from(key), Iv::from(iv));
        let payload = OutboundChunks::Single(payload);
        let plain = OutboundPlainMessage { typ, version: ProtocolVersion::TLSv1_2, payload };
        let record = encrypter.encrypt(plain, self.sent).unwrap().encode();
        self.sent += 1;
        record
    }

    fn more(&mut self, inbox: &mut VecDeque<u8>) {
        for _ in 0..30 {
            inbox.extend(self.record(ContentType::Handshake, &[24, 0, 0, 1, 1]));
            let mut next = [0; 32];
            self.label("traffic upd", &mut next);
            (self.secret, self.sent) = (OkmBlock::new(&next), 0);
            self.updates += 1;
        }
        inbox.extend(self.record(ContentType::ApplicationData, b""));
    }
}

/// Secrets of a session, by their labels.
#[derive(Debug, Default)]
struct Secrets(Mutex<Vec<(String, Vec<u8>)>>);

impl KeyLog for Secrets {
    fn log(&self, label: &str, _: &[u8], secret: &[u8]) {
        self.0.lock().unwrap().push((label.to_owned(), secret.to_vec()));
    }
}

impl Secrets {
    fn updates(&self, label: &str) -> KeyUpdates {
        let secrets = self.0.lock().unwrap();
        let (_, secret) = secrets.iter().find(|(found, _)| found == label).unwrap();
        KeyUpdates { secret: OkmBlock::new(secret), sent: 0, updates: 0 }
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(CryptoProvider { cipher_suites: vec![cipher_suite::TLS13_CHACHA20_POLY1305_SHA256], ..default_provider() })
}

/// Exchanges the bytes of a handshake with the process, until it is over on this side.
fn shake_hands(site: &mut Site, connection: usize, tls: &mut rustls::Connection) {
    for _ in 0..100 {
        let mut bytes = Vec::new();
        while tls.wants_write() {
            tls.write_tls(&mut bytes).unwrap();
        }
        if !bytes.is_empty() {
            site.send(connection, &bytes);
        }
        site.turn();
        let said = site.said(connection);
        let mut said = &said[..];
        while !said.is_empty() {
            tls.read_tls(&mut said).unwrap();
            tls.process_new_packets().unwrap();
        }
        if !tls.is_handshaking() && !tls.wants_write() {
            return;
        }
    }
    panic!("no end of the handshake");
}

/// Settings of clients that trust this authority, and the secrets of their sessions.
fn client_config(authority: &certificates::Authority) -> (Arc<ClientConfig>, Arc<Secrets>) {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.certificate.as_bytes()).unwrap()).unwrap();
    let secrets = Arc::new(Secrets::default());
    let builder = ClientConfig::builder_with_provider(provider()).with_protocol_versions(&[&rustls::version::TLS13]);
    let mut config = builder.unwrap().with_root_certificates(roots).with_no_client_auth();
    config.key_log = secrets.clone();
    (Arc::new(config), secrets)
}

#[test]
fn clients_that_shake_hands() {
    let (folder, authority) = certificates::folder();
    let (config, _) = client_config(&authority);
    let second =
        pool("tls = { certificate = \"front.pem\", key = \"front-key.pem\" }\n").replace("127.0.0.1", "127.0.0.2");
    let mut site = Site::front(folder.path(), &format!("{}{second}", pool("")));
    let clients: Vec<usize> = (0..50).map(|_| site.world.borrow_mut().client_of(1, usize::MAX / 2)).collect();
    let other = site.world.borrow_mut().client(usize::MAX / 2);
    site.turn();
    for client in &clients {
        let mut tls = ClientConnection::new(config.clone(), "127.0.0.1".try_into().unwrap()).unwrap();
        let mut hello = Vec::new();
        tls.write_tls(&mut hello).unwrap();
        site.send(*client, &hello);
    }
    let mut greeted = 0;
    for _ in 0..50 / 4 {
        site.send(other, b"mn\r\n");
        site.turn();
        let answered = clients.iter().filter(|client| !site.said(**client).is_empty()).count();
        assert!((1..=4).contains(&answered), "{answered} handshakes in an iteration");
        assert_eq!(site.said(other), b"MN\r\n");
        greeted += answered;
    }
    assert_eq!(greeted, 48);
}

/// A client with TLS that sends key updates without end.
fn flooding_client(site: &mut Site, config: &Arc<ClientConfig>, secrets: &Arc<Secrets>) -> usize {
    let client = site.world.borrow_mut().client_of(1, usize::MAX / 2);
    let mut tls = ClientConnection::new(config.clone(), "127.0.0.1".try_into().unwrap()).unwrap().into();
    secrets.0.lock().unwrap().clear();
    shake_hands(site, client, &mut tls);
    let mut updates = secrets.updates("CLIENT_TRAFFIC_SECRET_0");
    site.floods(client, move |inbox| updates.more(inbox));
    client
}

#[test]
fn clients_with_tls() {
    let (folder, authority) = certificates::folder();
    let (config, secrets) = client_config(&authority);
    fs::write(folder.path().join("users"), "ann:secret\n").unwrap();
    let second = pool("auth = \"users\"\ntls = { certificate = \"front.pem\", key = \"front-key.pem\" }\n");
    let second = second.replace("127.0.0.1", "127.0.0.2");
    let mut site = Site::front(folder.path(), &format!("{}{second}", pool("")));
    let client = flooding_client(&mut site, &config, &secrets);
    site.serves_others("key updates of a client");
    assert!(!site.is_closed(client), "the records are valid");
    // A connection has 2 ms of work in an iteration, and a tenant 8 ms; a key update takes some 10 us and has 27 B.
    let read = |site: &mut Site, turns: usize| {
        let reads = (0..turns).map(|_| {
            site.turn();
            site.world.borrow().read
        });
        reads.sum::<usize>()
    };
    let of_one = read(&mut site, 400);
    assert!((400 * 32 * 27..400 * 64 * 27 + (256 << 10)).contains(&of_one), "{of_one} bytes");
    for _ in 0..63 {
        flooding_client(&mut site, &config, &secrets);
    }
    read(&mut site, 64);
    let of_all = read(&mut site, 50);
    assert!(of_all < 50 * 256 * 27 + (256 << 10), "{of_all} bytes");
    site.serves_others("key updates of 64 clients");
}

/// The end of a server with TLS.
fn tls_server(folder: &std::path::Path, secrets: &Arc<Secrets>) -> rustls::Connection {
    let read = |name: &str| fs::read(folder.join(name)).unwrap();
    let chain = vec![CertificateDer::from_pem_slice(&read("front.pem")).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(&read("front-key.pem")).unwrap();
    let builder = ServerConfig::builder_with_provider(provider()).with_protocol_versions(&[&rustls::version::TLS13]);
    let mut config = builder.unwrap().with_no_client_auth().with_single_cert(chain, key).unwrap();
    (config.key_log, config.send_tls13_tickets) = (secrets.clone(), 0);
    ServerConnection::new(Arc::new(config)).unwrap().into()
}

#[test]
fn servers_with_tls() {
    let (folder, authority) = certificates::folder();
    authority.issue("front", &["10.0.0.1", "10.0.0.2"], certificates::VALID).write(folder.path(), "front");
    // Before a login has been answered, and afterwards.
    for login in [false, true] {
        let secrets = Arc::new(Secrets::default());
        fs::write(folder.path().join("user"), "ann:secret\n").unwrap();
        let with_login = if login { "server_auth = \"user\"\n" } else { "" };
        let mut site = Site::front(folder.path(), &pool(&format!("server_tls = {{ ca = \"ca.pem\" }}\n{with_login}")));
        let server = site.connect_to_server(0);
        shake_hands(&mut site, server, &mut tls_server(folder.path(), &secrets));
        let mut updates = secrets.updates("SERVER_TRAFFIC_SECRET_0");
        site.floods(server, move |inbox| updates.more(inbox));
        site.serves_others("key updates of a server");
        assert!(!site.is_closed(server), "the records are valid");
    }
}

#[test]
fn memcacheds_of_an_agent() {
    let (folder, authority) = certificates::folder();
    authority.issue("front", &["10.0.0.1"], certificates::VALID).write(folder.path(), "front");
    for with_tls in [false, true] {
        let tls = if with_tls { "server_tls = { ca = \"ca.pem\" }\n" } else { "" };
        let holder = agent_settings(folder.path(), tls).node();
        let mut site = Site::agent(folder.path(), tls);
        let peer = site.world.borrow_mut().client(usize::MAX / 2);
        site.turn();
        let key = ItemKey { with_cas: false, key: fanin_roles::wire::Key::new(b"key"[..].into()).unwrap() };
        let swarm = message(Body::Swarm(Swarm { parent: FRONT_END, rate: Rate(0), own: 1, all: 1 }));
        site.send(peer, &[hello(FRONT_END.0), swarm, message(Body::Ask { key, holder })].concat());
        let server = site.connect_to_server(0);
        if with_tls {
            let secrets = Arc::new(Secrets::default());
            shake_hands(&mut site, server, &mut tls_server(folder.path(), &secrets));
            let mut updates = secrets.updates("SERVER_TRAFFIC_SECRET_0");
            site.floods(server, move |inbox| updates.more(inbox));
        } else {
            site.turn();
            site.send(server, b"VALUE key 0 2147483600\r\n");
            site.floods(server, repeats(b"v"));
        }
        let other = site.world.borrow_mut().client(usize::MAX / 2);
        (0..SOON).for_each(|_| site.turn());
        assert_eq!(site.said(other).len(), hello(0).len(), "it greets others");
        assert!(!site.is_closed(server), "what it sends is valid");
    }
}
