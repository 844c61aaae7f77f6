//! The program on this machine's kernel, in namespaces and a cgroup of its own.
#![cfg(feature = "load")]

mod support;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use fanin_testing::{wait_for, wait_until};
use libbpf_rs::query::{LinkInfo, LinkInfoIter, LinkTypeInfo};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_fanin-kernel");
/// Names of congestion controls are the whole kernel's, so that tests take turns.
static TURN: Mutex<()> = Mutex::new(());

/// A machine of its own: network, mounts with bpffs, and a cgroup.
struct Machine {
    cgroup: PathBuf,
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.cgroup);
    }
}

impl Machine {
    fn new(name: &str) -> Machine {
        unshare(CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS).expect("namespaces");
        mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>).expect("private");
        mount(Some("bpf"), "/sys/fs/bpf", Some("bpf"), MsFlags::empty(), None::<&str>).expect("bpffs");
        assert!(Command::new("ip").args(["link", "set", "lo", "up"]).status().expect("ip").success());
        let mounts = ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"];
        let mount = mounts.iter().find(|mount| Path::new(mount).join("cgroup.controllers").exists());
        let cgroup = Path::new(mount.expect("cgroup v2")).join(format!("fanin-{name}-{}", std::process::id()));
        fs::create_dir(&cgroup).expect("a cgroup");
        Machine { cgroup }
    }

    fn canary(&self) -> String {
        format!("cgroup={}", self.cgroup.display())
    }

    /// A server in the cgroup that responds with this many bytes, and its address.
    fn serve(&self, bytes: usize) -> (Killed, String) {
        // A connection belongs to the cgroup in which its listener began, so that the server joins before it listens.
        let join = format!("echo $$ > {}/cgroup.procs && exec \"$@\"", self.cgroup.display());
        let mut command = Command::new("sh");
        let (program, bytes) = (traffic_program(), bytes.to_string());
        command.args(["-c", &join, "sh"]).arg(program).args(["serve", "127.0.0.1:0", &bytes]);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("a server");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("an address");
        (Killed(child), line.trim().to_string())
    }
}

/// A process that is killed when dropped.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn traffic_program() -> PathBuf {
    let program = Path::new(PROGRAM).with_file_name("examples").join("traffic");
    assert!(program.is_file(), "build it: cargo build --features load --examples");
    program
}

fn traffic(arguments: &[&str]) -> Command {
    let mut command = Command::new(traffic_program());
    command.args(arguments);
    command
}

fn run(arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(arguments).output().expect("the program runs")
}

