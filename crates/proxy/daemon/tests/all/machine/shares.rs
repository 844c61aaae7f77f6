//! Shares of tenants and of requests: those who take much, or do not go on, do not keep others from being served.

use std::fs;

use fanin_daemon::machine::Value;

use super::MS;
use super::site::{Process, Site, pool};

const SECOND: u64 = 1000 * MS;

/// A client from an address.
fn client_from(site: &Site, address: &str) -> usize {
    let client = site.world.borrow_mut().client(usize::MAX / 2);
    site.world.borrow_mut().connections[client].from = Some(address.parse().unwrap());
    client
}

#[test]
fn server_that_sends_much_is_not_late() {
    let folder = super::in_memory();
    let mut site = Site::front(folder.path(), &pool("timeout = \"400 ms\"\non_down = \"miss\"\n"));
    let writer = site.world.borrow_mut().client(usize::MAX / 2);
    let value = vec![b'v'; 1 << 20];
    for number in 0..16 {
        site.send(writer, format!("set {number} 0 0 {}\r\n", value.len()).as_bytes());
        site.send(writer, &[&value[..], b"\r\n"].concat());
        (0..4).for_each(|_| {
            site.turn();
            site.serve(usize::MAX);
        });
    }
    assert_eq!(site.said(writer), b"STORED\r\n".repeat(16));
    // Each of these requests 16 MB, which come at 20 MB a second from each server.
    let keys: Vec<String> = (0..16).map(|number| number.to_string()).collect();
    let readers: Vec<usize> = (0..3).map(|_| site.world.borrow_mut().client(usize::MAX / 2)).collect();
    readers.iter().for_each(|reader| site.send(*reader, format!("get {}\r\n", keys.join(" ")).as_bytes()));
    let mut got = vec![0; readers.len()];
    for _ in 0..80 {
        site.now += 50 * MS;
        site.turn();
        site.serve(1 << 20);
        for (reader, got) in readers.iter().zip(&mut got) {
            *got += site.said(*reader).len();
        }
    }
    assert!(got.iter().all(|bytes| *bytes > 16 << 20), "{got:?}");
    assert_eq!([site.figure("server_failures"), site.figure("errors_timeout"), site.figure("get_misses")], [0; 3]);
    assert!(!site.world.borrow().gave_up());
}

/// Lets the servers answer everything that is outstanding.
fn settle(site: &mut Site) {
    (0..10).for_each(|_| {
        site.turn();
        site.serve(usize::MAX);
    });
}

#[test]
fn server_that_sends_slowly_is_busy_and_stays() {
    let folder = super::in_memory();
    let mut site = Site::front(folder.path(), &pool("timeout = \"400 ms\"\non_down = \"next\"\n"));
    settle(&mut site);
    let [slow, waits, writer] = [(); 3].map(|()| site.world.borrow_mut().client(usize::MAX / 2));
    site.send(slow, b"get a\r\n");
    (0..2).for_each(|_| site.turn());
    let servers = [0, 1].map(|server| site.connect_to_server(server));
    let asked = |site: &Site, server: usize| String::from_utf8(site.said(server)).unwrap();
    let [first, second] = servers.map(|server| asked(&site, server));
    assert_eq!(format!("{first}{second}"), "get a\r\n");
    let server = servers[usize::from(first.is_empty())];
    site.send(waits, b"get a\r\nmn\r\n");
    site.send(writer, b"set a 0 0 1\r\nx\r\n");
    // A kilobyte in each timeout, for many of them.
    site.send(server, b"VALUE a 0 40000\r\n");
    for _ in 0..40 {
        site.now += 350 * MS;
        site.send(server, &[b'v'; 1000]);
        site.turn();
    }
    let late = "SERVER_ERROR server did not answer in time\r\n";
    assert_eq!([slow, waits].map(|client| asked(&site, client)), [late.to_owned(), format!("{late}MN\r\n")]);
    assert_eq!(asked(&site, writer), "", "a change in a pool with failover waits for its server");
    assert!(site.figure("errors_timeout") == 2 && site.figure("server_failures") == 0);
    let Process::Front(front) = &site.process else { panic!("an agent") };
    assert!(front.figures().iter().any(|figure| matches!(figure.value, Value::Text("busy"))));
    // The rest of the late responses is dropped; the next ones belong to their requests.
    site.send(server, b"\r\nEND\r\nEND\r\nSTORED\r\n");
    site.turn();
    assert_eq!([slow, waits, writer].map(|client| asked(&site, client)), ["", "", "STORED\r\n"]);
    asked(&site, server);
    site.send(waits, b"get a\r\n");
    site.turn();
    assert_eq!(asked(&site, server), "get a\r\n");
    site.send(server, b"VALUE a 0 1\r\nx\r\nEND\r\n");
    site.turn();
    assert_eq!(asked(&site, waits), "VALUE a 0 1\r\nx\r\nEND\r\n");
    // Silence is a failure.
    site.send(waits, b"get a\r\n");
    site.turn();
    site.now += 401 * MS;
    (0..2).for_each(|_| site.turn());
    assert_eq!((asked(&site, waits).as_str(), site.figure("server_failures")), (late, 1));
}

