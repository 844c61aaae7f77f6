//! Messages between two processes over a UNIX socket, each with a body and possibly an open file.

use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Longest body: a client's unread bytes are fewer.
const LONGEST: usize = 1 << 30;
/// A header is the kind, and the length of the body.
const HEADER: usize = 5;
/// Time in which the other process must continue.
const STEP_TIME: Duration = Duration::from_secs(30);

/// Kind of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// State of the old process.
    Offer,
    /// A listening socket.
    Socket,
    /// The new process can continue the plans.
    Prepared,
    /// The old process has paused migrations, log and joined gets.
    Paused,
    /// The new process has started its threads.
    Started,
    /// The old process has stopped accepting.
    Released,
    /// A client: its connection, and its unread bytes behind the name of its pool.
    Client,
    /// A client has left the old process by itself.
    Left,
    /// The reason for which the sender gives up.
    Failure,
    /// The reason for which the old process does not hand over yet: the new one tries again.
    Wait,
}

impl Kind {
    const ALL: [Kind; 10] = [
        Kind::Offer,
        Kind::Socket,
        Kind::Prepared,
        Kind::Paused,
        Kind::Started,
        Kind::Released,
        Kind::Client,
        Kind::Left,
        Kind::Failure,
        Kind::Wait,
    ];
}

/// A message.
#[derive(Debug)]
pub struct Message {
    /// Its kind.
    pub kind: Kind,
    /// Its bytes, by kind.
    pub body: Vec<u8>,
    /// The file that came with it.
    pub file: Option<OwnedFd>,
}

/// A connection to another process.
#[derive(Debug)]
pub struct Link(UnixStream);

impl Link {
    /// A connection whose reads and writes fail after some time.
    ///
    /// # Errors
    /// The system refuses.
    pub fn new(stream: UnixStream) -> io::Result<Link> {
        stream.set_read_timeout(Some(STEP_TIME))?;
        stream.set_write_timeout(Some(STEP_TIME))?;
        Ok(Link(stream))
    }

    /// Waits for messages without a time limit from now on.
    ///
    /// # Errors
    /// The system refuses.
    pub fn wait_for_ever(&self) -> io::Result<()> {
        self.0.set_read_timeout(None)
    }

    /// Sends a message.
    ///
    /// # Errors
    /// The other process is gone or does not read.
    pub fn send(&self, kind: Kind, body: &[u8], file: Option<BorrowedFd<'_>>) -> io::Result<()> {
        let length = u32::try_from(body.len()).map_err(io::Error::other)?.to_be_bytes();
        let header = [[kind as u8].as_slice(), &length].concat();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut attached = SendAncillaryBuffer::new(&mut space);
        let files: Vec<BorrowedFd<'_>> = file.into_iter().collect();
        if !files.is_empty() {
            attached.push(SendAncillaryMessage::ScmRights(&files));
        }
        let sent = rustix::net::sendmsg(&self.0, &[IoSlice::new(&header)], &mut attached, SendFlags::NOSIGNAL)?;
        (&self.0).write_all(&header[sent..])?;
        (&self.0).write_all(body)
    }

    /// Sends a message with a value.
    ///
    /// # Errors
    /// As for [`Link::send`].
    pub fn send_value(&self, kind: Kind, value: &impl Serialize) -> io::Result<()> {
        self.send(kind, &serde_json::to_vec(value)?, None)
    }

    /// Sends files, each as a message.
    ///
    /// # Errors
    /// As for [`Link::send`].
    pub fn send_files(&self, files: impl IntoIterator<Item = impl AsFd>) -> io::Result<()> {
        files.into_iter().try_for_each(|file| self.send(Kind::Socket, &[], Some(file.as_fd())))
    }

    /// The next message.
    ///
    /// # Errors
    /// The other process has ended or gives up, or the message is invalid; `ResourceBusy` if it does not hand over yet.
    pub fn receive(&self) -> io::Result<Message> {
        let mut header = [0; HEADER];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut attached = RecvAncillaryBuffer::new(&mut space);
        let mut into = [IoSliceMut::new(&mut header)];
        let received = rustix::net::recvmsg(&self.0, &mut into, &mut attached, RecvFlags::CMSG_CLOEXEC)?;
        let files = attached.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(files) => Some(files),
            _ => None,
        });
        let file = files.flatten().next();
        if received.bytes == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        (&self.0).read_exact(&mut header[received.bytes..])?;
        let [kind, length @ ..] = header;
        let kind = *Kind::ALL.get(usize::from(kind)).ok_or_else(invalid)?;
        let length = u32::from_be_bytes(length) as usize;
        if length > LONGEST {
            return Err(invalid());
        }
        let mut body = vec![0; length];
        (&self.0).read_exact(&mut body)?;
        let text = || String::from_utf8_lossy(&body).into_owned();
        match kind {
            Kind::Failure => Err(io::Error::other(text())),
            Kind::Wait => Err(io::Error::new(ErrorKind::ResourceBusy, text())),
            _ => Ok(Message { kind, body, file }),
        }
    }

    /// The next message, which must have this kind.
    ///
    /// # Errors
    /// As for [`Link::receive`].
    pub fn expect(&self, kind: Kind) -> io::Result<Message> {
        self.receive().and_then(|message| if message.kind == kind { Ok(message) } else { Err(invalid()) })
    }

    /// The value in the next message, which must have this kind.
    ///
    /// # Errors
    /// As for [`Link::receive`].
    pub fn expect_value<T: DeserializeOwned>(&self, kind: Kind) -> io::Result<T> {
        Ok(serde_json::from_slice(&self.expect(kind)?.body)?)
    }

    /// The file in the next message, which must be a listening socket.
    ///
    /// # Errors
    /// As for [`Link::receive`]; or there are no free file descriptors.
    pub fn expect_file(&self) -> io::Result<OwnedFd> {
        self.expect(Kind::Socket)?
            .file
            .ok_or_else(|| io::Error::other("a socket was not received: too many open files"))
    }
}

fn invalid() -> io::Error {
    io::Error::new(ErrorKind::InvalidData, "an unexpected message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_with_their_files() {
        let (here, there) = UnixStream::pair().unwrap();
        let (here, there) = (Link::new(here).unwrap(), Link::new(there).unwrap());
        let (mut near, far) = UnixStream::pair().unwrap();
        let body = vec![7; 300_000];
        let sender = std::thread::spawn(move || {
            here.send(Kind::Left, &[], None).unwrap();
            here.send(Kind::Client, &body, Some(far.as_fd())).unwrap();
            here.send(Kind::Failure, b"no", None).unwrap();
        });
        let left = there.receive().unwrap();
        assert!(left.kind == Kind::Left && left.file.is_none());
        let client = there.expect(Kind::Client).unwrap();
        assert_eq!(client.body.len(), 300_000);
        UnixStream::from(client.file.unwrap()).write_all(b"x").unwrap();
        near.read_exact(&mut [0]).unwrap();
        assert_eq!(there.receive().unwrap_err().to_string(), "no");
        sender.join().unwrap();
        assert_eq!(there.receive().unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }
}
