//! The loader's part in grants while it lasts: ACKs for connections that wait on an idle link, and connections that ended unseen.
//!
//! A kernel timer decides that the link is idle (bpf/grants.bpf.c, `timer_expires`). Its callback cannot send packets, so this runs a
//! program on packets of its own, which become those ACKs.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use libbpf_rs::{MapHandle, Object, RingBufferBuilder, libbpf_sys};
use nix::libc;

use crate::clock::monotonic;
use crate::load;
use crate::trouble::Trouble;

/// How long it waits for the timer before it looks at other things.
const WAITS: Duration = Duration::from_millis(100);
/// Pause between two searches for connections that ended unseen.
const SWEEPS: Duration = Duration::from_secs(10);
/// Packets of TCP with and without timestamps, over IPv4 and IPv6: bit 0 and bit 1 of their number.
const KINDS: usize = 4;
/// Runs for one expiry of the timer, of 32 turns or less: the queue has 65,536 places.
const MOST_RUNS: u32 = 4_096;

/// A thread that serves the timer of one object.
#[derive(Debug)]
pub struct Server {
    stops: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts it for an object that is attached in this network namespace.
    ///
    /// # Errors
    /// The object lacks a program or a map, or the kernel refuses a thread.
    pub fn start(object: &Object) -> Result<Server, Trouble> {
        let program = |name: &str| -> Result<OwnedFd, Trouble> {
            let found = object.progs().find(|program| program.name() == name);
            let found = found.ok_or_else(|| Trouble::Environment(format!("the object has no program {name}")))?;
            Ok(found.as_fd().try_clone_to_owned()?)
        };
        let (expires, sweeps) = (program("grants_expires")?, program("grants_sweep")?);
        let wakes = MapHandle::try_from(&load::map(object, "wakes")?)
            .map_err(|error| load::refused("open the timer's messages", &error))?;
        let stops = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stops);
        let serve = move || {
            hurry();
            serve(&wakes, &expires, &sweeps, &stopped);
        };
        let thread = thread::Builder::new().name("grants".into()).spawn(serve)?;
        Ok(Server { stops, thread: Some(thread) })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stops.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Gives this thread a real-time priority: on a busy machine, connections would wait for it. Without the right to, it has none.
fn hurry() {
    let priority = libc::sched_param { sched_priority: 1 };
    #[expect(unsafe_code, reason = "nix has no scheduling policies")]
    // SAFETY: the kernel only reads the structure; 0 is the calling thread.
    unsafe {
        libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const priority);
    }
}

fn serve(wakes: &MapHandle, expires: &OwnedFd, sweeps: &OwnedFd, stops: &AtomicBool) {
    let mut builder = RingBufferBuilder::new();
    if builder.add(wakes, |_| 0).is_err() {
        return;
    }
    let Ok(messages) = builder.build() else { return };
    let packets: [Vec<u8>; KINDS] = std::array::from_fn(packet);
    let mut swept = Duration::ZERO;
    while !stops.load(Ordering::Relaxed) {
        if messages.poll_raw(WAITS) > 0 {
            give_turns(expires, &packets);
        }
        let Ok(now) = monotonic() else { return };
        if now.saturating_sub(swept) >= SWEEPS {
            swept = now;
            // A kernel that refuses leaves connections to the bound of the map.
            let _ = sweep(sweeps, now);
        }
    }
}

/// Runs the program until no turn is left to give: it returns the kind of packet that it needs next.
fn give_turns(program: &OwnedFd, packets: &[Vec<u8>; KINDS]) {
    let mut kind = 0;
    for _ in 0..MOST_RUNS {
        match run(program, packets.get(kind).map_or(&[], Vec::as_slice), &mut []) {
            Ok(next @ 1..) => kind = next as usize - 1,
            _ => return,
        }
    }
}

