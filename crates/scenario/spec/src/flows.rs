//! Flow lists: HPCC's flow file, htsim's connection matrix, and CSV, distinguished by the file name's extension.
//!
//! Sources of the formats: alibaba-edu/High-Precision-Congestion-Control, `simulation/mix/flow.txt` and `traffic_gen/`;
//! Broadcom/csg-htsim, `sim/datacenter/connection_matrices/` and `connection_matrix.cpp`.

use fanin_units::Time;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::problem::{Origin, Problem, excerpt};
use crate::range::FAN_IN_MAX;
use crate::rows::rows;

/// One flow of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flow {
    /// The sending host, counted from zero.
    pub from: u32,
    /// The receiving host, another one.
    pub to: u32,
    /// Payload; `None` if unlimited.
    pub bytes: Option<u64>,
    /// When the sender opens its connection, since the start of the workload.
    #[serde(with = "crate::packed::ps")]
    pub start: Time,
    /// When an unlimited flow stops; `NEVER`: at the end of the run.
    #[serde(with = "crate::packed::ps")]
    pub stop: Time,
    /// Its line in the file, counted from one.
    line: usize,
}

/// A flow list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flows {
    name: String,
    list: Vec<Flow>,
    hosts: u32,
    digest: String,
}

/// Maximum number of flows.
const FLOWS_MAX: usize = 10_000_000;
/// Maximum size of a flow: 1 TiB.
pub(crate) const BYTES_MAX: u64 = 1 << 40;
/// Latest start of a flow, the maximum duration of a run.
const START_MAX: Time = Time::from_secs(100_000);

/// A line number and the error there.
type Wrong = (usize, String);

impl Flows {
    /// Parses a list. `name` is the file's path as the user gave it; its extension selects the format: `.txt` or `.flow` is HPCC's,
    /// `.cm` htsim's, `.csv` a table with the header `src,dst,bytes,start_us` and optionally `stop_us`. With `stop_us`, a flow without
    /// bytes is unlimited and stops at that time, if given.
    ///
    /// # Errors
    /// The first invalid line, or an unknown extension.
    pub fn parse(name: &str, text: &str) -> Result<Flows, Problem> {
        let text = text.trim_start_matches('\u{feff}');
        let at = |line| Origin::File { name: name.into(), line };
        let read = match name.rsplit_once('.').map(|(_, ending)| ending) {
            Some("txt" | "flow") => hpcc(text),
            Some("cm") => htsim(text),
            Some("csv") => csv(text),
            _ => Err((1, "unknown extension: use .txt or .flow (HPCC), .cm (htsim) or .csv".into())),
        };
        let (list, declared) = read.map_err(|(line, what)| Problem::new(&at(line), what))?;
        let Some(largest) = list.iter().map(|flow| flow.from.max(flow.to)).max() else {
            return Err(Problem::new(&at(text.lines().count().max(1)), "the list has no flows"));
        };
        let mut digest = Sha256::new();
        for Flow { from, to, bytes, start, stop, .. } in &list {
            digest.update(match bytes {
                Some(bytes) => format!("{from} {to} {bytes} {}\n", start.0),
                None => format!("{from} {to} {} until {}\n", start.0, stop.0),
            });
        }
        let digest = hex::encode(digest.finalize());
        Ok(Flows { name: name.into(), hosts: declared.unwrap_or(largest + 1), list, digest })
    }

    /// The file's name, as given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The flows, in the order of the file.
    pub fn list(&self) -> &[Flow] {
        &self.list
    }

    /// Number of hosts: as declared by the file, or one more than the largest host number.
    pub fn hosts(&self) -> u32 {
        self.hosts
    }

    /// SHA-256 of all flows, independent of the file's name and format, for the run's name.
    pub(crate) fn digest(&self) -> &str {
        &self.digest
    }

    /// Refuses a flow whose host is not among `hosts`, or that starts after `end`.
    pub(crate) fn fit(&self, hosts: u32, end: Time) -> Result<(), Problem> {
        let at =
            |flow: &Flow, what| Err(Problem::new(&Origin::File { name: self.name.clone(), line: flow.line }, what));
        for flow in &self.list {
            let largest = flow.from.max(flow.to);
            if largest >= hosts {
                return at(flow, format!("host {largest} does not exist: the cluster has hosts 0 to {}", hosts - 1));
            }
            if flow.stop != Time::NEVER && flow.stop > end {
                let stop = flow.stop;
                return at(flow, format!("a flow stops at {stop}, but the run ends at `workload.duration`, {end}"));
            }
            if flow.start >= end {
                let start = flow.start;
                return at(flow, format!("a flow starts at {start}, but the run ends at `workload.duration`, {end}"));
            }
        }
        Ok(())
    }
}

/// Flows, and the number of hosts if the file declares it.
type Read = Result<(Vec<Flow>, Option<u32>), Wrong>;

