//! Sockets by io_uring, for one thread: it submits all that it wants in one call a turn, in which it also waits, and is told what is
//! done. Whoever uses it reads and writes as by a socket that never blocks, and needs no `unsafe`: buffers belong to the ring while
//! the kernel has them.
//!
//! What is best follows from what comes (docs/performance.md). Where many small things come at once, the kernel fills buffers that it
//! picks itself, and what is to be sent is ordered with all the rest: a turn is one call. What is large, or comes alone, is read and
//! written by calls of its own, as with epoll: it needs no buffers but those of whoever reads. A connection changes from one to the
//! other when its next event is there; one that is not read is not received from, and takes no buffers from others.

#![allow(unsafe_code)]

mod buffers;
pub mod heap;
mod wire;

use std::io;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use io_uring::types::{CancelBuilder, Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};
use nix::errno::Errno;
use nix::poll::PollFlags;
use nix::sys::socket::MsgFlags;

use buffers::{Buffers, Filled};
use wire::{Order, Wire};

/// Orders that are gathered before the kernel is given them.
const ORDERS: u32 = 1024;
/// How long the kernel may take to let go of what it has when a ring ends.
const PATIENCE: Duration = Duration::from_millis(100);
const TRIES: usize = 20;

/// What a completion is of, in its lowest bits; above them, which connection, or which file that is watched.
const CAME: u64 = 0;
const SENT: u64 = 1;
const WATCHED: u64 = 2;
const CALLED_BACK: u64 = 3;
const BITS: u32 = 2;

/// From so many connections a turn on of which something has come there are many, and below so many few.
const MANY: u32 = 3;
const FEW: u32 = 2;
/// The mean of what comes in a turn is kept in so many parts, and each turn counts as one in so many.
const PARTS: u32 = 64;
const TURNS: u32 = 8;
/// What is told of a connection whose other end has closed it for good or for its part, and of one that has failed.
const READ_ENDED: PollFlags = PollFlags::from_bits_retain(nix::libc::POLLRDHUP);
const FAILED: PollFlags = PollFlags::POLLERR.union(PollFlags::POLLHUP);
const ENDED: PollFlags = READ_ENDED.union(FAILED);
/// Up to so many bytes are sent together with what else is.
const SMALL: usize = 16 << 10;

/// A connection of a ring.
#[derive(Debug)]
pub struct Socket(u32);

/// What may be done that could not be before; or may be found out by trying.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Whose.
    pub token: usize,
    /// Something has come, or never will again.
    pub readable: bool,
    /// Nothing more will come behind what has: to be read to its end, since no other event will tell.
    pub ended: bool,
    /// It is open, or all that was handed over is sent.
    pub writable: bool,
    /// Nothing more can be sent.
    pub failed: bool,
}

/// A thread's sockets.
pub struct Ring {
    uring: IoUring,
    buffers: ManuallyDrop<Buffers>,
    wires: Vec<Option<Wire>>,
    free: Vec<u32>,
    watched: Vec<Option<OwnedFd>>,
    /// Connections of which buffers have come; and those of whom the kernel is to tell anew.
    full: Vec<u32>,
    anew: Vec<u32>,
    /// Bytes that connections have set aside.
    aside: usize,
    /// How many connections something comes of in a turn, in `PARTS`; and whether that is many.
    load: u32,
    many: bool,
    /// Orders of which the kernel has not said that they are over.
    under_way: usize,
    done: Vec<cqueue::Entry>,
    /// It belongs to the thread that made it.
    of_one_thread: PhantomData<*const ()>,
}

impl Ring {
    /// A ring for this thread, where the kernel lets it have one.
    ///
    /// # Errors
    /// Where it does not: it is too old (Linux 6.1 has all of it) or was told not to.
    pub fn new() -> io::Result<Ring> {
        let uring: IoUring =
            IoUring::builder().setup_single_issuer().setup_defer_taskrun().setup_cqsize(4 * ORDERS).build(ORDERS)?;
        uring.submitter().register_ring_fd()?;
        let buffers = ManuallyDrop::new(Buffers::register(&uring.submitter())?);
        Ok(Ring {
            uring,
            buffers,
            wires: Vec::new(),
            free: Vec::new(),
            watched: Vec::new(),
            full: Vec::new(),
            anew: Vec::new(),
            aside: 0,
            load: 0,
            many: false,
            under_way: 0,
            done: Vec::new(),
            of_one_thread: PhantomData,
        })
    }

