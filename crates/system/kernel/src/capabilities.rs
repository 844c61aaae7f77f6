//! Capabilities that a process keeps after its programs are attached.

use std::io;

use nix::libc;

/// Capabilities by their numbers (linux/capability.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// Write in folders of others.
    DacOverride = 1,
    /// Listen at ports below 1,024.
    NetBindService = 10,
}

/// Version of the structure, which has two words of each set.
const VERSION: u32 = 0x2008_0522;

/// Gives up all capabilities but these, in this thread and those that it starts.
///
/// # Errors
/// The kernel refuses it.
#[expect(unsafe_code, reason = "nix has no capabilities")]
pub fn keep_only(kept: &[Capability]) -> io::Result<()> {
    let word = kept.iter().fold(0_u32, |word, one| word | 1 << *one as u32);
    let (header, data) = ([VERSION, 0], [held()? & word, held()? & word, 0, 0, 0, 0]);
    // SAFETY: the kernel only reads both structures, which have the sizes of this version; 0 is the calling thread.
    let done = unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), data.as_ptr()) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The first 32 permitted capabilities of this thread.
#[expect(unsafe_code, reason = "nix has no capabilities")]
fn held() -> io::Result<u32> {
    let (mut header, mut data) = ([VERSION, 0], [0_u32; 6]);
    // SAFETY: the kernel writes both structures, which have the sizes of this version.
    let done = unsafe { libc::syscall(libc::SYS_capget, header.as_mut_ptr(), data.as_mut_ptr()) };
    if done == 0 { Ok(data[1]) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_thread_loses_capabilities() {
        let before = held().unwrap();
        let after = std::thread::spawn(|| {
            keep_only(&[Capability::DacOverride]).unwrap();
            held().unwrap()
        });
        assert_eq!((after.join().unwrap(), held().unwrap()), (before & 2, before));
    }
}
