//! `fanin front` as a process: invalid configurations, and its end.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::common::program;

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
fn sighup_is_ignored() {
    let listen = ["--listen", "127.0.0.1:0", "--servers", "127.0.0.1:1"];
    let mut child = front().args(listen).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    Command::new("kill").args(["-HUP", &child.id().to_string()]).status().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let (send, warned) = mpsc::channel();
    thread::spawn(move || send.send(lines.any(|line| line.contains("ignoring SIGHUP"))));
    assert_eq!(warned.recv_timeout(Duration::from_secs(20)), Ok(true));
    assert!(child.try_wait().unwrap().is_none());
    Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
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
