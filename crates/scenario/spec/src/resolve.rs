//! Resolution: from a scenario file to each scheme's settings at every point of the sweep.

use std::sync::Arc;

use crate::assignment::Assignment;
use crate::cards::dcqcn_keys;
use crate::literal::Literal;
use crate::point::Written;
use crate::problem::{Origin, Problem, Wrong};
use crate::scenario::{NamedScheme, Reader};
use crate::setting::FilePath;
use crate::sweep::{Axis, combinations, joined};
use crate::topology;
use crate::trace::paths as trace_paths;
use crate::{
    At, Bursts, Coordinate, Flows, Kind, Matrix, Plan, Point, Pulls, Scenario, Settings, Sizes, Stack, Topology, Trace,
    Variant, check,
};

/// The key for the number of servers.
const FAN_IN: &str = "workload.fan_in";
const HOSTS: &str = "fabric.hosts";

impl Scenario {
    /// Resolves and checks every scheme's settings in a scenario that names no file.
    ///
    /// # Errors
    /// The first invalid value or invalid combination.
    pub fn variants(&self) -> Result<Vec<Variant>, Problem> {
        self.variants_with(&|_| Err("no files are read here".into()))
    }

    /// Resolves and checks every scheme's settings. `read` takes a path from the scenario and returns the file's name for messages and
    /// its contents.
    ///
    /// # Errors
    /// As [`Scenario::variants`], and errors in a file.
    pub fn variants_with(&self, read: &Reader) -> Result<Vec<Variant>, Problem> {
        if self.named_schemes.is_empty() {
            let what =
                format!("{} names no scheme: add schemes = [\"newreno\", \"dctcp\"] or give --schemes", self.name);
            return Err(Problem::new(&Origin::Default, what));
        }
        self.named_schemes.iter().map(|named| resolve(self, named, read)).collect()
    }
}

/// Resolves and checks a scheme's settings at every point.
fn resolve(scenario: &Scenario, named: &NamedScheme, read: &Reader) -> Result<Variant, Problem> {
    let mut file = scenario.file_axes.clone();
    for axis in &mut file {
        let path = axis.path();
        // An argument overrides the file's sweep with one value.
        if let Some(set) = scenario.arguments.iter().rev().find(|a| a.path() == path) {
            axis.values = vec![(set.value.clone(), set.origin.clone())];
            axis.origin = set.origin.clone();
        }
    }
    let checked = |axes: &[Written]| axes.iter().map(Axis::new).collect::<Result<Vec<Axis>, Problem>>();
    let axes = joined(&checked(&file)?, &checked(&scenario.argument_axes)?)?;
    for axis in &axes {
        set_besides(axis, scenario, named)?;
    }
    let layers = [&scenario.file, &scenario.arguments, &named.own];
    let mut way = Way { layers, axes, named, read };
    let mut base = way.base()?;
    let unread = base.clone();
    way.inputs(&mut base, &unread, &[])?;
    if way.axes.is_empty() {
        way.axes.push(way.unwritten(&base));
    }
    way.one_cluster(&base)?;
    let swept = |places: Vec<usize>| way.axes.iter().zip(places).map(|(axis, i)| &axis.values[i]).collect::<Vec<_>>();
    let places: Vec<Vec<&(Coordinate, Origin)>> = combinations(&way.axes).into_iter().map(swept).collect();
    let points: Vec<At> = places.iter().map(|swept| way.at(&base, swept)).collect::<Result<_, Problem>>()?;
    // Start with the last point, usually the largest: if it fits, so do the others.
    for (at, swept) in points.iter().zip(&places).rev() {
        at.checked(&named.scheme).map_err(|wrong| way.refuse(wrong, swept))?;
        at.list_fits()?;
    }
    Ok(Variant::of(named.label.clone(), named.scheme, points))
}

