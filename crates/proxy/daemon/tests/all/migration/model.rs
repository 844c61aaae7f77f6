//! Model of a memcached for migrations, with response delays.
#![expect(clippy::disallowed_types, reason = "these servers wait, as simple programs do")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use fanin_memcache::{Limits, Lines, Next, Request};

use crate::store::Store;
use crate::support::now;

#[derive(Clone)]
pub struct Model {
    pub address: SocketAddr,
    store: Arc<Mutex<Store>>,
    /// Maximum delay of most responses, in microseconds; and the random state.
    pub slow: Arc<AtomicU64>,
    draws: Arc<AtomicU64>,
    /// Whether it is stopped.
    pub stopped: Arc<AtomicBool>,
    /// Number of commands.
    pub asked: Arc<AtomicU64>,
}

impl Model {
    pub fn start() -> Model {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let model = Model {
            address: listener.local_addr().unwrap(),
            store: Arc::default(),
            slow: Arc::default(),
            stopped: Arc::default(),
            draws: Arc::new(AtomicU64::new(1)),
            asked: Arc::default(),
        };
        let serves = model.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let model = serves.clone();
                thread::spawn(move || model.serve(stream));
            }
        });
        model
    }

    /// Value of a key.
    pub fn has(&self, key: &str) -> Option<String> {
        let store = self.store.lock().unwrap();
        store.value(key.as_bytes()).map(|value| String::from_utf8(value.to_vec()).unwrap())
    }

    /// Remaining lifetime in seconds.
    pub fn lives(&self, key: &str) -> Option<u64> {
        let store = self.store.lock().unwrap();
        store.ends(key.as_bytes()).map(|ends| ends.duration_since(now()).as_secs() + 1)
    }

    pub fn put(&self, key: &str, value: &str) {
        self.store.lock().unwrap().put(key.as_bytes(), value.as_bytes(), 0, 0);
    }

    fn serve(&self, mut stream: TcpStream) -> Option<()> {
        stream.set_nodelay(true).unwrap();
        let limits = Limits { value: 1 << 30, keys: 1 << 24 };
        let (mut lines, mut bytes, mut scratch) = (Lines::default(), Vec::new(), vec![0; 1 << 16]);
        loop {
            let mut at = 0;
            while let Next::Request(request, line) = lines.next(&bytes[at..], &limits) {
                let mut took = line;
                let mut value: &[u8] = &[];
                if let Request::Store(store) = &request {
                    let follow = store.follow as usize;
                    let Some(there) = bytes.get(at + line..at + line + follow) else { break };
                    (value, took) = (&there[..follow - 2], line + follow);
                }
                self.waits();
                self.asked.fetch_add(1, SeqCst);
                let answer = self.store.lock().unwrap().answer(&request, value);
                self.waits();
                stream.write_all(&answer).ok()?;
                at += took;
            }
            bytes.drain(..at);
            match stream.read(&mut scratch) {
                Ok(count) if count > 0 => bytes.extend_from_slice(&scratch[..count]),
                _ => return None,
            }
        }
    }

    fn waits(&self) {
        while self.stopped.load(SeqCst) {
            thread::sleep(Duration::from_millis(1));
        }
        let slow = self.slow.load(SeqCst);
        let draw = self.draws.fetch_add(1, SeqCst).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        // Some responses are slow, so others on other connections overtake them.
        let longest = if draw.is_multiple_of(61) { 40 * slow } else { slow };
        if slow > 0 && draw.is_multiple_of(3) || longest > slow {
            thread::sleep(Duration::from_micros(draw % longest));
        }
    }
}
