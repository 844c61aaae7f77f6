//! Bursts: measured, or as distributions of their gaps, fan-ins and sizes. The CSV header distinguishes the two formats.

use fanin_units::Time;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::flows::{BYTES_MAX, decimal};
use crate::problem::{Origin, Problem, excerpt};
use crate::range::FAN_IN_MAX;
use crate::rows::{Row, rows};
use crate::sizes::Sizes;

/// One burst: several servers send at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Burst {
    /// Time since the start of the previous burst, or of the workload.
    #[serde(with = "crate::packed::ps")]
    pub gap: Time,
    /// Number of servers.
    pub fan_in: u32,
    /// Total bytes.
    pub bytes: u64,
}

/// A file of bursts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bursts {
    name: String,
    kind: Kind,
    /// Largest fan-in, and its line.
    widest: (u32, usize),
    digest: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Kind {
    /// Played in order, repeatedly.
    Measured(Vec<Burst>),
    /// Drawn independently from three distributions, in the order of [`OF`].
    Drawn([Sizes; 3]),
}

const MEASURED: &str = "gap_us,fan_in,bytes";
const DRAWN: &str = "of,value,cdf";
const MEASURED_FORM: &str = "expected `gap_us,fan_in,bytes`, such as `250.5,40,80000`";
const DRAWN_FORM: &str = "expected `of,value,cdf`, such as `fan_in,40,0.9`, where `of` is gap_us, fan_in or bytes, and the cdf is from 0 to 1";
/// The distributions, each with the number of decimal digits used; gaps are in nanoseconds.
const OF: [(&str, u32); 3] = [("gap_us", 3), ("fan_in", 0), ("bytes", 0)];
/// Longest gap.
const GAP_MAX_NS: u64 = 1_000_000_000_000;
const BURSTS_MAX: usize = 10_000_000;

/// A line number and the error there.
type Wrong = (usize, String);

impl Bursts {
    /// Parses bursts; `name` is the file's path as the user gave it. Skips blank lines.
    ///
    /// # Errors
    /// The first invalid line or decreasing distribution.
    pub fn parse(name: &str, text: &str) -> Result<Bursts, Problem> {
        let at = |(line, what): Wrong| Problem::new(&Origin::File { name: name.into(), line }, what);
        let mut rows = rows(text.trim_start_matches('\u{feff}'));
        let (first, header) = rows.next().map_or((1, String::new()), |row| (row.line, row.fields().join(",")));
        let (kind, widest) = match header.as_str() {
            MEASURED => measured(rows),
            DRAWN => drawn(rows),
            other => {
                let what = format!("expected the header `{MEASURED}` or `{DRAWN}`; this is {}", excerpt(other));
                Err((first, what))
            }
        }
        .map_err(at)?;
        let bursts = Bursts { name: name.into(), digest: kind.digest(), kind, widest };
        match bursts.mean_gap_s() > 0.0 {
            true => Ok(bursts),
            false => Err(at((first, "all bursts start at the same time: use a gap above 0".into()))),
        }
    }

    /// The file's name, as given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// SHA-256 of the contents, for the run's name.
    pub(crate) fn digest(&self) -> &str {
        &self.digest
    }

    /// A burst by its number, from zero; if not measured, from three draws.
    pub fn at(&self, number: u64, mut draw: impl FnMut() -> u64) -> Burst {
        match &self.kind {
            Kind::Measured(list) => list[(number % list.len() as u64) as usize],
            Kind::Drawn(of) => {
                let [gap_ns, fan_in, bytes] = of.each_ref().map(|sizes| sizes.at(draw()));
                Burst { gap: Time(gap_ns * 1_000), fan_in: fan_in as u32, bytes }
            }
        }
    }

    /// Means of gaps in seconds, fan-ins and bytes.
    fn means(&self) -> [f64; 3] {
        match &self.kind {
            Kind::Measured(list) => {
                let mean = |of: &dyn Fn(&Burst) -> f64| list.iter().map(of).sum::<f64>() / list.len() as f64;
                [mean(&|b| b.gap.as_secs_f64()), mean(&|b| b.fan_in.into()), mean(&|b| b.bytes as f64)]
            }
            Kind::Drawn([gap_ns, fan_in, bytes]) => {
                [gap_ns.mean_bytes() / 1e9, fan_in.mean_bytes(), bytes.mean_bytes()]
            }
        }
    }

    fn mean_gap_s(&self) -> f64 {
        self.means()[0]
    }

