//! A ring's sockets, with ordinary sockets as peers.
#![expect(clippy::disallowed_types, reason = "the other end waits, as simple programs do")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use fanin_ring::{Event, Ring, Socket};

const SOON: Duration = Duration::from_millis(20);

/// A ring; none if io_uring is not available.
fn ring() -> Option<Ring> {
    Ring::new().map_err(|error| println!("skipped: no io_uring here ({error})")).ok()
}

/// Both ends of a connection.
fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let here = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let there = listener.accept().unwrap().0;
    there.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    (here, there)
}

/// Events of several iterations.
fn events(ring: &mut Ring, turns: usize) -> Vec<Event> {
    let mut events = Vec::new();
    (0..turns).for_each(|_| ring.wait(Some(SOON), &mut events).unwrap());
    events
}

/// Reads until there is no more input, or its end.
fn read_all(ring: &mut Ring, socket: &Socket) -> Vec<u8> {
    let mut all = Vec::new();
    let mut some = vec![0; 100_000];
    while let Ok(count @ 1..) = ring.read(socket, &mut some) {
        all.extend_from_slice(&some[..count]);
    }
    all
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * at / 7) as u8).collect()
}

/// Connections with input in every iteration, to create load.
struct Crowd(Vec<(Socket, TcpStream)>);

impl Crowd {
    fn new(ring: &mut Ring) -> Crowd {
        let one = |(here, there): (TcpStream, TcpStream)| (ring.add(here.into(), 99, false).unwrap(), there);
        let mut crowd = Crowd((0..10).map(|_| pair()).map(one).collect());
        (0..20).for_each(|_| drop(crowd.turn(ring)));
        crowd
    }

    /// Sends and reads on every connection; returns other events.
    fn turn(&mut self, ring: &mut Ring) -> Vec<Event> {
        self.0.iter_mut().for_each(|(_, there)| there.write_all(b"x").unwrap());
        let mut found = events(ring, 1);
        self.0.iter().for_each(|(socket, _)| drop(read_all(ring, socket)));
        found.retain(|event| event.token != 99);
        found
    }
}

#[test]
fn transfers_bytes_and_returns_buffer() {
    let Some(mut ring) = ring() else { return };
    let (here, mut there) = pair();
    let socket = ring.add(here.into(), 7, false).unwrap();
    let mut out = b"get a\r\n".to_vec();
    ring.write(&socket, &mut out).unwrap();
    assert!(out.is_empty());
    let mut came = [0; 7];
    there.read_exact(&mut came).unwrap();
    assert_eq!(&came, b"get a\r\n");
    there.write_all(b"END\r\n").unwrap();
    assert_eq!(events(&mut ring, 1), [Event { token: 7, readable: true, ..Event::default() }]);
    let mut some = [0; 2];
    assert_eq!(ring.read(&socket, &mut some).unwrap(), 2);
    assert_eq!(read_all(&mut ring, &socket), b"D\r\n");
    assert_eq!(ring.read(&socket, &mut some).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}

#[test]
fn busy_ring_takes_over_small_writes() {
    let Some(mut ring) = ring() else { return };
    let mut crowd = Crowd::new(&mut ring);
    let (here, mut there) = pair();
    let socket = ring.add(here.into(), 7, false).unwrap();
    let (mut out, mut more) = (b"get a\r\n".to_vec(), b"get b\r\n".to_vec());
    ring.write(&socket, &mut out).unwrap();
    assert!(out.is_empty());
    assert_eq!(ring.unsent(&socket), 7);
    ring.write(&socket, &mut more).unwrap();
    assert_eq!(more, b"get b\r\n");
    assert_eq!(crowd.turn(&mut ring), [Event { token: 7, writable: true, ..Event::default() }]);
    assert_eq!(ring.unsent(&socket), 0);
    ring.write(&socket, &mut more).unwrap();
    crowd.turn(&mut ring);
    let mut came = [0; 14];
    there.read_exact(&mut came).unwrap();
    assert_eq!(&came, b"get a\r\nget b\r\n");
}

#[test]
fn reports_end_with_last_bytes() {
    let Some(mut ring) = ring() else { return };
    let mut crowd = Crowd(Vec::new());
    for round in 0..2 {
        let (here, mut there) = pair();
        let socket = ring.add(here.into(), 7, false).unwrap();
        there.write_all(b"bye").unwrap();
        drop(there);
        let found = [crowd.turn(&mut ring), crowd.turn(&mut ring)].concat();
        assert!(found.iter().any(|event| event.readable && event.ended), "{round}: {found:?}");
        assert_eq!(read_all(&mut ring, &socket), b"bye");
        assert_eq!(ring.read(&socket, &mut [0]).unwrap(), 0);
        crowd = Crowd::new(&mut ring);
    }
}

/// Many connections, each echoed by a thread, with random sizes of writes and reads, receive every byte.
#[test]
fn random_traffic_arrives_complete_and_in_order() {
    const EACH: usize = 2 << 20;
    let Some(mut ring) = ring() else { return };
    let mut state = 1u64;
    let mut below = move |bound: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % bound
    };
    let expected = pattern(EACH);
    let mut sockets = Vec::new();
    for token in 0..12 {
        let (here, mut there) = pair();
        sockets.push((ring.add(here.into(), token, false).unwrap(), 0, 0));
        std::thread::spawn(move || {
            let mut some = vec![0; 50_000];
            while let Ok(count @ 1..) = there.read(&mut some) {
                there.write_all(&some[..count]).unwrap();
            }
        });
    }
    let mut found = Vec::new();
    for turn in 0.. {
        assert!(turn < 100_000, "it takes for ever");
        for (socket, said, heard) in &mut sockets {
            if ring.unsent(socket) == 0 && *said < EACH {
                let most = [40, 3_000, 40_000][turn / 50 % 3];
                let count = (1 + below(most)).min(EACH - *said);
                let mut out = expected[*said..*said + count].to_vec();
                ring.write(socket, &mut out).unwrap();
                assert!(out.is_empty());
                *said += count;
            }
            // Skip some reads.
            while below(4) > 0 {
                let mut some = vec![0; 1 + below(20_000)];
                let Ok(count) = ring.read(socket, &mut some) else { break };
                assert!(some[..count] == expected[*heard..*heard + count], "other bytes than were sent");
                *heard += count;
            }
        }
        if sockets.iter().all(|(_, _, heard)| *heard == EACH) {
            return;
        }
        found.clear();
        ring.wait(Some(Duration::from_micros(200)), &mut found).unwrap();
    }
}

