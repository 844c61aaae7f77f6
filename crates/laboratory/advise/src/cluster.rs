//! The cluster: a scenario at one point, with or without a change.

use fanin_lab::{MOST_SEEDS, quoted};
use fanin_spec::{At, FAN_IN, Kind, Problem, Reader, Scenario, Settings, Variant};
use fanin_units::{Bytes, Time};

use crate::lines::Addresses;
use crate::remedy::{Change, SERVERS};

/// A scenario as the user has it, with how files that it names are read.
pub struct Asked<'a> {
    /// Scenario with the user's settings.
    pub scenario: &'a Scenario,
    /// Reads named files.
    pub read: &'a Reader<'a>,
    /// The words by which a command names the scenario: its file, or flags that describe it.
    pub source: &'a [String],
    /// The user's settings as command-line arguments, for printed commands.
    pub arguments: Vec<String>,
    /// Number of servers, overriding the scenario's largest.
    pub servers: Option<u32>,
    /// Number of servers that the cluster will grow to.
    pub grow_to: Option<u32>,
    /// Addresses that lines name.
    pub addresses: &'a Addresses,
}

/// Rounds at the start of a shorter run that it excludes: connections have lost their first bursts by then.
const COLD_ROUNDS: u32 = 6;

/// A cluster at its one point.
#[derive(Clone)]
pub struct Cluster<'a> {
    scenario: Scenario,
    read: &'a Reader<'a>,
    source: &'a [String],
    arguments: Vec<String>,
    /// Addresses that lines name.
    pub addresses: &'a Addresses,
    /// Without a change.
    pub today: Variant,
    /// Servers.
    pub servers: u32,
}

impl<'a> Cluster<'a> {
    /// The cluster with `servers` servers [default: the most of the sweep], at the last value of each other swept key.
    ///
    /// # Errors
    /// An invalid scenario.
    pub fn new(asked: &Asked<'a>, servers: Option<u32>) -> Result<Cluster<'a>, Problem> {
        let mut scenario = asked.scenario.clone();
        let mut first = first_of(&scenario, asked.read)?;
        let most = first.points.iter().map(|at| at.settings.servers()).max();
        let moved = servers.filter(|&servers| Some(servers) != most);
        if let Some(servers) = moved {
            scenario.assign(&format!("--servers {servers}"), &format!("sweep.{FAN_IN}=[{servers}]"))?;
            first = first_of(&scenario, asked.read)?;
        }
        let last = first.points.last().expect("a variant has a point");
        let (mut arguments, many) = (asked.arguments.clone(), last.settings.workload.kind.many_to_one());
        for coordinate in &last.point.0 {
            let shown = coordinate.shown();
            if coordinate.is_fan_in() && (many || moved.is_some()) {
                scenario.assign(&format!("--fan-in {shown}"), &format!("sweep.{FAN_IN}=[{shown}]"))?;
                arguments.extend(["--fan-in".into(), shown]);
            } else if first.points.len() > 1 {
                let key = if coordinate.is_fan_in() { "workload.fan_in" } else { &coordinate.key };
                let assignment = format!("{key}={shown}");
                scenario.assign(&assignment, &assignment)?;
                arguments.extend(["--set".into(), assignment]);
            }
        }
        let servers = last.settings.servers();
        scenario.select(&first.label, &[&first.label])?;
        let today = first_of(&scenario, asked.read)?;
        let Asked { read, source, addresses, .. } = *asked;
        Ok(Cluster { scenario, read, source, arguments, addresses, today, servers })
    }

    /// Whether its hosts use TCP.
    pub fn has_tcp(&self) -> bool {
        self.today.scheme.is_tcp()
    }

    /// How long a sender waits at least before it takes a packet for lost.
    pub fn timeout(&self) -> Time {
        self.at().settings.least_timeout(&self.today.scheme)
    }

    /// Its settings.
    pub fn at(&self) -> &At {
        &self.today.points[0]
    }

    /// The cluster in runs of this length, for comparing changes with one another; `None` if its own runs are no longer. A short run
    /// consists mostly of its start, which a long one hardly shows, so that it begins with a warm-up.
    ///
    /// # Errors
    /// None that a shorter time could have.
    pub fn shortened(&self, length: Time) -> Result<Option<Cluster<'a>>, Problem> {
        let w = &self.at().settings.workload;
        if !matches!(w.kind, Kind::Barrier | Kind::Long | Kind::Poisson | Kind::Bursts) || w.duration <= length {
            return Ok(None);
        }
        let warm_up = match w.kind {
            _ if w.warm_up.0.is_some() => None,
            Kind::Barrier => Some(format!("workload.warm_up={COLD_ROUNDS} rounds")),
            Kind::Long => Some(format!("workload.warm_up={}", self.timeout())),
            _ => None,
        };
        let mut short = self.clone();
        for assignment in [format!("workload.duration={length}")].into_iter().chain(warm_up) {
            short.scenario.assign(&assignment, &assignment)?;
            short.arguments.extend(["--set".into(), assignment]);
        }
        short.today = first_of(&short.scenario, self.read)?;
        Ok(Some(short))
    }

