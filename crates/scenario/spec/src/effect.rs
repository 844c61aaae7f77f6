//! Warnings about settings that have no effect, or not the intended one. Results are correct, but the user may misread them.

use fanin_fabric::{Fabric, HostId};
use fanin_fanout::sicc::Queue;
use fanin_units::{Bytes, QueueSize, Rate, Time};

use crate::assignment::Assignment;
use crate::classes::starved;
use crate::conditions::unmet;
use crate::problem::{Origin, Wrong};
use crate::registry::owner;
use crate::{At, Base, Discipline, KeyDoc, Kind, PURE_ACK, Problem, Scenario, Scheme, Settings, Variant};

impl Scenario {
    /// Keys set in the file, by an argument or by a scheme that have no effect on any of `variants`, or not the intended one. Ignores
    /// sections for schemes of the file that are not selected.
    pub fn warnings(&self, variants: &[Variant]) -> Vec<Problem> {
        let docs = Settings::default().docs();
        let all: Vec<User> = variants.iter().flat_map(users).collect();
        let left_out = self.left_out.iter().filter_map(|named| Some((&named.scheme, all.first()?.1)));
        let of_file: Vec<User> = all.iter().copied().chain(left_out).collect();
        let swept = |path: &str| self.file_axes.iter().chain(&self.argument_axes).any(|axis| axis.path() == path);
        let stands =
            |a: &&Assignment| !swept(&a.path()) && !self.arguments.iter().any(|other| other.path() == a.path());
        let axes: Vec<Assignment> =
            self.file_axes.iter().chain(&self.argument_axes).filter_map(Assignment::first).collect();
        let mut warnings = self.of_former_names(&axes);
        warnings.extend(without_effect(self.file.iter().filter(stands), &docs, &of_file));
        for argument in self.arguments.iter().chain(&axes) {
            warnings.extend(without_effect(std::iter::once(argument), &docs, &all));
        }
        for (named, variant) in self.named_schemes.iter().zip(variants) {
            let own = without_effect(named.own.iter(), &docs, &users(variant).collect::<Vec<_>>());
            let set = || self.file.iter().chain(&self.arguments).chain(&named.own).chain(&axes).rev();
            let place = |Wrong { paths, what }: Wrong| {
                let assigned = paths.iter().find_map(|path| set().find(|a| a.path() == *path))?;
                Some(Problem::new(&assigned.origin, what))
            };
            let points: Vec<&Settings> = variant.points.iter().map(|at| &at.settings).collect();
            let doubts = folded(variant)
                .into_iter()
                .chain(variant.scheme.transport.properties().doubts(&points))
                .filter_map(place);
            for warning in own.into_iter().chain(doubts) {
                if !warnings.contains(&warning) {
                    warnings.push(warning);
                }
            }
        }
        warnings
    }

    /// Warnings about former names of keys and values.
    fn of_former_names(&self, axes: &[Assignment]) -> Vec<Problem> {
        let of_schemes = self.named_schemes.iter().flat_map(|named| &named.own);
        let all = self.file.iter().chain(&self.arguments).chain(axes).chain(of_schemes);
        all.filter_map(|a| Some(Problem::new(&a.origin, a.former.as_ref()?))).collect()
    }
}

/// A possible user of a key: a scheme with its settings at a point.
type User<'a> = (&'a Scheme, &'a Settings);

fn users(variant: &Variant) -> impl Iterator<Item = User<'_>> {
    variant.points.iter().map(|at| (&variant.scheme, &at.settings))
}

/// A variant's points that differ in more than the number of servers, without that number: no warning depends on it.
fn unlike(variant: &Variant) -> Vec<At> {
    let mut points = variant.points.clone();
    for At { point, settings } in &mut points {
        settings.workload.fan_in = 1;
        point.0.retain(|coordinate| !coordinate.is_fan_in());
    }
    points.dedup();
    points
}

/// Points that a warning names in addition to the first.
const NAMED: usize = 3;

