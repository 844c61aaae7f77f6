//! TLS with clients and servers, over real sockets.

use std::io::{BufReader, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use fanin_daemon::{Running, Settings};
use rustls::pki_types::ServerName;
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConnection, HandshakeKind};

use crate::certificates::{Authority, EXPIRED, Identity, VALID, client, client_config, folder, open, server};
use crate::support::{Client, EVENT_LOOP, Manner, Server, connect, front, value, wait_until};

const TLS: &str = "tls = { certificate = \"front.pem\", key = \"front-key.pem\" }";

fn servers(address: SocketAddr) -> String {
    format!("servers = [\"{address}\"]\n")
}

fn address(front: &Running, pool: usize) -> SocketAddr {
    front.listens()[pool].ip().unwrap()
}

/// Responses through TLS of this client.
fn answer(client: &mut Client<crate::certificates::Tls>) -> Option<String> {
    let sent = client.0.get_mut().write_all(b"mn\r\n");
    let mut line = String::new();
    use std::io::BufRead;
    (sent.is_ok() && client.0.read_line(&mut line).is_ok_and(|count| count > 0)).then(|| line.trim_end().to_owned())
}

#[test]
fn encrypts_on_both_sides() {
    let ((folder, authority), server) = (folder(), Server::start());
    // Two front ends in a row: one encrypts towards the other.
    let inner = front(folder.path(), &[format!("{}{TLS}", servers(server.address)), servers(server.address)]);
    let to_inner = format!("{}server_tls = {{ ca = \"ca.pem\" }}\n", servers(address(&inner, 0)));
    let outer = front(folder.path(), &[format!("{to_inner}{TLS}"), to_inner]);
    let mut clients: Vec<_> = (0..4).map(|_| client(address(&outer, 0), &authority)).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        let keys: Vec<String> = (0..40).map(|key| format!("{key}-{number}")).collect();
        keys.iter().for_each(|key| assert_eq!(client.set(key, &value(key, 30_000)), "STORED"));
        assert_eq!(client.get(&keys), (keys.clone(), "END".to_owned()), "more than a MiB in one response");
        client.send("get 0-0\r\nmn\r\nget 1-0\r\nmn\r\n");
        assert_eq!((client.values().0.len(), client.line()), (1, "MN".to_owned()));
        assert_eq!((client.values().0.len(), client.line()), (1, "MN".to_owned()));
    }
    let mut client = clients.pop().unwrap();
    assert_eq!(client.set("large", &value("large", 1_000_000)), "STORED");
    assert_eq!(client.get(&["large".to_owned()]).0, ["large"]);
    // A client that ends its side gets the rest, and a notice of the end.
    client.send("get large\r\nquit\r\n");
    assert_eq!(client.values().0, ["large"]);
    assert_eq!(client.0.read(&mut [0; 1]).unwrap(), 0, "no error, but the end");
    let mut plain = Client::to(address(&outer, 1));
    assert_eq!((plain.figure("tls_handshakes"), plain.figure("server_tls_handshakes")), (4, 2));
    let mut plain = Client::to(address(&inner, 1));
    assert_eq!((plain.figure("tls_handshakes"), plain.figure("server_tls_handshakes")), (2, 0));
}

#[test]
fn reload_replaces_certificates() {
    let ((folder, authority), server) = (folder(), Server::start());
    let name = folder.path().join("front.toml").display().to_string();
    let text =
        format!("threads = 1\n{EVENT_LOOP}[[pool]]\nlisten = \"127.0.0.1:0\"\n{}{TLS}\n", servers(server.address));
    let mut front = fanin_daemon::start(&Settings::of_file(&name, &text).unwrap()).unwrap();
    let mut before = client(address(&front, 0), &authority);
    assert_eq!(before.ask("mn\r\n"), "MN");
    let other = Authority::new("Other CA", VALID);
    other.issue("front", &["127.0.0.1"], VALID).write(folder.path(), "front");
    front.reload(&Settings::of_file(&name, &text).unwrap()).unwrap();
    // The old connection stays, and new ones get the new certificate.
    assert_eq!(before.ask("mn\r\n"), "MN");
    assert_eq!(answer(&mut client(address(&front, 0), &other)), Some("MN".to_owned()));
    assert_eq!(answer(&mut client(address(&front, 0), &authority)), None);
}

