//! A curve of a figure: at every x one value a seed.

use crate::stats::{Interval, mean_interval, six_digits};

/// One line of a figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// What the legend calls it: the scheme's label, or the model's.
    pub name: String,
    /// By rising x.
    pub points: Vec<Point>,
    /// Whether it was worked out and not run, so that nothing in it is due to chance.
    pub exact: bool,
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