/// Forgets connections that ended unseen by this time of CLOCK_MONOTONIC; returns their number.
///
/// # Errors
/// The kernel refuses to run it.
pub fn sweep(program: &OwnedFd, now: Duration) -> io::Result<u64> {
    let now = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
    let mut words = [now.to_ne_bytes(), [0; 8], [0; 8]].concat();
    run(program, &[], &mut words)?;
    Ok(u64::from_ne_bytes(words[16..24].try_into().unwrap_or_default()))
}

/// Runs a program on a packet, or on a context, which it may change; returns the program's result.
#[expect(unsafe_code, reason = "libbpf-rs runs programs of an object that the thread would have to own")]
fn run(program: &OwnedFd, packet: &[u8], context: &mut [u8]) -> io::Result<u32> {
    let mut options = libbpf_sys::bpf_test_run_opts {
        sz: size_of::<libbpf_sys::bpf_test_run_opts>() as libbpf_sys::size_t,
        ..Default::default()
    };
    if !packet.is_empty() {
        (options.data_in, options.data_size_in) = (packet.as_ptr().cast(), packet.len() as u32);
    }
    if !context.is_empty() {
        (options.ctx_in, options.ctx_size_in) = (context.as_ptr().cast(), context.len() as u32);
        (options.ctx_out, options.ctx_size_out) = (context.as_mut_ptr().cast(), context.len() as u32);
    }
    // SAFETY: the pointers are to slices of these lengths, which outlive the call.
    let failed = unsafe { libbpf_sys::bpf_prog_test_run_opts(program.as_raw_fd(), ptr::from_mut(&mut options)) };
    if failed == 0 { Ok(options.retval) } else { Err(io::Error::last_os_error()) }
}

/// A packet of a kind whose fields are zero where the program writes its own, with the checksums of those zeros.
fn packet(kind: usize) -> Vec<u8> {
    let (is_stamped, is_ipv6) = (kind & 1 > 0, kind & 2 > 0);
    let words: u8 = if is_stamped { 8 } else { 5 };
    let mut tcp = vec![0; usize::from(words) * 4];
    tcp[12] = words << 4;
    if is_stamped {
        tcp[20..24].copy_from_slice(&[1, 1, 8, 10]);
    }
    let length = tcp.len() as u16;
    // Addresses are zero, so that the pseudo-header has only the protocol and the length.
    let check = !(sum(&[&tcp[..], &[0, 6], &length.to_be_bytes()].concat()));
    tcp[16..18].copy_from_slice(&check.to_be_bytes());
    let mut packet = vec![0; 12];
    if is_ipv6 {
        packet.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
        packet.extend(length.to_be_bytes());
        packet.extend([6, 64]);
        packet.extend([0; 32]);
    } else {
        // Don't fragment.
        let total = (length + 20).to_be_bytes();
        let mut ip = [&[0x45, 0][..], &total, &[0, 0, 0x40, 0, 64, 6, 0, 0], &[0; 8]].concat();
        let check = !sum(&ip);
        ip[10..12].copy_from_slice(&check.to_be_bytes());
        packet.extend([8, 0]);
        packet.extend(ip);
    }
    packet.extend(tcp);
    packet
}

/// The sum of 16-bit words, as of RFC 1071.
fn sum(bytes: &[u8]) -> u16 {
    let mut total: u32 = bytes.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    while total >> 16 != 0 {
        total = (total & 0xffff) + (total >> 16);
    }
    total as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_of_all_kinds_have_right_checksums() {
        for kind in 0..KINDS {
            let (packet, ip) = (packet(kind), if kind & 2 > 0 { 40 } else { 20 });
            let tcp = &packet[14 + ip..];
            assert_eq!(tcp.len(), if kind & 1 > 0 { 32 } else { 20 });
            let pseudo = [&packet[14 + ip - if ip == 40 { 32 } else { 8 }..14 + ip], &[0, 6, 0, tcp.len() as u8]];
            assert_eq!(sum(&[pseudo[0], pseudo[1], tcp].concat()), u16::MAX, "{kind}");
            assert!(ip == 40 || sum(&packet[14..34]) == u16::MAX, "{kind}");
        }
    }
}