fn says(arguments: &[&str]) -> String {
    let output = run(arguments);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {error}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn refuses(arguments: &[&str], code: i32, why: &str) {
    let output = run(arguments);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {error}");
    assert!(error.contains(why), "{arguments:?}: {error}");
}

fn is_registered(name: &str) -> bool {
    let names = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").expect("names");
    names.split_whitespace().any(|one| one == name)
}

/// Congestion controls of this namespace's connections from a local port.
fn controls(address: &str) -> Vec<String> {
    let output = Command::new("ss").args(["-tinH", "state", "established", "src", address]).output().expect("ss");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let known = |word: &&str| ["bbr", "cubic", "reno"].contains(word) || word.starts_with("fanin_");
    text.lines().filter_map(|line| line.split_whitespace().find(known)).map(String::from).collect()
}

/// Runs a test on a machine of its own, on a thread, whose namespaces end with it.
fn on_a_machine(name: &'static str, test: impl FnOnce(&Machine) + Send + 'static) {
    if support::skips() {
        return;
    }
    let turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    // Other runs of these tests on this machine take turns, too: any file will do that all of them see.
    let machine = fs::File::open("/sys/kernel/btf/vmlinux").expect("the kernel's types");
    machine.lock().expect("a lock");
    thread::spawn(move || test(&Machine::new(name))).join().expect("the test passes");
    drop((machine, turn));
}

/// Open connections of a server, one for each control that is asked for by a request.
fn connection(address: &str) -> Killed {
    let mut child = traffic(&["keep", address]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a client");
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().expect("a pipe")).read_line(&mut line).expect("it is connected");
    Killed(child)
}

#[test]
fn loads_selects_by_socket_and_unloads() {
    on_a_machine("load", |_| {
        assert!(says(&["load", "gss", "--over", "reno"]).contains("loaded as fanin_gss_reno"));
        assert!(is_registered("fanin_gss_reno"), "it outlives its loader");
        refuses(&["load", "gss", "--over", "reno"], 2, "loaded already");
        assert!(says(&["status"]).contains("/sys/fs/bpf/fanin/fanin_gss_reno"));
        let lines = says(&["list", "--json"]);
        let listed: Value = serde_json::from_str(&lines).expect("JSON");
        assert_eq!((&listed[0]["loaded"], &listed[1]["loaded"]), (&true.into(), &false.into()));
        assert!(says(&["unload"]).contains("unloaded newreno+gss"));
        assert!(!is_registered("fanin_gss_reno"));
        assert_eq!(says(&["status"]), "nothing is loaded\n");
        assert_eq!(says(&["unload"]), "nothing was loaded\n");
    });
}

#[test]
fn checks_name_a_missing_bpffs() {
    on_a_machine("check", |_| {
        assert!(says(&["check"]).contains("bpffs              ok"));
        nix::mount::umount("/sys/fs/bpf").expect("it is unmounted");
        refuses(&["check"], 3, "1 of 8 requirements");
        refuses(&["load", "gss"], 3, "mount -t bpf bpf /sys/fs/bpf");
        assert!(!is_registered("fanin_gss_cubic"));
    });
}

#[test]
fn selects_by_cgroup_until_unloaded() {
    on_a_machine("select", |machine| {
        let (_server, address) = machine.serve(1_000);
        let before = connection(&address);
        let cgroup = machine.cgroup.to_str().expect("a path");
        says(&["load", "gss", "--over", "cubic", "--cgroup", cgroup]);
        refuses(&["load", "gss", "--over", "cubic", "--cgroup", cgroup], 2, "selected for");
        let during = connection(&address);
        let mut found = controls(&address);
        found.sort();
        assert_eq!((found.len(), found[1].as_str()), (2, "fanin_gss_cubic"), "{found:?}");
        says(&["unload"]);
        let after = connection(&address);
        let found = controls(&address);
        assert_eq!(found.iter().filter(|name| *name == "fanin_gss_cubic").count(), 1, "{found:?}");
        drop((before, during, after));
    });
}

#[test]
fn canary_ends_at_its_deadline() {
    on_a_machine("deadline", |machine| {
        let (_server, address) = machine.serve(100);
        let canary = machine.canary();
        let trial = thread::spawn(move || {
            says(&["load", "gss", "--over", "reno", "--canary", &canary, "--for", "6s", "--json"])
        });
        wait_for_trial();
        let asked = traffic(&["ask", &address, "200", "2"]).output().expect("requests");
        assert_eq!(String::from_utf8_lossy(&asked.stdout).trim(), "40000");
        let report: Value = serde_json::from_str(&trial.join().expect("the trial passes")).expect("JSON");
        let count = |part: &str, key: &str| report[part][key].as_u64().expect("a count");
        assert_eq!(report["ended"], "deadline", "{report}");
        assert_eq!(report["verdict"], "no_difference", "{report}");
        assert_eq!(count("treated", "connections") + count("untouched", "connections"), 400, "{report}");
        assert!((120..=280).contains(&count("treated", "connections")), "about a half: {report}");
        assert!(!is_registered("fanin_gss_reno"));
    });
}

/// Waits until a trial runs.
fn wait_for_trial() {
    wait_until("a trial", || is_registered("fanin_gss_reno"));
    // The cgroup's program is attached after the registration, and a connection to look for it would count in the trial.
    thread::sleep(Duration::from_millis(300));
}

#[test]
fn canary_is_taken_back_when_worse() {
    on_a_machine("worse", |machine| {
        // Ten segments: one window of ten, or windows of 2, 4 and 8.
        assert!(Command::new("ip").args(["link", "set", "lo", "mtu", "1500"]).status().expect("ip").success());
        let (_server, address) = machine.serve(14_000);
        let canary = machine.canary();
        let trial = thread::spawn(move || {
            run(&["load", "gss", "--over", "reno", "--canary", &canary, "--for", "60s", "--json"])
        });
        wait_for_trial();
        for _ in 0..40 {
            let asked = traffic(&["ask", &address, "100", "2"]).output().expect("requests");
            assert!(asked.status.success());
            if !is_registered("fanin_gss_reno") {
                break;
            }
        }
        let output = trial.join().expect("the trial ends");
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(output.status.code(), Some(1), "{report}");
        assert_eq!((&report["ended"], &report["verdict"]), (&"worse".into(), &"worse".into()), "{report}");
        assert_eq!(report["figures"][0]["figure"], "transfer time", "{report}");
        assert!(!is_registered("fanin_gss_reno"));
    });
}

#[test]
fn kill_leaves_nothing_of_a_canary() {
    on_a_machine("kill", |machine| {
        let (_server, address) = machine.serve(1_000);
        let canary = machine.canary();
        let mut command = Command::new(PROGRAM);
        command.args(["load", "gss", "--over", "reno", "--canary", &canary, "--for", "60s", "--share", "99%"]);
        let mut trial = command.stdout(Stdio::null()).spawn().expect("a trial");
        wait_for_trial();
        let during: Vec<Killed> = (0..8).map(|_| connection(&address)).collect();
        let treated = controls(&address).iter().filter(|name| *name == "fanin_gss_reno").count();
        assert!(treated >= 5, "{treated} of 8, 99 % expected");
        assert!(says(&["status"]).contains("held by a running program"));
        refuses(&["load", "gss", "--over", "reno"], 2, "held by a running program");
        trial.kill().expect("it is killed");
        trial.wait().expect("it ends");
        wait_until("the registration ends with its process", || !is_registered("fanin_gss_reno"));
        drop(during);
        let after: Vec<Killed> = (0..8).map(|_| connection(&address)).collect();
        let found = controls(&address);
        assert_eq!(found.iter().filter(|name| name.starts_with("fanin_")).count(), 0, "{found:?}");
        drop(after);
        says(&["load", "gss", "--over", "reno"]);
        says(&["unload"]);
    });
}

#[test]
fn connections_return_at_the_end() {
    on_a_machine("return", |machine| {
        let (_server, address) = machine.serve(1_000);
        let canary = machine.canary();
        let mut command = Command::new(PROGRAM);
        command.args(["load", "gss", "--over", "reno", "--canary", &canary, "--for", "3s", "--share", "99%", "--json"]);
        let trial = command.stdout(Stdio::piped()).spawn().expect("a trial");
        wait_for_trial();
        let mut open = connection(&address);
        assert_eq!(controls(&address), ["fanin_gss_reno"], "with 99 % chance");
        // One request every 100 ms, so that a packet passes after the end.
        for _ in 0..50 {
            let input = open.0.stdin.as_mut().expect("a pipe");
            input.write_all(b"\n").expect("a request");
            thread::sleep(Duration::from_millis(100));
        }
        let output = trial.wait_with_output().expect("the trial ends");
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!((&report["returned"], &report["verdict"]), (&1.into(), &"too_few".into()), "{report}");
        assert!(controls(&address).iter().all(|name| !name.starts_with("fanin_")), "{:?}", controls(&address));
    });
}

#[test]
fn bad_input_is_refused_with_a_remedy() {
    refuses(&["load", "gss", "--canary", "cgroup=no/such/group", "--for", "1m"], 2, "no such cgroup");
    refuses(&["load", "gss", "--canary", "/sys/fs/cgroup", "--for", "1m"], 2, "use cgroup=PATH");
    refuses(&["load", "gss", "--canary", "cgroup=/tmp", "--for", "1m"], 2, "cgroup v2");
    refuses(&["load", "gss", "--over", "vegas"], 2, "possible values");
    refuses(&["load", "gss", "--canary", "cgroup=/", "--for", "10"], 2, "90s, 10m or 1h");
    refuses(&["load", "gss", "--json"], 2, "--canary");
    refuses(&["hold", "d2tcp"], 2, "use newreno+gss");
}

#[test]
fn says_that_it_needs_root() {
    if support::skips() {
        return;
    }
    let turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("fanin-kernel");
    fs::copy(PROGRAM, &copy).expect("a copy that others can read");
    fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a mode");
    for arguments in [&["load", "gss"][..], &["status"], &["check"]] {
        let output = Command::new(&copy).args(arguments).uid(65_534).gid(65_534).output().expect("it runs");
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        assert_eq!(output.status.code(), Some(3), "{arguments:?}: {text}");
        assert!(text.contains("sudo"), "{arguments:?}: {text}");
    }
    drop(turn);
}

/// A server and a client with a router between them, in namespaces `s`, `c` and `r` below a /run of their own.
const NETWORK: &str = "set -e
for name in s c r; do ip netns add $name; done
for name in s:1 c:2; do
    host=${name%:*} net=10.7.${name#*:}
    ip link add name to$host netns r type veth peer name eth0 netns $host
    ip -n r addr add $net.1/24 dev to$host && ip -n r link set to$host up gso_max_segs 1
    ip -n $host addr add $net.2/24 dev eth0 && ip -n $host link set eth0 up gso_max_segs 1
    ip -n $host route add default via $net.1
done
ip netns exec r sysctl -qw net.ipv4.ip_forward=1
ip netns exec r tc qdisc add dev toc root handle 1: htb default 1
ip netns exec r tc class add dev toc parent 1: classid 1:1 htb rate 100mbit burst 1600 cburst 1600 quantum 1514
ip netns exec r tc qdisc add dev toc parent 1:1 handle 10: bfifo limit 110000";

fn within(namespace: &str, mut command: Command) -> Command {
    let mut outer = Command::new("ip");
    outer.args(["netns", "exec", namespace]).arg(command.get_program()).args(command.get_args());
    command.stdin(Stdio::null());
    outer
}

/// Congestion windows of the server's connections.
fn windows() -> Vec<String> {
    let output = Command::new("ip").args(["netns", "exec", "s", "ss", "-tinH"]).output();
    let text = String::from_utf8_lossy(&output.expect("ss").stdout).into_owned();
    text.split_whitespace().filter_map(|word| word.strip_prefix("cwnd:")).map(String::from).collect()
}

/// A program that holds others, and answers a line with its counters.
fn hold(arguments: &[&str]) -> Killed {
    let mut command = Command::new(PROGRAM);
    command.arg("hold").args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut held = Killed(command.spawn().expect("it starts"));
    assert_eq!(line_of(&mut held), "ready");
    held
}

fn line_of(held: &mut Killed) -> String {
    let mut line = Vec::new();
    let output = held.0.stdout.as_mut().expect("a pipe");
    while line.last() != Some(&b'\n') {
        let mut byte = [0];
        std::io::Read::read_exact(output, &mut byte).expect("a line");
        line.extend(byte);
    }
    String::from_utf8(line).expect("text").trim().to_string()
}

fn counters_of(held: &mut Killed) -> Value {
    held.0.stdin.as_mut().expect("a pipe").write_all(b"\n").expect("a line");
    serde_json::from_str(&line_of(held)).expect("JSON")
}

/// Connections of long transfers from the server to the client.
fn transfers(count: usize) -> Vec<Killed> {
    let mut processes =
        vec![Killed(within("s", traffic(&["serve", "10.7.1.2:5000", "100000000"])).spawn().expect("a server"))];
    thread::sleep(Duration::from_millis(300));
    for _ in 0..count {
        let ask = within("c", traffic(&["ask", "10.7.1.2:5000", "1", "1"])).stdout(Stdio::null()).spawn();
        processes.push(Killed(ask.expect("a client")));
    }
    processes
}

fn builds_network() {
    mount(Some("run"), "/run", Some("tmpfs"), MsFlags::empty(), None::<&str>).expect("a /run of its own");
    assert!(Command::new("sh").args(["-c", NETWORK]).status().expect("sh").success(), "the network");
}

/// Selects a congestion control on both hosts.
fn selects_by_route(name: &str) {
    for (host, router) in [("s", "10.7.1.1"), ("c", "10.7.2.1")] {
        let route = ["-n", host, "route", "change", "default", "via", router, "congctl", name];
        assert!(Command::new("ip").args(route).status().expect("ip").success(), "{host}");
    }
}

#[test]
fn routers_assign_windows_that_senders_keep() {
    on_a_machine("m21", |_| {
        builds_network();
        let hosts = ["--m21-host", "/run/netns/s", "--m21-host", "/run/netns/c"];
        let mut held = hold(&[&["--m21-port", "/run/netns/r:toc:100000"][..], &hosts].concat());
        selects_by_route("reno");
        let processes = transfers(2);
        // (100,000 - 42 * 2) / 2 B, less 8 B of the option, in segments of 1,448 B.
        wait_for("both windows", || if windows() == ["34", "34"] { Ok(()) } else { Err(windows()) });
        drop(processes);
        let counters = counters_of(&mut held);
        let [written, clamped, failed] = [0, 1, 2].map(|place| counters["m21_host"][place].as_u64().expect("a count"));
        assert!(written > 100 && clamped >= 2 && failed == 0, "{counters}");
        assert!(counters["m21_port"][0][2].as_u64() > Some(100) && counters["m21_port"][0][3] == 0, "{counters}");
    });
}

#[test]
fn ports_mark_above_their_threshold() {
    on_a_machine("marks", |_| {
        builds_network();
        let mut held = hold(&["dctcp", "--mark", "/run/netns/r:toc:30000"]);
        selects_by_route("fanin_dctcp");
        let processes = transfers(1);
        thread::sleep(Duration::from_millis(1_500));
        let window: u32 = windows()[0].parse().expect("a number");
        // 30,000 B are 20 frames; a window of 110,000 B would fill the buffer.
        assert!((12..=30).contains(&window), "{window}");
        assert!(counters_of(&mut held)["mark"][0][0].as_u64() > Some(100), "marks");
        drop(processes);
    });
}

/// Runs a command on this machine, which succeeds.
fn ip(arguments: &[&str]) {
    assert!(Command::new("ip").args(arguments).status().expect("ip").success(), "{arguments:?}");
}

/// Whether programs are at a loopback device, which has number 1 in every network namespace.
fn grants() -> bool {
    let at_loopback = |link: LinkInfo| matches!(link.info, LinkTypeInfo::Tcx(tcx) if tcx.ifindex == 1);
    let filters = Command::new("tc").args(["filter", "show", "dev", "lo", "egress"]).output().expect("tc");
    LinkInfoIter::default().any(at_loopback) || String::from_utf8_lossy(&filters.stdout).contains("grants_leaves")
}

#[test]
fn grants_at_a_device_and_takes_it_back() {
    on_a_machine("grants", |machine| {
        refuses(&["load", "grants"], 2, "--device");
        refuses(&["load", "grants", "--device", "nowhere", "--rate-mbit", "1000"], 2, "network devices");
        refuses(&["load", "grants", "--device", "lo"], 2, "does not report its rate");
        refuses(&["load", "gss", "--device", "lo"], 2, "is for grants");
        ip(&["link", "set", "lo", "mtu", "1500"]);
        let load = ["load", "grants", "--device", "lo", "--rate-mbit", "1000"];
        assert!(says(&load).contains("loaded at lo"));
        refuses(&load, 2, "loaded at lo already");
        assert!(grants());
        let listed: Value = serde_json::from_str(&says(&["list", "--json"])).expect("JSON");
        let row = listed.as_array().expect("rows").last().expect("a row");
        assert_eq!((&row["control"]["scheme"], &row["loaded"]), (&"grants".into(), &true.into()));
        assert!(says(&["status"]).starts_with("grants: network device 1 (lo)"));
        let (_server, address) = machine.serve(200_000);
        let asked = traffic(&["ask", &address, "20", "8"]).output().expect("requests");
        assert_eq!(String::from_utf8_lossy(&asked.stdout).trim(), (20 * 8 * 200_000).to_string());
        let status: Value = serde_json::from_str(&says(&["status", "--json"])).expect("JSON");
        let counted = &status[0]["counted"];
        assert_eq!(
            (&counted["name"], &counted["failed"], &counted["waiting"]),
            (&"lo".into(), &0.into(), &0.into()),
            "{status}"
        );
        assert!(counted["lowered"].as_u64() > Some(100), "{status}");
        assert!(says(&["unload", "grants"]).contains("unloaded grants"));
        assert!(!grants());
        assert!(says(&["unload"]).contains("nothing was loaded"));
    });
}

#[test]
fn kill_leaves_nothing_of_a_trial_of_grants() {
    on_a_machine("killed", |machine| {
        let trial = ["--canary", &machine.canary(), "--for", "1m"];
        let load = ["load", "grants", "--device", "lo", "--rate-mbit", "1000"];
        let mut trial =
            Killed(Command::new(PROGRAM).args(load).args(trial).stdout(Stdio::null()).spawn().expect("a trial"));
        wait_until("the trial begins", grants);
        trial.0.kill().expect("it is killed");
        trial.0.wait().expect("it ends");
        wait_until("the kernel removes the programs, or `unload` does", || {
            !grants() || says(&["unload"]).contains("unloaded grants")
        });
        assert!(!grants());
    });
}

#[test]
fn trial_of_grants_measures_both_halves_and_leaves_nothing() {
    on_a_machine("granting", |machine| {
        ip(&["link", "set", "lo", "mtu", "1500"]);
        let (_server, address) = machine.serve(40_000);
        let trial = ["--canary", &machine.canary(), "--for", "4s", "--keep-when-worse", "--json"];
        let load = ["load", "grants", "--device", "lo", "--rate-mbit", "1000"];
        let trial = Command::new(PROGRAM).args(load).args(trial).stdout(Stdio::piped()).spawn().expect("a trial");
        wait_until("the trial begins", grants);
        let join = format!("echo $$ > {}/cgroup.procs && exec \"$@\"", machine.cgroup.display());
        let mut client = Command::new("sh");
        client.args(["-c", &join, "sh"]).arg(traffic_program()).args(["ask", &address, "50", "4"]);
        assert!(client.output().expect("requests").status.success());
        let output = trial.wait_with_output().expect("the trial ends");
        let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
        for part in ["treated", "untouched"] {
            assert!(report[part]["connections"].as_u64() > Some(20), "{report}");
            assert!(report[part]["transfers"].as_u64() > Some(10), "{report}");
        }
        assert_eq!(report["ended"], "deadline", "{report}");
        assert!(!grants());
    });
}

/// Runs the program in the network namespace `c`, but with this machine's mounts, of which `ip netns` replaces bpffs.
fn kernel_in_c(arguments: &[&str]) -> Output {
    Command::new("nsenter").args(["--net=/run/netns/c", PROGRAM]).args(arguments).output().expect("nsenter")
}

/// Clients in namespace `c` whose port to the router drops, with other settings of TCP, over IPv6, and over a VLAN.
#[test]
fn grants_over_lossy_ports_other_scales_and_ipv6() {
    on_a_machine("paths", |_| {
        builds_network();
        let setup = "ip -n c addr add fd00:2::2/64 dev eth0 nodad && ip -n r addr add fd00:2::1/64 dev toc nodad
            ip -n s addr add fd00:1::2/64 dev eth0 nodad && ip -n r addr add fd00:1::1/64 dev tos nodad
            ip -n c -6 route add default via fd00:2::1 && ip -n s -6 route add default via fd00:1::1
            ip netns exec r sysctl -qw net.ipv6.conf.all.forwarding=1
            ip netns exec r tc qdisc change dev toc parent 1:1 handle 10: bfifo limit 20000";
        assert!(Command::new("sh").args(["-ec", setup]).status().expect("sh").success(), "addresses");
        let load = ["load", "grants", "--device", "eth0", "--rate-mbit", "100", "--queue", "60000"];
        assert!(kernel_in_c(&load).status.success(), "{load:?}");
        for (address, setting) in [
            ("10.7.1.2:5000", "net.ipv4.tcp_rmem=4096 131072 6291456"),
            ("10.7.1.2:5001", "net.ipv4.tcp_window_scaling=0"),
            ("[fd00:1::2]:5002", "net.ipv4.tcp_window_scaling=1"),
            ("10.7.1.2:5003", "net.ipv4.tcp_rmem=4096 131072 1073741824"),
            ("[fd00:1::2]:5004", "net.ipv4.tcp_timestamps=0"),
            ("10.7.1.2:5005", "net.ipv4.tcp_sack=0"),
        ] {
            let mut set = Command::new("sysctl");
            set.args(["-qw", setting]);
            assert!(within("c", set).status().expect("sysctl").success(), "{setting}");
            let _server = Killed(within("s", traffic(&["serve", address, "60000"])).spawn().expect("a server"));
            wait_until("the server listens", || {
                let mut list = Command::new("ss");
                list.args(["-ltnH"]);
                let output = within("s", list).output().expect("ss");
                let port = address.rsplit(':').next().expect("a port");
                String::from_utf8_lossy(&output.stdout).contains(&format!(":{port}"))
            });
            let asked = within("c", traffic(&["ask", address, "3", "6"])).output().expect("requests");
            let bytes = String::from_utf8_lossy(&asked.stdout).trim().to_string();
            assert_eq!(bytes, (3 * 6 * 60_000).to_string(), "{address} with {setting}");
        }
        let status: Value = serde_json::from_slice(&kernel_in_c(&["status", "--json"]).stdout).expect("JSON");
        let counted = &status[0]["counted"];
        assert_eq!((&counted["failed"], &counted["waiting"]), (&0.into(), &0.into()), "{status}");
        assert!(counted["lowered"].as_u64() > Some(100), "{status}");
        assert!(kernel_in_c(&["unload"]).status.success());
    });
}

#[test]
fn grants_end_at_their_deadline() {
    on_a_machine("until", |machine| {
        ip(&["link", "set", "lo", "mtu", "1500"]);
        let load = ["load", "grants", "--device", "lo", "--rate-mbit", "1000", "--for", "1s"];
        assert!(says(&load).contains("grants nothing after 1 s"));
        thread::sleep(Duration::from_millis(1_200));
        let (_server, address) = machine.serve(100_000);
        assert!(traffic(&["ask", &address, "20", "4"]).output().expect("requests").status.success());
        let status: Value = serde_json::from_str(&says(&["status", "--json"])).expect("JSON");
        assert_eq!(status[0]["counted"]["lowered"], 0, "{status}");
        assert!(says(&["unload"]).contains("unloaded grants"));
        refuses(&["load", "gss", "--for", "1m"], 2, "--canary");
    });
}

/// Bytes that the client's device has received, and when that was.
#[expect(clippy::disallowed_methods, reason = "a rate is of wall-clock time")]
fn received() -> (Instant, u64) {
    let mut cat = Command::new("cat");
    cat.arg("/proc/net/dev");
    let output = within("c", cat).output().expect("counters");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix("eth0:")).expect("the device");
    (Instant::now(), line.split_whitespace().next().expect("a counter").parse().expect("a number"))
}

/// Packets that the router's port to the client has dropped.
fn drops() -> u64 {
    let mut show = Command::new("tc");
    show.args(["-s", "-j", "qdisc", "show", "dev", "toc"]);
    let found: Value = serde_json::from_slice(&within("r", show).output().expect("tc").stdout).expect("JSON");
    found.as_array().expect("queues").iter().map(|queue| queue["drops"].as_u64().expect("a count")).sum()
}

/// Eight clients in a cgroup, each with one long response.
fn clients_in(machine: &Machine) -> Killed {
    let join = format!("echo $$ > {}/cgroup.procs && exec \"$@\"", machine.cgroup.display());
    let mut client = Command::new("sh");
    let ask = within("c", traffic(&["ask", "10.7.1.2:5000", "1", "8"]));
    client.args(["-c", &join, "sh"]).arg(ask.get_program()).args(ask.get_args());
    Killed(client.stdout(Stdio::null()).spawn().expect("clients"))
}

/// Arguments that load a limit of a cgroup.
fn limits<'a>(cgroup: &'a str, limit: &'a str) -> [&'a str; 8] {
    ["load", "grants", "--device", "eth0", "--cgroup", cgroup, "--limit", limit]
}