/// The thread has waited for the processor, after it has polled and before it looks at the time.
#[test]
fn response_that_has_come_is_not_late() {
    let folder = super::in_memory();
    let mut site = Site::front(folder.path(), &pool("timeout = \"400 ms\"\n").replace(", \"10.0.0.2:1\"", ""));
    let client = site.world.borrow_mut().client(usize::MAX / 2);
    settle(&mut site);
    site.send(client, b"get a\r\n");
    site.turn();
    site.now += 10_000 * MS;
    site.turn();
    site.serve(usize::MAX);
    site.turn();
    assert_eq!((site.said(client), site.figure("server_failures")), (b"END\r\n".to_vec(), 0));
}

/// The thread has waited for the processor between its look at the time and the request that it sends.
#[test]
fn request_that_is_sent_late_has_the_whole_timeout() {
    let folder = super::in_memory();
    let mut site = Site::front(folder.path(), &pool("timeout = \"400 ms\"\n").replace(", \"10.0.0.2:1\"", ""));
    let client = site.world.borrow_mut().client(usize::MAX / 2);
    settle(&mut site);
    site.send(client, b"get a\r\n");
    site.turn();
    site.now += 10_000 * MS;
    let Process::Front(front) = &mut site.process else { panic!("an agent") };
    front.has_turned(site.now);
    site.now += 390 * MS;
    (0..3).for_each(|_| site.turn());
    assert_eq!((site.said(client), site.figure("server_failures")), (Vec::new(), 0));
    site.now += 10 * MS;
    (0..2).for_each(|_| site.turn());
    assert_eq!(site.figure("server_failures"), 1, "the timeout later, it has failed");
}

#[test]
fn unanswered_bytes_of_single_gets_are_bounded() {
    let folder = super::in_memory();
    let mut site = Site::front(folder.path(), &pool("").replace(", \"10.0.0.2:1\"", ""));
    let writer = site.world.borrow_mut().client(usize::MAX / 2);
    let value = vec![b'v'; 1_000_000];
    site.send(writer, &[b"set a 0 0 1000000\r\n", &value[..], b"\r\n"].concat());
    settle(&mut site);
    // The server's mean is known from others.
    for _ in 0..100 {
        site.send(writer, b"get a\r\n");
        (0..4).for_each(|_| {
            site.turn();
            site.serve(usize::MAX);
            site.said(writer);
        });
    }
    let server = site.connect_to_server(0);
    for command in ["get a", "mg a v"] {
        let readers: Vec<usize> = (0..100).map(|_| site.world.borrow_mut().client(usize::MAX / 2)).collect();
        readers.iter().for_each(|reader| site.send(*reader, format!("{command}\r\n").as_bytes()));
        (0..3).for_each(|_| site.turn());
        let outstanding = site.world.borrow().connections[server].outbox.iter().filter(|byte| **byte == b'\n').count();
        assert!((3..=5).contains(&outstanding), "{outstanding} of {command}");
        let mut got = vec![0; readers.len()];
        for _ in 0..100 {
            site.serve(4_000_000);
            site.turn();
            readers.iter().zip(&mut got).for_each(|(reader, got)| *got += site.said(*reader).len());
        }
        assert!(got.iter().all(|bytes| *bytes > value.len()), "{command}: {got:?}");
    }
    assert_eq!([site.figure("server_failures"), site.figure("errors_busy")], [0, 0]);
}

