//! Programs of a testbed's network: at ports of its routers, and in its hosts' sockets.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use libbpf_rs::{Link, MapCore, MapFlags, Object, TC_EGRESS, TcHookBuilder};
use nix::net::if_::if_nametoindex;
use nix::sched::{CloneFlags, setns};

use crate::cgroup::Cgroup;
use crate::control::{HOST, PORT};
use crate::grants::{self, Attached, Constants};
use crate::load;
use crate::trouble::Trouble;

/// Program of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Marks packets while the queue holds this many bytes or more.
    Marks(u32),
    /// Assigns M21's windows from this many bytes of buffer.
    Allots(u32),
}

/// Attaches a program to a device, with which it ends.
///
/// # Errors
/// There is no such device, or the kernel refuses the program.
pub fn attach(namespace: &Path, device: &str, role: Role) -> Result<Object, Trouble> {
    let (name, threshold, buffer) = match role {
        Role::Marks(bytes) => ("mark_above", bytes, 0),
        Role::Allots(bytes) => ("allot_windows", 0, bytes),
    };
    let mut object = load::open("port", PORT)?;
    object.progs_mut().filter(|program| program.name() != name).for_each(|mut program| program.set_autoload(false));
    load::set_constants(&mut object, &[threshold.to_ne_bytes(), buffer.to_ne_bytes()].concat())?;
    let object = object.load().map_err(|error| load::refused(&format!("load {name}"), &error))?;
    within(namespace, || {
        let index = if_nametoindex(device).map_err(|error| Trouble::Input(format!("device `{device}`: {error}")))?;
        let program = object.progs_mut().find(|program| program.name() == name);
        let program = program.ok_or_else(|| Trouble::Environment(format!("the object has no program {name}")))?;
        let index = i32::try_from(index).map_err(io::Error::other)?;
        let mut hook = TcHookBuilder::new(program.as_fd()).ifindex(index).handle(1).priority(1).hook(TC_EGRESS);
        let attached = hook.create().and_then(|mut hook| hook.attach());
        attached.map(drop).map_err(|error| load::refused(&format!("attach {name} to {device}"), &error))
    })?;
    Ok(object)
}

/// Grants windows at a device, until the value is dropped or the process ends.
///
/// # Errors
/// There is no such device, or the kernel refuses the programs.
pub fn grant(namespace: &Path, device: &str, constants: &Constants) -> Result<Attached, Trouble> {
    within(namespace, || grants::attach(device, constants, 0))
}

/// Runs something in a network namespace, and returns to the present one.
fn within<T>(namespace: &Path, work: impl FnOnce() -> Result<T, Trouble>) -> Result<T, Trouble> {
    let before = File::open("/proc/thread-self/ns/net")?;
    enter(&File::open(namespace).map_err(|error| unreadable(namespace, &error))?)?;
    let done = work();
    enter(&before)?;
    done
}

fn enter(namespace: &File) -> Result<(), Trouble> {
    setns(namespace, CloneFlags::CLONE_NEWNET).map_err(|error| Trouble::kernel("enter a network namespace", error))
}

fn unreadable(namespace: &Path, error: &io::Error) -> Trouble {
    Trouble::Input(format!("network namespace `{}`: {error}", namespace.display()))
}

/// Attaches M21's halves of hosts to this process's cgroup, for sockets of these namespaces only.
///
/// # Errors
/// There is no such namespace, or the kernel refuses the program.
pub fn attach_hosts(namespaces: &[PathBuf]) -> Result<(Object, Link), Trouble> {
    let object = load::open("host", HOST)?.load().map_err(|error| load::refused("load M21 for hosts", &error))?;
    for namespace in namespaces {
        // The kernel's number of a namespace is the inode of its file.
        let inode = File::open(namespace).and_then(|file| file.metadata()).map(|data| data.ino());
        let inode = inode.map_err(|error| unreadable(namespace, &error))? as u32;
        let hosts = object.maps().find(|map| map.name() == "hosts");
        let hosts = hosts.ok_or_else(|| Trouble::Environment("the object has no map of hosts".into()))?;
        let updated = hosts.update(&inode.to_ne_bytes(), &1_u32.to_ne_bytes(), MapFlags::ANY);
        updated.map_err(|error| load::refused("name a host", &error))?;
    }
    let link = load::attach(&object, &Cgroup::own()?)?;
    Ok((object, link))
}

/// The counters of an object, each of eight bytes.
pub fn counters(object: &Object) -> Vec<u64> {
    let Some(map) = object.maps().find(|map| map.name().to_string_lossy().ends_with(".bss")) else { return Vec::new() };
    let bytes = map.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY).ok().flatten().unwrap_or_default();
    bytes.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap_or_default())).collect()
}