#[test]
fn slow_reader_gets_everything() {
    let ((folder, authority), server) = (folder(), Server::start());
    let front = front(folder.path(), &[format!("{}{TLS}", servers(server.address))]);
    let mut client = client(address(&front, 0), &authority);
    let keys: Vec<String> = (0..8).map(|key| format!("{key}-key")).collect();
    keys.iter().for_each(|key| assert_eq!(client.set(key, &value(key, 900_000)), "STORED"));
    let list = format!("get {}\r\n", keys.join(" "));
    client.send(&list.repeat(4));
    std::thread::sleep(Duration::from_millis(100));
    for _ in 0..4 {
        assert_eq!(client.values(), (keys.clone(), "END".to_owned()));
    }
}

#[test]
fn requires_certificate_and_name() {
    let ((folder, authority), server) = (folder(), Server::start());
    let mutual = "tls = { certificate = \"front.pem\", key = \"front-key.pem\", client_ca = \"ca.pem\"";
    let pools = [
        servers(server.address),
        format!("{}{mutual} }}\n", servers(server.address)),
        format!(
            "{}{mutual}, allow_names = [\"web.test\", \"spiffe://test/web\", \"Common\"] }}\n",
            servers(server.address)
        ),
    ];
    let front = front(folder.path(), &pools);
    let other = Authority::new("Other CA", VALID);
    let mut plain = Client::to(address(&front, 0));
    let tries = |pool: usize, own: Option<&Identity>, version| {
        let config = Arc::new(client_config(&authority, own, &[version]));
        answer(&mut Client(BufReader::new(open(address(&front, pool), &config))))
    };
    let own = |common: &str, names: &[&str]| authority.issue(common, names, VALID);
    let well = Some("MN".to_owned());
    for version in [&TLS12, &TLS13] {
        assert_eq!(tries(1, Some(&own("anyone", &[])), version), well);
        for (common, names) in
            [("x", &["web.test"][..]), ("x", &["a.test", "WEB.test"]), ("x", &["spiffe://test/web"]), ("Common", &[])]
        {
            assert_eq!(tries(2, Some(&own(common, names)), version), well, "{common} {names:?}");
        }
        for (common, names) in [("x", &["a.web.test"][..]), ("common", &[]), ("x", &["spiffe://test/WEB"]), ("", &[])] {
            assert_eq!(tries(2, Some(&own(common, names)), version), None, "{common} {names:?}");
        }
        assert_eq!(tries(1, None, version), None);
        assert_eq!(tries(1, Some(&other.issue("x", &["web.test"], VALID)), version), None);
        assert_eq!(tries(1, Some(&authority.issue("x", &["web.test"], EXPIRED)), version), None);
    }
    assert_eq!(plain.figure("clients_denied"), 2 * 4);
    assert_eq!(plain.figure("tls_failed_certificate"), 2 * 3);
    assert_eq!(plain.figure("tls_handshakes"), 2 * 5);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "certificates end by the world's clock")]
fn expired_certificate_does_not_resume() {
    let ((folder, authority), server) = (folder(), Server::start());
    let mutual = "tls = { certificate = \"front.pem\", key = \"front-key.pem\", client_ca = \"ca.pem\" }\n";
    let pools = [format!("{}{mutual}", servers(server.address)), servers(server.address)];
    let front = front(folder.path(), &pools);
    let unix = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let end = unix() + 4;
    let own = authority.issue_until("web", &["web.test"], end);
    let tries = [&TLS12, &TLS13].map(|version| Arc::new(client_config(&authority, Some(&own), &[version])));
    let connect = |config| {
        let mut client = Client(BufReader::new(open(address(&front, 0), config)));
        (answer(&mut client), client.0.get_ref().conn.handshake_kind())
    };
    for config in &tries {
        assert_eq!(connect(config).0.as_deref(), Some("MN"));
        assert_eq!(connect(config).1, Some(HandshakeKind::Resumed), "it is valid");
    }
    wait_until("the certificate expires", || unix() > end);
    for config in &tries {
        assert_eq!(connect(config).0, None, "it has expired");
    }
    assert!(Client::to(address(&front, 1)).figure("tls_failed_certificate") >= 2);
}