/// A variant's warnings, with one warning for the same keys at several points of the sweep.
fn folded(variant: &Variant) -> Vec<Wrong> {
    let mut kinds: Vec<(Wrong, Vec<String>)> = Vec::new();
    for At { point, settings } in unlike(variant) {
        for doubt in doubts(&variant.scheme, &settings) {
            match kinds.iter_mut().find(|(first, _)| first.paths == doubt.paths) {
                None => kinds.push((doubt, Vec::new())),
                Some((first, _)) if first.what == doubt.what => {}
                Some((_, others)) if others.contains(&point.to_string()) => {}
                Some((_, others)) => others.push(point.to_string()),
            }
        }
    }
    let one = |(Wrong { paths, what }, others): (Wrong, Vec<String>)| {
        let (count, named) = (others.len(), others[..others.len().min(NAMED)].join("; "));
        let what = match count {
            0 => what,
            1 => format!("{what} (also at {named})"),
            _ if count <= NAMED => format!("{what} (also at {count} more points: {named})"),
            _ => format!("{what} (also at {count} more points: {named}; and {} others)", count - NAMED),
        };
        Wrong { paths, what }
    };
    kinds.into_iter().map(one).collect()
}

/// Warnings for keys that no user needs; adjacent keys of a section with the same reason share a warning.
fn without_effect<'a>(set: impl Iterator<Item = &'a Assignment>, docs: &[KeyDoc], users: &[User]) -> Vec<Problem> {
    // Defaults need no warning.
    let written = set.filter(|a| a.origin != Origin::Default);
    let reasons = written.filter_map(|a| Some((a, idle(docs.iter().find(|key| key.path == a.path())?, users)?)));
    let reasons: Vec<(&Assignment, String)> = reasons.collect();
    let of_a_kind = reasons.chunk_by(|(a, reason), (b, other)| a.section == b.section && reason == other);
    let warning = |kind: &[(&Assignment, String)]| {
        let names: Vec<String> = kind.iter().map(|(a, _)| format!("`{}`", a.path())).collect();
        let have = if names.len() == 1 { "has" } else { "have" };
        let (first, reason) = kind.first()?;
        Some(Problem::new(&first.origin, format!("{} {have} no effect here: {reason}", names.join(", "))))
    };
    of_a_kind.filter_map(warning).collect()
}

/// Why no user needs a key: the first user's reason.
fn idle(key: &KeyDoc, users: &[User]) -> Option<String> {
    let mut reasons = users.iter().map(|(scheme, settings)| reason(key, scheme, settings));
    let first = reasons.next()??;
    reasons.all(|reason| reason.is_some()).then_some(first)
}

/// Why a scheme with its settings does not need a key; `None` if it does.
fn reason(key: &KeyDoc, scheme: &Scheme, settings: &Settings) -> Option<String> {
    let kind = settings.workload.kind.word();
    if !key.workloads.is_empty() && !key.workloads.contains(&kind) {
        return Some(format!("the {kind} workload does not use it, only {}", key.workloads.join(", ")));
    }
    let section = key.section();
    if !settings.sections_of(scheme).contains(&section)
        && let Some(owner) = owner(section)
    {
        return Some(format!("[{section}] applies to schemes such as {owner}, none of which is selected"));
    }
    if let Some(why) = scheme.transport.properties().ignores(settings, &key.path) {
        return Some(why.into());
    }
    let own = settings.of_laws().into_iter().find(|law| law.name() == section);
    let idle = own.and_then(|law| law.keys().iter().find(|own| own.path == key.path)?.idle);
    let unmet = key.need.and_then(|need| unmet(need, scheme, settings));
    idle.or(unmet).map(str::to_string)
}

/// Values that work but probably not as intended, with their keys.
fn doubts(scheme: &Scheme, s: &Settings) -> Vec<Wrong> {
    // The link types do not depend on the number of hosts.
    let fabric = s.network_of(2).ok();
    let idle_law = match scheme.discipline {
        Discipline::EcnThreshold => {
            let (k, path) = s.client_threshold();
            let high = || fabric.as_ref().filter(|_| path.is_none()).and_then(|fabric| high_threshold(s, fabric, k));
            idle_threshold(s, path.unwrap_or("ecn_threshold.k"), k, "marks").or_else(high)
        }
        Discipline::Red if s.laws.ports.red.target_delay.is_none() && !s.laws.ports.red.byte_mode => {
            idle_threshold(s, "red.min_th", s.laws.ports.red.min_th, if scheme.ecn { "marks" } else { "drops early" })
        }
        Discipline::CoDel => fabric.as_ref().and_then(|fabric| idle_target(s, fabric)),
        _ => None,
    };
    let fabric = fabric.as_ref();
    let periods = [
        short_period(scheme, s, fabric),
        late_estimate(scheme, s),
        late_samples(scheme, s),
        low_target(scheme, s, fabric),
    ];
    let hasty = hasty_timeout(s).filter(|_| scheme.is_tcp());
    let all = [idle_law, short_run(s, fabric), requests_cut_off(s), hasty, starved(s)].into_iter().chain(periods);
    all.flatten().collect()
}

