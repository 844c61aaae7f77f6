//! Holds the endpoint against packetdrill's scripts, and draws cases for a comparison with a kernel.
//!
//! ```text
//! packetdrill suite FOLDER [KEY=VALUE]...        run all scripts below a folder: a verdict for each, and a table by folder
//! packetdrill trace SCRIPT [KEY=VALUE]...        print the endpoint's segments, whatever the script expects
//! packetdrill random FIRST LAST KIND CONTROL     a case of `random` a line, as JSON
//! ```
//!
//! `KEY=VALUE` are further keys of the scenario's `[tcp]` (`rack=false`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

mod drive;
mod info;
mod random;
mod script;
mod suite;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["suite", folder, ref keys @ ..] => run_suite(Path::new(folder), keys),
        ["trace", file, ref keys @ ..] => trace(file, keys),
        ["random", first, last, kind, control] => draw(first, last, kind, control),
        _ => Err("usage: packetdrill suite FOLDER | trace SCRIPT | random FIRST LAST KIND CONTROL".into()),
    };
    match done {
        Ok(code) => code,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::from(2)
        }
    }
}

fn run_suite(folder: &Path, keys: &[&str]) -> Result<ExitCode, String> {
    let options = drive::Options { keys: keys.join("\n"), trace: false };
    let files = suite::scripts(folder);
    if files.is_empty() {
        return Err(format!("no script (.pkt) is below {}: name the folder of a suite", folder.display()));
    }
    let mut rows: BTreeMap<PathBuf, [u32; 3]> = BTreeMap::new();
    for file in &files {
        let name = file.strip_prefix(folder).unwrap_or(file);
        let verdict = suite::judge_file(file, &options);
        println!("{verdict}  {}{}", name.display(), verdict.details());
        let place = name.parent().unwrap_or(name).to_path_buf();
        rows.entry(place).or_default()[verdict.column()] += 1;
    }
    println!("\n{:32} {:>5} {:>5} {:>15}", "folder", "pass", "fail", "not applicable");
    let total = rows.values().fold([0; 3], |sum, counts| [0, 1, 2].map(|i| sum[i] + counts[i]));
    for (place, [pass, fail, other]) in rows.iter().chain([(&PathBuf::from("all"), &total)]) {
        println!("{:32} {pass:>5} {fail:>5} {other:>15}", place.display());
    }
    Ok(if total[1] > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn trace(file: &str, keys: &[&str]) -> Result<ExitCode, String> {
    let text = std::fs::read_to_string(file).map_err(|why| format!("{file}: {why}"))?;
    let script = script::Script::parse(&text).map_err(|why| format!("{file}: {why}"))?;
    let options = drive::Options { keys: keys.join("\n"), trace: true };
    drive::run(&script, &options).map_err(|(event, why)| format!("{file}:{}: {why}", event.line))?;
    Ok(ExitCode::SUCCESS)
}

fn draw(first: &str, last: &str, kind: &str, control: &str) -> Result<ExitCode, String> {
    let number = |text: &str| text.parse::<u64>().map_err(|_| format!("{text} is no seed"));
    let found = random::Kind::ALL.iter().find(|(name, _)| *name == kind);
    let kinds = || random::Kind::ALL.map(|(name, _)| name).join(", ");
    let &(_, kind) = found.ok_or_else(|| format!("{kind} is no kind: {}", kinds()))?;
    for seed in number(first)?..=number(last)? {
        let case = random::draw(seed, kind, control, 70)?;
        println!("{}", serde_json::to_string(&case).map_err(|why| why.to_string())?);
    }
    Ok(ExitCode::SUCCESS)
}
