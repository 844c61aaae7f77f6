//! By io_uring: one thread submits and is told of what is done when it asks; connections are received from again and again into
//! buffers that the kernel picks.

use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, RawFd};
use std::sync::atomic::{AtomicU16, Ordering::Release};

use io_uring::{IoUring, cqueue, opcode, squeue, types};

use crate::relay::Relay;

/// Buffers that are received into, and the size of each.
const BUFFERS: u16 = 1024;
const BUFFER: usize = 16 << 10;
const GROUP: u16 = 0;
/// What a completion is of: who, and which of these.
const RECEIVED: u64 = 0;
const SENT: u64 = 1;
const ACCEPTED: u64 = 2;
/// What a completion says where all buffers were taken: ENOBUFS.
const NO_BUFFERS: i32 = -105;

/// What is being written to a connection, and its file.
struct Wire {
    file: RawFd,
    sending: Vec<u8>,
    sent: usize,
    busy: bool,
}

/// The ring from which the kernel takes buffers.
struct Buffers {
    ring: *mut types::BufRingEntry,
    memory: Vec<u8>,
    tail: u16,
}

impl Buffers {
    fn new(uring: &IoUring) -> std::io::Result<Buffers> {
        let layout = std::alloc::Layout::from_size_align(usize::from(BUFFERS) * size_of::<types::BufRingEntry>(), 4096)
            .expect("a page's alignment");
        // SAFETY: the layout has a size; the ring is never freed, as the program runs until it is killed.
        let ring = unsafe { std::alloc::alloc_zeroed(layout) }.cast::<types::BufRingEntry>();
        // SAFETY: it has room for so many entries, and stays.
        unsafe { uring.submitter().register_buf_ring_with_flags(ring as u64, BUFFERS, GROUP, 0)? };
        let mut buffers = Buffers { ring, memory: vec![0; usize::from(BUFFERS) * BUFFER], tail: 0 };
        (0..BUFFERS).for_each(|id| buffers.give_back(id));
        Ok(buffers)
    }

    fn get(&self, id: u16, count: usize) -> &[u8] {
        &self.memory[usize::from(id) * BUFFER..][..count]
    }

    fn give_back(&mut self, id: u16) {
        // SAFETY: the index is below the number of entries; the kernel reads none behind the tail.
        let entry = unsafe { &mut *self.ring.add(usize::from(self.tail % BUFFERS)) };
        entry.set_addr(self.memory[usize::from(id) * BUFFER..].as_ptr() as u64);
        entry.set_len(BUFFER as u32);
        entry.set_bid(id);
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the tail lies in the ring, and the kernel reads it as an atomic.
        unsafe { &*types::BufRingEntry::tail(self.ring).cast::<AtomicU16>() }.store(self.tail, Release);
    }
}

pub fn run(listener: TcpListener, servers: Vec<TcpStream>) -> std::io::Result<()> {
    let mut uring: IoUring = IoUring::builder().setup_single_issuer().setup_defer_taskrun().build(1024)?;
    let mut buffers = Buffers::new(&uring)?;
    let mut relay = Relay::new(servers.len());
    let mut wires: Vec<Wire> = Vec::new();
    let wire = |file| Wire { file, sending: Vec::new(), sent: 0, busy: false };
    for (number, stream) in servers.into_iter().enumerate() {
        wires.push(wire(stream.into_raw_fd()));
        push(&mut uring, receive(&wires[number], number));
    }
    let accept =
        |listener: &TcpListener| opcode::AcceptMulti::new(types::Fd(listener.as_raw_fd())).build().user_data(ACCEPTED);
    push(&mut uring, accept(&listener));
    let mut done: Vec<cqueue::Entry> = Vec::new();
    loop {
        uring.submit_and_wait(1)?;
        done.extend(uring.completion());
        for entry in done.drain(..) {
            let (end, what) = ((entry.user_data() >> 2) as usize, entry.user_data() & 3);
            match what {
                ACCEPTED => {
                    // SAFETY: the kernel has just opened it for nobody else.
                    let stream = unsafe { TcpStream::from_raw_fd(entry.result()) };
                    stream.set_nodelay(true)?;
                    let number = relay.join();
                    wires.push(wire(stream.into_raw_fd()));
                    push(&mut uring, receive(&wires[number], number));
                    if !cqueue::more(entry.flags()) {
                        push(&mut uring, accept(&listener));
                    }
                }
                RECEIVED => {
                    if let Some(id) = cqueue::buffer_select(entry.flags()) {
                        relay.came(end, buffers.get(id, entry.result() as usize));
                        buffers.give_back(id);
                    }
                    if !cqueue::more(entry.flags()) && (entry.result() > 0 || entry.result() == NO_BUFFERS) {
                        push(&mut uring, receive(&wires[end], end));
                    }
                }
                _ => {
                    let wire = &mut wires[end];
                    wire.busy = false;
                    wire.sent += entry.result().max(0) as usize;
                    if wire.sent < wire.sending.len() || !relay.ends[end].out.is_empty() {
                        relay.dirty.push(end);
                    }
                }
            }
        }
        for end in std::mem::take(&mut relay.dirty) {
            relay.ends[end].dirty = false;
            if let Some(send) = wires[end].send(&mut relay.ends[end].out) {
                push(&mut uring, send.user_data((end as u64) << 2 | SENT));
            }
        }
    }
}

impl Wire {
    /// Writes what is left of before, or else what has gathered.
    fn send(&mut self, out: &mut Vec<u8>) -> Option<squeue::Entry> {
        if self.busy {
            return None;
        }
        if self.sent == self.sending.len() {
            self.sending.clear();
            self.sent = 0;
            std::mem::swap(&mut self.sending, out);
        }
        let rest = &self.sending[self.sent..];
        self.busy = !rest.is_empty();
        self.busy.then(|| opcode::Send::new(types::Fd(self.file), rest.as_ptr(), rest.len() as u32).build())
    }
}

fn receive(wire: &Wire, end: usize) -> squeue::Entry {
    opcode::RecvMulti::new(types::Fd(wire.file), GROUP).build().user_data((end as u64) << 2 | RECEIVED)
}

fn push(uring: &mut IoUring, entry: squeue::Entry) {
    // SAFETY: what is written stays where it is until the kernel says that it has it.
    while unsafe { uring.submission().push(&entry) }.is_err() {
        uring.submit().expect("room for more");
    }
}