#[test]
fn requests_behind_a_waiting_get_keep_their_order() {
    let folder = super::in_memory();
    let mut site = Site::front(folder.path(), &pool("timeout = \"400 ms\"\n").replace(", \"10.0.0.2:1\"", ""));
    let [many, one] = [(); 2].map(|()| site.world.borrow_mut().client(usize::MAX / 2));
    site.turn();
    // By the first mean, 16 values are as much as a tenant may request.
    let others: Vec<usize> = (0..3).map(|_| site.world.borrow_mut().client(usize::MAX / 2)).collect();
    [many].iter().chain(&others).for_each(|client| site.send(*client, &b"get b\r\n".repeat(32)));
    (0..2).for_each(|_| site.turn());
    site.send(one, b"get a\r\nset a 0 0 1\r\nx\r\nget a\r\n");
    (0..2).for_each(|_| site.turn());
    let server = site.connect_to_server(0);
    let mut asked = String::new();
    for _ in 0..20 {
        asked.extend(site.world.borrow().connections[server].outbox.iter().map(|byte| char::from(*byte)));
        if asked.len() == 16 * 7 {
            assert_eq!(asked, "get b\r\n".repeat(16));
        }
        site.serve(usize::MAX);
        site.turn();
    }
    assert_eq!(asked.matches("get b").count(), 128);
    let (get, set) = (asked.find("get a"), asked.find("set a"));
    assert!(get.is_some() && set.is_some() && get < set, "{asked}");
}

/// A tenant that requests long lists of large values, and leaves: another one's gets have few of these values before them, and keys of clients
/// that have left are not requested.
#[test]
fn large_values_of_a_tenant_leave_room_for_others() {
    let folder = super::in_memory();
    let mut site = Site::front(folder.path(), &pool("").replace(", \"10.0.0.2:1\"", ""));
    let writer = site.world.borrow_mut().client(usize::MAX / 2);
    let value = vec![b'v'; 1_000_000];
    for number in 0..64 {
        site.send(writer, &[format!("set {number}-large 0 0 1000000\r\n").as_bytes(), &value[..], b"\r\n"].concat());
        settle(&mut site);
    }
    site.send(writer, b"set small 0 0 1\r\nx\r\n");
    settle(&mut site);
    let server = site.connect_to_server(0);
    let client = |site: &mut Site, last: u8| {
        let client = site.world.borrow_mut().client(usize::MAX / 2);
        site.world.borrow_mut().connections[client].from = Some([10, 1, 0, last].into());
        client
    };
    let victim = client(&mut site, 1);
    let list: String = (0..64).map(|number| format!(" {number}-large")).collect();
    let mut most = 0;
    for round in 0..20 {
        let large: Vec<usize> = (0..4).map(|_| client(&mut site, 2)).collect();
        site.turn();
        large.iter().for_each(|large| site.send(*large, format!("get{list}\r\n").as_bytes()));
        (0..2).for_each(|_| site.turn());
        site.send(victim, b"get small\r\n");
        site.turn();
        let asked =
            String::from_utf8(site.world.borrow().connections[server].outbox.iter().copied().collect()).unwrap();
        let (before, _) = asked.split_once("small").unwrap_or_else(|| panic!("the other tenant waits: {asked}"));
        let ahead = before.matches("-large").count();
        most = most.max(if round == 0 { 0 } else { ahead });
        assert!(round > 0 || ahead <= 64, "{ahead} values of unknown size");
        // They leave when the first values come.
        site.serve(1_000_000);
        site.turn();
        large.iter().for_each(|large| site.world.borrow_mut().connections[*large].break_off());
        site.turn();
        let mut asked_since = 0;
        for _ in 0..100 {
            site.serve(4_000_000);
            site.turn();
            asked_since += site.world.borrow().connections[server].outbox.iter().filter(|byte| **byte == b'-').count();
        }
        assert_eq!(asked_since, 0, "nobody wants these keys");
        assert!(site.said(victim).ends_with(b"END\r\n"));
    }
    assert!((1..=5).contains(&most), "{most} values before a get");
}

#[test]
fn unfinished_requests_do_not_keep_others_from_storing() {
    let folder = super::in_memory();
    let mut site = Site::front(folder.path(), &format!("memory = \"32 MiB\"\n{}", pool("")));
    for attackers in 0..2500 {
        let attacker = site.world.borrow_mut().client(usize::MAX / 2);
        site.send(attacker, format!("set {attackers} 0 0 100000\r\n{}", "v".repeat(16_000)).as_bytes());
        if attackers % 50 == 0 {
            site.turn();
        }
    }
    let large = "v".repeat(200_000);
    for round in 0..10 {
        let client = site.world.borrow_mut().client(usize::MAX / 2);
        let text = format!("set large 0 0 200000\r\n{large}\r\n");
        // It comes in pieces.
        for piece in text.as_bytes().chunks(20_000) {
            site.send(client, piece);
            site.now += 100 * MS;
            site.turn();
            site.serve(usize::MAX);
        }
        (0..30).for_each(|_| {
            site.now += 50 * MS;
            site.turn();
            site.serve(usize::MAX);
        });
        assert_eq!(site.said(client).escape_ascii().to_string(), "STORED\\r\\n", "round {round}");
    }
    let before = site.figure("clients_unfinished") + site.figure("clients_cut_off");
    // Those that are left have a deadline, although memory is not short any more.
    for _ in 0..20 {
        site.now += 2 * SECOND;
        site.turn();
    }
    let closed = site.figure("clients_unfinished") + site.figure("clients_cut_off");
    assert!(before > 500 && closed == 2500, "{before}, {closed}");
}

