//! TCP's own figures of a connection, and the rate at which it sends.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use nix::libc;

/// Some of `struct tcp_info` (linux/tcp.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpInfo {
    /// Smoothed round-trip time in microseconds.
    pub rtt_micros: u32,
    /// Segments that were sent again (`tcpi_total_retrans`).
    pub retransmits: u32,
}

/// Length of the structure up to `tcpi_total_retrans`, in words: eight bytes, and 24 words of which the round-trip time is the 16th.
const WORDS: usize = 2 + 24;
const RTT: usize = 2 + 15;
/// `SO_MAX_PACING_RATE` (asm-generic/socket.h).
const MAX_PACING_RATE: libc::c_int = 47;

/// Asks the kernel for the state of a TCP connection.
///
/// # Errors
/// It is no TCP socket, or the kernel is older than Linux 2.6.
pub fn tcp_info(file: BorrowedFd<'_>) -> io::Result<TcpInfo> {
    let mut words = [0u32; WORDS];
    let mut len = size_of_val(&words) as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes to `words`, which has as many, and the new length to `len`; any bytes are valid words.
    let code = unsafe {
        libc::getsockopt(file.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, words.as_mut_ptr().cast(), &raw mut len)
    };
    if code != 0 {
        return Err(io::Error::last_os_error());
    }
    if (len as usize) < size_of_val(&words) {
        return Err(io::ErrorKind::Unsupported.into());
    }
    Ok(TcpInfo { rtt_micros: words[RTT], retransmits: words[WORDS - 1] })
}

/// Limits the rate at which a connection sends (`SO_MAX_PACING_RATE`), in bytes per second.
///
/// # Errors
/// It is no socket, or the kernel is older than Linux 4.20.
pub fn limit_pacing(file: BorrowedFd<'_>, rate: u64) -> io::Result<()> {
    // SAFETY: the kernel reads the eight bytes of `rate`, which outlives the call.
    let code = unsafe {
        let len = size_of_val(&rate) as libc::socklen_t;
        libc::setsockopt(file.as_raw_fd(), libc::SOL_SOCKET, MAX_PACING_RATE, (&raw const rate).cast(), len)
    };
    if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
#[expect(clippy::disallowed_types, clippy::disallowed_methods, reason = "a simple connection, and its real time")]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn connection_has_a_round_trip_time() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut here = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut there, _) = listener.accept().unwrap();
        here.write_all(b"x").unwrap();
        there.read_exact(&mut [0]).unwrap();
        let found = tcp_info(here.as_fd()).unwrap();
        assert!((1..1_000_000).contains(&found.rtt_micros), "{found:?}");
        assert_eq!(found.retransmits, 0);
        let (unix, _) = std::os::unix::net::UnixStream::pair().unwrap();
        tcp_info(unix.as_fd()).unwrap_err();
    }

    #[test]
    fn paced_connection_takes_its_time() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut here = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut there, _) = listener.accept().unwrap();
        limit_pacing(here.as_fd(), 1 << 20).unwrap();
        let begun = std::time::Instant::now();
        let writer = std::thread::spawn(move || here.write_all(&[0; 1 << 20]));
        there.read_exact(&mut [0; 1 << 20]).unwrap();
        writer.join().unwrap().unwrap();
        // A second, less the first ten segments of 64 KiB, which TCP does not pace.
        assert!(begun.elapsed().as_millis() >= 100);
    }
}
