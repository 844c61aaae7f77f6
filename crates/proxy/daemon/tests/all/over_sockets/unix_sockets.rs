//! UNIX sockets of listeners and servers.

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use fanin_daemon::{Running, Settings};

use crate::support::{Client, EVENT_LOOP, Server, value};

fn text(listen: &Path, servers: &str) -> String {
    let listen = listen.display();
    format!(
        "threads = 2\n{EVENT_LOOP}[[pool]]\nlisten = \"unix:{listen}\"\nservers = [\"{servers}\"]\ntimeout = \"30 s\"\n"
    )
}

fn front(listen: &Path, servers: &str) -> std::io::Result<Running> {
    fanin_daemon::start(&Settings::of_file("test.toml", &text(listen, servers)).unwrap())
}

fn stop(front: Running) {
    front.stop();
    front.wait().unwrap();
}

#[test]
fn serves_clients_and_servers_at_unix_sockets() {
    let (folder, server) = (tempfile::tempdir().unwrap(), Server::start());
    let [near, far] = ["near.sock", "far.sock"].map(|name| folder.path().join(name));
    let second = front(&far, &server.address.to_string()).unwrap();
    let first = front(&near, &format!("unix:{}", far.display())).unwrap();
    assert_eq!(first.listens()[0].to_string(), format!("unix:{}", near.display()));
    let mut clients: Vec<_> = (0..4).map(|_| Client::at(&near)).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        let keys: Vec<String> = (0..20).map(|key| format!("{key}-{number}")).collect();
        keys.iter().for_each(|key| assert_eq!(client.set(key, &value(key, 50_000)), "STORED"));
        assert_eq!(client.get(&keys), (keys, "END".to_owned()));
    }
    // A server that comes back is found again.
    stop(second);
    assert!(clients[0].ask("get 1-0\r\n").starts_with("SERVER_ERROR"));
    let second = front(&far, &server.address.to_string()).unwrap();
    let again = std::iter::repeat_with(|| clients[0].get(&["1-0".to_owned()])).find(|(found, _)| found.len() == 1);
    assert!(again.is_some());
    stop(first);
    stop(second);
    assert!(!near.exists() && !far.exists(), "the files are removed");
}

#[test]
fn replaces_stale_socket_only() {
    let (folder, server) = (tempfile::tempdir().unwrap(), Server::start());
    let (path, server) = (folder.path().join("front.sock"), server.address.to_string());
    drop(UnixListener::bind(&path).unwrap());
    assert!(fs::symlink_metadata(&path).unwrap().file_type().is_socket(), "a socket without a listener");
    let running = front(&path, &server).unwrap();
    assert_eq!(Client::at(&path).ask("mn\r\n"), "MN");
    let refused = front(&path, &server).err().unwrap().to_string();
    assert!(refused.contains("in use") && refused.contains(&format!("process {}", std::process::id())), "{refused}");
    assert_eq!(Client::at(&path).ask("mn\r\n"), "MN", "the first one still serves");
    // Another process's file stays.
    fs::remove_file(&path).unwrap();
    let other = UnixListener::bind(&path).unwrap();
    stop(running);
    UnixStream::connect(&path).unwrap();
    drop(other);
    let file = folder.path().join("data");
    fs::write(&file, "precious").unwrap();
    let refused = front(&file, &server).err().unwrap().to_string();
    assert!(refused.contains("no socket") && fs::read(&file).unwrap() == b"precious", "{refused}");
}

#[test]
fn reload_moves_to_another_socket() {
    let (folder, server) = (tempfile::tempdir().unwrap(), Server::start());
    let [path, other] = ["front.sock", "other.sock"].map(|name| folder.path().join(name));
    let mut running = front(&path, &server.address.to_string()).unwrap();
    let mut client = Client::at(&path);
    assert_eq!(client.ask("mn\r\n"), "MN");
    let moved = text(&other, &server.address.to_string());
    running.reload(&Settings::of_file("next.toml", &moved).unwrap()).unwrap();
    assert!(!path.exists(), "the file is removed");
    // The pool has another address, but the same name.
    assert_eq!((client.ask("mn\r\n"), Client::at(&other).ask("mn\r\n")), ("MN".into(), "MN".into()));
    stop(running);
    assert!(!other.exists());
}
