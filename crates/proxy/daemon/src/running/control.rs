//! Control of a running front end from the command line: an abstract UNIX socket, named after the address of a pool.
//!
//! Abstract names have no file, so nothing is left behind; they have no permissions either, so both sides check the other's user. The
//! command is a line, and the response is `ok` or `error` on a line of its own, followed by a text.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr as UnixAddress, UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use nix::sys::socket::{Shutdown, getsockopt, shutdown, sockopt::PeerCredentials};

use fanin_proxy_net::Address;
use fanin_proxy_state::handover::VERSION;

/// Time in which the other side must send its line.
const LINE_TIME: Duration = Duration::from_secs(2);
/// Time in which a command must be carried out.
const COMMAND_TIME: Duration = Duration::from_secs(30);
/// Pause after a failed accept.
const PAUSE: Duration = Duration::from_millis(100);
/// Commands served at once.
const MOST: usize = 16;
/// Responses to another user, and to one command too many.
const STRANGER: &[u8] = b"error\nthe running proxy takes commands from its own user and from root only";
const TOO_MANY: &[u8] = b"error\ntoo many commands at once";
/// Longest command.
const LONGEST: u64 = 64;

/// A command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Read the configuration file again.
    Reload,
    /// Return the text of the settings in force.
    Settings,
    /// Return the observed multigets of pools, as JSON.
    Observed,
}

impl Command {
    const WORDS: [(&str, Command); 3] =
        [("reload", Command::Reload), ("settings", Command::Settings), ("observed", Command::Observed)];

    fn word(self) -> &'static str {
        Command::WORDS[self as usize].0
    }
}

/// The command of a new process that takes over, followed by its version of the protocol.
const TAKE_OVER: &str = "take-over";

/// An order.
#[derive(Debug)]
pub enum Order {
    /// A command that waits for its result: a text, or an error.
    Command(Command, Sender<Result<String, String>>),
    /// Hand over to the process at the other end.
    HandOver(UnixStream),
}

/// Commands that arrive for a front end.
#[derive(Debug)]
pub struct Orders {
    orders: Receiver<Order>,
    sender: Sender<Order>,
    /// Names that accept commands.
    names: Vec<Name>,
}

/// The name of an address, and the thread that accepts commands there.
#[derive(Debug)]
struct Name {
    at: Address,
    listener: UnixListener,
    thread: JoinHandle<()>,
}

impl Default for Orders {
    fn default() -> Orders {
        let (sender, orders) = channel();
        Orders { orders, sender, names: Vec::new() }
    }
}

impl Orders {
    /// Accepts commands at the names of these addresses, too.
    ///
    /// # Errors
    /// No name is free.
    pub fn listen(&mut self, addresses: &[Address]) -> io::Result<()> {
        let mut refused = None;
        for at in addresses {
            if self.names.iter().any(|name| name.at == *at) {
                continue;
            }
            match UnixListener::bind_addr(&name(at)?) {
                Ok(listener) => {
                    let (its, sender) = (listener.try_clone()?, self.sender.clone());
                    let work = move || accept(&its, &sender);
                    let thread = std::thread::Builder::new().name("fanin-control".to_owned()).spawn(work)?;
                    self.names.push(Name { at: at.clone(), listener, thread });
                }
                Err(error) => refused = Some(error),
            }
        }
        match refused {
            Some(error) if self.names.is_empty() => Err(error),
            _ => Ok(()),
        }
    }

    /// Accepts no more commands, and frees the names. Those that wait fail.
    pub fn close(&mut self) {
        (self.sender, self.orders) = channel();
        for name in self.names.drain(..) {
            // It ends the thread's accept.
            let _ = shutdown(name.listener.as_raw_fd(), Shutdown::Both);
            // The thread does not panic.
            let _ = name.thread.join();
        }
    }

    /// The next order, if one comes within this time.
    pub fn next(&self, longest: Duration) -> Option<Order> {
        self.orders.recv_timeout(longest).ok()
    }
}

/// Sends a command to the front end that listens at one of these addresses; returns its result, or nothing if there is none.
///
/// # Errors
/// The front end belongs to another user, or does not respond.
pub fn send(addresses: &[Address], command: Command) -> io::Result<Option<Result<String, String>>> {
    // Root may command a front end of any user.
    let check = |stream: &UnixStream| if nix::unistd::geteuid().is_root() { Ok(()) } else { check_user(stream) };
    let Some((mut stream, is_ok)) = request(addresses, command.word(), check)? else { return Ok(None) };
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(Some(if is_ok { Ok(text) } else { Err(text) }))
}

/// Asks the front end that listens at one of these addresses to hand over; returns the connection to it, or nothing if there is none.
///
/// # Errors
/// As for [`send`]; or it refuses.
pub fn request_take_over(addresses: &[Address]) -> io::Result<Option<UnixStream>> {
    let Some((mut stream, is_ok)) = request(addresses, &format!("{TAKE_OVER} {VERSION}"), check_user)? else {
        return Ok(None);
    };
    if is_ok {
        return Ok(Some(stream));
    }
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Err(io::Error::other(text))
}

/// Sends a line; returns the connection, and whether the front end accepts the line.
fn request(
    addresses: &[Address],
    line: &str,
    check: impl Fn(&UnixStream) -> io::Result<()>,
) -> io::Result<Option<(UnixStream, bool)>> {
    for at in addresses {
        let Ok(mut stream) = UnixStream::connect_addr(&name(at)?) else { continue };
        check(&stream)?;
        stream.set_read_timeout(Some(COMMAND_TIME + LINE_TIME))?;
        // One that refuses another user may have closed its side already.
        let _ = stream.write_all(format!("{line}\n").as_bytes());
        return match first_line(&stream)?.as_slice() {
            b"ok" => Ok(Some((stream, true))),
            b"error" => Ok(Some((stream, false))),
            _ => Err(io::Error::other("the running front end does not understand this command; restart it")),
        };
    }
    Ok(None)
}

