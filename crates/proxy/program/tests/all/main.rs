//! Tests of the program `fanin-proxy`.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use fanin_testing::own_address;

fn program(command: &str, file: &Path) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_fanin-proxy"));
    program.arg(command).arg("--config").arg(file).stdout(Stdio::piped()).stderr(Stdio::piped());
    program
}

/// Its warnings when it checks a file.
fn warnings_of_check(command: &str, file: &Path) -> Vec<String> {
    let output = program(command, file).arg("--check").output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{told}");
    told.lines().map(str::to_owned).collect()
}

/// Its warnings when it starts, until it is ready.
fn warnings_of_start(command: &str, file: &Path) -> Vec<String> {
    let mut child = program(command, file).spawn().unwrap();
    let mut ready = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
    assert!(Command::new("kill").arg(child.id().to_string()).status().unwrap().success());
    let mut told = String::new();
    child.stderr.take().unwrap().read_to_string(&mut told).unwrap();
    assert!(child.wait().unwrap().success() && ready.contains("listens on"), "{ready}{told}");
    told.lines().filter(|line| line.starts_with("warning: ")).map(str::to_owned).collect()
}

#[test]
fn check_warns_as_a_start_does() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (memcached, agent) = (own_address(), own_address());
    let racks = format!("[[server]]\nmemcached = \"{memcached}\"\nagent = \"{agent}\"\nrack = \"a\"\n");
    fs::write(path("racks.toml"), racks).unwrap();
    fs::write(path("users"), "ann:secret\n").unwrap();
    let pool = format!(
        "nap = \"100 us\"\nthreads = 1\n[[pool]]\nlisten = \"127.0.0.1:0\"\nservers = [\"{memcached}\"]\nauth = \"users\"\n\
         multiget = \"sicc\"\nracks = \"racks.toml\"\nplaintext = true\nincast = {{ buffer = \"64 KiB\", rto_min = \"200 ms\" }}\n"
    );
    fs::write(path("front.toml"), pool).unwrap();
    let own = format!("listen = \"{agent}\"\nmemcached = \"{memcached}\"\nracks = \"racks.toml\"\nplaintext = true\n");
    fs::write(path("agent.toml"), own).unwrap();
    for (command, file, words) in [
        ("front", "front.toml", &["`nap`", "plaintext", "every user can read", "incast is not predicted"][..]),
        ("agent", "agent.toml", &["plaintext"]),
    ] {
        let file = path(file);
        let checked = warnings_of_check(command, &file);
        assert_eq!(checked, warnings_of_start(command, &file));
        for word in words {
            assert!(checked.iter().any(|warning| warning.contains(word)), "{word}: {checked:?}");
        }
    }
}
