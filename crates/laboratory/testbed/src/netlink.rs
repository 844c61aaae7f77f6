//! Questions to the kernel of a namespace by rtnetlink.

use std::io;
use std::time::Duration;

use netlink_packet_core::{NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::Socket;
use netlink_sys::protocols::NETLINK_ROUTE;
use socket2::SockRef;

/// Longest wait for an answer.
const LONGEST: Duration = Duration::from_secs(5);
/// More than a kernel says of a queue.
const ANSWER: usize = 8_192;

/// A socket in this thread's namespace.
pub fn open() -> io::Result<Socket> {
    let socket = Socket::new(NETLINK_ROUTE)?;
    SockRef::from(&socket).set_read_timeout(Some(LONGEST))?;
    Ok(socket)
}

/// The answer to a message with these flags.
///
/// # Errors
/// The kernel's refusal, or no answer.
pub fn ask(
    socket: &Socket,
    message: RouteNetlinkMessage,
    flags: u16,
) -> io::Result<NetlinkPayload<RouteNetlinkMessage>> {
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | flags;
    let mut message = NetlinkMessage::new(header, message.into());
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    socket.send(&bytes, 0)?;
    let mut answer = Vec::with_capacity(ANSWER);
    socket.recv(&mut answer, 0)?;
    match NetlinkMessage::deserialize(&answer).map_err(io::Error::other)?.payload {
        NetlinkPayload::Error(error) if error.code.is_some() => Err(error.to_io()),
        payload => Ok(payload),
    }
}
