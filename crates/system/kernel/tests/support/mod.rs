//! Whether this machine can run the tests that load programs.

use nix::unistd::Uid;

/// Prints why a test is skipped, if it is: only root loads programs, and only kernels with BTF have them.
pub fn skips() -> bool {
    let why = if !Uid::effective().is_root() {
        "loading programs needs root"
    } else if !std::path::Path::new("/sys/kernel/btf/vmlinux").exists() {
        "this kernel has no BTF"
    } else {
        return false;
    };
    eprintln!("skipped: {why}");
    true
}