#[test]
fn resumes_sessions() {
    let ((folder, authority), server) = (folder(), Server::start());
    let front = front(folder.path(), &[format!("{}{TLS}", servers(server.address)), servers(server.address)]);
    for version in [&TLS12, &TLS13] {
        let config = Arc::new(client_config(&authority, None, &[version]));
        for kind in [HandshakeKind::Full, HandshakeKind::Resumed, HandshakeKind::Resumed] {
            let mut client = Client(BufReader::new(open(address(&front, 0), &config)));
            assert_eq!(answer(&mut client).as_deref(), Some("MN"));
            assert_eq!(client.0.get_ref().conn.handshake_kind(), Some(kind), "{version:?}");
        }
    }
    let mut plain = Client::to(address(&front, 1));
    assert_eq!((plain.figure("tls_handshakes"), plain.figure("tls_resumed")), (6, 4));
    // Towards servers: a connection that is opened again resumes.
    let inner = server_with_tls(&authority);
    let outer =
        crate::support::front(folder.path(), &[format!("{}server_tls = {{ ca = \"ca.pem\" }}\n", servers(inner))]);
    let mut plain = Client::to(address(&outer, 0));
    for _ in 0..3 {
        plain.ask("get a\r\n");
    }
    wait_until("a resumed session", || {
        plain.ask("get a\r\n");
        plain.figure("server_tls_resumed") > 0
    });
}

/// A server with TLS whose responses are invalid, so that its connections are opened again.
fn server_with_tls(authority: &Authority) -> SocketAddr {
    server(&authority.issue("server", &["127.0.0.1"], VALID), "NONSENSE\r\n")
}

#[test]
fn refuses_clients_without_tls() {
    let ((folder, authority), server) = (folder(), Server::start());
    let front = front(folder.path(), &[format!("{}{TLS}", servers(server.address)), servers(server.address)]);
    let mut plain = Client::to(address(&front, 1));
    for (number, text) in ["get a\r\n", "GET / HTTP/1.1\r\n\r\n", "\u{1}\u{2}\u{3}\u{4}\u{5}\u{6}"].iter().enumerate() {
        let mut client = Client::to(address(&front, 0));
        client.send(text);
        let mut bytes = Vec::new();
        // An alert, perhaps.
        let _ = client.0.read_to_end(&mut bytes);
        assert!(bytes.len() < 10 && !bytes.starts_with(b"E"), "{}", bytes.escape_ascii());
        assert_eq!(plain.figure("tls_failed_plain"), number as u64 + 1);
    }
    // Garbage within records, and a client that goes away.
    let mut client = Client::to(address(&front, 0));
    client.0.get_mut().write_all(&[22, 3, 1, 0, 5, 9, 9, 9, 9, 9]).unwrap();
    let _ = client.0.read_to_end(&mut Vec::new());
    assert_eq!(plain.figure("tls_failed_protocol"), 1);
    drop(connect(address(&front, 0)));
    wait_until("a client that closes", || plain.figure("tls_failed_closed") == 1);
    assert_eq!(plain.figure("curr_connections"), 1);
    assert_eq!(plain.figure("tls_handshakes"), 0);
    assert_eq!(crate::certificates::client(address(&front, 0), &authority).ask("mn\r\n"), "MN");
}

#[test]
fn handshake_works_in_single_bytes() {
    let ((folder, authority), server) = (folder(), Server::start());
    let front = front(folder.path(), &[format!("{}{TLS}", servers(server.address))]);
    for version in [&TLS12, &TLS13] {
        let config = Arc::new(client_config(&authority, None, &[version]));
        let name = ServerName::from(address(&front, 0).ip());
        let (mut tls, mut stream) = (ClientConnection::new(config, name).unwrap(), connect(address(&front, 0)));
        tls.writer().write_all(b"set a 0 0 2\r\na/\r\nget a\r\n").unwrap();
        let mut plain = Vec::new();
        while !plain.ends_with(b"END\r\n") {
            let mut bytes = Vec::new();
            while tls.wants_write() {
                tls.write_tls(&mut bytes).unwrap();
            }
            bytes.iter().for_each(|byte| stream.write_all(&[*byte]).unwrap());
            tls.read_tls(&mut stream).unwrap();
            tls.process_new_packets().unwrap();
            match tls.reader().read_to_end(&mut plain) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                result => panic!("{result:?}"),
            }
        }
        assert_eq!(plain, b"STORED\r\nVALUE a 0 2\r\na/\r\nEND\r\n");
    }
}

