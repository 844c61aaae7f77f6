//! `fanin front` as a process: invalid configurations, messages, and its end.
#![expect(clippy::disallowed_types, reason = "simple servers and clients")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::common::program;
use fanin_testing::{LIMIT, own_address, wait_for, wait_for_exit, wait_until};

const RIGHT: &str = "[[pool]]\nlisten = \"127.0.0.1:0\"\nservers = [\"127.0.0.1:1\"]\n";

fn front() -> Command {
    let mut command = program();
    command.arg("front");
    command
}

#[test]
fn invalid_file_exits_2_with_line_and_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("front.toml");
    fs::write(&file, format!("{RIGHT}hash = \"md4\"\n")).unwrap();
    let output = front().arg("--config").arg(&file).arg("--check").output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("front.toml:4: unknown value `md4`: use one of one_at_a_time, md5"), "{told}");
    fs::write(&file, format!("{RIGHT}plan = \"{}\"\n", folder.path().display())).unwrap();
    let output = front().arg("--config").arg(&file).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("front.toml:4: ") && told.contains("plan.json: No such file"), "{told}");
    let output = front().args(["--listen", "127.0.0.1:0", "--servers", "nowhere"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("--servers nowhere: `nowhere` is not a server"));
}

#[test]
fn check_accepts_a_valid_file_without_listening() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("front.toml");
    fs::write(&file, RIGHT).unwrap();
    let output = front().arg("--config").arg(&file).args(["--check", "--threads", "3"]).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "configuration OK: 1 pool, 1 server, 3 threads\n");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn sigterm_ends_it_gracefully() {
    let listen = ["--listen", "127.0.0.1:0", "--servers", "127.0.0.1:1"];
    let mut child = front().args(listen).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("front listens on 127.0.0.1:"), "{line}");
    Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn sighup_reloads_and_a_bad_file_keeps_the_old_settings() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("front.toml");
    fs::write(&file, RIGHT).unwrap();
    let mut child = front().arg("--config").arg(&file).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (said, warned) = (lines(child.stdout.take().unwrap()), lines(child.stderr.take().unwrap()));
    let next = |lines: &mpsc::Receiver<String>, text: &str| loop {
        let line = lines.recv_timeout(LIMIT).unwrap();
        if line.contains(text) {
            return line;
        }
    };
    next(&said, "pool0 listens on ");
    let hangup = || Command::new("kill").args(["-HUP", &child.id().to_string()]).status().unwrap();
    fs::write(&file, RIGHT.replace("\"127.0.0.1:1\"", "\"127.0.0.1:1\", \"127.0.0.1:2\"")).unwrap();
    hangup();
    assert!(next(&said, "pool0 listens on ").ends_with("for 2 servers"));
    for (text, why) in [("servers = 3\n", ":4: "), ("threads = 7\n", "threads cannot change in a reload")] {
        fs::write(&file, if why.starts_with(':') { format!("{RIGHT}{text}") } else { format!("{text}{RIGHT}") })
            .unwrap();
        hangup();
        let line = next(&warned, "keeping the old settings: ");
        assert!(line.contains(why), "{line}");
    }
    assert!(child.try_wait().unwrap().is_none());
    Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn reload_and_diff_reach_the_running_proxy() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("front.toml");
    let at = own_address().to_string();
    let two = RIGHT.replace("127.0.0.1:0", &at);
    fs::write(&file, &two).unwrap();
    let ask = |how: &str| {
        let output = front().arg("--config").arg(&file).arg(how).output().unwrap();
        (output.status.code(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
    };
    assert_eq!(ask("--reload"), (Some(3), format!("error: no proxy is running at {at}\n")));
    let mut child = front().arg("--config").arg(&file).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let said = lines(child.stdout.take().unwrap());
    said.recv_timeout(LIMIT).unwrap();
    assert_eq!(ask("--diff"), (Some(0), "no changes\n".to_owned()));
    fs::write(&file, two.replace("\"127.0.0.1:1\"", "\"127.0.0.1:1\", \"127.0.0.1:2\"")).unwrap();
    let (code, told) = ask("--diff");
    assert!(code == Some(0) && told.contains("server 127.0.0.1:2 added") && told.contains(" % of the keys"), "{told}");
    assert_eq!(ask("--reload"), (Some(0), format!("pool0 listens on {at} for 2 servers\n")));
    assert_eq!(ask("--diff"), (Some(0), "no changes\n".to_owned()));
    fs::write(&file, format!("threads = 5\n{two}")).unwrap();
    assert!(ask("--diff").1.contains("a reload is refused: threads"));
    let (code, told) = ask("--reload");
    assert!(code == Some(2) && told.contains("keeping the old settings: threads"), "{told}");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn reload_is_for_root_and_the_front_ends_own_user() {
    const OWNER: u32 = 65534;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("front.toml");
    let at = own_address().to_string();
    fs::write(&file, RIGHT.replace("127.0.0.1:0", &at)).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let as_user = |user: u32| {
        let mut command = front();
        command.arg("--config").arg(&file).uid(user).gid(user);
        command
    };
    let Ok(mut child) = as_user(OWNER).stdout(Stdio::piped()).stderr(Stdio::null()).spawn() else {
        return println!("skipped: only root can start programs as other users, who must be able to run them");
    };
    let said = lines(child.stdout.take().unwrap());
    said.recv_timeout(LIMIT).unwrap();
    for (user, code) in [(0, 0), (OWNER, 0), (OWNER - 1, 3)] {
        let output = as_user(user).arg("--reload").output().unwrap();
        assert_eq!(output.status.code(), Some(code), "user {user}: {}", String::from_utf8_lossy(&output.stderr));
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn takes_over_sockets_of_systemd() {
    let Some(activate) = ["/usr/bin/systemd-socket-activate", "/bin/systemd-socket-activate"]
        .iter()
        .find(|path| std::path::Path::new(path).exists())
    else {
        return println!("skipped: no systemd-socket-activate on this machine");
    };
    let (folder, at) = (tempfile::tempdir().unwrap(), own_address().to_string());
    let (file, path) = (folder.path().join("front.toml"), folder.path().join("front.sock"));
    let unix = format!("unix:{}", path.display());
    let pools = [&at, &unix].map(|at| RIGHT.replace("127.0.0.1:0", at));
    fs::write(&file, pools.concat()).unwrap();
    let mut command = Command::new(activate);
    command.args(["--listen", &at, "--listen"]).arg(&path).arg(env!("CARGO_BIN_EXE_fanin"));
    command.args(["front", "--config"]).arg(&file).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    // The first connection starts the program, and waits for it.
    assert_eq!(wait_for("the program that the socket starts", || answer_at(&at).ok_or("no answer")), "MN");
    let mut stream = std::os::unix::net::UnixStream::connect(&path).unwrap();
    assert_eq!(answer(&mut stream).as_deref(), Some("MN"));
    // They go on to a successor, once the program takes commands: it serves clients a moment earlier.
    wait_until("it takes commands", || {
        front().arg("--config").arg(&file).arg("--diff").output().unwrap().status.code() == Some(0)
    });
    let mut command = front();
    command.arg("--config").arg(&file).arg("--take-over").stdout(Stdio::null()).stderr(Stdio::null());
    let mut next = command.spawn().unwrap();
    assert_eq!(wait_for_exit("the predecessor", &mut child).code(), Some(0));
    assert_eq!((answer_at(&at).as_deref(), answer(&mut stream).as_deref()), (Some("MN"), Some("MN")));
    let mut other = std::os::unix::net::UnixStream::connect(&path).unwrap();
    assert_eq!(answer(&mut other).as_deref(), Some("MN"));
    Command::new("kill").args(["-TERM", &next.id().to_string()]).status().unwrap();
    assert_eq!(next.wait().unwrap().code(), Some(0));
    assert!(path.exists(), "the file belongs to systemd");
}

/// Response to a request without a server.
fn answer(stream: &mut (impl Read + Write)) -> Option<String> {
    stream.write_all(b"mn\r\n").ok()?;
    let mut bytes = [0; 4];
    stream.read_exact(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).trim_end().to_owned())
}

#[expect(clippy::disallowed_types, reason = "a simple client")]
fn answer_at(at: &str) -> Option<String> {
    answer(&mut std::net::TcpStream::connect(at).ok()?)
}

/// Lines of a stream, as they come.
pub fn lines(stream: impl Read + Send + 'static) -> mpsc::Receiver<String> {
    let (send, lines) = mpsc::channel();
    thread::spawn(move || BufReader::new(stream).lines().map_while(Result::ok).try_for_each(|line| send.send(line)));
    lines
}

#[test]
fn a_refused_plan_is_not_applied_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let write = |table: &str| {
        fs::write(folder.path().join("placement.csv"), table).unwrap();
        let output = Command::new("sha256sum").arg(folder.path().join("placement.csv")).output().unwrap();
        let digest = String::from_utf8(output.stdout).unwrap()[..64].to_owned();
        let plan = serde_json::json!({"cluster": {"servers": 2, "replicas": 1}, "placement_sha256": digest});
        fs::write(folder.path().join("plan.json"), plan.to_string()).unwrap();
    };
    let file = folder.path().join("front.toml");
    let text = format!("{RIGHT}plan = \"{}\"\n", folder.path().display());
    fs::write(&file, text.replace("\"127.0.0.1:1\"]", "\"127.0.0.1:1\", \"127.0.0.1:2\"]")).unwrap();
    let check = || {
        let output = front().arg("--config").arg(&file).arg("--check").output().unwrap();
        (output.status.code(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
    };
    let rows: String = (0..8).map(|key| format!("{key}-key,{},\n", key % 2 + 1)).collect();
    write(&format!("key,server,was\n{rows}"));
    assert_eq!(check().0, Some(0));
    for _ in 0..2 {
        // Kill it after it has started the first plan.
        let mut child = front().arg("--config").arg(&file).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with("pool0 listens on "), "{line}");
        child.kill().unwrap();
        child.wait().unwrap();
        // This plan starts from a placement that no key has.
        let rows: String = (0..8).map(|key| format!("{key}-key,{},{}\n", key % 2 + 1, (key + 1) % 2 + 1)).collect();
        write(&format!("key,server,was\n{rows}"));
        let (code, told) = check();
        assert_eq!(code, Some(2), "{told}");
        assert!(told.contains("placement.csv: the plan does not start from the current placement"), "{told}");
    }
}

#[test]
fn names_the_owner_of_an_address_in_use() {
    let listen = ["--listen", "127.0.0.1:0", "--servers", "127.0.0.1:1"];
    let mut first = front().args(listen).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(first.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.split(' ').nth(3).expect("where it listens").to_owned();
    let output = front().args(["--listen", &address, "--servers", "127.0.0.1:1"]).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(output.status.code(), Some(3), "{told}");
    let who = format!("by fanin (process {})", first.id());
    assert!(told.contains(&format!("{address}: ")) && told.contains(&who), "{told}");
}

#[test]
fn import_prints_settings_and_what_does_not_map() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("nutcracker.yml");
    let import = |text: &str| {
        fs::write(&file, text).unwrap();
        let output = front().arg("--import").arg(&file).output().unwrap();
        let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        (output.status.code(), out, err)
    };
    let pool = "alpha:\n  listen: 127.0.0.1:0\n  timeout: 400\n  backlog: 1024\n  servers:\n   - 127.0.0.1:1:2 one\n";
    let (code, out, err) = import(pool);
    assert_eq!((code, err.contains("nutcracker.yml:4: `backlog`")), (Some(0), true), "{err}");
    let made = folder.path().join("front.toml");
    fs::write(&made, out).unwrap();
    let output = front().arg("--config").arg(&made).arg("--check").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let (code, out, err) = import(&format!("{pool}  hash_tag: \"{{}}\"\n"));
    assert_eq!((code, out.contains("[[pool]]")), (Some(2), true));
    assert!(err.contains("error: ") && err.contains("nutcracker.yml:7: `hash_tag: {}`"), "{err}");
    let (code, out, err) = import("alpha:\n  listen: nowhere\n");
    assert_eq!(
        (code, out.as_str(), err.contains("nutcracker.yml:2: `nowhere` is not an address")),
        (Some(2), "", true)
    );
    let output = front().args(["--import", "/none.yml"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let output = front().arg("--import").arg(&file).arg("--check").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

/// A server without values that takes this long for a get; returns its address.
pub fn empty_server(delay: Duration) -> String {
    server(move |_| {
        thread::sleep(delay);
        "END\r\n".to_owned()
    })
}

/// A server that responds to lines; returns its address.
pub fn server(response: impl Fn(&str) -> String + Clone + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let response = response.clone();
            thread::spawn(move || {
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                while let Some(Ok(line)) = lines.next() {
                    stream.write_all(response(&line).as_bytes()).unwrap();
                }
            });
        }
    });
    address
}

#[test]
fn messages_have_figures_as_json() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("front.toml");
    let (fast, slow) = (empty_server(Duration::ZERO), empty_server(Duration::from_millis(200)));
    let text = format!(
        "threads = 1\n[messages]\nformat = \"json\"\n[metrics]\nlisten = \"127.0.0.1:0\"\n[[pool]]\nname = \"a\"\nlisten = \"127.0.0.1:0\"\n\
         slow = \"30 ms\"\nservers = [\"{fast}\", \"{slow}\"]\n[[pool]]\nname = \"b\"\nlisten = \"127.0.0.2:0\"\nservers = [\"127.0.0.1:1\"]\n"
    );
    fs::write(&file, text).unwrap();
    let mut child = front().arg("--config").arg(&file).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let address = out.next().unwrap().split(' ').nth(3).unwrap().to_owned();
    assert!(out.any(|line| line.starts_with("metrics are at http://127.0.0.1:")));
    let mut client = TcpStream::connect(address).unwrap();
    // More than are written: a limit of 20 per kind.
    let keys: Vec<String> = (0..50).map(|number| format!("{number}-key")).collect();
    for _ in 0..30 {
        client.write_all(format!("get {}\r\n", keys.join(" ")).as_bytes()).unwrap();
    }
    let mut ends = BufReader::new(client.try_clone().unwrap()).lines().take(30);
    assert!(ends.all(|line| line.unwrap() == "END"));
    Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let messages: Vec<serde_json::Value> = lines.map(|line| serde_json::from_str(&line).expect(&line)).collect();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let of = |event: &str| -> Vec<&serde_json::Value> {
        messages.iter().filter(|message| message["event"] == event).collect()
    };
    let down = of("server");
    assert_eq!((down[0]["level"].as_str(), down[0]["pool"].as_str()), (Some("WARN"), Some("b")), "{messages:?}");
    assert_eq!(
        (down[0]["server"].as_str(), down[0]["state"].as_str()),
        (Some("127.0.0.1:1"), Some("down: unreachable"))
    );
    let reports = of("slow_multiget");
    assert_eq!(reports.len(), 20);
    let (first, number) = (reports[0], |name: &str| reports[0][name].as_u64().unwrap());
    assert_eq!((first["slowest"].as_str(), first["why"].as_str()), (Some(&slow[..]), Some("the server was slow")));
    assert_eq!((number("keys"), number("servers")), (50, 2));
    assert!(
        number("took_us") >= 200_000 && number("responded_us") >= 200_000 && number("waited_us") < 30_000,
        "{first}"
    );
    assert!(first["timestamp"].as_str().unwrap().starts_with("20"));
}