    /// Largest number of data packets in a run of this length.
    pub fn packets(&self, length: Time) -> u64 {
        let s = &self.at().settings;
        let a_second = (s.line_rate() as f64 / 8.0 / s.wire_packet(&self.today.scheme) as f64).max(1.0);
        (length.as_secs_f64() * a_second) as u64
    }

    /// Estimated number of data packets in a run that ends with its workload; `None` if it lasts for a given time.
    pub fn own_packets(&self) -> Option<u64> {
        let s = &self.at().settings;
        (!s.workload.kind.facts().lasts).then(|| s.volume(&self.today.scheme).packets as u64)
    }

    /// The cluster with a change; `None` if the change has no effect or is impossible.
    pub fn with(&self, change: &Change) -> Option<Variant> {
        let mut scenario = self.scenario.clone();
        for assignment in change.assignments() {
            scenario.assign(&assignment, &assignment).ok()?;
        }
        if let Some(scheme) = &change.scheme {
            scenario.select(scheme, &[scheme]).ok()?;
        }
        let changed = first_of(&scenario, self.read).ok().filter(|variant| variant.points.len() == 1)?;
        let same = changed.scheme == self.today.scheme && changed.points[0].settings == self.at().settings;
        (!same).then_some(changed)
    }

    /// The cluster with a change, at other numbers of servers.
    pub fn along(&self, change: &Change, servers: &[u32]) -> Option<Variant> {
        let mut scenario = self.scenario.clone();
        let counts: Vec<String> = servers.iter().map(ToString::to_string).collect();
        let others = change.assignments().filter(|assignment| !assignment.starts_with(SERVERS));
        for assignment in others.chain([format!("{SERVERS}=[{}]", counts.join(","))]) {
            scenario.assign(&assignment, &assignment).ok()?;
        }
        if let Some(scheme) = &change.scheme {
            scenario.select(scheme, &[scheme]).ok()?;
        }
        first_of(&scenario, self.read).ok()
    }

    /// The command that runs the cluster with a change and this many seeds.
    pub fn command(&self, change: &Change, seeds: u32) -> String {
        let mut words: Vec<String> = ["fanin", "compare"].map(String::from).to_vec();
        words.extend_from_slice(self.source);
        words.extend(["--schemes".into(), change.scheme.clone().unwrap_or_else(|| self.today.label.clone())]);
        let moves_servers = change.assignments().any(|assignment| assignment.starts_with(SERVERS));
        let own = self.arguments.chunks(2).filter(|pair| !(moves_servers && pair[0] == "--fan-in"));
        words.extend(own.flatten().cloned());
        words.extend(change.assignments().flat_map(|assignment| ["--set".into(), assignment]));
        let first = self.today.settings.run.first_seed;
        words.extend(["--seeds".into(), seeds.min(MOST_SEEDS).to_string(), "--first-seed".into(), first.to_string()]);
        words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }

    /// Payload of a client's round, if it has one.
    pub fn round(&self) -> Option<Bytes> {
        round(&self.at().settings)
    }
}

/// The payload of a client's round with these settings.
pub fn round(s: &Settings) -> Option<Bytes> {
    let fragments = s.workload.fragment.0.map(|fragment| Bytes(fragment.0 * u64::from(s.requested_servers())));
    fragments.or(s.workload.block.0)
}

fn first_of(scenario: &Scenario, read: &Reader<'_>) -> Result<Variant, Problem> {
    let mut all = scenario.variants_with(read)?;
    Ok(all.swap_remove(0))
}