/// Non-blank lines, trimmed, with their numbers.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().zip(1..).map(|(line, number)| (number, line.trim())).filter(|(_, line)| !line.is_empty())
}

/// Reads HPCC's format: the number of flows, then one flow per line. Ignores lines after that number.
fn hpcc(text: &str) -> Read {
    const FORM: &str = "expected `SRC DST PRIORITY PORT BYTES START_SECONDS`, such as `2 1 3 100 200000 2.000000001`";
    let mut lines = lines(text);
    let Some((first, announced)) = lines.next() else { return Ok((Vec::new(), None)) };
    let count: usize =
        whole(announced).and_then(|count| usize::try_from(count).ok()).filter(|&count| count <= FLOWS_MAX).ok_or_else(
            || (first, format!("expected the number of flows, at most {FLOWS_MAX}; this is {}", excerpt(announced))),
        )?;
    let mut list: Vec<Flow> = Vec::new();
    let mut last = first;
    for (line, text) in lines.take(count) {
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [from, to, priority, port, bytes, start] = fields[..] else {
            return Err((line, format!("{FORM}; this is {}", excerpt(text))));
        };
        for (field, what) in [(priority, "a priority"), (port, "a port")] {
            whole(field).ok_or_else(|| (line, format!("{FORM}; {} is not {what}", excerpt(field))))?;
        }
        list.push(flow(line, [from, to, bytes], start, 12, FORM)?);
        last = line;
    }
    if list.len() < count {
        return Err((last, format!("the first line announces {count} flows, but {} follow", list.len())));
    }
    Ok((list, None))
}

/// Reads htsim's format: `Nodes` and `Connections`, then one flow per line. Does not support flows that start other flows.
fn htsim(text: &str) -> Read {
    const FORM: &str =
        "expected `SRC->DST id N start PICOSECONDS size BYTES`, such as `0->15 id 1 start 0 size 2000000`";
    let (mut nodes, mut count, mut list) = (None, None, Vec::new());
    let mut last = 1;
    for (line, text) in lines(text).filter(|(_, line)| !line.starts_with('#')) {
        last = line;
        let mut words = text.split_whitespace();
        let first = words.next().unwrap_or_default();
        if let Some((from, to)) = first.split_once("->") {
            let nodes = nodes.ok_or_else(|| (line, "expected `Nodes N` before the first connection".to_string()))?;
            let (mut start, mut size) = (None, None);
            while let Some(key) = words.next() {
                let value = match key {
                    "id" | "start" | "size" => {
                        words.next().ok_or_else(|| (line, format!("{FORM}; `{key}` has no value")))?
                    }
                    "trigger" | "send_done_trigger" | "recv_done_trigger" | "addon" => {
                        return Err((line, format!("`{key}`: flows that start other flows are not supported; {FORM}")));
                    }
                    "prio" => return Err((line, format!("`prio`: ports have no priorities; {FORM}"))),
                    other => return Err((line, format!("{FORM}; unknown word {}", excerpt(other)))),
                };
                match key {
                    "start" => start = Some(value),
                    "size" => size = Some(value),
                    _ => drop(whole(value).ok_or_else(|| (line, format!("{FORM}; {} is not an id", excerpt(value))))?),
                }
            }
            let (Some(start), Some(size)) = (start, size) else {
                return Err((line, format!("{FORM}; this is {}", excerpt(text))));
            };
            let flow = flow(line, [from, to, size], start, 0, FORM)?;
            if flow.from.max(flow.to) >= nodes {
                let largest = flow.from.max(flow.to);
                return Err((
                    line,
                    format!("host {largest} does not exist: `Nodes {nodes}` has hosts 0 to {}", nodes - 1),
                ));
            }
            list.push(flow);
            continue;
        }
        let number = words.next().and_then(whole);
        match (first, number) {
            ("Nodes", _) if nodes.is_some() => return Err((line, "`Nodes` is given twice".into())),
            ("Nodes", Some(n)) if (2..=u64::from(FAN_IN_MAX) + 1).contains(&n) => nodes = Some(n as u32),
            ("Nodes", _) => return Err((line, format!("expected `Nodes N`, N from 2 to {}", FAN_IN_MAX + 1))),
            ("Connections", Some(n)) if n <= FLOWS_MAX as u64 => count = Some((line, n)),
            ("Connections", _) => return Err((line, format!("expected `Connections N`, N at most {FLOWS_MAX}"))),
            ("Triggers" | "Failures", Some(0)) => {}
            ("Triggers" | "trigger", _) => {
                return Err((line, "triggers (flows that start other flows) are not supported".into()));
            }
            ("Failures" | "failure", _) => return Err((line, "link failures are not supported".into())),
            _ => return Err((line, format!("{FORM}; this is {}", excerpt(text)))),
        }
    }
    match count {
        Some((_, n)) if n == list.len() as u64 => Ok((list, nodes)),
        Some((line, n)) => Err((line, format!("`Connections {n}`, but the file has {}", list.len()))),
        None => Err((last, "expected `Connections N`, the number of flows, before them".into())),
    }
}

