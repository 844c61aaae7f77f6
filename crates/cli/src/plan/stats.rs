//! Capacities of servers as memcached's own `stats` show them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// Least processor time between two outputs of `stats`, in seconds: with less, a server's capacity is guesswork.
const LEAST_CPU_S: f64 = 0.1;

/// Lines of `key_value.servers`: the capacity of the first server from the first file, and so on. Each file has the output of `stats` from
/// two or more times under load.
pub fn capacities(files: &[PathBuf]) -> Result<Vec<String>, Failure> {
    let line = |(number, file): (usize, &PathBuf)| {
        let unfit = |what: String| Failure::Input(format!("--stats {}: {what}", file.display()));
        let Capacity { memory, requests_per_s } = read(file).map_err(unfit)?;
        Ok(format!("server{number}: memory {memory} B, requests_per_s {requests_per_s}"))
    };
    (1..).zip(files).map(line).collect()
}

/// A server's capacity.
#[derive(Debug, PartialEq, Eq)]
struct Capacity {
    memory: u64,
    requests_per_s: u32,
}

fn read(file: &Path) -> Result<Capacity, String> {
    measured(&fs::read_to_string(file).map_err(|error| error.to_string())?)
}

/// The capacity between the first output and the last one: requests per second of processor time, times the server's threads.
fn measured(text: &str) -> Result<Capacity, String> {
    let outputs: Vec<&str> = text.split("END").map(str::trim).filter(|output| !output.is_empty()).collect();
    let [first, .., last] = &outputs[..] else {
        return Err("it needs the output of `stats` from two times, such as a minute apart under load".into());
    };
    let grown = |name: &str| {
        let (before, after) = (number(first, name)?, number(last, name)?);
        let lower = || format!("`{name}` falls from {before} to {after}: the server was restarted; take both again");
        (after >= before).then_some(after - before).ok_or_else(lower)
    };
    let cpu_s = grown("rusage_user")? + grown("rusage_system")?;
    // One for each key of a multiget.
    let requests = grown("cmd_get")? + grown("cmd_set")?;
    if cpu_s < LEAST_CPU_S {
        return Err(format!(
            "the server took {cpu_s:.3} s of processor time between the outputs, and {LEAST_CPU_S} s are needed; take \
             the second one later or under more load"
        ));
    }
    let requests_per_s = requests / cpu_s * number(last, "threads")?;
    if requests_per_s < 1.0 {
        return Err(format!("the server answered {requests} requests between the outputs; take both under load"));
    }
    Ok(Capacity { memory: number(last, "limit_maxbytes")? as u64, requests_per_s: requests_per_s.min(1e9) as u32 })
}

/// A number of an output.
fn number(output: &str, name: &str) -> Result<f64, String> {
    let value = |line: &str| {
        let (found, value) = line.trim().strip_prefix("STAT ")?.split_once(' ')?;
        (found == name).then(|| value.to_owned())
    };
    let value = output.lines().find_map(value).ok_or_else(|| format!("an output of `stats` lacks `{name}`"))?;
    let parsed = value.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
    parsed.ok_or_else(|| format!("`{name}` is `{value}`, which is not a number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(gets: u64, user: &str, system: &str) -> String {
        format!(
            "STAT pid 7\r\nSTAT rusage_user {user}\r\nSTAT rusage_system {system}\r\nSTAT cmd_get {gets}\r\nSTAT cmd_set 500\r\n\
             STAT limit_maxbytes 67108864\r\nSTAT threads 4\r\nEND\r\n"
        )
    }

    #[test]
    fn capacity_is_requests_per_processor_second_of_all_threads() {
        // 100,000 requests in 0.5 s of processor time, on each of four threads.
        let text = output(1_000, "10.25", "4") + &output(50_000, "10.5", "4.1") + &output(101_000, "10.5", "4.25");
        assert_eq!(measured(&text), Ok(Capacity { memory: 64 << 20, requests_per_s: 800_000 }));
    }

    #[test]
    fn says_why_outputs_show_no_capacity() {
        let why = |text: String| measured(&text).unwrap_err();
        let one = output(1_000, "1", "1");
        assert!(why(one.clone()).contains("from two times"));
        assert!(why(String::new()).contains("from two times"));
        assert!(why(one.clone() + &one).contains("processor time between"));
        assert!(why(one.clone() + &output(10, "2", "1")).contains("`cmd_get` falls from 1000 to 10"));
        assert!(why(one.clone() + &output(1_000, "9", "1")).contains("answered 0 requests"));
        assert!(why(one.clone() + &one.replace("cmd_set", "sets")).contains("lacks `cmd_set`"));
        let later = output(2_000, "2", "1").replace("STAT threads 4", "STAT threads nan");
        assert!(why(one + &later).contains("`threads` is `nan`"));
    }
}
