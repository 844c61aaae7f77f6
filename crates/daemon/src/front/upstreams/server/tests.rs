//! Queue limits, labels and pauses of a server.

use super::super::ask::Destination;
use super::*;
use crate::settings::Settings;

fn settings() -> settings::Server {
    Settings::of_servers("127.0.0.1:0", &["127.0.0.1:1".to_owned()]).unwrap().pools[0].servers[0].clone()
}

#[test]
fn refuses_largest_client_first() {
    let mut server: Server<()> = Server::shared(&settings(), Arc::default(), 0);
    server.state = State::Open(());
    assert_eq!(server.accepts(MOST_WAITS, 1), Ok(()));
    // A client that sends without limit takes half of the space, and another one half of the rest.
    server.out.extend(&vec![0; MOST_WAITS / 2 + 1]);
    assert_eq!(server.accepts(MOST_WAITS / 2 + 1, 1), Err(ServerError::Busy));
    assert_eq!(server.accepts(MOST_WAITS / 4, 1), Ok(()));
    server.out.extend(&vec![0; MOST_WAITS / 2]);
    assert_eq!([LEAST_WAITS, LEAST_WAITS + 1].map(|under_way| server.accepts(under_way, 1).is_ok()), [true, false]);
    server.out.extend(&vec![0; MOST_WAITS]);
    assert_eq!(server.accepts(0, 1), Err(ServerError::Busy));
}

#[test]
fn labels_have_a_port() {
    let labels = [("10.0.0.1", 11211), ("10.0.0.1:22", 22), ("one", 5), ("a:b", 6)].map(|(name, port)| {
        let address = std::net::SocketAddr::from(([10, 0, 0, 1], port));
        label(name, &address.into())
    });
    assert_eq!(labels, ["10.0.0.1:11211", "10.0.0.1:22", "one:5", "a:b:6"]);
    assert_eq!(label("/run/a.sock", &Address::Unix("/run/a.sock".into())), "/run/a.sock:0");
}

#[test]
fn pauses_double_and_are_random() {
    let mut server: Server<()> = Server::shared(&settings(), Arc::default(), 0);
    server.users = 1;
    let mut pause = |random| {
        server.close(0, random);
        let State::Down { until } = server.state else { panic!("closed") };
        until
    };
    assert_eq!(pause(7), 0, "the first attempt is at once");
    for longest in [50, 100, 200, 400, 800, 1600, 2000, 2000].map(|millis| millis * 1_000_000) {
        let next = pause(longest);
        assert!((longest / 2..=longest).contains(&next), "{next} of {longest}");
    }
    let some: std::collections::BTreeSet<Nanos> = (0..20).map(|number| pause(number * 77_777_777)).collect();
    assert!(some.len() > 15, "{some:?}");
}

#[test]
fn limits_second_connection_per_client() {
    let mut server: Server<()> = Server::alone(&settings(), Arc::default(), 0);
    let ask = || {
        let client = crate::memory::table::Table::default().insert(());
        Ask::new((client, 0), Destination::Every, Shape::Alone, 0)
    };
    for unanswered in 1.. {
        if server.accepts(0, unanswered).is_err() {
            break;
        }
        server.queue_single(ask(), b"");
    }
    assert_eq!(server.alone.as_ref().unwrap().len(), MOST_ALONE / 2);
    assert_eq!(server.accepts(0, 1), Ok(()));
}
