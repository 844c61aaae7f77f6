//! Hand-over of `fanin front` between processes.
#![expect(clippy::disallowed_types, reason = "simple clients")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use fanin_testing::{LIMIT, own_address, wait_until};
use scopeguard::defer;

use super::common::program;
use super::front::{empty_server, lines};

/// A front end under systemd, which this test plays.
struct Service {
    folder: tempfile::TempDir,
    at: String,
    server: String,
    systemd: UnixDatagram,
}

impl Service {
    fn new() -> Service {
        let folder = tempfile::tempdir().unwrap();
        let systemd = UnixDatagram::bind(folder.path().join("notify")).unwrap();
        systemd.set_read_timeout(Some(LIMIT)).unwrap();
        let service = Service { folder, at: own_address().to_string(), server: empty_server(Duration::ZERO), systemd };
        service.configure(2);
        service
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("front.toml")
    }

    fn configure(&self, threads: usize) {
        let (at, server) = (&self.at, &self.server);
        let text = format!("threads = {threads}\n[[pool]]\nlisten = \"{at}\"\nservers = [\"{server}\"]\n");
        fs::write(self.file(), text).unwrap();
    }

    fn command(&self, more: &[&str]) -> Command {
        let mut command = program();
        command.args(["front", "--config"]).arg(self.file()).args(more);
        command.env("NOTIFY_SOCKET", self.folder.path().join("notify")).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// The next message to systemd.
    fn told(&self) -> String {
        let mut bytes = [0; 1024];
        let count = self.systemd.recv(&mut bytes).expect("a message within the time limit");
        String::from_utf8(bytes[..count].to_vec()).unwrap()
    }

    /// Number of the process that has taken over, once it is ready.
    fn successor(&self) -> u32 {
        let told = self.told();
        let process = told.strip_prefix("MAINPID=").unwrap_or_else(|| panic!("{told}")).trim().parse().unwrap();
        assert_eq!(self.told(), "READY=1\n");
        process
    }

    fn client(&self) -> BufReader<TcpStream> {
        let stream = TcpStream::connect(&self.at).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        BufReader::new(stream)
    }
}

fn signal(name: &str, process: u32) {
    assert!(Command::new("kill").args([name, &process.to_string()]).status().unwrap().success());
}

/// Sends a request and checks its response.
fn get(client: &mut BufReader<TcpStream>) {
    client.get_mut().write_all(b"get some-key\r\n").unwrap();
    let mut line = String::new();
    client.read_line(&mut line).unwrap();
    assert_eq!(line, "END\r\n");
}

/// Exit code and messages of a process that ends by itself.
fn ends(command: &mut Command) -> (Option<i32>, String) {
    let output = command.stderr(Stdio::piped()).output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

/// Waits until a process has ended.
fn wait_for_end(process: u32) {
    wait_until(&format!("process {process} has ended"), || !Path::new(&format!("/proc/{process}/stat")).exists());
}

#[test]
fn many_processes_take_over_without_a_failed_request() {
    let service = Service::new();
    let first = service.command(&[]).spawn().unwrap();
    let (mut process, mut first) = (first.id(), Some(first));
    assert_eq!(service.told(), "READY=1\n");
    let (over, done) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        let (over, done, service) = (&over, &done, &service);
        // Clients end when this fails, too.
        defer! { over.store(true, SeqCst) };
        let mut idle = service.client();
        for _ in 0..2 {
            scope.spawn(move || {
                let mut client = service.client();
                while !over.load(SeqCst) {
                    get(&mut client);
                    done.fetch_add(1, SeqCst);
                }
            });
            scope.spawn(move || {
                while !over.load(SeqCst) {
                    get(&mut service.client());
                    done.fetch_add(1, SeqCst);
                }
            });
        }
        for round in 0..20 {
            service.configure(1 + round % 3);
            let child = if round % 2 == 0 {
                // As a service does it.
                signal("-USR2", process);
                None
            } else {
                Some(service.command(&["--take-over"]).spawn().unwrap())
            };
            let next = service.successor();
            process = next;
            first.take().into_iter().for_each(|mut first| assert_eq!(first.wait().unwrap().code(), Some(0)));
            // Reap it.
            child.into_iter().for_each(|mut child| drop(thread::spawn(move || child.wait())));
            get(&mut idle);
            let before = done.load(SeqCst);
            wait_until("clients go on", || done.load(SeqCst) >= before + 20);
        }
        over.store(true, SeqCst);
        signal("-TERM", process);
        assert_eq!(service.told(), "STOPPING=1\n");
        wait_for_end(process);
    });
}

#[test]
fn take_over_needs_a_running_proxy() {
    let service = Service::new();
    let (code, told) = ends(&mut service.command(&["--take-over"]));
    let expected = format!("error: no proxy is running at {}; start this one without --take-over\n", service.at);
    assert_eq!((code, told), (Some(2), expected));
}

#[test]
fn running_proxy_survives_failed_take_overs() {
    let service = Service::new();
    let mut front = service.command(&[]).stderr(Stdio::piped()).spawn().unwrap();
    let warned = lines(front.stderr.take().unwrap());
    assert_eq!(service.told(), "READY=1\n");
    let mut client = service.client();
    // A process that dies during the hand-over.
    let name = SocketAddr::from_abstract_name(format!("fanin-front@{}", service.at)).unwrap();
    let mut dies = UnixStream::connect_addr(&name).unwrap();
    dies.write_all(b"take-over 1\n").unwrap();
    let mut first = [0; 3];
    std::io::Read::read_exact(&mut dies, &mut first).unwrap();
    assert_eq!(&first, b"ok\n");
    drop(dies);
    get(&mut client);
    // One whose settings are invalid.
    fs::write(service.file(), "threads = 0\n").unwrap();
    signal("-USR2", front.id());
    let mut warnings = std::iter::repeat_with(|| warned.recv_timeout(LIMIT).unwrap());
    assert!(warnings.any(|line| line.contains("the new process has not taken over: exit status: 2")));
    get(&mut client);
    // One of another user.
    service.configure(1);
    if fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fanin"));
        let (at, server) = (&service.at, &service.server);
        command.args(["front", "--listen", at, "--servers", server, "--take-over"]).uid(65_534).current_dir("/");
        let (code, told) = ends(&mut command);
        assert_eq!(code, Some(3), "{told}");
        assert!(told.contains("from its own user and from root only"), "{told}");
    } else {
        println!("skipped: only root can act as another user");
    }
    get(&mut client);
    get(&mut service.client());
    assert!(front.try_wait().unwrap().is_none());
    let mut next = service.command(&["--take-over"]).spawn().unwrap();
    assert_eq!(service.successor(), next.id());
    assert_eq!(front.wait().unwrap().code(), Some(0));
    get(&mut client);
    signal("-TERM", next.id());
    assert_eq!(next.wait().unwrap().code(), Some(0));
}
