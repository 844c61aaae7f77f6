//! Sockets over io_uring, for one thread: one system call per loop iteration submits all operations, waits, and returns completions. Users
//! read and write as with a non-blocking socket, without `unsafe`: the ring owns the buffers while the kernel uses them.
//!
//! The method adapts to the load (docs/performance.md). With small input of many connections, the kernel fills buffers that it selects,
//! and output is submitted with all other operations: an iteration is one call. Large input, or input of a single connection, uses system
//! calls of its own, as with epoll, and no extra buffers. A connection changes its method at its next event; one that is not read is not
//! received from, and uses no shared buffers. A connection can be given up with its unread bytes, for example to another process.

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

use crate::buffers::{self, Buffers, Filled};
use crate::wire::{Order, Wire};

/// Capacity of the submission queue.
const ORDERS: u32 = 1024;
/// Time that the kernel gets to complete operations when a ring is dropped.
const PATIENCE: Duration = Duration::from_millis(100);
const TRIES: usize = 20;

/// Kind of a completion, in its lowest bits; the connection or watched file is above them.
const CAME: u64 = 0;
const SENT: u64 = 1;
const WATCHED: u64 = 2;
const CALLED_BACK: u64 = 3;
const BITS: u32 = 2;

/// Number of connections with input per iteration from which they count as many.
const MANY: u32 = 3;
const FEW: u32 = 2;
/// Resolution of the moving average of that number, and the inverse weight of an iteration.
const PARTS: u32 = 64;
const TURNS: u32 = 8;
/// Poll events of a connection whose peer has closed or shut down, and of a failed one.
const READ_ENDED: PollFlags = PollFlags::from_bits_retain(nix::libc::POLLRDHUP);
const FAILED: PollFlags = PollFlags::POLLERR.union(PollFlags::POLLHUP);
const ENDED: PollFlags = READ_ENDED.union(FAILED);
/// Writes up to this size are submitted with other operations.
const SMALL: usize = 16 << 10;

/// A connection of a ring.
#[derive(Debug)]
pub struct Socket(u32);

/// Readiness event; it may be spurious.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Token of the connection or file.
    pub token: usize,
    /// There is input, or the end of it.
    pub readable: bool,
    /// The input ends: read it completely, since no other event comes.
    pub ended: bool,
    /// It is open, or all output is sent.
    pub writable: bool,
    /// Sending has failed.
    pub failed: bool,
}

/// Sockets of a thread.
pub struct Ring {
    uring: IoUring,
    buffers: ManuallyDrop<Buffers>,
    wires: Vec<Option<Wire>>,
    free: Vec<u32>,
    /// Watched files with the tokens of their events.
    watched: Vec<Option<(OwnedFd, usize)>>,
    /// Connections with filled buffers; and those that need a new input operation.
    full: Vec<u32>,
    anew: Vec<u32>,
    /// Number of bytes set aside by connections.
    aside: usize,
    /// Moving average of connections with input per iteration, in `PARTS`; and whether that is many.
    load: u32,
    many: bool,
    /// Number of pending operations.
    under_way: usize,
    done: Vec<cqueue::Entry>,
    /// Bound to its thread.
    of_one_thread: PhantomData<*const ()>,
}

impl Ring {
    /// Creates a ring for this thread.
    ///
    /// # Errors
    /// The kernel refuses: it is older than Linux 6.1, or io_uring is disabled.
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

    /// Reports input of a file, or connections of a listener, by events with this token. Several files may have the same token.
    pub fn watch(&mut self, file: OwnedFd, token: usize) {
        self.watched.push(Some((file, token)));
        self.look(self.watched.len() - 1);
    }

    /// Stops watching files with this token.
    pub fn unwatch(&mut self, token: usize) {
        for number in 0..self.watched.len() {
            if let Some((file, _)) = self.watched[number].take_if(|(_, of_file)| *of_file == token) {
                self.call_back(data(number as u32, WATCHED));
                // Submit cancellations while the file is open.
                let _ = self.submit();
                drop(file);
            }
        }
    }

