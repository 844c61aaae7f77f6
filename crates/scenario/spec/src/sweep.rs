//! Sweeps: validated axes, each a key with its values.

use crate::literal::Literal;
use crate::point::{Coordinate, FAN_IN, Point, Written, path_of};
use crate::problem::{Origin, Problem, did_you_mean};
use crate::settings::FAN_INS;
use crate::{Kind, Settings};

/// Maximum number of points.
const POINTS_MAX: usize = 10_000;

/// A swept key with its values and their origins.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    /// Key as written.
    pub key: String,
    pub section: String,
    pub name: String,
    pub values: Vec<(Coordinate, Origin)>,
    pub origin: Origin,
}

impl Axis {
    /// Validates an axis.
    ///
    /// # Errors
    /// An unknown key, one that is not part of a single run, an empty list, and invalid values.
    pub fn new(written: &Written) -> Result<Axis, Problem> {
        let Written { key, values: written, origin, .. } = written.clone();
        let key = key.as_str();
        let (section, name) = swept(key).map_err(|what| Problem::new(&origin, what))?;
        let mut axis = Axis { key: key.into(), section: section.into(), name: name.into(), values: Vec::new(), origin };
        if written.is_empty() {
            let what = format!("`sweep.{key}` is empty: write at least one value, such as {}", axis.example());
            return Err(Problem::new(&axis.origin, what));
        }
        for (value, origin) in written {
            axis.add(value, origin)?;
        }
        Ok(axis)
    }

    pub fn path(&self) -> String {
        format!("{}.{}", self.section, self.name)
    }

    fn add(&mut self, value: Literal, origin: Origin) -> Result<(), Problem> {
        let mut settings = Settings::default();
        settings
            .set(&self.section, &self.name, &value)
            .map_err(|why| Problem::new(&origin, format!("`sweep.{}`: {why}", self.key)))?;
        let (shown, number) = settings.value(&self.section, &self.name);
        let mut before = Settings::default();
        for (known, _) in &self.values {
            // It has been set once before.
            let _ = before.set(&self.section, &self.name, &known.value);
            let same =
                shown == before.value(&self.section, &self.name).0 || (number.is_some() && number == known.number);
            if same && !self.is_fan_in() {
                let (one, other) = (known.value.show(), value.show());
                let what = format!("`sweep.{}` has {one} and {other}, which are the same: keep one", self.key);
                return Err(Problem::new(&origin, what));
            }
        }
        let last = self.values.last().and_then(|(last, _)| last.number);
        if self.is_fan_in() && last >= number {
            return Err(Problem::new(&origin, "the fan-ins must rise, each once, such as [2, 4, 8]"));
        }
        self.values.push((Coordinate { key: self.key.clone(), value, number }, origin));
        Ok(())
    }

    fn is_fan_in(&self) -> bool {
        path_of(&self.key) == path_of(FAN_IN)
    }

    fn example(&self) -> String {
        format!("[{}]", Settings::default().value(&self.section, &self.name).0)
    }

    /// The default axis of fan-ins.
    pub fn of_fan_ins(fan_ins: impl IntoIterator<Item = u32>) -> Axis {
        let values = fan_ins.into_iter().flat_map(|n| Point::of_fan_in(n).0).map(|c| (c, Origin::Default)).collect();
        let (section, name) = ("workload".into(), FAN_IN.into());
        Axis { key: FAN_IN.into(), section, name, values, origin: Origin::Default }
    }

    /// An axis with a single number of hosts.
    pub fn of_hosts(hosts: u32) -> Axis {
        let value = Literal::Integer(hosts.into());
        let key = "fabric.hosts".to_string();
        let one = Coordinate { key: key.clone(), value, number: Some(hosts.into()) };
        let (section, name) = ("fabric".into(), "hosts".into());
        Axis { key, section, name, values: vec![(one, Origin::Default)], origin: Origin::Default }
    }

    /// The default axis if nothing sets the number of servers.
    pub fn unsaid() -> Axis {
        Axis::of_fan_ins(FAN_INS)
    }
}

/// Section and name of a key that can be swept.
fn swept(key: &str) -> Result<(&str, &str), String> {
    let unknown = || {
        let docs = Settings::default().docs();
        let known = docs.iter().map(|doc| doc.path.as_str()).filter(|path| !path.starts_with("sweep."));
        let near = did_you_mean(key, known.chain([FAN_IN]));
        let hint = if near.is_empty() { "; `fanin explain scenario` lists them all" } else { "" };
        format!("unknown key `{key}` to sweep{near}{hint}")
    };
    let (section, name) = path_of(key).ok_or_else(unknown)?;
    if section == "sweep" || !Settings::keys_of(section).is_some_and(|keys| keys.contains(&name)) {
        return Err(unknown());
    }
    if section == "run" {
        return Err(format!("`{key}` cannot be swept: it applies to a whole comparison, not to a run; use one value"));
    }
    if (section, name) == ("workload", "kind") {
        let words: Vec<&str> = Kind::all().into_iter().map(|(kind, _)| kind.word()).collect();
        let what =
            format!("`{key}` cannot be swept: results of {} are not comparable; run each separately", words.join(", "));
        return Err(what);
    }
    if Settings::default().value(section, name).0.starts_with('[') {
        return Err(format!(
            "`{key}` cannot be swept: its value is a list; compare scenarios, or schemes with their own values"
        ));
    }
    Ok((section, name))
}

/// The file's axes, overridden by arguments for the same keys, then the remaining arguments.
///
/// # Errors
/// Mutually exclusive axes, and too many points.
pub(crate) fn joined(file: &[Axis], arguments: &[Axis]) -> Result<Vec<Axis>, Problem> {
    let mut axes = file.to_vec();
    for argument in arguments {
        match axes.iter_mut().find(|axis| axis.path() == argument.path()) {
            Some(axis) => *axis = argument.clone(),
            None => axes.push(argument.clone()),
        }
    }
    let block = |name: &str| axes.iter().find(|axis| axis.section == "workload" && axis.name == name);
    if let (Some(_), Some(block)) = (block("fragment"), block("block")) {
        let what = "`workload.fragment` and `workload.block` are mutually exclusive; sweep only one";
        return Err(Problem::new(&block.origin, what));
    }
    let points = axes.iter().try_fold(1usize, |points, axis| points.checked_mul(axis.values.len()));
    match (points, axes.last()) {
        (Some(points), _) if points <= POINTS_MAX => Ok(axes),
        (points, last) => {
            let origin = last.map_or(Origin::Default, |axis| axis.origin.clone());
            let many = points.map_or("too many".into(), |points| points.to_string());
            Err(Problem::new(&origin, format!("{many} points to sweep: use at most {POINTS_MAX}")))
        }
    }
}

/// All combinations as indices into the axes' values; the last axis changes first.
pub(crate) fn combinations(axes: &[Axis]) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for axis in axes {
        all = all
            .into_iter()
            .flat_map(|before: Vec<usize>| {
                (0..axis.values.len()).map(move |i| before.iter().copied().chain([i]).collect())
            })
            .collect();
    }
    all
}
