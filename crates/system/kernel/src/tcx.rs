//! Programs at a network device by links (tcx, Linux 6.6), which the kernel takes back when their owner ends in any way.

use std::io;
use std::ptr::{self, NonNull};

use libbpf_rs::{AsRawLibbpf, Link, ProgramMut, libbpf_sys};

/// Attaches a program that was loaded for one side of a device, after others there.
///
/// # Errors
/// The kernel has no such links, or refuses this one.
#[expect(unsafe_code, reason = "libbpf-rs has no tcx")]
pub fn attach(program: &ProgramMut<'_>, index: i32) -> io::Result<Link> {
    // SAFETY: the program is loaded and outlives the call; no options are allowed.
    let link = unsafe { libbpf_sys::bpf_program__attach_tcx(program.as_libbpf_object().as_ptr(), index, ptr::null()) };
    let link = NonNull::new(link).ok_or_else(io::Error::last_os_error)?;
    // SAFETY: the link is new, so that nothing else owns it.
    Ok(unsafe { Link::from_ptr(link) })
}
