//! Network devices of the network namespace that this process is in. Files below /sys belong to the namespace in which they were mounted.

use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::libc;
use nix::net::if_::{if_indextoname, if_nameindex};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

use crate::trouble::Trouble;

/// Commands of ETHTOOL's ioctl (linux/ethtool.h), and places in their answers.
const GET_SETTINGS: u32 = 1;
const GET_DRIVER: u32 = 3;
const SPEED: usize = 12;
const SPEED_HIGH: usize = 28;
const BUS: usize = 100;
const BUS_BYTES: usize = 32;
/// Bytes of the larger structure, `ethtool_drvinfo`, and some more.
const BYTES: usize = 256;

/// Counters of a device by the names that `ip -s link` and /sys use, in the order of /proc/net/dev.
const COUNTERS: [&str; 16] = [
    "rx_bytes",
    "rx_packets",
    "rx_errors",
    "rx_dropped",
    "rx_fifo_errors",
    "rx_frame_errors",
    "rx_compressed",
    "multicast",
    "tx_bytes",
    "tx_packets",
    "tx_errors",
    "tx_dropped",
    "tx_fifo_errors",
    "collisions",
    "tx_carrier_errors",
    "tx_compressed",
];

/// Request to a device; returns its number, such as the MTU.
#[expect(unsafe_code, reason = "nix has no such requests")]
fn request(device: &str, number: libc::c_ulong, data: *mut libc::c_void) -> io::Result<libc::c_int> {
    // SAFETY: all zeros are a valid structure.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if device.len() >= request.ifr_name.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (place, letter) in request.ifr_name.iter_mut().zip(device.bytes()) {
        *place = letter as libc::c_char;
    }
    if !data.is_null() {
        request.ifr_ifru.ifru_data = data.cast();
    }
    let any = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
    // SAFETY: the kernel reads a name that ends with a zero. It writes to the structure, and to `data`, which is as large as any answer.
    match unsafe { libc::ioctl(any.as_raw_fd(), number as _, &raw mut request) } {
        // SAFETY: the kernel has written a number, or nothing over the zeros.
        0 => Ok(if data.is_null() { unsafe { request.ifr_ifru.ifru_mtu } } else { 0 }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Answer of ETHTOOL about a device.
fn ethtool(device: &str, command: u32) -> io::Result<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    bytes[..4].copy_from_slice(&command.to_ne_bytes());
    request(device, libc::SIOCETHTOOL, bytes.as_mut_ptr().cast())?;
    Ok(bytes)
}

/// Largest packet of a device, bytes; `None` if there is no such device.
pub fn mtu(device: &str) -> Option<u32> {
    request(device, libc::SIOCGIFMTU, std::ptr::null_mut()).ok().and_then(|mtu| u32::try_from(mtu).ok())
}

/// Rate of a device's link, Mbit/s, if it reports one.
pub fn rate_mbit(device: &str) -> Option<u64> {
    let bytes = ethtool(device, GET_SETTINGS).ok()?;
    let half = |at: usize| u64::from(u16::from_ne_bytes([bytes[at], bytes[at + 1]]));
    let rate = half(SPEED) | half(SPEED_HIGH) << 16;
    (1..u64::from(u32::MAX)).contains(&rate).then_some(rate)
}

/// Whether a device is on a bus. Others, such as a veth, report a rate that nothing enforces.
pub fn is_on_a_bus(device: &str) -> bool {
    ethtool(device, GET_DRIVER).is_ok_and(|bytes| bytes[BUS..BUS + BUS_BYTES].iter().any(|letter| *letter != 0))
}

/// Name of a device by its index, if it is in this network namespace.
pub fn name_of(index: i32) -> Option<String> {
    let name = if_indextoname(u32::try_from(index).ok()?).ok()?;
    // nix does not notice that there is no such device.
    (!name.is_empty()).then(|| name.to_string_lossy().into_owned())
}

/// Number of this thread's network namespace, which no other has at the same time.
///
/// # Errors
/// The system hides it.
pub fn namespace() -> io::Result<u64> {
    Ok(fs::metadata("/proc/thread-self/ns/net")?.ino())
}

/// Names of the devices.
pub fn names() -> Vec<String> {
    if_nameindex()
        .map_or_else(|_| Vec::new(), |all| all.iter().map(|one| one.name().to_string_lossy().into_owned()).collect())
}

/// Counters of a device, with their names.
///
/// # Errors
/// There is no such device, or the system hides its counters.
pub fn counters(device: &str) -> Result<Vec<(&'static str, u64)>, Trouble> {
    let text = fs::read_to_string(Path::new("/proc/thread-self/net/dev"))?;
    counters_in(&text, device).ok_or_else(|| {
        Trouble::Input(format!("--interface {device}: no such device; `ip link` lists this machine's network devices"))
    })
}

fn counters_in(text: &str, device: &str) -> Option<Vec<(&'static str, u64)>> {
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix(device)?.strip_prefix(':'))?;
    let values = line.split_whitespace().map_while(|word| word.parse().ok());
    Some(COUNTERS.into_iter().zip(values).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_those_of_the_device() {
        let text = "Inter-|   Receive\n face |bytes\n eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\neth01:99 98 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
        let found = counters_in(text, "eth0").unwrap();
        assert_eq!(
            (found.len(), found[0], found[3], found[9]),
            (16, ("rx_bytes", 1), ("rx_dropped", 4), ("tx_packets", 10))
        );
        assert_eq!(counters_in(text, "eth01").unwrap()[1], ("rx_packets", 98));
        assert_eq!(counters_in(text, "eth"), None);
    }

    #[test]
    fn loopback_has_a_size_and_no_rate() {
        assert!(mtu("lo").is_some_and(|mtu| mtu >= 1_500));
        assert_eq!((rate_mbit("lo"), is_on_a_bus("lo"), mtu("nowhere")), (None, false, None));
        assert!(names().contains(&"lo".to_string()));
        assert_eq!((name_of(1), name_of(i32::MAX)), (Some("lo".into()), None));
    }
}
