//! Distributions of flow sizes: tables of cumulative shares, interpolated linearly.
//!
//! Sources: web search, Alizadeh et al., SIGCOMM 2010 (DCTCP), from HPCC's `traffic_gen`; data mining, Greenberg et al., SIGCOMM 2009
//! (VL2); Hadoop, Roy et al., SIGCOMM 2015, from HPCC's `traffic_gen`.

use serde::{Deserialize, Serialize};

use crate::flows::{BYTES_MAX, decimal};
use crate::literal::Literal;
use crate::problem::{Origin, Problem, did_you_mean, excerpt};
use crate::setting::{Setting, quoted, unexpected};

/// A distribution of flow sizes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sizes {
    name: String,
    points: Vec<Point>,
}

/// A point: the share of flows up to a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Point {
    bytes: u64,
    /// In units of 10^-9.
    share: u64,
}

/// 100 %, in the unit of [`Point::share`].
const WHOLE: u64 = Sizes::WHOLE;
/// Precision of a draw, which keeps the interpolation within 128 bits.
const DRAW_BITS: u32 = 48;

/// A name, and cumulative shares in 1/1000 by bytes.
type Named = (&'static str, &'static [(u64, u64)]);

const NAMED: [Named; 3] = [
    (
        "web-search",
        &[
            (0, 0),
            (10_000, 150),
            (20_000, 200),
            (30_000, 300),
            (50_000, 400),
            (80_000, 530),
            (200_000, 600),
            (1_000_000, 700),
            (2_000_000, 800),
            (5_000_000, 900),
            (10_000_000, 970),
            (30_000_000, 1000),
        ],
    ),
    (
        "data-mining",
        &[
            (180, 100),
            (216, 200),
            (560, 300),
            (900, 400),
            (1_100, 500),
            (1_870, 600),
            (3_160, 700),
            (10_000, 800),
            (400_000, 900),
            (3_160_000, 950),
            (100_000_000, 980),
            (1_000_000_000, 1000),
        ],
    ),
    (
        "hadoop",
        &[
            (0, 0),
            (100, 10),
            (200, 20),
            (300, 50),
            (350, 150),
            (400, 200),
            (500, 300),
            (600, 400),
            (700, 500),
            (1_000, 600),
            (2_000, 670),
            (7_000, 700),
            (30_000, 720),
            (50_000, 820),
            (80_000, 870),
            (120_000, 900),
            (300_000, 950),
            (1_000_000, 975),
            (2_000_000, 990),
            (10_000_000, 1000),
        ],
    ),
];

impl Sizes {
    /// 100 %.
    pub(crate) const WHOLE: u64 = 1_000_000_000;

    /// From rising points up to 100 %: values, each with the share up to it.
    pub(crate) fn of(name: &str, points: Vec<(u64, u64)>) -> Sizes {
        let points = points.into_iter().map(|(bytes, share)| Point { bytes, share }).collect();
        Sizes { name: name.into(), points }
    }

