//! A connection as the ring has it: what has come and was not read, what is being sent, and what the kernel was ordered to do with it.

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv, send};

use crate::buffers::{Buffers, Filled};

/// Of a connection of which so much has come and was not read nothing more is received.
const MOST_ASIDE: usize = 64 << 10;
/// For so many times after something large has come of a connection, something large is expected.
const LARGE: u8 = 64;
/// A buffer that has grown above this is not kept when it is sent.
const KEPT: usize = 4 << 10;

/// How the kernel is to tell of what comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Once it is open.
    Open,
    /// By saying so: it is read from the socket itself.
    Look,
    /// By filling buffers with it.
    Receive,
}

/// One connection.
pub struct Wire {
    pub socket: socket2::Socket,
    /// What its events are told by.
    pub token: usize,
    /// What is being sent, and how much of it is gone.
    pub sending: Vec<u8>,
    pub sent: usize,
    pub is_sending: bool,
    /// The order that the kernel has, and whether it is being called back.
    pub order: Option<Order>,
    pub called_back: bool,
    /// Nobody wants to hear of it any more.
    pub closed: bool,
    /// Why no more comes: the other end has closed, or this error; and why nothing can be sent.
    pub end: Option<i32>,
    pub broken: Option<i32>,
    /// How often more something large is expected.
    large: u8,
    /// What has come: first what was set aside, from `read` on, then buffers.
    aside: Vec<u8>,
    read: usize,
    came: VecDeque<Filled>,
}

impl Wire {
    pub fn new(socket: socket2::Socket, token: usize, opening: bool) -> Wire {
        Wire {
            socket,
            token,
            sending: Vec::new(),
            sent: 0,
            is_sending: false,
            order: opening.then_some(Order::Open),
            called_back: false,
            closed: false,
            end: None,
            broken: None,
            large: 0,
            aside: Vec::new(),
            read: 0,
            came: VecDeque::new(),
        }
    }

    /// Whether the kernel has nothing of it, so that it may be forgotten.
    pub fn is_at_rest(&self) -> bool {
        !self.is_sending && self.order.is_none()
    }

    /// How it wants to be told of what comes: what is small, where many small things come at once, in buffers.
    pub fn wants(&self, many: bool) -> Order {
        if many && self.large == 0 && self.aside.len() <= MOST_ASIDE { Order::Receive } else { Order::Look }
    }

    /// A buffer has come: whether it is the first.
    pub fn takes(&mut self, filled: Filled) -> bool {
        self.large = if filled.is_full() { LARGE } else { self.large.saturating_sub(1) };
        self.came.push_back(filled);
        self.came.len() == 1
    }

    /// Reads what has come.
    pub fn read(&mut self, buffers: &mut Buffers, into: &mut [u8]) -> io::Result<usize> {
        let mut count = into.len().min(self.aside.len() - self.read);
        into[..count].copy_from_slice(&self.aside[self.read..][..count]);
        self.read += count;
        if self.read == self.aside.len() {
            (self.aside, self.read) = (Vec::new(), 0);
        }
        while count < into.len()
            && let Some(first) = self.came.front_mut()
        {
            let (some, whole) = buffers.take(first, &mut into[count..]);
            count += some;
            if whole {
                self.came.pop_front().into_iter().for_each(|filled| buffers.give_back(filled));
            }
        }
        // What the kernel receives by itself comes before what it still has.
        let direct = count < into.len() && self.end.is_none() && self.order != Some(Order::Receive);
        match if direct { self.receive(buffers, &mut into[count..]) } else { Err(Errno::EAGAIN) } {
            Ok(0) => self.end = Some(0),
            Ok(more) => count += more,
            Err(Errno::EAGAIN | Errno::EINTR) => {}
            Err(error) => self.end = Some(error as i32),
        }
        match self.end {
            _ if count > 0 => Ok(count),
            None => Err(io::ErrorKind::WouldBlock.into()),
            Some(0) => Ok(0),
            Some(code) => Err(io::Error::from_raw_os_error(code)),
        }
    }

    fn receive(&mut self, buffers: &Buffers, into: &mut [u8]) -> nix::Result<usize> {
        let count = recv(self.socket.as_raw_fd(), into, MsgFlags::MSG_DONTWAIT)?;
        self.large = if count >= buffers.size() { LARGE } else { self.large.saturating_sub(1) };
        Ok(count)
    }

    /// Bytes that it has set aside.
    pub fn aside(&self) -> usize {
        self.aside.len()
    }

    /// Puts what nobody has read where it takes no buffers from others.
    pub fn set_aside(&mut self, buffers: &mut Buffers) {
        for filled in self.came.drain(..) {
            self.aside.extend_from_slice(buffers.bytes(&filled));
            buffers.give_back(filled);
        }
    }

    /// Forgets what nobody has read.
    pub fn let_go(&mut self, buffers: &mut Buffers) {
        self.came.drain(..).for_each(|filled| buffers.give_back(filled));
        (self.aside, self.read) = (Vec::new(), 0);
    }

    /// Sends bytes at once, as far as there is room for them: how many.
    pub fn send(&self, bytes: &[u8]) -> nix::Result<usize> {
        match send(self.socket.as_raw_fd(), bytes, MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL) {
            Err(Errno::EAGAIN | Errno::EINTR) => Ok(0),
            result => result,
        }
    }

    /// Hands over bytes to send, the first `sent` of which are gone, for a buffer that is free again.
    pub fn hand_over(&mut self, out: &mut Vec<u8>, sent: usize) {
        self.sending.clear();
        self.sent = sent;
        std::mem::swap(&mut self.sending, out);
    }

    /// So many bytes are gone: whether all are.
    pub fn has_sent(&mut self, count: usize) -> bool {
        self.sent += count;
        let all = self.sent >= self.sending.len();
        if all && self.sending.capacity() > KEPT {
            self.sending = Vec::new();
        }
        all
    }
}