    /// Tells by events of this token, a small number, when something can be read of a file, or taken from one that listens.
    pub fn watch(&mut self, file: OwnedFd, token: usize) {
        if self.watched.len() <= token {
            self.watched.resize_with(token + 1, || None);
        }
        self.watched[token] = Some(file);
        self.look(token);
    }

    /// Watches a file no longer.
    pub fn unwatch(&mut self, token: usize) {
        if let Some(file) = self.watched.get_mut(token).and_then(Option::take) {
            self.call_back(data(token as u32, WATCHED));
            // What the kernel is told of it, it is told while it is open.
            let _ = self.submit();
            drop(file);
        }
    }

    /// Takes a connection, which may still be `opening`: then it is writable once it is open.
    ///
    /// # Errors
    /// Where the system does not let it be one that blocks.
    pub fn add(&mut self, socket: socket2::Socket, token: usize, opening: bool) -> io::Result<Socket> {
        // The kernel says at once that there is nothing yet of what does not block.
        socket.set_nonblocking(false)?;
        let number = self.free.pop().unwrap_or_else(|| {
            self.wires.push(None);
            self.wires.len() as u32 - 1
        });
        let file = Fd(socket.as_raw_fd());
        self.wires[number as usize] = Some(Wire::new(socket, token, opening));
        if opening {
            self.order(opcode::PollAdd::new(file, bits(PollFlags::POLLOUT)).build(), data(number, CAME));
        } else {
            self.tell(number);
        }
        Ok(Socket(number))
    }

    /// The socket itself, for what is not reading and writing.
    pub fn system(&self, Socket(number): &Socket) -> Option<&socket2::Socket> {
        self.wires.get(*number as usize)?.as_ref().map(|wire| &wire.socket)
    }

    /// Reads what has come, as from a socket that does not block.
    ///
    /// # Errors
    /// `WouldBlock` where nothing has; and what the connection ended with.
    pub fn read(&mut self, Socket(number): &Socket, into: &mut [u8]) -> io::Result<usize> {
        let Some(Some(wire)) = self.wires.get_mut(*number as usize) else { return Ok(0) };
        let before = wire.aside();
        let result = wire.read(&mut self.buffers, into);
        self.aside -= before - wire.aside();
        result
    }

    /// Bytes of all connections that were received, not read, and copied out of the kernel's buffers.
    pub fn aside(&self) -> usize {
        self.aside
    }

    /// Sends what is in `out`, or takes it over to send it with what else is to be sent: an event tells when that is done. Until then
    /// nothing more is taken, and `out` stays as it is.
    ///
    /// # Errors
    /// The connection's, or what was taken over has failed with.
    pub fn write(&mut self, Socket(number): &Socket, out: &mut Vec<u8>) -> io::Result<()> {
        let Some(Some(wire)) = self.wires.get_mut(*number as usize) else { return Ok(()) };
        if let Some(code) = wire.broken {
            return Err(io::Error::from_raw_os_error(code));
        }
        if wire.is_sending || out.is_empty() {
            return Ok(());
        }
        let sent = if self.many && out.len() <= SMALL { 0 } else { wire.send(out)? };
        if sent == out.len() {
            out.clear();
        } else {
            wire.hand_over(out, sent);
            self.send(*number);
        }
        Ok(())
    }

    /// Bytes that were taken over and are not sent.
    pub fn unsent(&self, Socket(number): &Socket) -> usize {
        let Some(Some(wire)) = self.wires.get(*number as usize) else { return 0 };
        if wire.is_sending { wire.sending.len() - wire.sent } else { 0 }
    }

    /// Closes a connection.
    pub fn close(&mut self, Socket(number): Socket) {
        let Some(Some(wire)) = self.wires.get_mut(number as usize) else { return };
        wire.closed = true;
        self.aside -= wire.aside();
        wire.let_go(&mut self.buffers);
        let held = [(wire.is_sending, SENT), (wire.order.is_some(), CAME)];
        for (_, what) in held.into_iter().filter(|(held, _)| *held) {
            self.call_back(data(number, what));
        }
        self.forget_if_over(number);
    }

