//! Queue limits, labels and pauses of a server.

use super::super::ask::Recipient;
use super::super::room::ENOUGH_EXPECTED;
use super::super::shares::NOBODY;
use super::*;
use fanin_proxy_config::Settings;

fn settings() -> config::Server {
    Settings::of_servers("127.0.0.1:0", &["127.0.0.1:1".to_owned()]).unwrap().pools[0].servers[0].clone()
}

fn load(bytes: usize, requests: usize) -> ClientLoad {
    ClientLoad { bytes, requests }
}

fn ask(at: Nanos) -> Ask {
    Ask::new(Recipient::NOBODY, Destination::Relay { quiet: false }, Shape::Values, at)
}

#[test]
fn refuses_largest_client_first() {
    let mut server: Server<()> = Server::shared(&settings(), Arc::default(), 0);
    server.state = State::Open(());
    assert_eq!(server.accepts(load(MOST_WAITS, 1), NOBODY), Ok(()));
    // A client that sends without limit takes half of the space, and another one half of the rest.
    server.out.extend(&vec![0; MOST_WAITS / 2 + 1]);
    assert_eq!(server.accepts(load(MOST_WAITS / 2 + 1, 1), NOBODY), Err(ServerError::Busy));
    assert_eq!(server.accepts(load(MOST_WAITS / 4, 1), NOBODY), Ok(()));
    server.out.extend(&vec![0; MOST_WAITS / 2]);
    let accepts = |bytes| server.accepts(load(bytes, 1), NOBODY).is_ok();
    assert_eq!([LEAST_WAITS, LEAST_WAITS + 1].map(accepts), [true, false]);
    server.out.extend(&vec![0; MOST_WAITS]);
    assert_eq!(server.accepts(load(0, 0), NOBODY), Err(ServerError::Busy));
}

#[test]
fn no_tenant_fills_the_queue() {
    let mut server: Server<()> = Server::shared(&settings(), Arc::default(), 0);
    server.state = State::Open(());
    let mut fill = |tenant| {
        let mut queued = 0;
        while server.accepts(load(0, 0), tenant).is_ok() {
            server.queue(Ask { tenant, ..ask(0) }, b"", &[b"x"]);
            queued += 1;
        }
        queued
    };
    // Each client of a tenant has no other request.
    let [first, second] = [1, 2].map(&mut fill);
    assert_eq!([first, second], [MOST_ASKED / 8 * 7, (MOST_ASKED / 8).div_ceil(8) * 7]);
    assert_eq!(server.shares.of(1).bytes, first);
    (0..first).for_each(|_| server.pop());
    assert_eq!(server.shares.of(1), Default::default());
    // By bytes, too.
    let mut server: Server<()> = Server::shared(&settings(), Arc::default(), 0);
    server.state = State::Open(());
    let large = vec![0; MOST_WAITS];
    (0..7).for_each(|_| server.queue(Ask { tenant: 1, ..ask(0) }, b"", &[&large[..MOST_WAITS / 8]]));
    let accepts = |server: &Server<()>| [1, 2].map(|tenant| server.accepts(load(0, 0), tenant).is_ok());
    assert_eq!(accepts(&server), [true, true]);
    server.out.extend(&large[..MOST_WAITS / 16]);
    assert_eq!(accepts(&server), [false, true]);
}

#[test]
fn connection_fails_without_progress() {
    let mut server: Server<()> = Server::shared(&settings(), Arc::default(), 0);
    (server.state, server.timeout) = (State::Open(()), 1_000_000_000);
    let timeout = server.timeout;
    server.queue(ask(0), b"", &[]);
    assert!(!server.has_timed_out(timeout - 1) && server.has_timed_out(timeout));
    // It does not fail while bytes come, however slowly and for however long.
    for at in (1..100).map(|half| half * timeout / 2) {
        assert!(!server.has_timed_out(at));
        server.progressed = at;
    }
    assert_eq!(server.fails_at(), Some(50 * timeout + timeout / 2));
    // Nor while the front end does not read.
    assert!(server.pause(50 * timeout) && !server.pause(51 * timeout));
    assert!(!server.has_timed_out(99 * timeout));
    assert_eq!(server.next_due(false), None);
    server.resume(99 * timeout);
    assert_eq!(server.fails_at(), Some(100 * timeout));
}

