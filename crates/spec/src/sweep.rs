//! What is swept: axes, each a key with its values, and the points that they span.

use std::fmt;

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::problem::{Origin, Problem, did_you_mean};
use crate::setting::{KeyDoc, Literal, Section};
use crate::{Kind, Settings};

/// The key of the servers, as a sweep has it for short.
pub const FAN_IN: &str = "fan_in";
/// What is swept where nothing else is said.
const FAN_INS: [u32; 7] = [2, 4, 8, 16, 32, 64, 128];
/// No sweep has more points.
const POINTS_MAX: usize = 10_000;

/// The section `[sweep]`: its keys are those of other sections.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sweep;

impl Section for Sweep {
    const NAME: &'static str = "sweep";
    const DOC: &'static str = "What is swept: one key or more, each with its values. `fan_in`, or any key of one run with its section, such as \"workload.load\" = [\"20 %\", \"60 %\"]; points are all combinations. An onset is looked for along the first key of more than one value.";
    const KEYS: &'static [&'static str] = &[FAN_IN];
    const WORKLOADS: &'static [&'static str] = &[];

    fn set(&mut self, _: &str, _: &Literal) -> Result<(), String> {
        unreachable!("an axis is no setting")
    }

    fn value(&self, _: &str) -> (String, Option<f64>) {
        unreachable!("an axis is no setting")
    }

    fn out_of_range(&self) -> Option<(&'static str, String)> {
        None
    }

    fn docs(&self) -> Vec<KeyDoc> {
        vec![KeyDoc {
            path: "sweep.fan_in".into(),
            form: "a list of whole numbers, such as [2, 4, 8]",
            range: None,
            default: Literal::List(FAN_INS.map(|n| Literal::Integer(n.into())).to_vec()).show(),
            doc: "Numbers of servers that answer, `workload.fan_in`, rising; of a workload between any hosts, the hosts besides the client. The default is for where nothing is swept and nothing says how many.".into(),
            workloads: &[],
            need: None,
        }]
    }
}

/// One value of a swept key, as it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Coordinate {
    /// The key: `fan_in`, `workload.load`.
    pub key: String,
    /// The value.
    pub value: Literal,
    /// Its place among others of the key; `None` of what is no number.
    pub number: Option<f64>,
}

impl Coordinate {
    /// Whether it is the number of servers.
    pub fn is_fan_in(&self) -> bool {
        path_of(&self.key) == path_of(FAN_IN)
    }

    /// The value for people, without quotes.
    pub fn shown(&self) -> String {
        match &self.value {
            Literal::Text(text) => text.clone(),
            other => other.show(),
        }
    }
}

/// A point of a sweep: a value of every axis, in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point(pub Vec<Coordinate>);

impl Point {
    /// The point at a number of servers, where nothing else is swept.
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

/// An object with keys and values as they were written.
impl Serialize for Point {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for Coordinate { key, value, .. } in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl Serialize for Literal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Literal::Text(text) => serializer.serialize_str(text),
            Literal::Integer(n) => serializer.serialize_i64(*n),
            Literal::Float(x) => serializer.serialize_f64(*x),
            Literal::Bool(b) => serializer.serialize_bool(*b),
            Literal::List(items) => serializer.collect_seq(items),
        }
    }
}

/// A swept key with its values, each with the place where it was written.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    /// As it was written.
    pub key: String,
    pub section: String,
    pub name: String,
    pub values: Vec<(Coordinate, Origin)>,
    pub origin: Origin,
}

/// Section and name of a key of `[sweep]`.
fn path_of(key: &str) -> Option<(&str, &str)> {
    if key == FAN_IN { Some(("workload", FAN_IN)) } else { key.split_once('.') }
}

impl Axis {
    /// An axis as it is written.
    ///
    /// # Errors
    /// A key that is unknown or belongs to no single run, a list that is empty, and what is wrong with a value.
    pub fn new(key: &str, written: Vec<(Literal, Origin)>, origin: Origin) -> Result<Axis, Problem> {
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
            // It has been set before.
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

    /// The axis of fan-ins that nobody wrote.
    pub fn of_fan_ins(fan_ins: impl IntoIterator<Item = u32>) -> Axis {
        let values = fan_ins.into_iter().flat_map(|n| Point::of_fan_in(n).0).map(|c| (c, Origin::Default)).collect();
        let (section, name) = ("workload".into(), FAN_IN.into());
        Axis { key: FAN_IN.into(), section, name, values, origin: Origin::Default }
    }

    /// The axis of one number of hosts, which is said elsewhere.
    pub fn of_hosts(hosts: u32) -> Axis {
        let value = Literal::Integer(hosts.into());
        let key = "fabric.hosts".to_string();
        let one = Coordinate { key: key.clone(), value, number: Some(hosts.into()) };
        let (section, name) = ("fabric".into(), "hosts".into());
        Axis { key, section, name, values: vec![(one, Origin::Default)], origin: Origin::Default }
    }

    /// What is swept where nothing says how many servers there are.
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
    if section == Sweep::NAME || !Settings::keys_of(section).is_some_and(|keys| keys.contains(&name)) {
        return Err(unknown());
    }
    if section == "run" {
        return Err(format!("`{key}` cannot be swept: it is not of one run but of how often there is one; set it"));
    }
    if (section, name) == ("workload", "kind") {
        let words: Vec<&str> = Kind::all().into_iter().map(|(kind, _)| kind.word()).collect();
        let what =
            format!("`{key}` cannot be swept: figures of {} are not of one kind; compare each alone", words.join(", "));
        return Err(what);
    }
    if Settings::default().value(section, name).0.starts_with('[') {
        return Err(format!(
            "`{key}` cannot be swept: its value is a list; compare scenarios, or schemes with their own"
        ));
    }
    Ok((section, name))
}

/// Those of the file with those of arguments in place of their namesakes, then the others.
///
/// # Errors
/// Two that exclude one another, and more points than can be.
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
        let what = "`workload.fragment` and `workload.block` exclude one another: sweep the one that is meant";
        return Err(Problem::new(&block.origin, what));
    }
    let points = axes.iter().try_fold(1usize, |points, axis| points.checked_mul(axis.values.len()));
    match (points, axes.last()) {
        (Some(points), _) if points <= POINTS_MAX => Ok(axes),
        (points, last) => {
            let origin = last.map_or(Origin::Default, |axis| axis.origin.clone());
            let many = points.map_or("too many".into(), |points| points.to_string());
            Err(Problem::new(&origin, format!("{many} points to sweep: right would be at most {POINTS_MAX}")))
        }
    }
}

/// All combinations, the last axis changing first: of each axis the value's place.
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