    /// Gives the kernel all orders and waits for something to happen, no longer than this.
    ///
    /// # Errors
    /// The system's.
    pub fn wait(&mut self, longest: Option<Duration>, events: &mut Vec<Event>) -> io::Result<()> {
        for number in std::mem::take(&mut self.full) {
            if let Some(wire) = &mut self.wires[number as usize] {
                self.aside -= wire.aside();
                wire.set_aside(&mut self.buffers);
                self.aside += wire.aside();
            }
            self.change(number);
        }
        std::mem::take(&mut self.anew).into_iter().for_each(|number| self.tell(number));
        self.turn(longest)?;
        let before = events.len();
        let mut done = std::mem::take(&mut self.done);
        done.drain(..).for_each(|entry| self.is_done(&entry, events));
        self.done = done;
        let came = events[before..].iter().filter(|event| event.readable).count() as u32;
        self.load += came * (PARTS / TURNS);
        self.load -= self.load / TURNS;
        self.many = self.load >= if self.many { FEW } else { MANY } * PARTS;
        Ok(())
    }

    /// Gives the kernel all orders.
    ///
    /// # Errors
    /// The system's.
    pub fn submit(&mut self) -> io::Result<()> {
        self.uring.submit().map(drop)
    }

    /// Gives the kernel all orders, waits, and takes what is done.
    fn turn(&mut self, longest: Option<Duration>) -> io::Result<()> {
        let result = match longest {
            None => self.uring.submit_and_wait(1),
            Some(longest) => {
                let longest = Timespec::from(longest);
                self.uring.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&longest))
            }
        };
        let harmless = [Errno::ETIME, Errno::EINTR, Errno::EBUSY, Errno::EAGAIN];
        match result {
            Err(error) if !is_one_of(error.raw_os_error().unwrap_or(0), &harmless) => return Err(error),
            _ => {}
        }
        self.done.extend(self.uring.completion());
        let over = self.done.iter().filter(|entry| !cqueue::more(entry.flags())).count();
        self.under_way -= over;
        Ok(())
    }

    fn is_done(&mut self, entry: &cqueue::Entry, events: &mut Vec<Event>) {
        let (number, what) = ((entry.user_data() >> BITS) as u32, entry.user_data() & ((1 << BITS) - 1));
        match what {
            CAME => self.has_come(number, entry, events),
            SENT => self.has_sent(number, entry.result(), events),
            WATCHED => self.has_changed(number as usize, entry, events),
            _ => {}
        }
    }

    /// Something has come of a connection, or it is open, or the order to tell of it is over.
    fn has_come(&mut self, number: u32, entry: &cqueue::Entry, events: &mut Vec<Event>) {
        let (result, more) = (entry.result(), cqueue::more(entry.flags()));
        let filled = cqueue::buffer_select(entry.flags());
        let filled = filled.map(|buffer| Filled::new(buffer, result.max(0) as u32));
        let Some(Some(wire)) = self.wires.get_mut(number as usize) else { return };
        let order = wire.order;
        if !more {
            (wire.order, wire.called_back) = (None, false);
            self.anew.push(number);
        }
        let token = wire.token;
        match (filled, order) {
            (Some(filled), _) if wire.closed || result <= 0 => self.buffers.give_back(filled),
            (Some(filled), _) => {
                if wire.takes(filled) {
                    self.full.push(number);
                }
            }
            (None, _) => {}
        }
        // What it ends with for want of buffers, or because it was called back, is no end of the connection.
        let goes_on = [Errno::ENOBUFS, Errno::ECANCELED, Errno::EINTR, Errno::EAGAIN];
        let over = result < 0 && !is_one_of(-result, &goes_on) || result == 0 && order == Some(Order::Receive);
        if over {
            wire.end = Some(-result);
        }
        if wire.closed {
            return self.forget_if_over(number);
        }
        if order == Some(Order::Open) {
            let failed = over || result & has(FAILED) != 0;
            events.push(Event { token, writable: !failed, failed, ..Event::default() });
        } else if over || result > 0 {
            let told = order == Some(Order::Look) && result & has(ENDED) != 0;
            events.push(Event { token, readable: true, ended: told || wire.end.is_some(), ..Event::default() });
        }
        self.change(number);
    }

    /// Something can be read of a file that is watched.
    fn has_changed(&mut self, token: usize, entry: &cqueue::Entry, events: &mut Vec<Event>) {
        if entry.result() < 0 || !self.watched.get(token).is_some_and(Option::is_some) {
            return;
        }
        events.push(Event { token, readable: true, ..Event::default() });
        // Of a file that has ended nothing more is to be told.
        if !cqueue::more(entry.flags()) && entry.result() & has(ENDED) == 0 {
            self.look(token);
        }
    }

    fn has_sent(&mut self, number: u32, result: i32, events: &mut Vec<Event>) {
        let Some(Some(wire)) = self.wires.get_mut(number as usize) else { return };
        wire.is_sending = false;
        if result < 0 && !is_one_of(-result, &[Errno::EINTR, Errno::EAGAIN]) {
            wire.broken = Some(-result);
        }
        let over = wire.broken.is_some() || wire.has_sent(result.max(0) as usize);
        if wire.closed {
            self.forget_if_over(number);
        } else if over {
            let (token, failed) = (wire.token, wire.broken.is_some());
            events.push(Event { token, writable: true, failed, ..Event::default() });
        } else {
            self.send(number);
        }
    }

    /// Forgets a connection that is closed and of which the kernel has nothing.
    fn forget_if_over(&mut self, number: u32) {
        let place = &mut self.wires[number as usize];
        if place.as_ref().is_some_and(|wire| wire.closed && wire.is_at_rest()) {
            *place = None;
            self.free.push(number);
        }
    }

    fn look(&mut self, token: usize) {
        let Some(Some(file)) = self.watched.get(token) else { return };
        let order = opcode::PollAdd::new(Fd(file.as_raw_fd()), bits(PollFlags::POLLIN)).multi(true).build();
        self.order(order, data(token as u32, WATCHED));
    }

    /// Has the kernel tell of what comes of a connection.
    fn tell(&mut self, number: u32) {
        let Some(Some(wire)) = self.wires.get_mut(number as usize) else { return };
        if wire.closed || wire.order.is_some() || wire.end.is_some() {
            return;
        }
        let (how, file) = (wire.wants(self.many), Fd(wire.socket.as_raw_fd()));
        wire.order = Some(how);
        let order = match how {
            Order::Receive => opcode::RecvMulti::new(file, buffers::GROUP).build(),
            _ => opcode::PollAdd::new(file, bits(PollFlags::POLLIN.union(READ_ENDED))).multi(true).build(),
        };
        self.order(order, data(number, CAME));
    }

    /// Calls back an order that is not what is best any more: another is given when it is over.
    fn change(&mut self, number: u32) {
        let Some(Some(wire)) = self.wires.get_mut(number as usize) else { return };
        let stays = [None, Some(Order::Open), Some(wire.wants(self.many))];
        if !wire.called_back && !stays.contains(&wire.order) {
            wire.called_back = true;
            self.call_back(data(number, CAME));
        }
    }

    fn send(&mut self, number: u32) {
        let Some(Some(wire)) = self.wires.get_mut(number as usize) else { return };
        wire.is_sending = true;
        let rest = &wire.sending[wire.sent..];
        let count = rest.len().min(i32::MAX as usize) as u32;
        let flags = (MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_WAITALL).bits();
        let order = opcode::Send::new(Fd(wire.socket.as_raw_fd()), rest.as_ptr(), count).flags(flags).build();
        self.order(order, data(number, SENT));
    }

    fn call_back(&mut self, which: u64) {
        self.order(opcode::AsyncCancel::new(which).build(), CALLED_BACK);
    }

    fn order(&mut self, order: squeue::Entry, data: u64) {
        let order = order.user_data(data);
        self.under_way += 1;
        // SAFETY: files stay open, and what is sent stays where it is, until the kernel has said that the order is over: a
        // connection is forgotten, and its bytes are touched, only then; so does what is received into (see `drop`).
        while unsafe { self.uring.submission().push(&order) }.is_err() {
            // The queue is full. Where the kernel does not take it now it will, once it has done some of it.
            let _ = self.uring.submit();
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // The kernel is to let go of everything before what it writes to is freed.
        let _ = self.uring.submit();
        let _ = self.uring.submitter().register_sync_cancel(Some(PATIENCE.into()), CancelBuilder::any());
        for _ in 0..TRIES {
            if self.under_way == 0 || self.turn(Some(PATIENCE)).is_err() {
                break;
            }
            self.done.clear();
        }
        if self.under_way == 0 && self.uring.submitter().unregister_buf_ring(buffers::GROUP).is_ok() {
            // SAFETY: it is not used again.
            unsafe { ManuallyDrop::drop(&mut self.buffers) };
        } else {
            std::mem::forget(std::mem::take(&mut self.wires));
        }
    }
}

/// What the kernel hands back with what is done.
fn data(number: u32, what: u64) -> u64 {
    u64::from(number) << BITS | what
}

/// What is to be told of a file.
fn bits(flags: PollFlags) -> u32 {
    flags.bits() as u32
}

/// What is told of a file.
fn has(flags: PollFlags) -> i32 {
    flags.bits().into()
}

fn is_one_of(code: i32, errors: &[Errno]) -> bool {
    errors.contains(&Errno::from_raw(code))
}
