//! The axis of a sweep and its points, in words.

use fanin_spec::{Coordinate, FAN_IN, RunSpec, Variant};

use crate::SummaryRow;

/// The axis along which curves are drawn, and the other axes with several values.
#[derive(Clone, Debug)]
pub struct Axis {
    of: Of,
    /// Its index in a point.
    along: usize,
    /// Indices of the other axes with several values.
    others: Vec<usize>,
}

#[derive(Clone, Debug, PartialEq)]
enum Of {
    /// Number of servers that respond to the client.
    Senders,
    /// Number of hosts of an any-to-any workload.
    Hosts,
    /// A key with one value per point.
    Key(String),
}

impl Axis {
    /// The axis of a comparison; all schemes have the same one.
    pub fn of(variants: &[Variant]) -> Axis {
        let Some(variant) = variants.first() else {
            return Axis { of: Of::Senders, along: 0, others: Vec::new() };
        };
        let along = variant.along();
        let many_to_one = variants.iter().any(|c| c.settings.workload.kind.many_to_one());
        let of = match variant.points[0].point.0.get(along) {
            Some(key) if key.is_fan_in() && many_to_one => Of::Senders,
            Some(key) if !many_to_one && (key.is_fan_in() || key.key == "fabric.hosts") => Of::Hosts,
            Some(key) => Of::Key(key.key.clone()),
            None => Of::Senders,
        };
        let others = variant.moving().into_iter().filter(|axis| *axis != along).collect();
        Axis { of, along, others }
    }

    /// The key, as in the scenario.
    pub fn key(&self) -> &str {
        match &self.of {
            Of::Senders | Of::Hosts => FAN_IN,
            Of::Key(key) => key,
        }
    }

    /// Title of the axis, such as `senders` or `load`.
    pub fn title(&self) -> String {
        match &self.of {
            Of::Senders => "senders".into(),
            Of::Hosts => "hosts".into(),
            Of::Key(key) => name(key),
        }
    }

    /// Name of one of its values, such as `fan-in` or `load`.
    pub fn noun(&self) -> String {
        match &self.of {
            Of::Senders => "fan-in".into(),
            Of::Hosts => "number of hosts".into(),
            Of::Key(key) if COUNTED.contains(&name(key).as_str()) => format!("number of {}", name(key)),
            Of::Key(key) => name(key),
        }
    }

    /// Adjective for the last of its values.
    pub fn last(&self) -> &'static str {
        if matches!(self.of, Of::Key(_)) { "last" } else { "largest" }
    }

    /// Whether its values double rather than grow linearly.
    pub fn doubles(&self) -> bool {
        !matches!(self.of, Of::Key(_))
    }

    /// The value at a point.
    pub fn tick(&self, row: &SummaryRow) -> String {
        match (&self.of, row.point.0.get(self.along)) {
            (Of::Senders, _) => row.servers.to_string(),
            (Of::Hosts, _) => row.hosts.to_string(),
            (Of::Key(_), coordinate) => coordinate.map_or(String::new(), Coordinate::shown),
        }
    }

    /// The point's number on the axis; `None` if not a number.
    pub fn number(&self, row: &SummaryRow) -> Option<f64> {
        match self.of {
            Of::Senders => Some(row.servers.into()),
            Of::Hosts => Some(row.hosts.into()),
            Of::Key(_) => row.point.0.get(self.along)?.number,
        }
    }

    /// `with 8 senders`, `with one sender`, `at load 60 %`.
    pub fn at(&self, tick: &str) -> String {
        match &self.of {
            Of::Senders if tick == "1" => "with one sender".into(),
            Of::Senders => format!("with {tick} senders"),
            Of::Hosts => format!("with {tick} hosts"),
            Of::Key(key) => at(key, tick),
        }
    }

    /// The same after the axis has been named: `with 8`, `at 60 %`.
    pub fn again(&self, tick: &str) -> String {
        let counted = matches!(&self.of, Of::Key(key) if COUNTED.contains(&name(key).as_str()));
        if self.doubles() || counted { format!("with {tick}") } else { format!("at {tick}") }
    }

    /// The point's curve if there are several, such as `at buffer 64 KiB`; otherwise empty.
    pub fn curve(&self, row: &SummaryRow) -> String {
        let others = self.others.iter().filter_map(|axis| row.point.0.get(*axis));
        others
            .map(|c| if c.is_fan_in() { format!("with {} senders", c.shown()) } else { at(&c.key, &c.shown()) })
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// The other keys with several values, as in the scenario, with a row's values.
    pub fn columns<'a>(&'a self, row: &'a SummaryRow) -> impl Iterator<Item = (&'a str, String)> {
        let mut axes = self.others.clone();
        axes.push(self.along);
        axes.sort_unstable();
        let coordinates = axes.into_iter().filter_map(|axis| row.point.0.get(axis));
        coordinates.filter(|c| !counts(c)).map(|c| (c.key.as_str(), c.shown()))
    }
}

/// A run's point, for a title: `8 senders`, `16 hosts, workload.load 60 %`.
pub fn place_of(spec: &RunSpec) -> String {
    let settings = &spec.settings;
    let who = match settings.workload.kind.many_to_one() {
        true if settings.servers() == 1 => "one sender".into(),
        true => format!("{} senders", settings.servers()),
        false => format!("{} hosts", settings.hosts()),
    };
    let others = spec.point.0.iter().filter(|c| !counts(c)).map(|c| format!("{} {}", c.key, c.shown()));
    std::iter::once(who).chain(others).collect::<Vec<_>>().join(", ")
}

/// Whether it is the number of servers or hosts.
fn counts(coordinate: &Coordinate) -> bool {
    coordinate.is_fan_in() || coordinate.key == "fabric.hosts"
}

/// `client rate` of `link.client_rate`.
fn name(key: &str) -> String {
    key.split_once('.').map_or(key, |(_, name)| name).replace('_', " ")
}

/// Keys that are counts.
const COUNTED: [&str; 4] = ["clients", "hosts", "racks", "hubs"];

/// `at load 60 %`, `with 48 clients`.
fn at(key: &str, tick: &str) -> String {
    let name = name(key);
    match (COUNTED.contains(&name.as_str()), tick) {
        (true, "1") => format!("with one {}", name.trim_end_matches('s')),
        (true, _) => format!("with {tick} {name}"),
        (false, _) => format!("at {name} {tick}"),
    }
}