/// `machine/endless.rs` counts how many there are in a loop iteration.
#[test]
fn flood_of_handshakes_keeps_nobody_away() {
    let ((folder, authority), server) = (folder(), Server::start());
    let front = front(folder.path(), &[format!("{}{TLS}", servers(server.address)), servers(server.address)]);
    let mut plain = Client::to(address(&front, 1));
    assert_eq!(plain.set("a", &value("a", 10)), "STORED");
    let config = Arc::new(client_config(&authority, None, &[&TLS13]));
    let mut clients: Vec<_> = (0..200).map(|_| open(address(&front, 0), &config)).collect();
    // All hellos at once.
    for client in &mut clients {
        client.conn.write_tls(&mut client.sock).unwrap();
    }
    assert_eq!(plain.get(&["a".to_owned()]).0, ["a"]);
    for client in clients {
        assert_eq!(answer(&mut Client(BufReader::new(client))).as_deref(), Some("MN"));
    }
    assert_eq!(plain.figure("tls_handshakes"), 200);
}

#[test]
fn reports_why_a_server_is_refused() {
    let ((folder, authority), plain_server) = (folder(), Server::start());
    let other = Authority::new("Other CA", VALID);
    let own =
        |authority: &Authority, names: &[&str], years| server(&authority.issue("server", names, years), "END\r\n");
    for (address_of_server, why) in [
        (own(&authority, &["127.0.0.1"], EXPIRED), "expired"),
        (own(&authority, &["cache.test"], VALID), "not valid for name"),
        (own(&other, &["127.0.0.1"], VALID), "UnknownIssuer"),
        (plain_server.address, "it does not use TLS"),
    ] {
        let pool = format!("{}server_tls = {{ ca = \"ca.pem\" }}\n", servers(address_of_server));
        let front = front(folder.path(), &[pool]);
        let mut client = Client::to(address(&front, 0));
        plain_server.set(Manner::Garbage);
        assert!(client.ask("get a\r\n").starts_with("SERVER_ERROR server"), "{why}");
        let mut failure = String::new();
        wait_until(why, || {
            failure = client.word_if(&format!("{address_of_server}:failure")).unwrap_or_default();
            failure.contains(why)
        });
        assert!(client.figure("server_tls_failed") > 0 && client.figure("server_tls_handshakes") == 0, "{failure}");
    }
    // By its own name it is accepted.
    let named = own(&authority, &["cache.test"], VALID);
    let pool = format!("{}server_tls = {{ ca = \"ca.pem\", name = \"cache.test\" }}\n", servers(named));
    let front = front(folder.path(), &[pool]);
    assert_eq!(Client::to(address(&front, 0)).ask("get a\r\n"), "END");
}

#[test]
fn shows_own_certificate_to_servers() {
    let ((folder, authority), server) = (folder(), Server::start());
    authority.issue("outer", &["outer.test"], VALID).write(folder.path(), "outer");
    let mutual = "tls = { certificate = \"front.pem\", key = \"front-key.pem\", client_ca = \"ca.pem\", allow_names = [\"outer.test\"] }";
    let inner = front(folder.path(), &[format!("{}{mutual}", servers(server.address))]);
    let with = |more: &str| format!("{}server_tls = {{ ca = \"ca.pem\"{more} }}\n", servers(address(&inner, 0)));
    let outer = front(folder.path(), &[with(", certificate = \"outer.pem\", key = \"outer-key.pem\""), with("")]);
    assert_eq!(Client::to(address(&outer, 0)).set("a", "b"), "STORED");
    let mut refused = Client::to(address(&outer, 1));
    assert!(refused.ask("get a\r\n").starts_with("SERVER_ERROR"));
    wait_until("the server's alert", || {
        refused.ask("get a\r\n");
        refused
            .word_if(&format!("{}:failure", address(&inner, 0)))
            .is_some_and(|why| why.contains("CertificateRequired"))
    });
}
