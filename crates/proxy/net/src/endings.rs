//! Connections that only wait for the peer's end. A server that was stopped may execute requests long after they have failed here; that it
//! has closed its side shows that none is left.

use std::io::Read;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::Builder;
use std::time::Duration;

use socket2::Socket;

/// Time without an acknowledgement after which an unreachable peer is given up.
const UNREACHABLE: Duration = Duration::from_secs(10);

/// Waits for the peer's end on a thread of its own, which such a rare event is worth, and drops `held` then.
pub fn wait_for_end(file: OwnedFd, held: Arc<()>) {
    let socket = Socket::from(file);
    // A UNIX socket has no such timeout, and is never unreachable.
    let _ = socket.set_tcp_user_timeout(Some(UNREACHABLE));
    if socket.shutdown(Shutdown::Write).and_then(|()| socket.set_nonblocking(false)).is_err() {
        return;
    }
    let work = move || {
        let mut bytes = [0; 4096];
        while (&socket).read(&mut bytes).is_ok_and(|count| count > 0) {}
        drop(held);
    };
    // Without a thread, only the pause before a server joins is left.
    let _ = Builder::new().name("fanin-ending".to_owned()).spawn(work);
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn holds_until_peer_has_read_everything_and_closed() {
        let (mut own, mut peer) = UnixStream::pair().unwrap();
        own.write_all(b"set").unwrap();
        let held = Arc::new(());
        wait_for_end(own.into(), held.clone());
        peer.write_all(b"responses that nobody reads").unwrap();
        let mut all = Vec::new();
        peer.read_to_end(&mut all).unwrap();
        assert_eq!((all, Arc::strong_count(&held)), (b"set".to_vec(), 2));
        drop(peer);
        for _ in 0..1000 {
            if Arc::strong_count(&held) == 1 {
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        panic!("it never ends");
    }
}
