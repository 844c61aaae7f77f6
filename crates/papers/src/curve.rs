//! A curve of a figure: at every x one value a seed.

use fanin_lab::stats::{Interval, mean_interval, six_digits};

/// One line of a figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// What the legend calls it: the scheme's label, or the model's.
    pub name: String,
    /// By rising x.
    pub points: Vec<Point>,
    /// Whether it was worked out and not run, so that nothing in it is due to chance.
    pub exact: bool,
    /// What its numbers are of.
    pub axes: Axes,
}

/// The units of a curve's numbers, for words.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axes {
    /// Behind a value, with a space before it: ` Mbit/s`; empty of an index or a probability.
    pub unit: String,
    /// What the curve is drawn over: `senders`, `time, ms`, `round`.
    pub over: String,
}

impl Axes {
    /// Of axes as charts have them: `goodput, Mbit/s` over `senders`.
    pub fn of(value: &str, over: &str) -> Axes {
        let unit = match value.rsplit_once(", ") {
            Some((_, unit)) if unit.starts_with('%') => " %".into(),
            Some((_, unit)) => format!(" {unit}"),
            None if value.contains("index") || value.contains("probability") => String::new(),
            None => format!(" {value}"),
        };
        Axes { unit, over: over.into() }
    }

    /// Where a point lies: `16 senders`, `350 ms`, `round 3`.
    pub fn place(&self, x: f64) -> String {
        let over = self.over.as_str();
        match over.rsplit_once(", ") {
            _ if over.is_empty() => x.to_string(),
            Some((_, unit)) => format!("{x} {unit}"),
            None if x == 1.0 && over.ends_with('s') => format!("1 {}", over.trim_end_matches('s')),
            None if over.ends_with('s') => format!("{x} {over}"),
            None => format!("{over} {x}"),
        }
    }
}

/// What was measured at one x.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The number of senders, of the round, or a time.
    pub x: f64,
    /// The mean over seeds with its 95 % interval.
    pub y: Interval,
    /// One value a seed, in the order of seeds.
    pub values: Vec<f64>,
}

impl Point {
    /// `None` where there are no values.
    pub fn new(x: f64, values: Vec<f64>) -> Option<Point> {
        let y = mean_interval(&values)?.six_digits();
        Some(Point { x: six_digits(x), y, values: values.into_iter().map(six_digits).collect() })
    }
}

impl Curve {
    /// The points from `from` to `to`, both included.
    pub fn within(&self, from: f64, to: f64) -> impl Iterator<Item = &Point> {
        self.points.iter().filter(move |p| p.x >= from && p.x <= to)
    }

    /// The point at `x`.
    pub fn at(&self, x: f64) -> Option<&Point> {
        self.points.iter().find(|p| p.x == x)
    }
}
