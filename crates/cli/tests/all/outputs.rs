//! Output files: special files and links keep their type, and no unfinished file remains.

use std::fs;
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::common::{Place, SMALL, err};
use fanin_testing::{wait_for_exit, wait_until};

/// Runs of 100,000 s, which no test waits for.
const ENDLESS: &str = "\
schemes = [\"newreno\"]
[workload]
fragment = \"4 KiB\"
duration = \"100000 s\"
[sweep]
fan_in = [2]
[run]
seeds = 1
";

fn traced(place: &Place, out: &str) -> std::process::Output {
    place.fanin(&["trace", "my.toml", "--scheme", "newreno", "--fan-in", "2", "--out", out])
}

fn names(folder: impl AsRef<Path>) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = entries.collect();
    names.sort();
    names
}

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

/// Starts `fanin` and waits until a file of its own exists.
fn started(place: &Place, arguments: &[&str], made: impl Fn() -> bool) -> Child {
    let child = place.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until(&format!("{arguments:?} makes its file"), made);
    child
}

#[test]
fn keeps_a_device() {
    let place = Place::with(SMALL);
    let device = place.path("null");
    let made = Command::new("mknod").arg(&device).args(["c", "1", "3"]).stderr(Stdio::null()).status().unwrap();
    if !made.success() {
        println!("skipped: no device can be made here");
        return;
    }
    assert_eq!(traced(&place, "null").status.code(), Some(0));
    assert!(fs::symlink_metadata(&device).unwrap().file_type().is_char_device());
}

#[test]
fn keeps_a_fifo_and_writes_every_packet_to_it() {
    let place = Place::with(SMALL);
    let fifo = place.path("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let reader = thread::spawn({
        let fifo = fifo.clone();
        move || {
            let mut bytes = Vec::new();
            fs::File::open(fifo).unwrap().read_to_end(&mut bytes).unwrap();
            bytes
        }
    });
    assert_eq!(traced(&place, "fifo").status.code(), Some(0));
    assert_eq!(traced(&place, "file").status.code(), Some(0));
    assert_eq!(reader.join().unwrap(), fs::read(place.path("file")).unwrap());
    assert!(fs::symlink_metadata(&fifo).unwrap().file_type().is_fifo());
}

#[test]
fn keeps_a_link_and_writes_its_target() {
    let place = Place::with(SMALL);
    fs::write(place.path("target"), "old").unwrap();
    symlink("target", place.path("link")).unwrap();
    assert_eq!(traced(&place, "link").status.code(), Some(0));
    assert!(place.path("link").is_symlink());
    assert!(fs::metadata(place.path("target")).unwrap().len() > 100);
    assert_eq!(names(place.folder.path()), ["link", "my.toml", "target"]);
}

#[test]
fn refuses_a_folder_as_a_file() {
    let place = Place::with(SMALL);
    let output = traced(&place, ".");
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("--out .: cannot write: is a directory"), "{}", err(&output));
}

#[test]
fn a_signal_leaves_no_unfinished_files() {
    for (name, code) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
        let place = Place::with(ENDLESS);
        let trace = ["trace", "my.toml", "--scheme", "newreno", "--out", "t.pcapng"];
        let child = started(&place, &trace, || names(place.folder.path()).len() == 2);
        signal(&child, name);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", err(&output));
        assert_eq!(names(place.folder.path()), ["my.toml"], "{name}");

        let compare = ["compare", "my.toml", "--out", "results", "--no-cache"];
        let child = started(&place, &compare, || place.path("results/.unfinished/lock").exists());
        signal(&child, name);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", err(&output));
        assert!(!place.path("results/.unfinished").exists(), "{name}");
    }
}

#[test]
fn second_signal_ends_it_at_once_and_cleans_up() {
    let place = Place::with(ENDLESS);
    assert!(Command::new("mkfifo").arg(place.path("fifo")).status().unwrap().success());
    let compare = ["compare", "my.toml", "--out", "deep/results", "--no-cache"];
    let child = started(&place, &compare, || place.path("deep/results/.unfinished/lock").exists());
    signal(&child, "-INT");
    signal(&child, "-TERM");
    let output = child.wait_with_output().unwrap();
    assert!([130, 143].contains(&output.status.code().unwrap()), "{}", err(&output));
    assert!(!place.path("deep/results/.unfinished").exists());
}