/// A threshold that no queue exceeds, since a packet that is admitted leaves one packet less below the buffer.
fn idle_threshold(s: &Settings, path: &'static str, threshold: QueueSize, does: &str) -> Option<Wrong> {
    let (buffer, place) = room(s);
    let beyond = match (threshold, buffer) {
        (QueueSize::Packets(threshold), QueueSize::Packets(buffer)) => threshold.saturating_add(1) >= buffer,
        _ => s.in_bytes(threshold).saturating_add(s.full_frame().0) >= s.in_bytes(buffer),
    };
    let what = format!(
        "`{path}` of {threshold} never {does}, because {place} is full before the queue exceeds it: use a threshold \
         well below the buffer"
    );
    beyond.then(|| Wrong { paths: vec![path, "switch.buffer", "switch.shared_buffer"], what })
}

/// An automatic threshold beyond the rates of its source that lets queues grow far beyond what the network needs to be full.
fn high_threshold(s: &Settings, fabric: &Fabric, k: QueueSize) -> Option<Wrong> {
    const MEASURED: Rate = Rate(100_000_000_000);
    let rate = s.link.client_rate.0.unwrap_or(s.link.rate);
    let (bytes, pipe) = (s.in_bytes(k), rate.bytes_in(s.round_trip(fabric, HostId(1), s.full_packet())));
    let what = format!(
        "`ecn_threshold.k` follows the link's rate up to {k} ({}), {} times the {} that a link of {rate} carries in a round trip: the DCTCP \
         paper's figures end at 10 Gbit/s and longer round trips; set it to some of those bytes",
        Bytes(bytes),
        bytes / pipe.max(1),
        Bytes(pipe)
    );
    (rate > MEASURED && bytes > 2 * pipe).then(|| Wrong { paths: vec!["link.rate", "link.client_rate"], what })
}

/// Capacity of a port's queue, and its description.
fn room(s: &Settings) -> (QueueSize, String) {
    let buffer = s.client_buffer();
    match s.switch.shared_buffer.0 {
        None => (buffer, format!("a `switch.buffer` of {buffer}")),
        Some(memory) => (buffer, format!("a port's limit of {buffer} in a `switch.shared_buffer` of {memory}")),
    }
}

/// A delay target that no packet reaches: even the slowest link drains a full buffer sooner.
fn idle_target(s: &Settings, fabric: &Fabric) -> Option<Wrong> {
    let (buffer, place) = room(s);
    let longest = fabric.slowest_rate().time_for(s.in_bytes(buffer));
    let what = format!(
        "`codel.target` of {} never acts: {place} drains in {longest}; use a target well below that",
        s.laws.ports.codel.target
    );
    let steady = s.fabric.changes.is_empty();
    (steady && s.laws.ports.codel.target >= longest)
        .then(|| Wrong { paths: vec!["codel.target", "switch.buffer", "switch.shared_buffer"], what })
}

/// A run shorter than a round trip.
fn short_run(s: &Settings, fabric: Option<&Fabric>) -> Option<Wrong> {
    let round_trip = s.round_trip(fabric?, HostId(1), PURE_ACK);
    let what = format!(
        "`workload.duration` of {} is under one round trip ({round_trip} between the client and server1): almost \
         nothing is measured",
        s.workload.duration
    );
    (s.workload.duration < round_trip).then(|| Wrong { paths: vec!["workload.duration", "link.delay"], what })
}

/// Requests that start after the run's end.
fn requests_cut_off(s: &Settings) -> Option<Wrong> {
    let within = s.key_value.within.0.filter(|_| s.workload.kind == Kind::KeyValue)?;
    let duration = s.workload.duration;
    let what = format!(
        "requests start within {within}, but `workload.duration` of {duration} ends before that: use a longer duration"
    );
    (within > duration).then(|| Wrong { paths: vec!["key_value.within", "workload.duration"], what })
}