/// Limits and cgroups that are refused.
fn refuses_limits(cgroup: &str) {
    for (limit, why) in [
        ("0", "100kbit/s"),
        ("20MB/s", "bit/s with k, M or G"),
        ("20Gbit/s", "--limit of 20000 Mbit/s is above the rate of eth0, 10000 Mbit/s"),
    ] {
        let output = kernel_in_c(&limits(cgroup, limit));
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && error.contains(why), "{limit}: {error}");
    }
    let output = kernel_in_c(&limits("no/such.slice", "20M"));
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && error.contains("no such cgroup"), "{error}");
}

#[test]
fn a_cgroup_receives_its_limit_from_the_first_second() {
    const LIMIT: f64 = 20e6;
    on_a_machine("limit", |machine| {
        builds_network();
        let cgroup = machine.cgroup.to_str().expect("a path");
        refuses_limits(cgroup);
        assert_eq!(kernel_in_c(&limits(cgroup, "20Mbit/s")).status.code(), Some(0));
        let status = String::from_utf8(kernel_in_c(&["status"]).stdout).expect("text");
        assert!(status.contains("(eth0), limited to 20 Mbit/s"), "{status}");
        let again = kernel_in_c(&limits(cgroup, "10Mbit/s"));
        assert_eq!(again.status.code(), Some(2), "one limit a device");

        let server = Killed(within("s", traffic(&["serve", "10.7.1.2:5000", "100000000"])).spawn().expect("a server"));
        wait_until("the server listens", || {
            let mut list = Command::new("ss");
            list.args(["-ltnH"]);
            String::from_utf8_lossy(&within("s", list).output().expect("ss").stdout).contains(":5000")
        });
        let before = received();
        let clients = clients_in(machine);
        wait_until("data", || received().1 > before.1 + 5_000);
        let mut last = received();
        for second in 1..=4 {
            thread::sleep(Duration::from_secs(1));
            let now = received();
            let rate = (now.1 - last.1) as f64 * 8.0 / (now.0 - last.0).as_secs_f64();
            assert!((0.95 * LIMIT..=1.05 * LIMIT).contains(&rate), "{rate} bit/s in second {second}");
            last = now;
        }
        assert_eq!(drops(), 0);
        let status: Value = serde_json::from_slice(&kernel_in_c(&["status", "--json"]).stdout).expect("JSON");
        let counted = &status[0]["counted"];
        assert_eq!(
            (&counted["limit"], &counted["failed"], &counted["stalls"]),
            (&20_000_000.into(), &0.into(), &0.into())
        );
        drop(clients);

        // Programs elsewhere are not limited: the port's rate is 100 Mbit/s.
        let before = received();
        let others = Killed(within("c", traffic(&["ask", "10.7.1.2:5000", "1", "8"])).spawn().expect("clients"));
        wait_until("more than the limit", || {
            let now = received();
            (now.1 - before.1) as f64 * 8.0 > 2.0 * LIMIT * (now.0 - before.0).as_secs_f64()
                && now.1 > before.1 + 5_000_000
        });
        drop(others);
        assert!(kernel_in_c(&["unload"]).status.success());

        // The same rate by the router's queue drops packets.
        let dropped = drops();
        let mut queue = Command::new("tc");
        queue.args("qdisc replace dev toc root tbf rate 20mbit burst 32k latency 25ms".split(' '));
        assert!(within("r", queue).status().expect("tc").success());
        let clients = clients_in(machine);
        wait_until("drops", || drops() != dropped && drops() > 0);
        drop((clients, server));
    });
}

