//! State of a connection: received bytes, bytes to send, and its kernel operations.

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv, send};

use crate::buffers::{Buffers, Filled};

/// Limit of unread bytes of a connection, above which nothing is received.
const MOST_ASIDE: usize = 64 << 10;
/// Number of receptions after a large one for which large ones are expected.
const LARGE: u8 = 64;
/// A larger send buffer is freed afterwards.
const KEPT: usize = 4 << 10;

/// Kernel operation for input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Poll until it is open.
    Open,
    /// Poll for readability, and read from the socket.
    Look,
    /// Receive into buffers.
    Receive,
}

/// A connection.
pub struct Wire {
    pub socket: socket2::Socket,
    /// Token of its events.
    pub token: usize,
    /// Bytes to send, and how many have been sent.
    pub sending: Vec<u8>,
    pub sent: usize,
    pub is_sending: bool,
    /// The pending operation, and whether it is being cancelled.
    pub order: Option<Order>,
    pub called_back: bool,
    /// The user waits until it is.
    pub is_leaving: bool,
    /// The user has closed it.
    pub closed: bool,
    /// Reason for the end of input: the peer has closed, or an error; and the error that prevents sending.
    pub end: Option<i32>,
    pub broken: Option<i32>,
    /// Remaining receptions with large input expected.
    large: u8,
    /// Input: first the bytes set aside, from `read` on, then buffers.
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
            is_leaving: false,
            closed: false,
            end: None,
            broken: None,
            large: 0,
            aside: Vec::new(),
            read: 0,
            came: VecDeque::new(),
        }
    }

    /// Whether it has no pending operations, so that it can be removed.
    pub fn is_at_rest(&self) -> bool {
        !self.is_sending && self.order.is_none()
    }

    /// The best operation for input: buffers for small input of many connections.
    pub fn wants(&self, many: bool) -> Order {
        if many && self.large == 0 && self.aside.len() <= MOST_ASIDE { Order::Receive } else { Order::Look }
    }

    /// Takes a filled buffer; returns whether it is the first.
    pub fn takes(&mut self, filled: Filled) -> bool {
        self.large = if filled.is_full() { LARGE } else { self.large.saturating_sub(1) };
        self.came.push_back(filled);
        self.came.len() == 1
    }

    /// Reads input.
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
        // Buffers of a pending receive come before bytes in the socket.
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

    /// Number of bytes set aside.
    pub fn aside(&self) -> usize {
        self.aside.len()
    }

    /// Copies unread input out of the shared buffers.
    pub fn set_aside(&mut self, buffers: &mut Buffers) {
        for filled in self.came.drain(..) {
            self.aside.extend_from_slice(buffers.bytes(&filled));
            buffers.give_back(filled);
        }
    }

    /// Takes unread input.
    pub fn take_unread(&mut self, buffers: &mut Buffers) -> Vec<u8> {
        self.set_aside(buffers);
        self.aside.split_off(self.read)
    }

    /// Discards unread input.
    pub fn let_go(&mut self, buffers: &mut Buffers) {
        self.came.drain(..).for_each(|filled| buffers.give_back(filled));
        (self.aside, self.read) = (Vec::new(), 0);
    }

    /// Sends bytes immediately, as far as possible; returns how many.
    pub fn send(&self, bytes: &[u8]) -> nix::Result<usize> {
        match send(self.socket.as_raw_fd(), bytes, MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL) {
            Err(Errno::EAGAIN | Errno::EINTR) => Ok(0),
            result => result,
        }
    }

    /// Takes bytes to send, of which `sent` have been sent, and returns a free buffer in exchange.
    pub fn hand_over(&mut self, out: &mut Vec<u8>, sent: usize) {
        self.sending.clear();
        self.sent = sent;
        std::mem::swap(&mut self.sending, out);
    }

    /// Counts sent bytes; returns whether all are sent.
    pub fn has_sent(&mut self, count: usize) -> bool {
        self.sent += count;
        let all = self.sent >= self.sending.len();
        if all && self.sending.capacity() > KEPT {
            self.sending = Vec::new();
        }
        all
    }
}
