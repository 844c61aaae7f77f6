//! Network namespaces without a name: the kernel removes one, with its devices, when the last process that holds it has ended.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::process::{Command, Stdio, id};

use nix::sched::{CloneFlags, setns, unshare};

use crate::trouble::Trouble;

/// A network namespace.
#[derive(Debug)]
pub struct Namespace {
    file: File,
}

impl Namespace {
    /// The namespace of the calling thread.
    pub fn current() -> io::Result<Namespace> {
        Ok(Namespace { file: File::open("/proc/thread-self/ns/net")? })
    }

    /// A new namespace. The calling thread is in it afterwards.
    pub fn create() -> Result<Namespace, Trouble> {
        unshare(CloneFlags::CLONE_NEWNET).map_err(|error| match error {
            nix::errno::Errno::EPERM => Trouble::Lacks("network namespaces need root (CAP_SYS_ADMIN)".into()),
            error => Trouble::Lacks(format!("this kernel makes no network namespace: {error}")),
        })?;
        Ok(Namespace::current()?)
    }

    /// Moves the calling thread into it: sockets that it opens, commands that it starts and files of /proc that it opens are of this namespace.
    pub fn enter(&self) -> io::Result<()> {
        Ok(setns(&self.file, CloneFlags::CLONE_NEWNET)?)
    }

    /// Its path, for `ip ... netns PATH`.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", id(), self.file.as_raw_fd())
    }

    /// Runs a batch of `ip` or `tc` here.
    pub fn batch(&self, program: &str, lines: &[String]) -> Result<(), Trouble> {
        if lines.is_empty() {
            return Ok(());
        }
        self.enter()?;
        let mut command = Command::new(program);
        command.args(["-batch", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child =
            command.spawn().map_err(|error| Trouble::Lacks(format!("no `{program}`, of iproute2: {error}")))?;
        if let Some(mut input) = child.stdin.take() {
            input.write_all((lines.join("\n") + "\n").as_bytes())?;
        }
        let output = child.wait_with_output()?;
        match output.status.success() {
            true => Ok(()),
            false => {
                let why = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
                Err(Trouble::Lacks(format!("`{program}` failed: {why}")))
            }
        }
    }

    /// Whether this kernel has a queue, which is added to the loopback device for a moment.
    pub fn has_queue(&self, queue: &str) -> bool {
        let added = self.batch("tc", &[format!("qdisc add dev lo root {queue}")]);
        added.and_then(|()| self.batch("tc", &["qdisc del dev lo root".into()])).is_ok()
    }

    /// Sets sysctls of the form `net.ipv4.tcp_ecn=1`.
    pub fn set(&self, sysctls: &[String]) -> Result<(), Trouble> {
        self.enter()?;
        for (key, value) in sysctls.iter().filter_map(|sysctl| sysctl.split_once('=')) {
            let path = format!("/proc/sys/{}", key.replace('.', "/"));
            fs::write(&path, value).map_err(|error| Trouble::Lacks(format!("{key} = {value}: {error}")))?;
        }
        Ok(())
    }

    /// Opens a file of /proc that has this namespace's figures, whoever reads it.
    pub fn open(&self, path: &str) -> io::Result<File> {
        self.enter()?;
        File::open(path)
    }
}
