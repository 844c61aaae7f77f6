//! Links pinned in bpffs, which outlive the loader.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use nix::sys::statfs::{BPF_FS_MAGIC, statfs};

use crate::control::{CONTROLS, Control};
use crate::trouble::Trouble;

/// Where bpffs is mounted.
const MOUNT: &str = "/sys/fs/bpf";
/// Names of the kernel's congestion controls.
const NAMES: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
/// This program's folder in it.
const FOLDER: &str = "/sys/fs/bpf/fanin";

/// Where bpffs is mounted.
///
/// # Errors
/// It is not mounted; the command that mounts it.
pub fn mount() -> Result<&'static str, String> {
    let is_mounted = statfs(MOUNT).is_ok_and(|stat| stat.filesystem_type() == BPF_FS_MAGIC);
    if is_mounted { Ok(MOUNT) } else { Err(format!("mount it: mount -t bpf bpf {MOUNT}")) }
}

/// Pin of a congestion control's registration.
pub fn registration(control: &Control) -> PathBuf {
    Path::new(FOLDER).join(control.kernel_name)
}

/// Pin of a cgroup's selection, by the cgroup's number, which is unique and has no slashes.
pub fn selection(control: &Control, cgroup: u64) -> PathBuf {
    Path::new(FOLDER).join(format!("{}-cgroup-{cgroup}", control.kernel_name))
}

/// The folder.
pub fn folder() -> &'static Path {
    Path::new(FOLDER)
}

/// Removes the folder if it is empty: others may have pins there.
pub fn remove_folder() {
    let _ = fs::remove_dir(FOLDER);
}

/// Creates the folder.
pub fn create_folder() -> Result<(), Trouble> {
    mount().map_err(|remedy| Trouble::Environment(format!("bpffs is not mounted: {remedy}")))?;
    fs::create_dir_all(FOLDER).map_err(|error| Trouble::kernel(&format!("create {FOLDER}"), error))
}

/// Pins of a congestion control: its registration first, then its selections.
pub fn of(control: &Control) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(FOLDER) else { return Vec::new() };
    let selections = format!("{}-cgroup-", control.kernel_name);
    let own = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name == control.kernel_name || name.starts_with(&selections)
    };
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(own).collect();
    found.sort_unstable();
    found
}

/// Congestion controls that are pinned.
pub fn pinned() -> Vec<&'static Control> {
    CONTROLS.iter().filter(|control| registration(control).exists()).collect()
}

/// Whether the kernel has a congestion control, by whoever loaded it.
pub fn is_registered(control: &Control) -> bool {
    let names = fs::read_to_string(NAMES).unwrap_or_default();
    names.split_whitespace().any(|name| name == control.kernel_name)
}

/// Waits until the kernel has let go of a congestion control, which it does a little later than its last link ends.
pub fn wait_until_gone(control: &Control) {
    for _ in 0..100 {
        if !is_registered(control) {
            return;
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// Removes a congestion control's pins, selections first, so that no connection selects a name that is gone. Returns the pins.
pub fn remove(control: &Control) -> io::Result<Vec<PathBuf>> {
    let mut pins = of(control);
    pins.reverse();
    for pin in &pins {
        fs::remove_file(pin)?;
    }
    remove_folder();
    Ok(pins)
}
