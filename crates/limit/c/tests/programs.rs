//! Programs in C over the interface; each is an example. A test without a compiler prints that it is skipped.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

/// A compiled example; none without a compiler.
fn compiled(name: &str) -> Option<(TempDir, Command)> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let executable = std::env::current_exe().unwrap();
    let libraries = executable.parent().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program");
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-pthread", "-I"]).arg(here.join("include"));
    compiler
        .arg(here.join("examples").join(name))
        .arg("-o")
        .arg(&program)
        .arg("-L")
        .arg(libraries)
        .arg("-lfanin_limit_c");
    let Ok(done) = compiler.output() else {
        println!("skipped: there is no cc");
        return None;
    };
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let mut command = Command::new(program);
    command.env("LD_LIBRARY_PATH", libraries);
    Some((folder, command))
}

/// Output of a program with this input.
fn output(command: &mut Command, input: &str) -> String {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    // Below the capacity of a pipe.
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn threads_leave_no_byte() {
    let Some((_folder, mut program)) = compiled("threads.c") else { return };
    let wanted = "`law`: \"none\" is no concurrency limit; use one of one-all, sw, ictcp-window\nin flight 0, waiting 0, mean 1000\n";
    assert_eq!(output(&mut program, ""), wanted);
}

#[test]
fn processes_share_a_budget() {
    let Some((folder, mut program)) = compiled("shared.c") else { return };
    program.arg(folder.path().join("budget"));
    assert_eq!(output(&mut program, ""), "first 64000, second 0\nsecond 64000\n");
}

#[test]
fn folders_that_others_may_open_are_refused() {
    let Some((above, mut program)) = compiled("folder.c") else { return };
    let file: Value = serde_json::from_str(include_str!("../../../../vectors/limit_folder.json")).unwrap();
    let is_plain = |case: &&Value| case["kind"] == "folder" && case["files"].is_null();
    let cases: Vec<&Value> = file["folders"].as_array().unwrap().iter().filter(is_plain).collect();
    let mut names = String::new();
    for (number, case) in cases.iter().enumerate() {
        let folder = above.path().join(number.to_string());
        std::fs::create_dir(&folder).unwrap();
        let mode = u32::from_str_radix(case["mode"].as_str().unwrap(), 8).unwrap();
        std::fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
        writeln!(names, "{}", folder.display()).unwrap();
    }
    let text = output(&mut program, &names);
    for (line, case) in text.lines().zip(&cases) {
        assert!(line.ends_with(case["refused"].as_str().unwrap_or("joined")), "{case}: {line}");
    }
    assert!(cases.len() >= 3 && text.lines().count() == cases.len());
}

#[test]
fn event_loop_matches_vectors() {
    let Some((_folder, mut program)) = compiled("replay.c") else { return };
    let file: Value = serde_json::from_str(include_str!("../../../../vectors/limit.json")).unwrap();
    let mut checked = 0;
    for case in file["cases"].as_array().unwrap() {
        let script = Script::of(case);
        let text = output(&mut program, &script.text);
        let mut lines = text.lines();
        for (number, step) in (1..).zip(case["steps"].as_array().unwrap()) {
            let found = script.result(&mut lines, script.lines[number - 1]);
            for (name, wanted) in step["expect"].as_object().unwrap() {
                assert_eq!(&found[name], wanted, "{}, step {number}, {name}: {}", case["name"], case["why"]);
                checked += 1;
            }
        }
    }
    assert!(checked >= 100, "only {checked} values were checked");
}

/// A case as input of `replay.c`.
struct Script {
    text: String,
    /// Number of lines of each step.
    lines: Vec<usize>,
    names: Vec<String>,
}

impl Script {
    fn of(case: &Value) -> Script {
        let mut script = Script { text: format!("{}\n", case["settings"]), lines: Vec::new(), names: Vec::new() };
        let mut indices: BTreeMap<String, usize> = BTreeMap::new();
        for step in case["steps"].as_array().unwrap() {
            let kinds = ["request", "received", "sized", "finish", "cancel"];
            let kind = kinds.into_iter().find(|kind| step.get(kind).is_some()).unwrap();
            let now = step["now_us"].as_u64().unwrap() * 1000;
            let bytes = step["bytes"].as_u64().unwrap_or(u64::MAX);
            let names = step[kind].as_array().unwrap();
            for name in names {
                let name = name.as_str().unwrap();
                let index = *indices.entry(name.into()).or_insert_with(|| {
                    script.names.push(name.into());
                    script.names.len() - 1
                });
                let caller = step["caller"].as_u64().unwrap_or(0);
                writeln!(script.text, "{kind} {index} {now} {bytes} {caller}").unwrap();
            }
            script.lines.push(names.len());
        }
        script
    }

    /// Results of a step from the lines of its requests.
    fn result<'a>(&self, lines: &mut impl Iterator<Item = &'a str>, count: usize) -> Value {
        let (mut admits, mut figures) = (Vec::new(), Vec::new());
        for line in lines.take(count) {
            let (numbers, indices) = line.split_once(':').unwrap();
            figures = numbers.split(' ').map(|number| number.parse::<u64>().unwrap()).collect();
            admits.extend(indices.split_whitespace().map(|index| self.names[index.parse::<usize>().unwrap()].clone()));
        }
        json!({
            "admits": admits, "in_flight": figures[0], "outstanding": figures[1], "waiting": figures[2], "limit": figures[3],
            "window": figures[4], "mean": figures[5], "waited": figures[6], "responses": figures[7], "bytes": figures[8],
            "cancelled": figures[9], "late": figures[10], "waited_bytes": figures[11],
        })
    }
}
