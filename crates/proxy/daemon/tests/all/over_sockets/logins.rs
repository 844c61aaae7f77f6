//! memcached's ASCII authentication, of clients and towards servers.

use std::fs;
use std::net::SocketAddr;

use fanin_daemon::Running;

use crate::certificates::{client, folder};
use crate::support::{Client, Server, front, value, wait_until};

fn address(front: &Running, pool: usize) -> SocketAddr {
    front.listens()[pool].ip().unwrap()
}

/// A login.
fn login(user: &str) -> String {
    format!("set any 0 0 {}\r\n{user}\r\n", user.len())
}

#[test]
fn serves_users_only() {
    let ((folder, authority), server) = (folder(), Server::start());
    fs::write(folder.path().join("users"), "ann:secret\nbob:other\n").unwrap();
    let servers = format!("servers = [\"{}\"]\n", server.address);
    let tls = "tls = { certificate = \"front.pem\", key = \"front-key.pem\" }\n";
    let auth = "auth = \"users\"\n";
    let pools = [servers.clone(), format!("{servers}{auth}"), format!("{servers}{auth}{tls}")];
    let front = front(folder.path(), &pools);
    let mut plain = Client::to(address(&front, 0));
    assert_eq!(plain.set("a", &value("a", 100_000)), "STORED");
    let mut ann = Client::to(address(&front, 1));
    assert_eq!(ann.ask("get a\r\n"), "CLIENT_ERROR unauthenticated");
    assert_eq!(ann.ask(&login("ann other")), "CLIENT_ERROR authentication failure");
    assert_eq!(ann.ask("get a\r\n"), "CLIENT_ERROR unauthenticated");
    // Requests behind the login, in the same packet, are taken.
    ann.send(&format!("{}get a\r\nmn\r\n", login("ann secret")));
    assert_eq!(ann.line(), "STORED");
    assert_eq!((ann.values().0, ann.line()), (vec!["a".to_owned()], "MN".to_owned()));
    // Afterwards a `set` is a `set`.
    assert_eq!((ann.set("any", "ann other"), ann.ask("md any\r\n").as_str() == "NF"), ("STORED".to_owned(), true));
    let mut bob = client(address(&front, 2), &authority);
    assert_eq!(bob.ask("version\r\n"), "CLIENT_ERROR unauthenticated");
    assert_eq!(bob.ask(&login("bob other")), "STORED");
    assert_eq!(bob.get(&["a".to_owned()]).0, ["a"]);
    assert_eq!((plain.figure("auth_cmds"), plain.figure("auth_errors")), (3, 1));
    // Junk without an end is closed.
    let mut junk = Client::to(address(&front, 1));
    junk.send(&"x".repeat(5000));
    assert_eq!(junk.line(), "");
    // So is a client that sends without reading.
    let mut flood = Client::to(address(&front, 1));
    let _ = std::io::Write::write_all(flood.0.get_mut(), "a\r\n".repeat(100_000).as_bytes());
    let mut said = Vec::new();
    let _ = std::io::Read::read_to_end(&mut flood.0, &mut said);
    wait_until("the flood is closed", || plain.figure("curr_connections") == 3);
}

#[test]
fn logs_in_to_servers() {
    let ((folder, _), server) = (folder(), Server::start());
    for (name, text) in [("users", "ann:secret\n"), ("ann", "ann:secret\n"), ("bob", "bob:secret\n")] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let tls = "tls = { certificate = \"front.pem\", key = \"front-key.pem\" }\n";
    let servers = format!("servers = [\"{}\"]\nauth = \"users\"\n", server.address);
    let inner = front(folder.path(), &[servers.clone(), format!("{servers}{tls}")]);
    let with = |pool: usize, more: &str| format!("servers = [\"{}\"]\n{more}", address(&inner, pool));
    let outer = front(
        folder.path(),
        &[
            with(0, "server_auth = \"ann\"\n"),
            with(1, "server_auth = \"ann\"\nserver_tls = { ca = \"ca.pem\" }\n"),
            with(0, "server_auth = \"bob\"\n"),
        ],
    );
    for pool in 0..2 {
        let mut client = Client::to(address(&outer, pool));
        assert_eq!(client.set("a", &value("a", 300_000)), "STORED");
        assert_eq!(client.get(&["a".to_owned()]).0, ["a"]);
        // The second connection logs in, too.
        assert!(client.ask("me a\r\n").starts_with("ME "), "{pool}");
    }
    let mut refused = Client::to(address(&outer, 2));
    assert!(refused.ask("get a\r\n").starts_with("SERVER_ERROR server"));
    let failure = refused.word_if(&format!("{}:failure", address(&inner, 0)));
    assert_eq!(failure.as_deref(), Some("login failed: CLIENT_ERROR authentication failure"));
    assert!(refused.figure("server_auth_failed") > 0);
    // Without a login, the server's refusals do not reach other requests.
    let bare = front(folder.path(), &[with(0, "")]);
    let mut client = Client::to(address(&bare, 0));
    assert!(client.ask("get a\r\n").contains("ERROR"));
}