#[test]
fn grants_end_with_their_network_namespace() {
    on_a_machine("deleted", |_| {
        builds_network();
        let load = ["load", "grants", "--device", "eth0"];
        assert!(kernel_in_c(&load).status.success());
        assert_eq!(fs::read_dir("/sys/fs/bpf/fanin").expect("pins").count(), 4);
        ip(&["netns", "del", "c"]);
        wait_until("no pin is left", || fs::read_dir("/sys/fs/bpf/fanin").map_or(0, Iterator::count) == 0);
        // The router's device ends with its peer in the namespace.
        wait_until("the namespace ends", || {
            let show = Command::new("ip").args(["-n", "r", "link", "show", "toc"]).output();
            !show.expect("ip").status.success()
        });
    });
}

/// A node's API server, as far as `limit-pods` uses it, in place of `curl`; and a pod's cgroup.
struct Node {
    folder: tempfile::TempDir,
    cgroup: PathBuf,
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.cgroup);
    }
}

impl Node {
    fn new(machine: &Machine) -> Node {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("bin")).expect("a folder");
        fs::write(path("bin/curl"), format!("#!/bin/sh\ncat {}\n", path("pods.json").display())).expect("a program");
        std::os::unix::fs::symlink(PROGRAM, path("bin/fanin-kernel")).expect("a link");
        fs::set_permissions(path("bin/curl"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a mode");
        fs::write(path("token"), "secret").expect("a token");
        let cgroup = machine.cgroup.join("kubepods-burstable-pod0a1b_2c.slice");
        fs::create_dir(&cgroup).expect("a cgroup");
        Node { folder, cgroup }
    }

    /// The node's pods have this annotation, and `limit-pods` looks at them; returns the status in the pod's network.
    fn looks(&self, machine: &Machine, annotations: &str) -> String {
        let pod = |uid: &str, host: bool, annotations: &str| {
            format!(
                r#"{{"metadata": {{"uid": "{uid}", "annotations": {annotations}}}, "spec": {{"hostNetwork": {host}}}, "status": {{"phase": "Running"}}}}"#
            )
        };
        let others = [pod("7-7", false, "null"), pod("8-8", true, r#"{"kubernetes.io/ingress-bandwidth": "1M"}"#)];
        let pods = format!(r#"{{"items": [{}, {}]}}"#, pod("0a1b-2c", false, annotations), others.join(", "));
        fs::write(self.folder.path().join("pods.json"), pods).expect("a list");
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../packaging/kubernetes/limit-pods");
        let run = format!("PATH={}/bin:$PATH exec \"$@\"", self.folder.path().display());
        let mut command = Command::new("sh");
        command.args(["-c", &run, "sh"]).arg(program).arg("--once").env("CGROUPS", &machine.cgroup);
        command.env("ACCOUNT", self.folder.path()).env("STATE", self.folder.path().join("state"));
        command.envs([
            ("NODE_NAME", "here"),
            ("KUBERNETES_SERVICE_HOST", "10.0.0.1"),
            ("KUBERNETES_SERVICE_PORT", "443"),
        ]);
        let output = command.output().expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(kernel_in_c(&["status"]).stdout).expect("text")
    }
}

#[test]
fn pods_are_limited_by_their_annotation() {
    if Command::new("jq").arg("--version").output().is_err() {
        eprintln!("skipped: there is no jq");
        return;
    }
    on_a_machine("pods", |machine| {
        builds_network();
        let node = Node::new(machine);
        let mut pod = Command::new("sleep");
        pod.arg("600");
        let pod = Killed(within("c", pod).spawn().expect("a pod's process"));
        // `ip netns exec` has become the program once it is in the namespace.
        wait_until("the pod's network", || {
            let link = |process: &str| fs::read_link(format!("/proc/{process}/ns/net")).expect("a namespace");
            link(&pod.0.id().to_string()) != link("thread-self")
        });
        fs::write(node.cgroup.join("cgroup.procs"), pod.0.id().to_string()).expect("it joins");
        let limited = |rate: &str| format!(r#"{{"kubernetes.io/ingress-bandwidth": "{rate}"}}"#);
        assert_eq!(node.looks(machine, "{}"), "nothing is loaded\n");
        for (rate, says) in
            [("20M", "limited to 20 Mbit/s"), ("20M", "limited to 20 Mbit/s"), ("1.5M", "limited to 1.5 Mbit/s")]
        {
            let status = node.looks(machine, &limited(rate));
            assert!(status.contains(says), "{status}");
        }
        let status = node.looks(machine, &limited("fast"));
        assert!(status.starts_with("nothing is loaded"), "{status}");
        assert!(node.looks(machine, &limited("1.5M")).contains("limited to 1.5 Mbit/s"), "it is limited again");
        assert_eq!(node.looks(machine, "null"), "nothing is loaded\n");
        drop(pod);
        wait_until("its cgroup is empty", || {
            fs::read_to_string(node.cgroup.join("cgroup.procs")).is_ok_and(|text| text.is_empty())
        });
    });
}
