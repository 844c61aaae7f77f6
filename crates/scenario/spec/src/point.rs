//! Points of a sweep, and axes as written.

use std::fmt;

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::former;
use crate::literal::Literal;
use crate::problem::Origin;

/// Short name of the key for the number of servers in a sweep.
pub const FAN_IN: &str = "fan_in";
/// One value of a swept key.
#[derive(Clone, Debug, PartialEq)]
pub struct Coordinate {
    /// Key, such as `fan_in` or `workload.load`.
    pub key: String,
    /// Value as written.
    pub value: Literal,
    /// Rank among the key's values; `None` if not a number.
    pub number: Option<f64>,
}

impl Coordinate {
    /// Whether it is the number of servers.
    pub fn is_fan_in(&self) -> bool {
        path_of(&self.key) == path_of(FAN_IN)
    }

    /// The value without quotes.
    pub fn shown(&self) -> String {
        match &self.value {
            Literal::Text(text) => text.clone(),
            other => other.show(),
        }
    }
}

/// A point of a sweep: one value per axis, in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point(pub Vec<Coordinate>);

impl Point {
    /// The point with this number of servers if nothing else is swept.
    pub fn of_fan_in(fan_in: u32) -> Point {
        Point(vec![Coordinate {
            key: FAN_IN.into(),
            value: Literal::Integer(fan_in.into()),
            number: Some(fan_in.into()),
        }])
    }

    /// The point without one of its axes.
    pub fn without(&self, axis: usize) -> Point {
        let others = self.0.iter().enumerate().filter(|(i, _)| *i != axis);
        Point(others.map(|(_, coordinate)| coordinate.clone()).collect())
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Coordinate> {
        self.0.iter().find(|coordinate| coordinate.key == key)
    }
}

/// `fan_in 8`, `workload.load 60 %, switch.buffer 64 KiB`.
impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: Vec<String> = self.0.iter().map(|c| format!("{} {}", c.key, c.shown())).collect();
        f.write_str(&shown.join(", "))
    }
}

/// An object with keys and values as written.
impl Serialize for Point {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for Coordinate { key, value, .. } in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// A swept key with its values as written, not yet validated.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub key: String,
    pub values: Vec<(Literal, Origin)>,
    pub origin: Origin,
    /// Warning about a former name.
    pub former: Option<String>,
}

impl Written {
    /// Of a key and values as written, which may have former names.
    pub fn new(written: &str, values: Vec<(Literal, Origin)>, origin: Origin) -> Written {
        let Some((section, name)) = path_of(written) else {
            return Written { key: written.into(), values, origin, former: None };
        };
        let former = values.iter().find_map(|(value, _)| former::warning(section, name, value));
        let present = former::key(section, name);
        let key = if present == name { written.into() } else { format!("{section}.{present}") };
        let current = |(value, origin)| (former::value(section, present, value), origin);
        Written { key, values: values.into_iter().map(current).collect(), origin, former }
    }

    /// The key with its section.
    pub fn path(&self) -> String {
        path_of(&self.key).map_or(self.key.clone(), |(section, name)| format!("{section}.{name}"))
    }
}

/// Section and name of a key of `[sweep]`.
pub(crate) fn path_of(key: &str) -> Option<(&str, &str)> {
    if key == FAN_IN { Some(("workload", FAN_IN)) } else { key.split_once('.') }
}
