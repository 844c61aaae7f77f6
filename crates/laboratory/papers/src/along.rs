//! Axis of a paper's figure: the number of senders, or another swept key.

use fanin_spec::{FAN_IN, Point, Variant};

/// A swept key, whose values are the numbers of an axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Along {
    /// The key: `fan_in`, `link.client_rate`.
    pub key: String,
    /// The unit of all its values; empty if they have none.
    unit: String,
}

impl Along {
    /// The only swept key of a scenario; the number of senders if none is swept.
    ///
    /// # Errors
    /// A sweep of several keys, or of values that are not numbers of one unit.
    pub fn of(variant: &Variant) -> Result<Along, String> {
        let moving = variant.moving();
        let first = &variant.points[0].point.0;
        let key = match moving.as_slice() {
            [] => FAN_IN.to_string(),
            [one] => first[*one].key.clone(),
            [one, other, ..] => {
                let (one, other) = (&first[*one].key, &first[*other].key);
                return Err(format!("sweeps `{one}` and `{other}`: a figure has one axis; sweep one key"));
            }
        };
        if key == FAN_IN {
            return Ok(Along { key, unit: String::new() });
        }
        let values = || variant.points.iter().filter_map(|at| at.point.get(&key)).map(|value| value.shown());
        let unit = values().next().and_then(|first| Some(number(&first)?.1.to_string()));
        match unit.filter(|unit| values().all(|value| number(&value).is_some_and(|(_, other)| other == unit))) {
            Some(unit) => Ok(Along { key, unit }),
            None => Err(format!("sweeps `{key}`, whose values are not numbers of one unit")),
        }
    }

    /// Whether this is the number of senders.
    pub fn is_fan_in(&self) -> bool {
        self.key == FAN_IN
    }

    /// The x value of a point.
    pub fn x(&self, point: &Point, fan_in: u32) -> Option<f64> {
        match self.is_fan_in() {
            true => Some(fan_in.into()),
            false => number(&point.get(&self.key)?.shown()).map(|(number, _)| number),
        }
    }

    /// The x values of a variant's points, in order.
    pub fn xs(&self, variant: &Variant) -> Vec<f64> {
        variant.points.iter().filter_map(|at| self.x(&at.point, at.settings.servers())).collect()
    }

    /// Points in the notation of a claims file: `[2, 4]`.
    pub fn listed(xs: &[f64]) -> String {
        format!("[{}]", xs.iter().map(f64::to_string).collect::<Vec<_>>().join(", "))
    }

    /// The axis title: `senders`, `client rate, Mbit/s`.
    pub fn axis(&self) -> String {
        if self.is_fan_in() {
            return "senders".into();
        }
        let name = self.key.split_once('.').map_or(self.key.as_str(), |(_, name)| name).replace('_', " ");
        if self.unit.is_empty() { name } else { format!("{name}, {}", self.unit) }
    }
}

/// The number and the unit of a written value.
fn number(shown: &str) -> Option<(f64, &str)> {
    let (number, unit) = shown.split_once(' ').unwrap_or((shown, ""));
    Some((number.parse().ok()?, unit))
}