#[test]
fn unfinished_requests_of_the_largest_tenant_go_first() {
    let folder = super::in_memory();
    let mut site = Site::front(folder.path(), &format!("memory = \"32 MiB\"\n{}", pool("")));
    let unfinished = |site: &Site, address: &str| {
        let client = client_from(site, address);
        site.send(client, format!("set a 0 0 100000\r\n{}", "v".repeat(16_000)).as_bytes());
        client
    };
    // These are older, but few.
    let few: Vec<usize> = (0..20).map(|_| unfinished(&site, "10.1.0.2")).collect();
    (0..5).for_each(|_| site.turn());
    for number in 0..1800 {
        unfinished(&site, "10.1.0.1");
        if number % 50 == 0 {
            site.turn();
        }
    }
    for _ in 0..40 {
        site.now += 100 * MS;
        site.turn();
    }
    assert!(site.figure("clients_cut_off") > 100, "{}", site.figure("clients_cut_off"));
    assert!(few.iter().all(|client| !site.is_closed(*client)));
}

#[test]
fn slow_value_has_its_time() {
    let folder = super::in_memory();
    let mut site = Site::front(folder.path(), &pool(""));
    let client = site.world.borrow_mut().client(usize::MAX / 2);
    site.send(client, b"set a 0 0 1000000\r\n");
    // Forty kilobytes a second.
    for _ in 0..25 {
        site.send(client, &[b'v'; 40_000]);
        site.now += SECOND;
        site.turn();
    }
    site.send(client, b"\r\n");
    (0..5).for_each(|_| {
        site.turn();
        site.serve(usize::MAX);
    });
    assert_eq!(site.said(client), b"STORED\r\n");
    // One byte every few seconds is no progress.
    site.send(client, b"set a 0 0 1000000\r\n");
    for _ in 0..20 {
        site.send(client, b"v");
        site.now += 2 * SECOND;
        site.turn();
    }
    assert!(site.is_closed(client));
    assert_eq!(site.figure("clients_unfinished"), 1);
}

#[test]
fn tenant_with_all_places_gives_way() {
    let folder = super::in_memory();
    let mut site = Site::front_for(folder.path(), &pool(""), 10);
    let many: Vec<usize> = (0..20).map(|_| client_from(&site, "10.1.0.1")).collect();
    (0..5).for_each(|_| site.turn());
    assert_eq!(site.figure("curr_connections"), 10);
    let few: Vec<usize> = (0..20).map(|_| client_from(&site, "10.1.0.2")).collect();
    (0..5).for_each(|_| site.turn());
    let served = |site: &Site, clients: &[usize]| clients.iter().filter(|client| !site.is_closed(**client)).count();
    assert_eq!([served(&site, &many), served(&site, &few)], [5, 5]);
    assert_eq!(site.figure("curr_connections"), 10);
}

#[test]
fn password_guesses_are_few_a_second() {
    let folder = super::in_memory();
    fs::write(folder.path().join("users"), "ann:secret\n").unwrap();
    let mut site = Site::front(folder.path(), &pool("auth = \"users\"\n"));
    let guessers: Vec<usize> = (0..5).map(|_| client_from(&site, "10.1.0.1")).collect();
    let guess = b"set a 0 0 10\r\nann guess1\r\n".repeat(50);
    let other = client_from(&site, "10.1.0.2");
    for _ in 0..100 {
        guessers.iter().for_each(|client| site.send(*client, &guess));
        site.now += 9 * MS;
        site.turn();
    }
    let guesses = site.figure("auth_errors");
    assert!((10..=40).contains(&guesses), "{guesses} in a second");
    site.send(other, b"set a 0 0 10\r\nann secret\r\nmn\r\n");
    (0..3).for_each(|_| site.turn());
    assert_eq!(site.said(other), b"STORED\r\nMN\r\n", "another tenant does not wait for that");
}
