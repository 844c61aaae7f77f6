//! Pulls: a host requests data from one or several others at a time. A CSV file with a line for each source.

use fanin_units::Time;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::flows::{BYTES_MAX, decimal, whole};
use crate::problem::{Origin, Problem, excerpt};
use crate::range::FAN_IN_MAX;
use crate::rows::{Row, rows};

/// One pull.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pull {
    /// When the host requests, since the start of the workload.
    #[serde(with = "crate::packed::ps")]
    pub start: Time,
    /// The host that requests, counted from zero.
    pub to: u32,
    /// The hosts that answer, and their bytes.
    pub from: Vec<(u32, u64)>,
    /// Its first line in the file, counted from one.
    line: usize,
}

/// A file of pulls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pulls {
    name: String,
    list: Vec<Pull>,
    hosts: u32,
    digest: String,
}

const HEADER: &str = "pull,start_us,src,dst,bytes";
const FORM: &str = "expected `pull,start_us,src,dst,bytes`, such as `0,12.5,3,17,4000000`";
/// Most lines.
const LINES_MAX: usize = 10_000_000;
/// Latest start, the maximum duration of a run, in ns.
const START_MAX_NS: u64 = 100_000_000_000_000;

/// A line: number of its pull, start in ns, source, destination, bytes.
type Line = (u64, u64, u32, u32, u64);

impl Pulls {
    /// Parses pulls; `name` is the file's path as the user gave it. Skips blank lines. Pulls may be in any order, but a pull's lines
    /// follow one another.
    ///
    /// # Errors
    /// The first invalid line.
    pub fn parse(name: &str, text: &str) -> Result<Pulls, Problem> {
        let at = |line, what: String| Problem::new(&Origin::File { name: name.into(), line }, what);
        let mut rows = rows(text.trim_start_matches('\u{feff}'));
        let (first, header) = rows.next().map_or((1, String::new()), |row| (row.line, row.fields().join(",")));
        if header != HEADER {
            return Err(at(first, format!("expected the header `{HEADER}`; this is {}", excerpt(&header))));
        }
        let (mut list, mut numbers, mut hosts): (Vec<Pull>, Vec<u64>, u32) = (Vec::new(), Vec::new(), 2);
        for (count, row) in rows.enumerate() {
            let line = read(&row).ok_or_else(|| at(row.line, format!("{FORM}; this is {}", excerpt(row.text))))?;
            let (number, ns, from, to, bytes) = line;
            if count == LINES_MAX {
                return Err(at(row.line, format!("use at most {LINES_MAX} lines")));
            }
            if from == to {
                return Err(at(row.line, format!("host {to} would request from itself")));
            }
            hosts = hosts.max(from.max(to) + 1);
            let start = Time(ns * 1_000);
            match list.last_mut().filter(|_| numbers.last() == Some(&number)) {
                Some(pull) if (pull.start, pull.to) == (start, to) => pull.from.push((from, bytes)),
                Some(pull) => {
                    let what = format!("pull {number} has another start or dst than in line {}", pull.line);
                    return Err(at(row.line, what));
                }
                None => {
                    numbers.push(number);
                    list.push(Pull { start, to, from: vec![(from, bytes)], line: row.line });
                }
            }
        }
        if list.is_empty() {
            return Err(at(first, "the table has no pulls".into()));
        }
        list.sort_by_key(|pull| pull.start);
        let mut digest = Sha256::new();
        list.iter().for_each(|pull| digest.update(format!("{} {} {:?}\n", pull.start.0, pull.to, pull.from)));
        Ok(Pulls { name: name.into(), list, hosts, digest: hex::encode(digest.finalize()) })
    }

    /// The file's name, as given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The pulls, by their starts.
    pub fn list(&self) -> &[Pull] {
        &self.list
    }

    /// Number of hosts: one more than the largest.
    pub(crate) fn hosts(&self) -> u32 {
        self.hosts
    }

    /// SHA-256 of all pulls, for the run's name.
    pub(crate) fn digest(&self) -> &str {
        &self.digest
    }

    /// Number of flows, and their bytes together.
    pub(crate) fn sums(&self) -> (f64, f64) {
        let all = self.list.iter().flat_map(|pull| &pull.from);
        (all.clone().count() as f64, all.map(|&(_, bytes)| bytes as f64).sum())
    }

    /// Refuses a host that does not exist, and a start after the end.
    pub(crate) fn fit(&self, hosts: u32, end: Time) -> Result<(), Problem> {
        for pull in &self.list {
            let at = |what| Err(Problem::new(&Origin::File { name: self.name.clone(), line: pull.line }, what));
            let largest = pull.from.iter().map(|&(from, _)| from).fold(pull.to, u32::max);
            if largest >= hosts {
                return at(format!("host {largest} does not exist: the cluster has hosts 0 to {}", hosts - 1));
            }
            if pull.start >= end {
                let start = pull.start;
                return at(format!("a pull starts at {start}, but the run ends at `workload.duration`, {end}"));
            }
        }
        Ok(())
    }
}

fn read(row: &Row<'_>) -> Option<Line> {
    let fields = row.fields();
    let [number, start, from, to, bytes] = *fields.as_slice() else { return None };
    let host = |text| whole(text).filter(|&host| host <= FAN_IN_MAX.into()).map(|host| host as u32);
    let start = decimal(start, 3).filter(|&ns| ns <= START_MAX_NS)?;
    let bytes = whole(bytes).filter(|bytes| (1..=BYTES_MAX).contains(bytes))?;
    Some((whole(number)?, start, host(from)?, host(to)?, bytes))
}