#[test]
fn late_requests_are_given_up_in_their_order() {
    let mut server: Server<()> = Server::shared(&settings(), Arc::default(), 0);
    (server.state, server.timeout) = (State::Open(()), 1_000_000_000);
    let timeout = server.timeout;
    let late_at = |server: &Server<()>| server.gives_up_at().unwrap();
    server.queue(ask(0), b"", &[]);
    assert_eq!(late_at(&server), timeout);
    // Bytes at the slowest rate give the time that they take.
    server.progress.credit += 3 * timeout;
    server.queue(ask(2), b"", &[]);
    assert_eq!(late_at(&server), 4 * timeout);
    server.progress.credit += 100 * timeout;
    assert_eq!(late_at(&server), MOST_TIMEOUTS * timeout);
    // So does time in which the front end does not read.
    server.pause(timeout);
    server.resume(3 * timeout);
    assert_eq!(late_at(&server), (MOST_TIMEOUTS + 2) * timeout);
    assert!(server.give_up(late_at(&server) - 1).is_none());
    // A change stays, since it may have to be repeated elsewhere.
    server.queue(Ask { changes: true, ..ask(3) }, b"", &[]);
    server.queue(ask(4), b"", &[]);
    let given_up: Vec<_> = (0..3).map(|_| server.give_up(100 * timeout).map(|ask| ask.at)).collect();
    assert_eq!(given_up, [Some(0), Some(2), Some(4)]);
    assert!(server.give_up(100 * timeout).is_none() && server.gives_up_at().is_none());
    assert!(matches!(server.front().unwrap().to, Destination::GivenUp));
    server.pop();
    // Bytes before a request give it no time.
    server.queue(ask(5), b"", &[]);
    assert_eq!(late_at(&server), 5 + timeout);
}

#[test]
fn gets_wait_for_room_in_their_order() {
    let mut server: Server<()> = Server::shared(&settings(), Arc::default(), 0);
    (server.state, server.timeout) = (State::Open(()), 1_000);
    let mut table = fanin_proxy_core::memory::table::Table::default();
    let [one, two, three] = [(), (), ()].map(|thing| table.insert(thing));
    let expects = |bytes: usize| Expected { values: 1, bytes: bytes as u32 };
    server.queue(Ask { expects: expects(ENOUGH_EXPECTED / 2 - 10), tenant: 1, ..ask(0) }, b"", &[]);
    assert!(!server.must_wait(1, expects(10), false) && server.must_wait(1, expects(11), false));
    for (at, bytes, get) in [(5, 11, one), (6, 1, two), (7, 11, three)] {
        server.wait(at, 1, expects(bytes), Waiter::Batch(get));
    }
    assert!(server.must_wait(1, expects(10), false) && !server.must_wait(1, expects(10), true), "not before others");
    let next = |server: &mut Server<()>, now| match server.next_waiting(now) {
        Some((Waiter::Batch(get), too_long)) => Some((get, too_long)),
        _ => None,
    };
    assert_eq!(next(&mut server, 1004), None, "the first one has no room");
    assert_eq!(next(&mut server, 1005), Some((one, true)));
    assert_eq!((next(&mut server, 1005), next(&mut server, 1005)), (Some((two, false)), None));
    server.pop();
    assert_eq!(next(&mut server, 1005), Some((three, false)));
    assert!(server.is_now_busy() && !server.is_now_busy());
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
    let single = || {
        let client = fanin_proxy_core::memory::table::Table::default().insert(());
        Ask::new(Recipient { client, number: 0 }, Destination::Every, Shape::Alone, 0)
    };
    for unanswered in 1.. {
        if server.accepts(load(0, unanswered), NOBODY).is_err() {
            break;
        }
        server.queue_single(single(), b"");
    }
    assert_eq!(server.alone.as_ref().unwrap().len(), MOST_ALONE / 2);
    assert_eq!(server.accepts(load(0, 1), NOBODY), Ok(()));
}

#[test]
fn requests_wait_for_a_server_that_is_in_use_again() {
    let mut server: Server<()> = Server::shared(&settings(), Arc::default(), 0);
    let mut returns = |state: State<()>| {
        server.is_doubtful = matches!(state, State::Open(()));
        server.state = state;
        server.follow(Phase::Away);
        assert_eq!(server.accepts(load(0, 0), NOBODY), Err(ServerError::Down));
        server.follow(Phase::Up);
        (server.is_due(0), server.accepts(load(0, 0), NOBODY).is_ok())
    };
    assert_eq!(returns(State::Down { until: 9_000_000_000 }), (true, false), "it connects at once");
    assert_eq!(returns(State::Opening { socket: (), since: 0, waits: false }), (false, true));
    assert_eq!(returns(State::Open(())), (false, true));
}