#[test]
fn transfers_megabytes_in_both_directions() {
    let Some(mut ring) = ring() else { return };
    let (here, mut there) = pair();
    let socket = ring.add(here.into(), 0, false).unwrap();
    let sent = pattern(20 << 20);
    let mut out = sent.clone();
    ring.write(&socket, &mut out).unwrap();
    let echo = std::thread::spawn(move || {
        let mut came = vec![0; 20 << 20];
        there.read_exact(&mut came).unwrap();
        there.write_all(&came).unwrap();
    });
    let mut back = Vec::new();
    while back.len() < sent.len() {
        events(&mut ring, 1);
        back.extend(read_all(&mut ring, &socket));
    }
    assert!(back == sent);
    echo.join().unwrap();
    events(&mut ring, 2);
    assert_eq!(ring.read(&socket, &mut [0]).unwrap(), 0, "the other end has closed");
}

#[test]
fn unread_connection_keeps_little_memory() {
    let Some(mut ring) = ring() else { return };
    let mut crowd = Crowd::new(&mut ring);
    let ((here, mut there), (other, mut others)) = (pair(), pair());
    let (silent, lively) = (ring.add(here.into(), 0, false).unwrap(), ring.add(other.into(), 1, false).unwrap());
    let sent = pattern(64 << 20);
    let (expected, taken) = (sent.clone(), Arc::new(AtomicUsize::new(0)));
    let counter = taken.clone();
    let sender = std::thread::spawn(move || {
        for part in sent.chunks(10 << 10) {
            there.write_all(part).unwrap();
            counter.fetch_add(part.len(), Relaxed);
        }
    });
    for round in 0..50u8 {
        others.write_all(&[round; 1000]).unwrap();
        let mut came = Vec::new();
        while came.len() < 1000 {
            crowd.turn(&mut ring);
            came.extend(read_all(&mut ring, &lively));
        }
        assert_eq!(came, [round; 1000]);
    }
    // The kernel's socket buffers, the ring's buffers, and bytes set aside.
    assert!(taken.load(Relaxed) < 32 << 20, "{} bytes were taken that nobody has read", taken.load(Relaxed));
    let mut came = Vec::new();
    while came.len() < expected.len() {
        events(&mut ring, 1);
        came.extend(read_all(&mut ring, &silent));
    }
    assert!(came == expected);
    sender.join().unwrap();
}