#[test]
fn respects_ignored_hang_ups() {
    let place = Place::with(ENDLESS);
    let mut command = Command::new("nohup");
    let child = command
        .arg(env!("CARGO_BIN_EXE_fanin"))
        .args(["compare", "my.toml", "--out", "results", "--no-cache"])
        .current_dir(place.folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("a lock", || place.path("results/.unfinished/lock").exists());
    signal(&child, "-HUP");
    // Longer than it takes to end on another signal; on a busy machine the test sees less, and still passes.
    thread::sleep(Duration::from_millis(300));
    assert!(place.path("results/.unfinished/lock").exists());
    signal(&child, "-TERM");
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(143));
}

#[test]
fn takes_over_folders_of_killed_processes_only() {
    let place = Place::with(ENDLESS);
    let compare = ["compare", "my.toml", "--out", "results", "--no-cache"];
    let child = started(&place, &compare, || place.path("results/.unfinished/lock").exists());
    let message = place.refuses(&compare);
    assert!(message.contains("--out results: is in use by another fanin process"), "{message}");
    signal(&child, "-KILL");
    child.wait_with_output().unwrap();
    let trace = ["trace", "my.toml", "--scheme", "newreno", "--out", "t.pcapng"];
    let child = started(&place, &trace, || names(place.folder.path()).len() == 3);
    signal(&child, "-KILL");
    child.wait_with_output().unwrap();
    place.says(&[&trace[..], &["--set", "workload.duration=2 ms"]].concat());
    assert_eq!(names(place.folder.path()), ["my.toml", "results", "t.pcapng"]);
    assert!(place.path("results/.unfinished/lock").exists());
    fs::write(place.path("results/.unfinished/flows.csv"), "half").unwrap();
    let short = ["--set", "workload.duration=2 ms"];
    place.says(&[&compare[..], &short].concat());
    assert!(place.path("results/manifest.json").exists());
    assert!(!place.path("results/.unfinished").exists());
    let message = place.refuses(&compare);
    assert!(message.contains("; use a new or empty folder"), "{message}");
}

#[test]
fn one_of_two_concurrent_processes_gets_the_folder() {
    let place = Place::with(SMALL);
    for _ in 0..10 {
        let both: Vec<Child> = (0..2)
            .map(|_| {
                let mut command = place.command(&["compare", "my.toml", "--out", "results", "--no-cache"]);
                command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
            })
            .collect();
        let mut codes: Vec<_> = both.into_iter().map(|child| child.wait_with_output().unwrap().status.code()).collect();
        codes.sort();
        assert_eq!(codes, [Some(0), Some(2)]);
        assert!(place.path("results/manifest.json").exists() && !place.path("results/.unfinished").exists());
        fs::remove_dir_all(place.path("results")).unwrap();
    }
}

#[test]
fn keeps_folders_of_the_user() {
    let place = Place::with(SMALL);
    fs::create_dir_all(place.path("results/.unfinished")).unwrap();
    fs::write(place.path("results/.unfinished/notes"), "mine").unwrap();
    let message = place.refuses(&["compare", "my.toml", "--out", "results"]);
    assert!(message.contains("contains `.unfinished`"), "{message}");
    assert!(place.path("results/.unfinished/notes").exists());
}

#[test]
fn planted_lists_of_unfinished_files_delete_nothing() {
    let place = Place::with(SMALL);
    let victim = place.path("victim");
    fs::write(&victim, "precious").unwrap();
    fs::create_dir_all(place.path("cloned/.unfinished")).unwrap();
    fs::write(place.path("cloned/.unfinished/missing"), "").unwrap();
    fs::write(place.path("cloned/notes"), "mine").unwrap();
    for name in ["../victim", "notes", victim.to_str().unwrap()] {
        fs::write(place.path("cloned/.unfinished/lock"), format!("{name}\nmissing")).unwrap();
        place.refuses(&["compare", "my.toml", "--out", "cloned"]);
        assert_eq!(names(place.path("cloned")), [".unfinished", "notes"], "{name}");
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious", "{name}");
    }
}

#[test]
fn reports_a_full_disk_and_leaves_nothing_there() {
    let place = Place::with(SMALL);
    let output = traced(&place, "/dev/full");
    assert_eq!(output.status.code(), Some(3));
    assert!(err(&output).contains("/dev/full: No space left on device"), "{}", err(&output));
    let disk = place.path("disk");
    fs::create_dir(&disk).unwrap();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=8k,mode=755", "tmpfs"]).arg(&disk).output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        println!("skipped in part: no small disk can be mounted here (only root can)");
        return;
    }
    fs::write(disk.join("old.pcapng"), "old").unwrap();
    let told = ["disk/new.pcapng", "disk/old.pcapng"].map(|out| traced(&place, out));
    let folder = place.fanin(&["compare", "my.toml", "--out", "disk/results", "--no-cache"]);
    let (left, old) = (names(&disk), fs::read_to_string(disk.join("old.pcapng")).unwrap());
    assert!(Command::new("umount").arg(&disk).status().unwrap().success());
    for output in told.iter().chain([&folder]) {
        assert_eq!(output.status.code(), Some(3), "{}", err(output));
        assert!(err(output).contains("No space left on device"), "{}", err(output));
    }
    assert_eq!((left, old.as_str()), (vec!["old.pcapng".to_string()], "old"));
}

