//! Control of a running front end from the command line: an abstract UNIX socket, named after the address of a pool.
//!
//! Abstract names have no file, so nothing is left behind; they have no permissions either, so both sides check the other's user. The
//! command is a line, and the response is `ok` or `error` on a line of its own, followed by a text.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr as UnixAddress, UnixListener, UnixStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};

use crate::net::Address;

/// Time in which the other side must send its line.
const LINE_TIME: Duration = Duration::from_secs(2);
/// Time in which a command must be carried out.
const COMMAND_TIME: Duration = Duration::from_secs(30);
/// Pause after a failed accept.
const PAUSE: Duration = Duration::from_millis(100);
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

/// A command that waits for its result: a text, or an error.
pub type Order = (Command, Sender<Result<String, String>>);

/// Commands that arrive for a front end.
#[derive(Debug)]
pub struct Orders {
    orders: Receiver<Order>,
    sender: Sender<Order>,
    /// Addresses whose names accept commands.
    names: Vec<Address>,
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
        for at in addresses.iter().filter(|at| !self.names.contains(at)).cloned().collect::<Vec<_>>() {
            match UnixListener::bind_addr(&name(&at)?) {
                Ok(listener) => {
                    self.names.push(at);
                    let sender = self.sender.clone();
                    let work = move || accept(&listener, &sender);
                    std::thread::Builder::new().name("fanin-control".to_owned()).spawn(work)?;
                }
                Err(error) => refused = Some(error),
            }
        }
        match refused {
            Some(error) if self.names.is_empty() => Err(error),
            _ => Ok(()),
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
    for at in addresses {
        let Ok(mut stream) = UnixStream::connect_addr(&name(at)?) else { continue };
        check_user(&stream)?;
        stream.set_read_timeout(Some(COMMAND_TIME + LINE_TIME))?;
        stream.write_all(format!("{}\n", command.word()).as_bytes())?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        return match text.split_once('\n') {
            Some(("ok", rest)) => Ok(Some(Ok(rest.to_owned()))),
            Some(("error", rest)) => Ok(Some(Err(rest.to_owned()))),
            _ => Err(io::Error::other("the running front end does not understand this command; restart it")),
        };
    }
    Ok(None)
}

/// Accepts commands until nobody takes orders any more.
fn accept(listener: &UnixListener, orders: &Sender<Order>) {
    loop {
        match listener.accept() {
            Ok((stream, _)) if serve(&stream, orders).is_err() => return,
            Ok(_) => {}
            // For example, there is no free file descriptor.
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
}

/// Reads and carries out one command; fails if nobody takes orders any more.
fn serve(stream: &UnixStream, orders: &Sender<Order>) -> io::Result<()> {
    let Ok(Some(command)) = read(stream) else { return Ok(()) };
    let (send, result) = channel();
    orders.send((command, send)).map_err(io::Error::other)?;
    let text = match result.recv_timeout(COMMAND_TIME) {
        Ok(Ok(text)) => format!("ok\n{text}"),
        Ok(Err(text)) => format!("error\n{text}"),
        Err(_) => "error\nit takes too long".to_owned(),
    };
    // The other side may be gone.
    let _ = (&mut &*stream).write_all(text.as_bytes());
    Ok(())
}

fn read(stream: &UnixStream) -> io::Result<Option<Command>> {
    check_user(stream)?;
    stream.set_read_timeout(Some(LINE_TIME))?;
    let mut line = String::new();
    BufReader::new(stream.take(LONGEST)).read_line(&mut line)?;
    Ok(Command::WORDS.iter().find(|(word, _)| *word == line.trim_end()).map(|(_, command)| *command))
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