/// A control period shorter than the reaction to the previous one.
fn short_period(scheme: &Scheme, s: &Settings, fabric: Option<&Fabric>) -> Option<Wrong> {
    let period = s.fan_outs.sicc.period;
    let round_trip = s.round_trip(fabric?, HostId(1), s.full_packet());
    let what = format!(
        "`sicc.period` of {period} is under one round trip ({round_trip} between the client and server1): speeds change \
         before the previous ones take effect; use several round trips"
    );
    (sets_speeds(scheme, s) && period < round_trip).then(|| Wrong { paths: vec!["sicc.period", "link.delay"], what })
}

fn sets_speeds(scheme: &Scheme, s: &Settings) -> bool {
    scheme.fan_out.and_then(|fan_out| fan_out.parts(&s.fan_outs.sicc)).is_some_and(|parts| parts.speed)
}

/// A queue estimate distorted by delayed ACKs.
fn late_estimate(scheme: &Scheme, s: &Settings) -> Option<Wrong> {
    let what = format!(
        "`sicc.queue = \"estimated\"` mistakes ACKs delayed by up to `tcp.delayed_ack_timeout` of {} for a queue, so \
         front ends reduce their speeds more and more; use `tcp.delayed_ack = 1`",
        s.tcp.delayed_ack_timeout
    );
    let late = s.fan_outs.sicc.queue == Queue::Estimated && s.tcp.delayed_ack > 1;
    (late && sets_speeds(scheme, s)).then(|| Wrong { paths: vec!["sicc.queue", "tcp.delayed_ack"], what })
}

/// Round trips distorted by delayed ACKs.
fn late_samples(scheme: &Scheme, s: &Settings) -> Option<Wrong> {
    let what = format!(
        "`{scheme}` mistakes ACKs delayed by up to `tcp.delayed_ack_timeout` of {} for a queue, so that it sends too little; use \
         `tcp.delayed_ack = 1`",
        s.tcp.delayed_ack_timeout
    );
    let late = scheme.is_tcp() && scheme.base.row().times_packets && s.tcp.delayed_ack > 1;
    late.then(|| Wrong { paths: vec!["tcp.delayed_ack", "tcp.profile"], what })
}

/// A target delay of Swift that no round trip meets.
fn low_target(scheme: &Scheme, s: &Settings, fabric: Option<&Fabric>) -> Option<Wrong> {
    let (swift, fabric) = (&s.laws.senders.swift, fabric?);
    let switches = fabric.path(HostId(1), HostId::CLIENT).count() as u64 - 1;
    let target = swift.base_target.saturating_add(Time(swift.hop_target.0.saturating_mul(switches)));
    let round_trip = s.round_trip(fabric, HostId(1), s.full_packet());
    let what = format!(
        "Swift's target delay of {target} (`swift.base_target`, and `swift.hop_target` per switch) is under one round trip with \
         empty queues ({round_trip} between the client and server1): senders reduce their windows without congestion; use a \
         `swift.base_target` some packets' time above {round_trip}"
    );
    let is_low = scheme.is_tcp() && scheme.base == Base::Swift && target < round_trip;
    is_low.then(|| Wrong { paths: vec!["swift.base_target", "swift.hop_target", "link.rate", "link.delay"], what })
}

/// A timeout shorter than a delayed ACK.
fn hasty_timeout(s: &Settings) -> Option<Wrong> {
    let (floor, kept_back) = (s.tcp.rto_min, s.tcp.delayed_ack_timeout);
    let what = format!(
        "`tcp.rto_min` of {floor} is under `tcp.delayed_ack_timeout` of {kept_back}: the delayed ACK of a single segment arrives \
         after its sender's timeout, so small windows time out and stall without loss; check the timeouts, and try \
         `tcp.delayed_ack = 1` or a shorter `tcp.delayed_ack_timeout`"
    );
    let paths = vec!["tcp.rto_min", "tcp.delayed_ack", "tcp.delayed_ack_timeout"];
    (s.tcp.delayed_ack > 1 && floor < kept_back).then_some(Wrong { paths, what })
}