/// Refuses a swept key that another argument or the scheme sets, because the intent is ambiguous.
fn set_besides(axis: &Axis, scenario: &Scenario, named: &NamedScheme) -> Result<(), Problem> {
    let path = axis.path();
    if let Some(own) = named.own.iter().find(|a| a.path() == path) {
        let what = format!(
            "`{path}` is swept, but `{}` sets its own; every scheme runs at the same points: remove one of the two",
            named.label
        );
        return Err(Problem::new(&own.origin, what));
    }
    let by_argument = scenario.argument_axes.iter().any(|swept| swept.path() == path);
    match scenario.arguments.iter().find(|a| a.path() == path) {
        Some(set) if by_argument => {
            let what = format!("`{path}` is swept by another argument: remove one of the two");
            Err(Problem::new(&set.origin, what))
        }
        _ => Ok(()),
    }
}

/// Key of a section whose value sets other keys.
const PROFILE: &str = "profile";

/// The sources of one scheme's settings.
struct Way<'a> {
    /// Later layers override earlier ones.
    layers: [&'a Vec<Assignment>; 3],
    /// Axes override all layers.
    axes: Vec<Axis>,
    named: &'a NamedScheme,
    read: &'a Reader<'a>,
}

impl Way<'_> {
    /// Settings without those of the sweep.
    fn base(&self) -> Result<Settings, Problem> {
        let mut settings = Settings::default();
        settings.suit(&self.named.scheme);
        for (layer, number) in self.layers.into_iter().zip(0..) {
            check::exclusive(layer)?;
            // Explicit keys override a profile, and one profile another: the keys that an overridden one would set keep their defaults.
            let (profiles, others): (Vec<&Assignment>, Vec<&Assignment>) = layer.iter().partition(|a| a.key == PROFILE);
            let in_force = profiles.into_iter().filter(|profile| !self.is_overridden(number, profile));
            for a in in_force.chain(others) {
                self.set_key(&mut settings, &a.section, &a.key, &a.value)
                    .map_err(|why| Problem::new(&a.origin, format!("`{}.{}`: {why}", a.section, a.key)))?;
            }
        }
        Ok(settings)
    }

    /// Whether a later layer or the sweep has another value for the key of this layer.
    fn is_overridden(&self, layer: usize, assignment: &Assignment) -> bool {
        let path = assignment.path();
        let later = self.layers[layer + 1..].iter().flat_map(|layer| layer.iter());
        later.map(Assignment::path).any(|other| other == path) || self.axes.iter().any(|axis| axis.path() == path)
    }

    /// The settings at a point.
    fn at(&self, base: &Settings, swept: &[&(Coordinate, Origin)]) -> Result<At, Problem> {
        let mut settings = base.clone();
        let (profiles, others): (Vec<_>, Vec<_>) =
            self.axes.iter().zip(swept).partition(|(axis, _)| axis.name == PROFILE);
        for (axis, (coordinate, _)) in profiles.into_iter().chain(others) {
            // The axis has validated it.
            let _ = self.set_key(&mut settings, &axis.section, &axis.name, &coordinate.value);
        }
        if let Some(mss) = settings.mss_of_frames().filter(|_| !self.says("tcp.mss")) {
            settings.tcp.mss = mss;
        }
        self.inputs(&mut settings, base, swept)?;
        self.take_part(&mut settings).map_err(|wrong| self.refuse(wrong, swept))?;
        Ok(At { point: Point(swept.iter().map(|(coordinate, _)| coordinate.clone()).collect()), settings })
    }

    /// Refuses to sweep the number of hosts of a flow list.
    fn one_cluster(&self, base: &Settings) -> Result<(), Problem> {
        let hosts = self.axes.iter().find(|axis| [FAN_IN, HOSTS].contains(&axis.path().as_str()));
        match hosts.filter(|axis| base.inputs.hosts(base.workload.kind).is_some() && axis.values.len() > 1) {
            Some(axis) => {
                let what = format!("a file says which hosts there are: give `{}` one value, or remove it", axis.key);
                Err(Problem::new(&axis.origin, what))
            }
            None => Ok(()),
        }
    }

    /// A problem located where one of the keys was set: in the sweep, or in the last layer that sets it.
    fn refuse(&self, Wrong { paths, what }: Wrong, swept: &[&(Coordinate, Origin)]) -> Problem {
        let mut values = self.axes.iter().zip(swept).filter(|(_, (_, origin))| *origin != Origin::Default);
        let value = values.find(|(axis, _)| paths.contains(&axis.path().as_str())).map(|(_, (_, origin))| origin);
        let written = || self.set(&paths, |origin| *origin != Origin::Default);
        Problem::new(value.or_else(written).unwrap_or(&self.named.origin), what)
    }

    /// Reads the files that settings name, reusing those already read.
    fn inputs(&self, settings: &mut Settings, read: &Settings, swept: &[&(Coordinate, Origin)]) -> Result<(), Problem> {
        let refuse =
            |key: &'static str, why| self.refuse(Wrong { paths: vec![key], what: format!("`{key}`: {why}") }, swept);
        let take = |key: &'static str, path: &str| {
            let (name, file) = (self.read)(path).map_err(|why| refuse(key, why))?;
            match String::from_utf8(file) {
                Ok(text) => Ok((name, text)),
                Err(_) => Err(refuse(key, format!("{name} is not UTF-8"))),
            }
        };
        if let Some(FilePath(path)) = &settings.fabric.topology.0 {
            if let Some(key) = topology::SETS.iter().find(|path| self.says(path)) {
                let what = format!("`fabric.topology` determines `{key}`: remove one of them");
                return Err(self.refuse(Wrong { paths: vec![key], what }, swept));
            }
            let (name, text) = take("fabric.topology", path)?;
            Topology::parse(&name, &text)?.apply(settings);
        }
        let (w, k, was) = (&settings.workload, &settings.key_value, &read.inputs);
        let inputs = &mut settings.inputs;
        if let (Some(FilePath(path)), Kind::Trace) = (&w.file.0, w.kind) {
            let known = was.trace.clone().filter(|_| read.workload.file == w.file);
            inputs.trace = match known {
                Some(known) => Some(known),
                None => {
                    let paths = trace_paths(path).map_err(|why| refuse("workload.file", why))?;
                    let read = |path: &str| (self.read)(path).map_err(|why| refuse("workload.file", why));
                    Some(Arc::new(Trace::read(&paths, &read)?))
                }
            };
        } else if let Some(FilePath(path)) = &w.file.0 {
            let known = was.flows.clone().filter(|_| read.workload.file == w.file);
            inputs.flows = Some(known_or(known, || take("workload.file", path), Flows::parse)?);
        }
        if let Some(FilePath(path)) = &w.bursts.0 {
            let known = was.bursts.clone().filter(|_| read.workload.bursts == w.bursts);
            inputs.bursts = Some(known_or(known, || take("workload.bursts", path), Bursts::parse)?);
        }
        inputs.matrix = match &w.matrix.0 {
            Some(FilePath(path)) => {
                let known = was.matrix.clone().filter(|_| read.workload.matrix == w.matrix);
                Some(known_or(known, || take("workload.matrix", path), Matrix::parse)?)
            }
            None => None,
        };
        if let Some(FilePath(path)) = &w.pulls.0 {
            let known = was.pulls.clone().filter(|_| read.workload.pulls == w.pulls);
            inputs.pulls = Some(known_or(known, || take("workload.pulls", path), Pulls::parse)?);
        }
        inputs.plan = match (w.kind, &k.placement.0) {
            (Kind::KeyValue, Some(FilePath(path))) => {
                let known = was.plan.clone().filter(|_| read.key_value.placement == k.placement);
                Some(known_or(known, || take("key_value.placement", path), Plan::parse)?)
            }
            _ => None,
        };
        inputs.sizes = match (w.load.0, w.sizes.path()) {
            (None, _) => None,
            (Some(_), None) => Sizes::named(&w.sizes.0).map(Arc::new),
            (Some(_), Some(path)) => {
                let known = was.sizes.clone().filter(|_| read.workload.sizes == w.sizes);
                Some(known_or(known, || take("workload.sizes", path), Sizes::parse)?)
            }
        };
        Ok(())
    }

    /// Sets the default number of hosts of an any-to-any workload.
    fn take_part(&self, settings: &mut Settings) -> Result<(), Wrong> {
        if settings.workload.kind.many_to_one() {
            return Ok(());
        }
        match (self.says(FAN_IN), self.says(HOSTS)) {
            (true, true) => {
                let what = format!("`{HOSTS}` and `fan_in` both set the number of hosts: keep one");
                return Err(Wrong { paths: vec![HOSTS, FAN_IN], what });
            }
            (false, false) => settings.workload.fan_in = follows(settings).map_or(settings.workload.fan_in, |n| n - 1),
            _ => {}
        }
        Ok(())
    }

    /// The axis of a scenario without a sweep: the configured number of servers, or the default fan-ins.
    fn unwritten(&self, base: &Settings) -> Axis {
        match (base.workload.kind.many_to_one(), base.fabric.hosts.0) {
            (false, Some(hosts)) => return Axis::of_hosts(hosts),
            _ if self.assigned(&[FAN_IN]).is_some() => {}
            (false, None) if let Some(hosts) = follows(base) => return Axis::of_fan_ins([hosts - 1]),
            _ => return Axis::unsaid(),
        }
        Axis::of_fan_ins([base.workload.fan_in])
    }

    /// Set a key and its consequences: clear excluded keys and apply a profile.
    fn set_key(&self, settings: &mut Settings, section: &str, key: &str, value: &Literal) -> Result<(), String> {
        if *value != Literal::Text("none".into()) {
            check::make_room(settings, section, key);
        }
        settings.set(section, key, value)?;
        let sets = match (section, key) {
            ("switch", "profile") => settings.switch.profile.0.map_or(Vec::new(), |chip| chip.sets().into()),
            ("tcp", "profile") => settings.tcp.profile.0.map_or(Vec::new(), Stack::sets),
            ("dcqcn", "profile") => dcqcn_keys(settings.laws.rates.dcqcn.profile),
            _ => Vec::new(),
        };
        // Keys of hosts are not TCP's own: a profile leaves them as they are written anywhere, also below its layer.
        let kept = |path: &str| path.starts_with("host.") && self.says(path);
        sets.iter().filter(|(path, _)| !kept(path)).try_for_each(|(path, value)| {
            let (section, key) = path.split_once('.').expect("a profile names a section and its key");
            settings.set(section, key, value)
        })
    }

    /// Whether a layer or the sweep sets this key.
    fn says(&self, path: &str) -> bool {
        self.assigned(&[path]).is_some() || self.axes.iter().any(|axis| axis.path() == path)
    }

    /// Where one of these keys was last set.
    fn assigned(&self, paths: &[&str]) -> Option<&Origin> {
        self.set(paths, |_| true)
    }

    /// Where one of these keys was last set, among origins that count.
    fn set(&self, paths: &[&str], counts: impl Fn(&Origin) -> bool) -> Option<&Origin> {
        let mut set = self.layers.iter().rev().flat_map(|layer| layer.iter().rev());
        set.find(|a| counts(&a.origin) && paths.contains(&a.path().as_str())).map(|a| &a.origin)
    }
}

/// Contents of a file, from earlier or read now.
fn known_or<T>(
    known: Option<Arc<T>>,
    read: impl FnOnce() -> Result<(String, String), Problem>,
    parse: fn(&str, &str) -> Result<T, Problem>,
) -> Result<Arc<T>, Problem> {
    match known {
        Some(known) => Ok(known),
        None => read().and_then(|(name, text)| parse(&name, &text)).map(Arc::new),
    }
}

/// The number of hosts implied by a flow list or by the fabric.
fn follows(settings: &Settings) -> Option<u32> {
    match settings.workload.kind.facts() {
        facts if facts.from_file => settings.inputs.hosts(settings.workload.kind),
        facts if facts.all_hosts => {
            let fixed = || settings.fixed_hosts().filter(|&hosts| hosts > 1);
            settings.inputs.hosts(settings.workload.kind).or_else(fixed)
        }
        _ => None,
    }
}
