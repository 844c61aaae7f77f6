//! `fanin front` as a process: what it refuses, and how it ends.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

const RIGHT: &str = "[[pool]]\nlisten = \"127.0.0.1:0\"\nservers = [\"127.0.0.1:1\"]\n";

fn front() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fanin"));
    command.arg("front");
    command
}

#[test]
fn a_file_that_is_wrong_ends_with_2_its_line_and_what_is_right() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("front.toml");
    fs::write(&file, format!("{RIGHT}hash = \"md4\"\n")).unwrap();
    let output = front().arg("--config").arg(&file).arg("--check").output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("front.toml:4: `md4` is none of one_at_a_time, md5"), "{told}");
    fs::write(&file, format!("{RIGHT}plan = \"{}\"\n", folder.path().display())).unwrap();
    let output = front().arg("--config").arg(&file).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("front.toml:4: ") && told.contains("plan.json: No such file"), "{told}");
    let output = front().args(["--listen", "127.0.0.1:0", "--servers", "nowhere"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("--servers nowhere: `nowhere` is no server"));
}

#[test]
fn a_file_that_is_right_is_called_so_and_nothing_listens() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("front.toml");
    fs::write(&file, RIGHT).unwrap();
    let output = front().arg("--config").arg(&file).args(["--check", "--threads", "3"]).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "right: pools 1, servers 1, threads 3\n");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn sigterm_ends_it_well() {
    let listen = ["--listen", "127.0.0.1:0", "--servers", "127.0.0.1:1"];
    let mut child = front().args(listen).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("front listens on 127.0.0.1:"), "{line}");
    Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn an_address_that_somebody_has_is_named_with_who_has_it() {
    let listen = ["--listen", "127.0.0.1:0", "--servers", "127.0.0.1:1"];
    let mut first = front().args(listen).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(first.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.split(' ').nth(3).and_then(|word| word.strip_suffix(':')).expect("where it listens").to_owned();
    let output = front().args(["--listen", &address, "--servers", "127.0.0.1:1"]).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(output.status.code(), Some(3), "{told}");
    let who = format!("by fanin (process {})", first.id());
    assert!(told.contains(&format!("{address}: ")) && told.contains(&who), "{told}");
}
