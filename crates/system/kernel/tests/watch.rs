//! The sensor on this machine's kernel, in a network namespace of its own.
#![cfg(feature = "load")]
#![expect(clippy::disallowed_types, reason = "it makes traffic of real TCP")]

#[path = "support/reads.rs"]
mod reads;
mod support;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use fanin_testing::{LIMIT, wait_until};
use libbpf_rs::query::{LinkInfoIter, LinkTypeInfo};
use nix::sched::{CloneFlags, unshare};
use reads::{CONNECTIONS, read_at_once};
use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_fanin-kernel");
/// Links of a sensor that saves: arrivals, departures, and three tracepoints.
const LINKS: usize = 5;
/// Time for which a client does not read, and data that fill its window and the server's buffer.
const UNREAD: Duration = Duration::from_millis(300);
const MUCH: usize = 32 << 20;

fn watches(index: i32) -> bool {
    LinkInfoIter::default()
        .any(|link| matches!(link.info, LinkTypeInfo::Tcx(tcx) if i32::try_from(tcx.ifindex) == Ok(index)))
}

fn counts_seconds_without_root() {
    let nobody = 65_534;
    let mut counting = Command::new(PROGRAM);
    counting.args(["watch", "--interface", "lo", "--for", "1s", "--json"]).uid(nobody).gid(nobody);
    let counted = counting.output().expect("it runs");
    let row: Value = serde_json::from_slice(&counted.stdout).expect("a row");
    assert!(row["type"] == "counters-only" && row["bytes"].is_u64(), "{row}");
    assert!(String::from_utf8_lossy(&counted.stderr).contains("needs root"), "{counted:?}");
    assert_eq!(counting.args(["--write", "/nowhere"]).status().expect("it runs").code(), Some(3));
}

/// Saved files can be read by their owner alone, and have neither addresses nor data.
fn are_private(files: &[&str]) {
    assert_eq!(files.len(), 3, "{files:?}");
    for file in files {
        let mode = fs::metadata(file).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    let capture = fs::read(files[0]).expect("a capture");
    assert!(
        capture.len() > 10_000 && !capture.windows(4).any(|part| part == [127, 0, 0, 1]),
        "headers without addresses"
    );
    assert!(!capture.windows(100).any(|part| part.iter().all(|byte| *byte == 0)), "no data");
}

/// A client that reads late closes its window.
fn read_late(listener: &TcpListener) {
    let mut client = TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
    let (mut server, _) = listener.accept().expect("a connection");
    server.set_nonblocking(true).expect("an option");
    let mut sent = 0;
    while let Ok(bytes) = server.write(&vec![0; MUCH - sent]) {
        sent += bytes;
    }
    assert!(sent < MUCH, "the window is closed, and the buffer full");
    thread::sleep(UNREAD);
    server.set_nonblocking(false).expect("an option");
    let sends = thread::spawn(move || {
        server.write_all(&vec![0; MUCH - sent]).expect("it takes data");
        // Its end is open until the client has all data.
        server.read_exact(&mut [0]).expect("a response");
    });
    client.read_exact(&mut vec![0; MUCH]).expect("data comes");
    client.write_all(&[0]).expect("it takes data");
    sends.join().expect("it ends");
}

/// A collector that takes one request after another; their bodies.
fn collector(listener: TcpListener) -> Receiver<Vec<u8>> {
    let (sender, bodies) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut reader = BufReader::new(stream.expect("a connection"));
            let lines = reader.by_ref().lines().map(|line| line.expect("a line"));
            let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
            assert!(head[0].starts_with("POST /v1/metrics "), "{head:?}");
            let length = head.iter().find_map(|line| line.strip_prefix("content-length: ")).expect("a length");
            let mut body = vec![0; length.parse().expect("a number")];
            reader.read_exact(&mut body).expect("a body");
            reader.get_mut().write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").expect("it takes a response");
            sender.send(body).expect("the test waits");
        }
    });
    bodies
}

fn has_figures(body: &[u8]) {
    let has = |part: &str| body.windows(part.len()).any(|window| window == part.as_bytes());
    for part in ["host.name", "fanin.watch.burst.fan_in", "system.network.tcp.retransmits", "zero-window"] {
        assert!(has(part), "{part} is not in {}", String::from_utf8_lossy(body));
    }
}

