//! Settings that change under load, with clients that stay connected.
#![expect(clippy::disallowed_types, reason = "simple clients that wait for responses")]

use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread;

use fanin_daemon::Settings;
use fanin_testing::wait_until;
use scopeguard::defer;

use super::cluster;
use crate::support::{Client, EVENT_LOOP, own_address, value};

/// Settings with a pool of some servers at each address.
fn settings(pools: &[(SocketAddr, &[SocketAddr])], of_pool: &str) -> Settings {
    let mut text = format!("threads = 2\n{EVENT_LOOP}");
    for (number, (listen, servers)) in pools.iter().enumerate() {
        let servers: Vec<String> = servers.iter().map(|server| format!("\"{server}\"")).collect();
        let servers = servers.join(",");
        text += &format!("[[pool]]\nname = \"p{number}\"\nlisten = \"{listen}\"\nservers = [{servers}]\n{of_pool}\n");
    }
    Settings::of_file("reload.toml", &text).unwrap()
}

#[test]
fn standing_clients_see_new_servers_and_lose_nothing() {
    let four = cluster(4, "", "");
    let all: Vec<SocketAddr> = four.servers.iter().map(|server| server.address).collect();
    let (at, extra) = (own_address(), own_address());
    let mut front = fanin_daemon::start(&settings(&[(at, &all[..2])], "")).unwrap();
    let (over, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        // Clients end when this fails, too.
        defer! { over.store(true, SeqCst) };
        let clients = [0, 1, 2].map(|number| {
            let (over, answered) = (&over, &answered);
            scope.spawn(move || {
                let mut client = Client::to(at);
                let keys: Vec<String> = (0..40).map(|key| format!("{key}-of-{number}")).collect();
                while !over.load(SeqCst) {
                    let key = &keys[answered.load(SeqCst) % keys.len()];
                    assert_eq!(client.set(key, &value(key, 50)), "STORED");
                    assert_eq!(client.get(&keys).1, "END");
                    answered.fetch_add(1, SeqCst);
                }
            })
        });
        for round in 0..60 {
            let of_pool = ["", "join = true\n", "multiget = \"one-all\"\n"][round % 3];
            // Servers 0 and 1 stay; a second pool comes and goes.
            let pools: [(SocketAddr, &[SocketAddr]); 2] = [(at, &all[..2 + round % 3]), (extra, &all[1..3])];
            let before = answered.load(SeqCst);
            front.reload(&settings(&pools[..1 + round % 2], of_pool)).unwrap();
            // A ring's watch keeps a listener open for a moment.
            wait_until(&format!("the listener of round {round}"), || {
                TcpStream::connect(extra).is_ok() == (round % 2 == 1)
            });
            wait_until(&format!("responses in round {round}"), || {
                assert!(!clients.iter().any(|client| client.is_finished()), "round {round}");
                answered.load(SeqCst) > before
            });
        }
    });
    let mut client = Client::to(at);
    // The last round has four servers. Each thread has connected to 0 and 1 once, and to others when they came: in two of three rounds to
    // one of the pool's, and in every other round to two of the second pool's.
    assert_eq!(client.word(&format!("{}:state", all[3])), "up");
    assert!(client.figure("server_connects") <= 2 * (2 + 40 + 60), "{}", client.figure("server_connects"));
    front.stop();
    front.wait().unwrap();
}

#[test]
fn removed_pool_closes_its_clients_after_their_responses() {
    let one = cluster(1, "", "");
    let all: Vec<SocketAddr> = one.servers.iter().map(|server| server.address).collect();
    let (at, gone) = (own_address(), own_address());
    let mut front = fanin_daemon::start(&settings(&[(at, &all), (gone, &all)], "")).unwrap();
    let (mut stays, mut goes) = (Client::to(at), Client::to(gone));
    assert_eq!((stays.ask("mn\r\n"), goes.ask("mn\r\n")), ("MN".into(), "MN".into()));
    front.reload(&settings(&[(at, &all)], "")).unwrap();
    assert_eq!((stays.ask("mn\r\n"), goes.line()), ("MN".into(), String::new()));
    // An address that is in use changes nothing.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let other = settings(&[(at, &all), (taken.local_addr().unwrap(), &all)], "join = true\n");
    assert!(front.reload(&other).unwrap_err().to_string().contains("in use"));
    assert_eq!((stays.ask("mn\r\n"), front.settings().pools.len()), ("MN".into(), 1));
    front.stop();
    front.wait().unwrap();
}