/// Reads a header, then one flow per line.
fn csv(text: &str) -> Read {
    const HEADER: [&str; 5] = ["src", "dst", "bytes", "start_us", "stop_us"];
    const FORM: &str = "expected `src,dst,bytes,start_us`, such as `0,3,20000,12.5`";
    let mut rows = rows(text);
    let Some(header) = rows.next() else { return Ok((Vec::new(), None)) };
    let columns = header.fields();
    if columns != HEADER && columns != HEADER[..4] {
        let what = "expected the header `src,dst,bytes,start_us`, optionally followed by `stop_us`";
        return Err((header.line, format!("{what}; this is {}", excerpt(header.text))));
    }
    let mut list = Vec::new();
    for row in rows {
        let (line, text, fields) = (row.line, row.text, row.fields());
        if list.len() == FLOWS_MAX {
            return Err((line, format!("a list has at most {FLOWS_MAX} flows")));
        }
        list.push(match fields[..] {
            [from, to, bytes, start] if columns.len() == 4 => flow(line, [from, to, bytes], start, 6, FORM)?,
            [from, to, bytes, start, stop] if columns.len() == 5 => {
                flow_that_stops(line, [from, to, bytes], start, stop)?
            }
            _ if columns.len() == 4 => return Err((line, format!("{FORM}; this is {}", excerpt(text)))),
            _ => return Err((line, format!("{STOP_FORM}; this is {}", excerpt(text)))),
        });
    }
    Ok((list, None))
}

const STOP_FORM: &str =
    "expected `src,dst,bytes,start_us,stop_us`, such as `0,3,20000,12.5,` or, without an end, `0,3,,12.5,900`";

/// A flow with bytes, or an unlimited one that may have a stop time.
fn flow_that_stops(line: usize, [from, to, bytes]: [&str; 3], start: &str, stop: &str) -> Result<Flow, Wrong> {
    if !bytes.is_empty() {
        return match stop {
            "" => flow(line, [from, to, bytes], start, 6, STOP_FORM),
            _ => Err((line, format!("a flow of {bytes} B ends by itself: give bytes or a stop time, not both"))),
        };
    }
    let endless = Flow { bytes: None, ..flow(line, [from, to, "1"], start, 6, STOP_FORM)? };
    let stop = match stop {
        "" => Time::NEVER,
        _ => moment(line, stop, 6, STOP_FORM)?,
    };
    match stop > endless.start {
        true => Ok(Flow { stop, ..endless }),
        false => Err((line, format!("a flow starts at {} and stops at {stop}: the stop must be later", endless.start))),
    }
}

/// A flow from its fields; the start is in units of 10^`digits` ps.
fn flow(line: usize, [from, to, bytes]: [&str; 3], start: &str, digits: u32, form: &str) -> Result<Flow, Wrong> {
    let host = |text: &str| {
        let number = whole(text).and_then(|n| u32::try_from(n).ok()).filter(|&n| n <= FAN_IN_MAX);
        number.ok_or_else(|| (line, format!("{form}; {} is not a host from 0 to {FAN_IN_MAX}", excerpt(text))))
    };
    let (from, to) = (host(from)?, host(to)?);
    if from == to {
        return Err((line, format!("a flow from host {from} to itself uses no link")));
    }
    let size = whole(bytes).filter(|size| (1..=BYTES_MAX).contains(size));
    let bytes =
        size.ok_or_else(|| (line, format!("{form}; {} is not a size from 1 to {BYTES_MAX} B", excerpt(bytes))))?;
    let start = moment(line, start, digits, form)?;
    Ok(Flow { from, to, bytes: Some(bytes), start, stop: Time::NEVER, line })
}

/// A time in units of 10^`digits` ps.
fn moment(line: usize, text: &str, digits: u32, form: &str) -> Result<Time, Wrong> {
    let time = decimal(text, digits).map(Time).filter(|&time| time <= START_MAX);
    time.ok_or_else(|| (line, format!("{form}; {} is not a time from 0 to {START_MAX}", excerpt(text))))
}

/// An unsigned whole number.
pub(crate) fn whole(text: &str) -> Option<u64> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok())?
}

/// An unsigned decimal number, times 10^`digits`, truncated to a whole number.
pub(crate) fn decimal(text: &str, digits: u32) -> Option<u64> {
    let (before, after) = text.split_once('.').unwrap_or((text, ""));
    let known = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if !known(before) || !known(after) || before.len() + after.len() == 0 {
        return None;
    }
    let after: String = after.chars().chain(std::iter::repeat('0')).take(digits as usize).collect();
    format!("0{before}{after}").parse().ok()
}