/// Reads a line, and nothing behind it, which may have files attached.
fn first_line(mut stream: &UnixStream) -> io::Result<Vec<u8>> {
    let (mut line, mut byte) = (Vec::new(), [0]);
    while stream.read(&mut byte)? > 0 && byte != *b"\n" {
        line.push(byte[0]);
    }
    Ok(line)
}

/// Accepts commands until the name is freed. Each is served by a thread of its own, so that one that stalls delays no other.
fn accept(listener: &UnixListener, orders: &Sender<Order>) {
    let served = Arc::new(());
    // A connection that is closed with unread bytes loses the response.
    let mut refused = VecDeque::new();
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                // Of strangers nothing is read.
                let why = match check_user(&stream) {
                    Err(_) => Some(STRANGER),
                    Ok(()) => (Arc::strong_count(&served) > MOST).then_some(TOO_MANY),
                };
                if let Some(why) = why {
                    refused.extend(refuse(stream, why));
                    refused.drain(..refused.len().saturating_sub(MOST));
                    continue;
                }
                let (orders, held) = (orders.clone(), served.clone());
                let work = move || {
                    // If nobody takes orders any more, the other side sees the end.
                    let _ = serve(stream, &orders);
                    drop(held);
                };
                // Without a thread, too.
                let _ = std::thread::Builder::new().name("fanin-command".to_owned()).spawn(work);
            }
            // The name is freed.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => return,
            // For example, there is no free file descriptor.
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
}

/// Refuses a command; returns the connection, to be closed later, unless it is gone already.
fn refuse(mut stream: UnixStream, why: &[u8]) -> Option<UnixStream> {
    stream.write_all(why).and_then(|()| stream.shutdown(std::net::Shutdown::Write)).ok()?;
    Some(stream)
}

/// Reads and carries out one command; fails if nobody takes orders any more.
fn serve(mut stream: UnixStream, orders: &Sender<Order>) -> io::Result<()> {
    let Ok(line) = read(&stream) else { return Ok(()) };
    if let Some(version) = line.strip_prefix(TAKE_OVER) {
        return serve_take_over(stream, version.trim(), orders);
    }
    let Some((_, command)) = Command::WORDS.iter().find(|(word, _)| *word == line) else { return Ok(()) };
    let (send, result) = channel();
    orders.send(Order::Command(*command, send)).map_err(io::Error::other)?;
    let text = match result.recv_timeout(COMMAND_TIME) {
        Ok(Ok(text)) => format!("ok\n{text}"),
        Ok(Err(text)) => format!("error\n{text}"),
        Err(_) => "error\nit takes too long".to_owned(),
    };
    // The other side may be gone.
    let _ = stream.write_all(text.as_bytes());
    Ok(())
}

/// Passes a connection on if both sides have the same version of the protocol.
fn serve_take_over(mut stream: UnixStream, version: &str, orders: &Sender<Order>) -> io::Result<()> {
    if version != VERSION.to_string() {
        let text = format!(
            "error\nit hands over by version {VERSION} of the protocol, and the new process by version {version}; restart it instead"
        );
        let _ = stream.write_all(text.as_bytes());
        return Ok(());
    }
    match stream.write_all(b"ok\n") {
        Ok(()) => orders.send(Order::HandOver(stream)).map_err(io::Error::other),
        Err(_) => Ok(()),
    }
}

fn read(stream: &UnixStream) -> io::Result<String> {
    stream.set_read_timeout(Some(LINE_TIME))?;
    let mut line = String::new();
    BufReader::new(stream.take(LONGEST)).read_line(&mut line)?;
    Ok(line.trim_end().to_owned())
}

/// Checks that the other side runs as this user or as root.
fn check_user(stream: &UnixStream) -> io::Result<()> {
    let user = getsockopt(stream, PeerCredentials)?.uid();
    let is_allowed = [0, nix::unistd::geteuid().as_raw()].contains(&user);
    let refused = || io::Error::new(io::ErrorKind::PermissionDenied, format!("it belongs to another user ({user})"));
    is_allowed.then_some(()).ok_or_else(refused)
}

fn name(at: &Address) -> io::Result<UnixAddress> {
    UnixAddress::from_abstract_name(format!("fanin-front@{at}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stalled_commands_delay_no_other() {
        // A name of its own: no front end has this address.
        let at = [Address::Unix(format!("/nowhere/{}", std::process::id()).into())];
        let mut orders = Orders::default();
        orders.listen(&at).unwrap();
        let stalled: Vec<UnixStream> =
            (0..5).map(|_| UnixStream::connect_addr(&name(&at[0]).unwrap()).unwrap()).collect();
        let asks = at.clone();
        let asker = std::thread::spawn(move || send(&asks, Command::Settings));
        let Some(Order::Command(Command::Settings, result)) = orders.next(Duration::from_millis(1500)) else {
            panic!("the command waits for those that stall")
        };
        result.send(Ok("settings".to_owned())).unwrap();
        assert_eq!(asker.join().unwrap().unwrap(), Some(Ok("settings".to_owned())));
        // The number of commands at once is bounded.
        let more: Vec<UnixStream> =
            (0..MOST).map(|_| UnixStream::connect_addr(&name(&at[0]).unwrap()).unwrap()).collect();
        let refused = send(&at, Command::Settings).unwrap();
        assert_eq!(refused, Some(Err("too many commands at once".to_owned())));
        drop((stalled, more));
        orders.close();
    }
}
