//! Outputs of the sensor on a full disk, and with names that a terminal would obey. In a process of its own, whose cgroup changes.
#![cfg(feature = "load")]
#![expect(clippy::disallowed_types, reason = "it makes traffic of real TCP")]

#[path = "support/reads.rs"]
mod reads;
mod support;

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use fanin_testing::wait_until;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use reads::read_at_once;

const PROGRAM: &str = env!("CARGO_BIN_EXE_fanin-kernel");

#[test]
fn survives_full_disks_and_shows_no_control_characters() {
    if support::skips() {
        return;
    }
    let test = || {
        unshare(CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS).expect("namespaces");
        mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>).expect("private");
        let place = tempfile::tempdir().expect("a folder");
        mount(Some("disk"), place.path(), Some("tmpfs"), MsFlags::empty(), Some("size=16k")).expect("a small disk");
        let device = "lo\u{1b}[2J";
        for arguments in [&["link", "set", "lo", "name", device][..], &["link", "set", device, "up"]] {
            assert!(Command::new("ip").args(arguments).status().expect("ip").success());
        }
        let cgroup = Cgroup::new("evil\u{1b}]0;x\u{7}");
        let arguments = ["watch", "--rate-mbit", "1", "--bin-us", "100000", "--for", "4s", "--worse-than", "fan-in=2"];
        let mut command = Command::new(PROGRAM);
        command.args(arguments).args(["--interface", device, "--metrics", METRICS, "--save"]).arg(place.path());
        command.arg("--write").arg(place.path().join("hours")).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().expect("it runs");
        wait_until("figures", || TcpStream::connect(METRICS).is_ok());
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).expect("its status");
        let held = status.lines().find_map(|line| line.strip_prefix("CapEff:\t")).expect("capabilities");
        assert_eq!(u64::from_str_radix(held, 16).expect("a number"), 1 << 1, "it may write, and nothing else");
        cgroup.join();
        for _ in 0..4 {
            read_at_once(&TcpListener::bind("127.0.0.1:0").expect("a port"));
            thread::sleep(Duration::from_millis(250));
        }
        thread::sleep(Duration::from_millis(1_200));
        let page = page();
        let output = child.wait_with_output().expect("it ends");
        let texts = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).expect("text"));
        assert!(texts[1].contains("No space left") && texts[1].contains("watching goes on"), "{texts:?}");
        let unwritten =
            page.lines().find(|line| line.starts_with("fanin_watch_unwritten_files_total")).expect("a counter");
        assert!(!unwritten.ends_with(" 0"), "{unwritten}");
        assert!(texts[0].contains("burst: fan-in"), "it goes on: {texts:?}");
        if cgroup.exists() {
            assert!(texts[0].contains("evil\\u{1b}]0;x\\u{7}") && page.contains("evil"), "{texts:?}");
        }
        for text in texts.iter().chain([&page]) {
            assert!(!text.chars().any(|letter| letter.is_control() && letter != '\n' && letter != '\r'), "{text:?}");
        }
    };
    thread::spawn(test).join().expect("the test passes");
}

/// Where the sensor of that test serves its figures.
const METRICS: &str = "127.0.0.1:9153";

/// The page for Prometheus.
fn page() -> String {
    let mut stream = TcpStream::connect(METRICS).expect("a connection");
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n").expect("it takes a request");
    let mut page = String::new();
    stream.read_to_string(&mut page).expect("a page");
    page
}

/// A cgroup of this test, if the machine has cgroup v2. This thread leaves it at the end.
struct Cgroup(PathBuf);

impl Cgroup {
    fn new(name: &str) -> Cgroup {
        let mounts = ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"];
        let mount = mounts.iter().find(|mount| Path::new(mount).join("cgroup.controllers").exists());
        let folder = Path::new(mount.unwrap_or(&"/nowhere")).join(format!("{name}-{}", std::process::id()));
        let _ = fs::create_dir(&folder);
        Cgroup(folder)
    }

    fn exists(&self) -> bool {
        self.0.exists()
    }

    /// Moves this process into it.
    fn join(&self) {
        let _ = fs::write(self.0.join("cgroup.procs"), std::process::id().to_string());
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        if let Some(parent) = self.0.parent() {
            let _ = fs::write(parent.join("cgroup.procs"), std::process::id().to_string());
        }
        let _ = fs::remove_dir(&self.0);
    }
}