    /// Estimated number of flows of the bursts in this time, and their bytes.
    pub(crate) fn within(&self, seconds: f64) -> (f64, f64) {
        let [gap, fan_in, bytes] = self.means();
        let bursts = seconds / gap;
        (bursts * fan_in, bursts * bytes)
    }

    /// Refuses a burst of more servers than exist.
    pub(crate) fn fit(&self, servers: u32) -> Result<(), Problem> {
        let (fan_in, line) = self.widest;
        if fan_in <= servers {
            return Ok(());
        }
        let what = format!("a burst of {fan_in} servers, but there are {servers}: use a fan-in of at least {fan_in}");
        Err(Problem::new(&Origin::File { name: self.name.clone(), line }, what))
    }
}

impl Kind {
    fn digest(&self) -> String {
        let mut digest = Sha256::new();
        match self {
            Kind::Measured(list) => {
                list.iter().for_each(|b| digest.update(format!("{} {} {}\n", b.gap.0, b.fan_in, b.bytes)));
            }
            Kind::Drawn(of) => {
                of.iter().for_each(|of| digest.update(format!("{:?}\n", of.points().collect::<Vec<_>>())))
            }
        }
        hex::encode(digest.finalize())
    }
}

/// A field's value.
fn value(what: usize, text: &str) -> Option<u64> {
    let value = decimal(text, OF[what].1)?;
    let right = match what {
        0 => 0..=GAP_MAX_NS,
        1 => 1..=FAN_IN_MAX.into(),
        _ => 1..=BYTES_MAX,
    };
    right.contains(&value).then_some(value)
}

/// Reads one burst per line.
fn measured<'a>(rows: impl Iterator<Item = Row<'a>>) -> Result<(Kind, (u32, usize)), Wrong> {
    let (mut list, mut widest, mut last) = (Vec::new(), (0, 1), 1);
    for row in rows {
        let (line, text, fields) = (row.line, row.text, row.fields());
        last = line;
        let read = |what: usize| fields.get(what).and_then(|text| value(what, text));
        let (Some(gap_ns), Some(fan_in), Some(bytes), 3) = (read(0), read(1), read(2), fields.len()) else {
            return Err((line, format!("{MEASURED_FORM}; this is {}", excerpt(text))));
        };
        if bytes < fan_in {
            return Err((line, format!("{bytes} B are less than one byte for each of {fan_in} servers")));
        }
        if list.len() == BURSTS_MAX {
            return Err((line, format!("use at most {BURSTS_MAX} bursts")));
        }
        if fan_in > u64::from(widest.0) {
            widest = (fan_in as u32, line);
        }
        list.push(Burst { gap: Time(gap_ns * 1_000), fan_in: fan_in as u32, bytes });
    }
    if list.is_empty() {
        return Err((last, "the list has no bursts".into()));
    }
    Ok((Kind::Measured(list), widest))
}

/// Reads one point of a distribution per line.
fn drawn<'a>(rows: impl Iterator<Item = Row<'a>>) -> Result<(Kind, (u32, usize)), Wrong> {
    let (mut points, mut last): ([Vec<(u64, u64)>; 3], usize) = (Default::default(), 1);
    let mut widest = (0, 1);
    for row in rows {
        let (line, text, fields) = (row.line, row.text, row.fields());
        last = line;
        let what = OF.iter().position(|(of, _)| Some(of) == fields.first());
        let point = what.filter(|_| fields.len() == 3).and_then(|what| {
            let share = decimal(fields[2], 9).filter(|&share| share <= Sizes::WHOLE)?;
            Some((what, value(what, fields[1])?, share))
        });
        let Some((what, value, share)) = point else {
            return Err((line, format!("{DRAWN_FORM}; this is {}", excerpt(text))));
        };
        if let Some(&(before, below)) = points[what].last()
            && (value < before || share < below)
        {
            let of = OF[what].0;
            return Err((
                line,
                format!(
                    "the distribution of {of} decreases: its value and cdf must both rise from line to line; this is {}",
                    excerpt(text)
                ),
            ));
        }
        if what == 1 {
            widest = (value as u32, line);
        }
        points[what].push((value, share));
    }
    if let Some(what) = (0..3).find(|&what| points[what].last().is_none_or(|&(_, share)| share != Sizes::WHOLE)) {
        return Err((last, format!("the last line of {} must reach a cdf of 1", OF[what].0)));
    }
    Ok((Kind::Drawn(points.map(|points| Sizes::of("bursts", points))), widest))
}