    /// Adds a connection; one that is still `opening` becomes writable once it is open.
    ///
    /// # Errors
    /// It cannot be made blocking.
    pub fn add(&mut self, socket: socket2::Socket, token: usize, opening: bool) -> io::Result<Socket> {
        // The kernel fails operations on non-blocking sockets immediately.
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

    /// The underlying socket, for other calls.
    pub fn system(&self, Socket(number): &Socket) -> Option<&socket2::Socket> {
        self.wires.get(*number as usize)?.as_ref().map(|wire| &wire.socket)
    }

    /// Reads input, like a non-blocking socket.
    ///
    /// # Errors
    /// `WouldBlock` if there is none; or the connection's error.
    pub fn read(&mut self, Socket(number): &Socket, into: &mut [u8]) -> io::Result<usize> {
        let Some(Some(wire)) = self.wires.get_mut(*number as usize) else { return Ok(0) };
        let before = wire.aside();
        let result = wire.read(&mut self.buffers, into);
        self.aside -= before - wire.aside();
        result
    }

    /// Number of unread bytes that were copied out of the kernel's buffers.
    pub fn aside(&self) -> usize {
        self.aside
    }

    /// Sends the bytes in `out`, or takes them to send them with other operations; an event reports the end. Until then no more are taken,
    /// and `out` is unchanged.
    ///
    /// # Errors
    /// The connection's error, or that of an earlier write.
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

    /// Number of bytes taken but not sent.
    pub fn unsent(&self, Socket(number): &Socket) -> usize {
        let Some(Some(wire)) = self.wires.get(*number as usize) else { return 0 };
        if wire.is_sending { wire.sending.len() - wire.sent } else { 0 }
    }

    /// Stops to receive on a connection, so that [`Ring::release`] can give it up; returns whether it has stopped. If it has not, an event
    /// follows when it has. Without a release before the next [`Ring::wait`], it receives again.
    pub fn stop_receiving(&mut self, Socket(number): &Socket) -> bool {
        let Some(Some(wire)) = self.wires.get_mut(*number as usize) else { return true };
        if wire.is_at_rest() {
            return true;
        }
        wire.is_leaving = true;
        if wire.order.is_some() && !std::mem::replace(&mut wire.called_back, true) {
            self.call_back(data(*number, CAME));
        }
        false
    }

    /// Gives up a connection that has stopped to receive; returns its file, and the bytes that were received but not read.
    pub fn release(&mut self, Socket(number): Socket) -> Option<(OwnedFd, Vec<u8>)> {
        let mut wire = self.wires.get_mut(number as usize)?.take_if(|wire| wire.is_at_rest())?;
        self.free.push(number);
        self.aside -= wire.aside();
        let unread = wire.take_unread(&mut self.buffers);
        Some((wire.socket.into(), unread))
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

    /// Submits all operations and waits for events, up to a maximum time.
    ///
    /// # Errors
    /// The system call fails.
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

    /// Submits all operations.
    ///
    /// # Errors
    /// The system call fails.
    pub fn submit(&mut self) -> io::Result<()> {
        self.uring.submit().map(drop)
    }

    /// Submits all operations, waits, and takes completions.
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

    /// Handles a completion of an input operation.
    fn has_come(&mut self, number: u32, entry: &cqueue::Entry, events: &mut Vec<Event>) {
        let (result, more) = (entry.result(), cqueue::more(entry.flags()));
        let filled = cqueue::buffer_select(entry.flags());
        let filled = filled.map(|buffer| Filled::new(buffer, result.max(0) as u32));
        let Some(Some(wire)) = self.wires.get_mut(number as usize) else { return };
        let order = wire.order;
        let has_stopped = !more && std::mem::take(&mut wire.is_leaving);
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
        // Missing buffers and cancellation do not end the connection.
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
        } else if over || result > 0 || has_stopped {
            let told = order == Some(Order::Look) && result & has(ENDED) != 0;
            events.push(Event { token, readable: true, ended: told || wire.end.is_some(), ..Event::default() });
        }
        self.change(number);
    }

    /// Handles a completion of a watched file.
    fn has_changed(&mut self, number: usize, entry: &cqueue::Entry, events: &mut Vec<Event>) {
        let Some(Some((_, token))) = self.watched.get(number).filter(|_| entry.result() >= 0) else { return };
        events.push(Event { token: *token, readable: true, ..Event::default() });
        // A closed file has no further events.
        if !cqueue::more(entry.flags()) && entry.result() & has(ENDED) == 0 {
            self.look(number);
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

    /// Removes a closed connection without pending operations.
    fn forget_if_over(&mut self, number: u32) {
        let place = &mut self.wires[number as usize];
        if place.as_ref().is_some_and(|wire| wire.closed && wire.is_at_rest()) {
            *place = None;
            self.free.push(number);
        }
    }

    fn look(&mut self, number: usize) {
        let Some(Some((file, _))) = self.watched.get(number) else { return };
        let order = opcode::PollAdd::new(Fd(file.as_raw_fd()), bits(PollFlags::POLLIN)).multi(true).build();
        self.order(order, data(number as u32, WATCHED));
    }

    /// Starts an input operation of a connection.
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

    /// Cancels an input operation that is not the best any more; another one follows when it ends.
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
        // SAFETY: files stay open, and buffers stay in place, until the kernel has completed the operation: a connection is removed, and
        // its bytes are changed, only then; for receive buffers see `drop`.
        while unsafe { self.uring.submission().push(&order) }.is_err() {
            // The queue is full; submitting frees it, now or after some operations have completed.
            let _ = self.uring.submit();
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // The kernel must complete everything before its buffers are freed.
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

/// User data of an operation.
fn data(number: u32, what: u64) -> u64 {
    u64::from(number) << BITS | what
}

/// Poll mask of an operation.
fn bits(flags: PollFlags) -> u32 {
    flags.bits() as u32
}

/// Poll mask of a completion.
fn has(flags: PollFlags) -> i32 {
    flags.bits().into()
}

fn is_one_of(code: i32, errors: &[Errno]) -> bool {
    errors.contains(&Errno::from_raw(code))
}