    /// Names of the published distributions.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMED.iter().map(|(name, _)| *name)
    }

    /// A published distribution by its name.
    pub fn named(name: &str) -> Option<Sizes> {
        let (name, table) = NAMED.iter().find(|(known, _)| *known == name)?;
        let point = |&(bytes, per_mille): &(u64, u64)| Point { bytes, share: per_mille * (WHOLE / 1000) };
        Some(Sizes { name: (*name).into(), points: table.iter().map(point).collect() })
    }

    /// Parses a table of lines `bytes percent`; `name` is the file's path as the user gave it. Sizes are uniform between two lines; a
    /// first line above 0 % gives that share of flows exactly this size. Skips blank lines and lines that start with `#`.
    ///
    /// # Errors
    /// The first line with wrong syntax or decreasing values.
    pub fn parse(name: &str, text: &str) -> Result<Sizes, Problem> {
        let wrong = |line: usize, what: String| Err(Problem::new(&Origin::File { name: name.into(), line }, what));
        let mut points: Vec<Point> = Vec::new();
        let mut last = 1;
        for (text, line) in text.trim_start_matches('\u{feff}').lines().map(str::trim).zip(1..) {
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            last = line;
            let mut words = text.split_whitespace();
            let (bytes, percent) = (words.next(), words.next());
            let bytes = bytes.and_then(|word| decimal(word, 0)).filter(|&bytes| bytes <= BYTES_MAX);
            let share = percent.and_then(|word| decimal(word, 7)).filter(|&share| share <= WHOLE);
            let (Some(bytes), Some(share), None) = (bytes, share, words.next()) else {
                let what = "expected `bytes percent`, such as `10000 15`, the percent from 0 to 100";
                return wrong(line, format!("{what}; this is {}", excerpt(text)));
            };
            if let Some(before) = points.last()
                && (bytes < before.bytes || share < before.share)
            {
                let what = "the distribution decreases: bytes and percent must both rise from line to line";
                return wrong(line, format!("{what}; this is {} after {}", excerpt(text), before.show()));
            }
            points.push(Point { bytes, share });
        }
        let sizes = Sizes { name: name.into(), points };
        match sizes.points.last() {
            Some(Point { share: WHOLE, bytes: 1.. }) => Ok(sizes),
            Some(Point { share: WHOLE, .. }) => wrong(last, "every flow would have 0 B".into()),
            _ => wrong(last, "the last line must reach 100 percent".into()),
        }
    }

    /// Name of the published distribution or of the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Mean size in bytes.
    pub fn mean_bytes(&self) -> f64 {
        let mut twice = 0u128;
        let mut before: Option<Point> = None;
        for point in &self.points {
            let (low, share) = before.map_or((point.bytes, point.share), |b| (b.bytes, point.share - b.share));
            twice += u128::from(share) * u128::from(low + point.bytes);
            before = Some(*point);
        }
        twice as f64 / (2 * WHOLE) as f64
    }

    /// The quantile at `draw` / 2^64 in bytes, at least one, in integer arithmetic.
    pub fn at(&self, draw: u64) -> u64 {
        let draw = u128::from(draw >> (64 - DRAW_BITS)) * u128::from(WHOLE);
        let scaled = |share: u64| u128::from(share) << DRAW_BITS;
        let above = self.points.partition_point(|point| scaled(point.share) <= draw).min(self.points.len() - 1);
        let high = self.points[above];
        let Some(low) = above.checked_sub(1).map(|below| self.points[below]) else { return high.bytes.max(1) };
        let width = scaled(high.share - low.share);
        let part = u128::from(high.bytes - low.bytes) * (draw - scaled(low.share)) + width / 2;
        (low.bytes + (part / width) as u64).max(1)
    }

    /// The table: bytes, and the cumulative share in units of 10^-9.
    pub fn points(&self) -> impl Iterator<Item = (u64, u64)> {
        self.points.iter().map(|point| (point.bytes, point.share))
    }
}

impl Point {
    fn show(self) -> String {
        format!("`{} {}`", self.bytes, self.share as f64 / (WHOLE / 100) as f64)
    }
}

/// A distribution of flow sizes: the name of a published one, or a file's path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distribution(pub String);

impl Distribution {
    /// Path of the file, unless published.
    pub(crate) fn path(&self) -> Option<&str> {
        (!Sizes::names().any(|name| name == self.0)).then_some(self.0.as_str())
    }
}

impl Setting for Distribution {
    const FORM: &'static str =
        "\"web-search\", \"data-mining\", \"hadoop\", or the path of a file (with an ending) of lines `bytes percent`";
    fn read(literal: &Literal) -> Result<Distribution, String> {
        let Literal::Text(text) = literal else { return Err(unexpected(literal)) };
        match Sizes::names().any(|name| name == text) || text.contains('.') {
            true => Ok(Distribution(text.clone())),
            false => Err(format!("\"{text}\" is not a distribution{}", did_you_mean(text, Sizes::names()))),
        }
    }
    fn show(&self) -> String {
        quoted(&self.0)
    }
}