/// Path of this process's cgroup v2.
fn own_cgroup() -> Option<String> {
    let text = fs::read_to_string("/proc/self/cgroup").expect("cgroups");
    text.lines().find_map(|line| line.strip_prefix("0::")).map(str::to_string)
}

#[test]
fn counts_the_connections_of_a_burst() {
    if support::skips() {
        return;
    }
    unshare(CloneFlags::CLONE_NEWNET).expect("a namespace");
    let ip = |arguments: &str| assert!(Command::new("ip").args(arguments.split(' ')).status().expect("ip").success());
    // Programs at other namespaces' devices have lower numbers.
    ip("link add watched index 7701 type veth peer name other");
    ip("link set lo up");
    let missing = Command::new(PROGRAM).args(["watch", "--interface", "fanin-none"]).output().expect("it runs");
    assert_eq!(missing.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("--interface fanin-none"), "{missing:?}");

    counts_seconds_without_root();

    let mut idle = Command::new(PROGRAM).args(["watch", "--interface", "watched"]).spawn().expect("it runs");
    wait_until("the sensor", || watches(7701));
    idle.kill().expect("it ends");
    idle.wait().expect("it ends");
    wait_until("the kernel has removed the sensor", || !watches(7701));

    // Bins of a second: the burst has one, or two that are adjacent.
    let arguments = ["watch", "--interface", "lo", "--rate-mbit", "1", "--bin-us", "1000000", "--for", "3s", "--json"];
    let place = tempfile::tempdir().expect("a folder");
    let [saved, hours] = ["saved", "hours"].map(|name| place.path().join(name));
    let before = LinkInfoIter::default().count();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let target = format!("http://{}", listener.local_addr().expect("an address"));
    let bodies = collector(listener);
    let mut command = Command::new(PROGRAM);
    command
        .args(arguments)
        .args(["--worse-than", "fan-in=40", "--anonymous", "--save"])
        .arg(&saved)
        .args(["--otlp", &target, "--write"])
        .arg(&hours);
    let child = command.stdout(Stdio::piped()).spawn().expect("it runs");
    wait_until("the sensor", || LinkInfoIter::default().count() >= before + LINKS);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    read_at_once(&listener);
    read_late(&listener);
    let output = child.wait_with_output().expect("it ends");
    let text = String::from_utf8(output.stdout).expect("text");
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let of = |kind: &str| rows.iter().filter(|row| row["type"] == kind).collect::<Vec<_>>();
    let [burst] = of("burst")[..] else { panic!("one burst: {text}") };
    // That of the late reader, too.
    assert_eq!(burst["fan_in"].as_u64(), Some(CONNECTIONS + 2), "{burst}");
    if let Some(cgroup) = own_cgroup() {
        let receiver = &burst["receivers"][0];
        assert!(receiver["cgroup"] == cgroup && receiver["bytes"].as_u64() > Some(MUCH as u64), "{burst}");
    }
    assert!(burst["bytes"].as_u64().is_some_and(|bytes| bytes > CONNECTIONS * 10_000), "{burst}");

    // On a busy machine, the client reads late at other times, too.
    let shut = of("wait").into_iter().filter(|row| row["cause"] == "zero-window");
    let longest = shut.filter_map(|row| row["duration_ms"].as_f64()).fold(0.0, f64::max);
    assert!(longest > UNREAD.as_secs_f64() * 1e3 / 2.0, "a window was closed: {text}");
    has_figures(&bodies.recv_timeout(LIMIT).expect("figures"));
    let [files] = of("saved")[..] else { panic!("one is saved: {text}") };
    let files: Vec<&str> = files["files"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    are_private(&files);

    summarises_one_burst(&hours);
}

fn summarises_one_burst(hours: &Path) {
    let file = fs::read_dir(hours).expect("a folder").next().expect("a file").expect("an entry").path();
    let summary = Command::new(PROGRAM).args(["watch", "--json", "--summary"]).arg(&file).output().expect("it runs");
    let summary: Value = serde_json::from_slice(&summary.stdout).expect("JSON");
    assert_eq!(summary["hosts"][0]["bursts"].as_u64(), Some(1), "{summary}");
}