#[test]
fn closed_connection_frees_its_number() {
    let Some(mut ring) = ring() else { return };
    for round in 0..100 {
        let (here, mut there) = pair();
        let socket = ring.add(here.into(), round, false).unwrap();
        there.write_all(b"unread").unwrap();
        if round % 2 == 0 {
            events(&mut ring, 1);
        }
        ring.close(socket);
        assert_eq!(events(&mut ring, 3), []);
        // Closing with unread input may cause a reset.
        assert!(matches!(there.read(&mut [0; 10]), Ok(0) | Err(_)));
    }
    let (here, there) = pair();
    let socket = ring.add(here.into(), 0, false).unwrap();
    assert_eq!(format!("{socket:?}"), "Socket(0)", "numbers are used again");
    drop(there);
    assert!(events(&mut ring, 2).iter().any(|event| event.readable));
    assert_eq!(ring.read(&socket, &mut [0]).unwrap(), 0);
}

#[test]
fn released_connection_loses_no_bytes() {
    let Some(mut ring) = ring() else { return };
    let mut crowd = Crowd::new(&mut ring);
    for round in 0..30 {
        let (here, mut there) = pair();
        let mut socket = Some(ring.add(here.into(), 7, false).unwrap());
        let sent = pattern(1 + round * 3_000);
        let (first, second) = sent.split_at(sent.len() / 2);
        there.write_all(first).unwrap();
        if round % 2 == 0 {
            drop(crowd.turn(&mut ring));
        }
        let mut stopped = ring.stop_receiving(socket.as_ref().unwrap());
        there.write_all(second).unwrap();
        while !stopped {
            crowd.turn(&mut ring);
            stopped = ring.stop_receiving(socket.as_ref().unwrap());
        }
        let (file, mut got) = ring.release(socket.take().unwrap()).unwrap();
        let mut stream = TcpStream::from(file);
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        there.shutdown(std::net::Shutdown::Write).unwrap();
        stream.read_to_end(&mut got).unwrap();
        assert!(got == sent, "round {round}: {} of {} bytes", got.len(), sent.len());
        stream.write_all(b"x").unwrap();
        there.read_exact(&mut [0]).unwrap();
    }
    assert_eq!(ring.aside(), 0);
}

#[test]
fn opening_connection_becomes_writable_or_fails() {
    let Some(mut ring) = ring() else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    ring.watch(listener.try_clone().unwrap().into(), 3);
    let address = listener.local_addr().unwrap();
    let opened = ring.add(TcpStream::connect(address).unwrap().into(), 9, true).unwrap();
    let found = events(&mut ring, 2);
    assert!(found.contains(&Event { token: 3, readable: true, ..Event::default() }), "{found:?}");
    assert!(found.contains(&Event { token: 9, writable: true, ..Event::default() }), "{found:?}");
    let mut there = listener.accept().unwrap().0;
    there.write_all(b"hello").unwrap();
    events(&mut ring, 2);
    assert_eq!(read_all(&mut ring, &opened), b"hello");
    // The listener is gone.
    ring.unwatch(3);
    drop(listener);
    events(&mut ring, 2);
    assert!(TcpStream::connect(address).is_err(), "it listens though it is not watched");
}

#[test]
fn reports_send_errors() {
    let Some(mut ring) = ring() else { return };
    let (here, there) = pair();
    let socket = ring.add(here.into(), 5, false).unwrap();
    drop(there);
    for _ in 0..10 {
        let mut out = vec![0; 1000];
        if ring.write(&socket, &mut out).is_err() {
            return;
        }
        events(&mut ring, 1);
    }
    panic!("ten writes to nobody, and no error");
}

#[test]
fn drops_ring_with_pending_operations() {
    let Some(mut ring) = ring() else { return };
    assert_eq!(events(&mut ring, 1), []);
    let pairs: Vec<(TcpStream, TcpStream)> = (0..20).map(|_| pair()).collect();
    let mut others = Vec::new();
    for (here, there) in pairs {
        let socket = ring.add(here.into(), 0, false).unwrap();
        // More than the kernel takes.
        ring.write(&socket, &mut vec![1; 32 << 20]).unwrap();
        others.push(there);
    }
    events(&mut ring, 1);
    drop(ring);
    for mut there in others {
        let mut some = Vec::new();
        let _ = there.read_to_end(&mut some);
        assert!(some.len() < 32 << 20);
    }
}

#[test]
fn completes_more_operations_than_queue_holds() {
    let Some(mut ring) = ring() else { return };
    let (here, mut there) = pair();
    // Without waiting; each has two completions.
    for _ in 0..10_000 {
        ring.watch(here.try_clone().unwrap().into(), 3);
        ring.unwatch(3);
    }
    let socket = ring.add(here.into(), 7, false).unwrap();
    there.write_all(b"get a\r\n").unwrap();
    let found = events(&mut ring, 5);
    assert!(found.iter().all(|event| event.token == 7 && event.readable) && !found.is_empty(), "{found:?}");
    assert_eq!(read_all(&mut ring, &socket), b"get a\r\n");
}