#[test]
fn output_to_a_closed_standard_output_is_an_error() {
    let place = Place::with(SMALL);
    let shell = |text: &str| {
        let fanin = env!("CARGO_BIN_EXE_fanin");
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &format!("{fanin} {text}")]).current_dir(place.folder.path());
        command.env("XDG_CACHE_HOME", place.cache()).output().unwrap()
    };
    for command in [
        "list",
        "list --json",
        "explain scenario",
        "explain newreno",
        "new star",
        "completions bash",
        "cache",
        "--help",
        "--version",
        "run --help",
        "run my.toml --scheme newreno --fan-in 2",
        "compare my.toml --json",
        "plan --demo try",
        "trace my.toml --scheme newreno --fan-in 2 --out client.pcapng",
        "front --listen 127.0.0.1:1 --servers 127.0.0.1:2 --check",
    ] {
        let told = shell(&format!("{command} >&-"));
        assert_eq!(told.status.code(), Some(3), "{command}: {}", err(&told));
        assert!(
            err(&told).contains("error: cannot write to standard output: standard output is closed"),
            "{command}: {}",
            err(&told)
        );
        let _ = fs::remove_dir_all(place.path("try"));
        // The reader may discard the output, and a closed standard input does not matter.
        let told = shell(&format!("{command} >/dev/null <&-"));
        assert_eq!(told.status.code(), Some(0), "{command}: {}", err(&told));
        let _ = fs::remove_dir_all(place.path("try"));
    }
    // A command without output does not need standard output.
    assert_eq!(shell("list --what >&-").status.code(), Some(2));
}

/// Two ranks: an all-reduce, and one that takes long.
const TRAINING: &str = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 all_gpus: 2\n2\n\
                        first -1 10 ALLREDUCE 1000 0 NONE 0 0 NONE 0 0\nsecond -1 0 ALLREDUCE 800000000000 0 NONE 0 0 NONE 0 0\n";

fn training(text: &str) -> Place {
    let place = Place::with("[workload]\nkind = \"trace\"\nfile = \"step.txt\"\nduration = \"100000 s\"\n");
    fs::write(place.path("step.txt"), text).unwrap();
    place
}

#[test]
fn followed_trace_leaves_what_has_ended() {
    let place = training(TRAINING);
    let out = fs::File::create(place.path("rows")).unwrap();
    let mut child = place
        .command(&["run", "my.toml", "--scheme", "dctcp", "--follow"])
        .stdout(out)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("a row", || fs::read_to_string(place.path("rows")).unwrap().ends_with('\n'));
    signal(&child, "-TERM");
    assert_eq!(wait_for_exit("fanin run --follow", &mut child).code(), Some(143));
    let rows = fs::read_to_string(place.path("rows")).unwrap();
    let row: serde_json::Value = serde_json::from_str(rows.trim()).unwrap();
    assert_eq!((&row["number"], &row["kind"], &row["payload_bytes"]), (&0.into(), &"all-reduce".into(), &1000.into()));
    assert!(row["took_ps"].as_u64() > Some(0), "{row}");
}

#[test]
fn follows_traces_only() {
    let place = training(&TRAINING.replace("800000000000", "8000"));
    let text = place.says(&["run", "my.toml", "--scheme", "dctcp", "--follow", "--out", "results"]);
    let rows: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let table = fs::read_to_string(place.path("results/collectives.csv")).unwrap();
    let heads: Vec<&str> = table.lines().next().unwrap().split(',').skip(3).collect();
    for (row, line) in rows.iter().zip(table.lines().skip(1)) {
        let values: Vec<String> =
            heads.iter().map(|head| row[head].to_string().trim_matches('"').to_string()).collect();
        assert_eq!(values, line.split(',').skip(3).collect::<Vec<_>>());
    }
    assert_eq!((rows.len(), table.lines().count()), (2, 3));
    let message = Place::with(ENDLESS).refuses(&["run", "my.toml", "--scheme", "newreno", "--follow"]);
    assert!(message.contains("--follow: only a trace"), "{message}");
}
