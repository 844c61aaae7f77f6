//! Programs of iproute2, whose output this program reads.

use std::path::Path;
use std::process::Command;

/// Folders of the programs. Root's `PATH` is not used, for security.
const FOLDERS: [&str; 4] = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// Output of a program, if there is one that succeeds.
pub fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let program = FOLDERS.iter().map(|folder| Path::new(folder).join(program)).find(|path| path.is_file())?;
    let output = Command::new(program).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Largest rate to which a device's own queue shapes, Mbit/s rounded up: of `tbf`, `netem`, or a class of `htb`.
pub fn shaped_mbit(device: &str) -> Option<u64> {
    let all = ["qdisc", "class"].map(|what| output("tc", &[what, "show", "dev", device]).unwrap_or_default());
    all.iter().filter_map(|text| largest_rate(text)).max()
}

/// Largest rate in output of `tc`.
fn largest_rate(text: &str) -> Option<u64> {
    let shapes = |line: &&str| ["qdisc tbf", "qdisc netem", "class htb"].iter().any(|start| line.starts_with(start));
    let rates = text.lines().filter(shapes).flat_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words
            .windows(2)
            .filter(|pair| ["rate", "ceil"].contains(&pair[0]))
            .filter_map(|pair| mbit(pair[1]))
            .collect::<Vec<_>>()
    });
    rates.max()
}

/// A rate as `tc` prints it, such as `1500Kbit`.
fn mbit(word: &str) -> Option<u64> {
    let number = word.strip_suffix("bit")?;
    let end = number.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(number.len());
    let unit = match &number[end..] {
        "" => 1e-6,
        "K" => 1e-3,
        "M" => 1.0,
        "G" => 1e3,
        "T" => 1e6,
        _ => return None,
    };
    Some((number[..end].parse::<f64>().ok()? * unit).ceil() as u64).filter(|mbit| *mbit > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_of_shapers() {
        let qdiscs =
            "qdisc tbf 81bb: root refcnt 3 rate 1500Kbit burst 32Kb lat 25ms\nqdisc fq 0: parent 1:1 rate 7Gbit\n";
        let classes = "class htb 1:1 root leaf 8361: prio 0 rate 200Mbit ceil 1.5Gbit burst 3025b cburst 3025b\n";
        assert_eq!([largest_rate(qdiscs), largest_rate(classes)], [Some(2), Some(1_500)]);
        assert_eq!(largest_rate("qdisc netem 8001: root refcnt 2 limit 1000 delay 1ms rate 50Mbit\n"), Some(50));
        for text in ["", "qdisc tbf 1: root rate 0bit", "qdisc tbf 1: root rate 1 Mbit", "class htb rate"] {
            assert_eq!(largest_rate(text), None, "{text}");
        }
    }
}
