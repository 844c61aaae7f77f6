//! Programs in C, C++ and Python over the interface; each is an example. A test without its compiler prints that it is skipped.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of the shared library.
fn libraries() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().into()
}

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(name)
}

/// Output of a program; `None` if it is not installed.
fn output(command: &mut Command) -> Option<String> {
    let Ok(done) = command.output() else {
        println!("skipped: there is no {:?}", command.get_program());
        return None;
    };
    let [text, errors] = [&done.stdout, &done.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert!(done.status.success(), "{command:?}: {text}{errors}");
    Some(text)
}

/// Output of the program that a compiler makes of a file, with headers of these folders, too.
fn compiled(compiler: &str, file: &Path, standard: &str, headers: &[&Path]) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program");
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    output(
        Command::new(compiler)
            .args([standard, "-Wall", "-Wextra", "-Werror", "-O1"])
            .args([include.as_path()].iter().chain(headers).flat_map(|folder| [Path::new("-I"), folder]))
            .arg(file)
            .arg("-o")
            .arg(&program)
            .arg("-L")
            .arg(libraries())
            .arg("-lfanin_c"),
    )?;
    output(Command::new(&program).env("LD_LIBRARY_PATH", libraries()))
}

#[test]
fn incast_in_c_has_two_rounds() {
    let Some(text) = compiled("cc", &example("incast.c"), "-std=c11", &[]) else { return };
    let lines: Vec<&str> = text.lines().collect();
    let [first, second, figures] = lines.as_slice() else { panic!("{text}") };
    let end = |line: &str, of: &str| -> u64 {
        let number =
            line.strip_prefix(of).and_then(|rest| rest.strip_suffix(" us")).unwrap_or_else(|| panic!("{text}"));
        number.parse().unwrap()
    };
    let ends = [end(first, "round 1 ends at "), end(second, "round 2 ends at ")];
    // 2 MB take 1.7 ms of a link of 10 Gbit/s.
    assert!(ends[0] >= 1_700 && ends[1] >= ends[0] + 1_700, "{text}");
    assert!(figures.starts_with("64 messages, "), "{text}");
}

#[test]
fn network_in_c_is_as_fast_as_its_spines() {
    let Some(text) = compiled("cc", &example("network.c"), "-std=c11", &[]) else { return };
    let us = |line: &str, of: &str| -> u64 {
        let number = line.strip_prefix(of).and_then(|rest| rest.strip_suffix(" us"));
        number.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{text}"))
    };
    let lines: Vec<&str> = text.lines().collect();
    let [four, one] = lines.as_slice() else { panic!("{text}") };
    let (four, one) = (us(four, "4 spines: 4 messages in "), us(one, "1 spines: 4 messages in "));
    // 10 MB take 0.8 ms at 100 Gbit/s; four of them share the uplink to one spine.
    assert!((800..1_100).contains(&four) && (3_200..4_000).contains(&one), "{text}");
}

#[test]
fn ring_in_cpp_takes_its_computations_and_messages() {
    let Some(text) = compiled("c++", &example("ring.cc"), "-std=c++17", &[]) else { return };
    let took = text
        .strip_prefix("8 hosts in ")
        .and_then(|rest| rest.trim().strip_suffix(" us"))
        .unwrap_or_else(|| panic!("{text}"));
    // Seven computations of 10 us, and eight times 1 MB at 100 Gbit/s with their handshakes and slow starts.
    let took: f64 = took.parse().unwrap();
    assert!((70.0 + 8.0 * 83.0..2_000.0).contains(&took), "{text}");
}

#[test]
fn cancelled_timers_are_not_due() {
    let library = libraries().join("libfanin_c.so");
    let Some(text) = output(Command::new("python3").arg(example("timers.py")).arg(library)) else { return };
    assert_eq!(text.trim(), "[5000000] 10000000");
}

#[test]
fn ranks_of_astra_sim_gather_around_a_ring() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../integrations/astra-sim");
    let stand_in = folder.join("test");
    let Some(text) = compiled("c++", &stand_in.join("all_gather.cc"), "-std=c++17", &[&folder, &stand_in]) else {
        return;
    };
    let took: f64 = text.trim().strip_suffix(" us").and_then(|us| us.parse().ok()).unwrap_or_else(|| panic!("{text}"));
    // Three times 1 MB at 100 Gbit/s, two computations, and the first handshakes and slow starts.
    assert!((3.0 * 80.0 + 2.0 * 2.0..500.0).contains(&took), "{text}");
}
