//! Curves of a figure: one value per seed at every x.

use fanin_lab::stats::{Interval, mean_interval, six_digits};

/// One line of a figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Its name in the legend: the label of a scheme or model.
    pub name: String,
    /// In ascending order of x.
    pub points: Vec<Point>,
    /// Whether it was computed rather than simulated: it is not subject to chance.
    pub exact: bool,
    /// Units of its values.
    pub axes: Axes,
}

/// The units of a curve's values, for messages.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axes {
    /// Suffix of a value, with a leading space: ` Mbit/s`; empty for an index or a probability.
    pub unit: String,
    /// The x axis: `senders`, `time, ms`, `round`.
    pub over: String,
}

impl Axes {
    /// From a chart's axis titles: `goodput, Mbit/s` over `senders`.
    pub fn of(value: &str, over: &str) -> Axes {
        let unit = match value.rsplit_once(", ") {
            Some((_, unit)) if unit.starts_with('%') => " %".into(),
            Some((_, unit)) => format!(" {unit}"),
            None if value.contains("index") || value.contains("probability") => String::new(),
            None => format!(" {value}"),
        };
        Axes { unit, over: over.into() }
    }

    /// An x value with its unit: `16 senders`, `350 ms`, `round 3`.
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

/// The values measured at one x.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// A number of senders, a round, or a time.
    pub x: f64,
    /// The mean over seeds with its 95 % CI.
    pub y: Interval,
    /// One value per seed, in seed order.
    pub values: Vec<f64>,
}

impl Point {
    /// `None` if there are no values.
    pub fn new(x: f64, values: Vec<f64>) -> Option<Point> {
        let y = mean_interval(&values)?.six_digits();
        Some(Point { x: six_digits(x), y, values: values.into_iter().map(six_digits).collect() })
    }
}

impl Curve {
    /// The points from `from` to `to`, inclusive.
    pub fn within(&self, from: f64, to: f64) -> impl Iterator<Item = &Point> {
        self.points.iter().filter(move |p| p.x >= from && p.x <= to)
    }

    /// The point at `x`.
    pub fn at(&self, x: f64) -> Option<&Point> {
        self.points.iter().find(|p| p.x == x)
    }
}
