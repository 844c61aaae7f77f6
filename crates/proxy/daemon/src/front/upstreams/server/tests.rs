//! Queue limits, labels and pauses of a server.

use super::super::ask::{Destination, Recipient};
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
fn response_is_late_without_progress() {
    let mut server: Server<()> = Server::shared(&settings(), Arc::default(), 0);
    (server.state, server.timeout) = (State::Open(()), 1_000_000_000);
    let ask = |at| Ask::new(Recipient::NOBODY, Destination::Every, Shape::Values, at);
    server.queue(ask(0), b"", &[]);
    let late_at = |server: &Server<()>| server.next_due(false).unwrap();
    assert_eq!(late_at(&server), server.timeout);
    // Bytes at the slowest rate give the time that they take.
    server.credit += 3 * server.timeout;
    server.queue(ask(2), b"", &[]);
    assert_eq!(late_at(&server), 4 * server.timeout);
    assert!(!server.has_timed_out(4 * server.timeout - 1) && server.has_timed_out(4 * server.timeout));
    server.credit += 100 * server.timeout;
    assert_eq!(late_at(&server), MOST_TIMEOUTS * server.timeout);
    // Bytes before a request give it no time.
    server.credit -= 100 * server.timeout;
    server.pop();
    assert_eq!(late_at(&server), 2 + server.timeout);
}

#[test]
fn batches_wait_for_room_in_their_order() {
    let mut server: Server<()> = Server::shared(&settings(), Arc::default(), 0);
    (server.state, server.timeout) = (State::Open(()), 1_000);
    let mut table = crate::memory::table::Table::default();
    let [one, two, three] = [(), (), ()].map(|thing| table.insert(thing));
    let queue = |server: &mut Server<()>, expects| {
        let ask = Ask::new(Recipient::NOBODY, Destination::Every, Shape::Values, 0);
        server.queue(Ask { expects, ..ask }, b"", &[]);
    };
    assert!(server.has_room(100 * ENOUGH_EXPECTED), "one of any size");
    queue(&mut server, ENOUGH_EXPECTED - 10);
    assert!(server.has_room(10) && !server.has_room(11));
    server.wait(5, 11, one);
    server.wait(6, 1, two);
    server.wait(7, 11, three);
    assert_eq!(server.next_waiting(), None, "the first one has no room");
    assert_eq!((server.expired_waiting(1004), server.expired_waiting(1005)), (None, Some(one)));
    assert_eq!((server.next_waiting(), server.next_waiting()), (Some(two), None));
    server.pop();
    assert_eq!((server.expects, server.next_waiting()), (0, Some(three)));
    assert!(server.has_nobody_waiting() && server.is_now_busy() && !server.is_now_busy());
    assert!(server.is_no_longer_busy() && !server.is_no_longer_busy());
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
        Ask::new(Recipient { client, number: 0 }, Destination::Every, Shape::Alone, 0)
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
