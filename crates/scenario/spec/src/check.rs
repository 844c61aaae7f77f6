//! Validation of settings: values out of range, and combinations that cannot work.

use std::collections::BTreeSet;
use std::ops::Range;

use fanin_fabric::{Fabric, HostId, State};
use fanin_laws::settings::Refusal;
use fanin_placement::picc::Learn;
use fanin_units::{Bytes, QueueSize, Time};

use crate::assignment::Assignment;
use crate::classes;
use crate::facts::{Leaves, Payload};
use crate::literal::Literal;
use crate::problem::{Problem, Wrong, wrong};
use crate::range::{FAN_IN_MAX, RATE_MAX, RATE_MIN};
use crate::registry::owner;
use crate::volume::what_would_fit;
use crate::{FabricSettings, Frames, Kind, ReplicaRacks, Scheme, Settings, WarmUp, servers, switch};

/// Keys that determine the fabric.
const FABRIC: [&str; 11] = [
    "fabric.topology",
    "fabric.edges",
    "fabric.racks",
    "fabric.hosts_per_rack",
    "fabric.spines",
    "fabric.pods",
    "fabric.arity",
    "fabric.uplink_rate",
    "fabric.oversubscription",
    "fabric.placement",
    "fabric.kind",
];

/// Keys that `workload.fragment` excludes.
const NOT_WITH_FRAGMENT: [&str; 2] = ["block", "matrix"];

/// Refuses mutually exclusive keys, such as `fragment` and `block`, within one layer of settings.
pub(crate) fn exclusive(layer: &[Assignment]) -> Result<(), Problem> {
    // A key set to "none" does not count.
    let given = |key| layer.iter().find(|a| a.is("workload", key) && a.value != Literal::Text("none".into()));
    match NOT_WITH_FRAGMENT.into_iter().find_map(|key| given("fragment").and(given(key))) {
        Some(other) => {
            let what = format!("`workload.fragment` and `workload.{}` are mutually exclusive; set only one", other.key);
            Err(Problem::new(&other.origin, what))
        }
        None => one_memory(layer),
    }
}

/// Refuses both a buffer per port and a shared memory within one layer of settings.
fn one_memory(layer: &[Assignment]) -> Result<(), Problem> {
    let is_none = |a: &Assignment| a.value == Literal::Text("none".into());
    let shared = layer.iter().any(|a| a.is("switch", "shared_buffer") && !is_none(a));
    match layer.iter().find(|a| a.is("switch", "buffer")).filter(|_| shared) {
        Some(buffer) => Err(Problem::new(
            &buffer.origin,
            "`switch.buffer` (one buffer per port) and `switch.shared_buffer` (one memory for all ports, divided by \
             `switch.alpha`) are mutually exclusive; set only one",
        )),
        None => Ok(()),
    }
}

/// Resets the setting of an earlier layer that a later layer's key excludes.
pub(crate) fn make_room(settings: &mut Settings, section: &str, key: &str) {
    match (section, key) {
        ("workload", "fragment") => (settings.workload.block.0, settings.workload.matrix.0) = (None, None),
        ("workload", key) if NOT_WITH_FRAGMENT.contains(&key) => settings.workload.fragment.0 = None,
        ("switch", "buffer") => settings.switch.shared_buffer.0 = None,
        ("ecn_threshold", "k") => switch::drop_published_k(settings),
        _ => {}
    }
}

/// Refuses settings that cannot work.
pub(crate) fn settings(scheme: &Scheme, s: &Settings) -> Result<(), Wrong> {
    ranges(scheme, s)?;
    seeds(s)?;
    hosts(s)?;
    timeouts(s)?;
    segments(s)?;
    giving_up(s)?;
    buffers(s)?;
    cards(scheme, s)?;
    workload(s)?;
    asking(scheme, s)?;
    servers::differ(s)?;
    gathering(scheme, s)?;
    volume(scheme, s)?;
    network(s)?;
    switch::shared(s)?;
    switch::ports(s)?;
    classes::check(scheme, s)?;
    scheme.transport.properties().check(scheme, s)?;
    racks(scheme, s)?;
    laws(scheme, s)
}

/// Every value is in its declared range, in the sections that the scheme and the workload use.
fn ranges(scheme: &Scheme, s: &Settings) -> Result<(), Wrong> {
    let (kind, own) = (s.workload.kind.word(), s.sections_of(scheme));
    let looked_at = |section: &str, workloads: &[&str]| {
        let schemes_own = own.contains(&section) || owner(section).is_none();
        schemes_own && (workloads.is_empty() || workloads.contains(&kind))
    };
    match s.out_of_range(looked_at) {
        Some((path, what)) => wrong(&[path], what),
        None => Ok(()),
    }
}

/// The seeds of all runs exist.
fn seeds(s: &Settings) -> Result<(), Wrong> {
    if s.run.first_seed.checked_add(s.run.seeds.into()).is_none() {
        return wrong(&["run.first_seed"], "`run.first_seed` is too large for the number of seeds");
    }
    Ok(())
}

/// The fabric has enough hosts for clients and servers.
fn hosts(s: &Settings) -> Result<(), Wrong> {
    let (hosts, servers, least) = (s.hosts(), s.servers(), s.taking_part());
    if hosts >= least || !s.workload.kind.many_to_one() {
        return Ok(());
    }
    let clients = match s.clients() {
        1 => "the client".into(),
        clients => format!("{clients} clients"),
    };
    let what = format!("`fabric.hosts` is {hosts}, too few for {servers} servers and {clients}: use at least {least}");
    wrong(&["fabric.hosts", "workload.fan_in", "workload.clients"], what)
}

/// Initial timeouts are between the minimum and the maximum.
fn timeouts(s: &Settings) -> Result<(), Wrong> {
    let (least, first, most) = (s.tcp.rto_min, s.tcp.rto_initial, s.tcp.rto_max);
    if least > most || first > most {
        let what = format!("rto_min {least} and rto_initial {first} must not exceed rto_max {most}");
        return wrong(&["tcp.rto_min", "tcp.rto_max", "tcp.rto_initial"], what);
    }
    if first < least {
        let what = format!(
            "rto_initial {first} is below rto_min {least}: use an rto_initial of at least {least}, or a lower rto_min"
        );
        return wrong(&["tcp.rto_initial", "tcp.rto_min"], what);
    }
    Ok(())
}

/// The receive window holds a segment, and RACK has SACK.
fn segments(s: &Settings) -> Result<(), Wrong> {
    if s.tcp.receive_window < s.tcp.mss {
        return wrong(&["tcp.receive_window", "tcp.mss"], "a receive window must be between one MSS and 1 GiB");
    }
    frames(s)?;
    for (on, path) in [(s.tcp.rack, "tcp.rack"), (s.tcp.tail_loss_probe, "tcp.tail_loss_probe")] {
        if on && !s.tcp.sack {
            let what = format!(
                "`{path}` needs selective acknowledgements (RFC 8985): set `tcp.sack = true`, or `{path} = false`"
            );
            return wrong(&[path, "tcp.sack"], what);
        }
    }
    Ok(())
}

/// The segment size matches `link.frames`.
fn frames(s: &Settings) -> Result<(), Wrong> {
    let (frames, mss) = (s.link.frames, s.tcp.mss);
    let Some(most) = s.mss_of_frames() else { return Ok(()) };
    let standard = Frames::Standard.packet().map_or(0, |packet| packet.0);
    if mss <= most && (frames == Frames::Standard || mss.0 + s.headers() > standard) {
        return Ok(());
    }
    let what = format!(
        "`tcp.mss` of {mss} contradicts `link.frames = \"{}\"`, whose packets carry {most}: use that value, or remove the key",
        frames.word()
    );
    wrong(&["tcp.mss", "link.frames"], what)
}

/// Applications can handle aborted connections.
fn giving_up(s: &Settings) -> Result<(), Wrong> {
    let (path, kind) = ("tcp.max_retransmissions", s.workload.kind);
    if s.tcp.max_retransmissions.0.is_none() {
        return Ok(());
    }
    if kind != Kind::KeyValue {
        let what = format!(
            "`{path}` aborts connections, and a {} workload would wait forever for their data: use it with \
             `workload.kind = \"key_value\"`, whose front ends try another server",
            kind.word()
        );
        return wrong(&[path], what);
    }
    if s.key_value.timeout.0.is_none() && s.key_value.deadline.0.is_none() {
        let what = format!(
            "`{path}` aborts a server's connection with a reset, which may be lost, so that its front end would wait \
             forever: also set `key_value.timeout`, after which it tries another server, or `key_value.deadline`"
        );
        return wrong(&[path, "key_value.timeout", "key_value.deadline"], what);
    }
    Ok(())
}

/// Every buffer holds at least one packet.
fn buffers(s: &Settings) -> Result<(), Wrong> {
    let full = s.full_frame();
    let own = s.switch.shared_buffer.0.is_none().then_some(s.switch.buffer);
    for (path, size) in [("switch.buffer", own), ("host.buffer", s.host.buffer.0)] {
        let small = match size {
            Some(QueueSize::Bytes(bytes)) => bytes < full.0,
            Some(QueueSize::Packets(packets)) => packets == 0,
            None => false,
        };
        if small {
            let what = format!("`{path}` is smaller than one packet: use at least {full} or 1 packet");
            return wrong(&[path, "tcp.mss"], what);
        }
    }
    Ok(())
}

/// A card drains below every link's rate, and its buffer holds a packet.
fn cards(scheme: &Scheme, s: &Settings) -> Result<(), Wrong> {
    let Some(drain) = s.nic.drain.0 else { return Ok(()) };
    let link = s.link.rate.min(s.link.client_rate.0.unwrap_or(s.link.rate));
    if drain >= link {
        let what = format!(
            "`host.nic.drain` of {drain} is not below the link's {link}, so that the card's buffer would never fill: use a lower rate, or \
             \"none\""
        );
        return wrong(&["nic.drain", "link.rate", "link.client_rate"], what);
    }
    let crate::Packets { payload, headers, .. } = s.packets(scheme);
    let needs = Bytes(s.link.framing.frame(payload.0 as u32 + headers).into());
    if s.nic.buffer < needs {
        let what = format!("`host.nic.buffer` of {} holds no full packet: use at least {needs}", s.nic.buffer);
        return wrong(&["nic.buffer", "rdma.payload"], what);
    }
    if s.nic.notify_at.0.is_some_and(|at| at >= s.nic.buffer) {
        let what = "`host.nic.notify_at` is not below `host.nic.buffer`, so that the card would never mark: use less";
        return wrong(&["nic.notify_at", "nic.buffer"], what);
    }
    Ok(())
}

/// The network is valid, and its links suit the clock. A plain star always does.
fn network(s: &Settings) -> Result<(), Wrong> {
    let star = s.fabric == (FabricSettings { hosts: s.fabric.hosts, ..FabricSettings::default() });
    if star && s.faults.hosts.is_empty() {
        return Ok(());
    }
    match s.network() {
        // An error with two hosts is an error with any number.
        Err(what) => wrong(if s.network_of(2).is_err() { &FABRIC } else { &["fabric.hosts", "workload.fan_in"] }, what),
        Ok(fabric) => rates_of(s, &fabric),
    }
}

/// Algorithms' own checks of their settings.
fn laws(scheme: &Scheme, s: &Settings) -> Result<(), Wrong> {
    let own = s.sections_of(scheme);
    for law in s.of_laws().into_iter().filter(|law| own.contains(&law.name())) {
        if let Some(Refusal { paths, what }) = law.refuses() {
            return wrong(paths, what);
        }
    }
    Ok(())
}

fn workload(s: &Settings) -> Result<(), Wrong> {
    let w = &s.workload;
    answers(s)?;
    if w.in_flight.0.is_some() && !w.kind.facts().limits {
        return wrong(
            &["workload.in_flight"],
            format!(
                "`workload.in_flight` applies only to barrier, web-search, all-to-all and pulls, not to {}",
                w.kind.word()
            ),
        );
    }
    if w.bursts.0.is_some() && w.kind != Kind::Bursts {
        return wrong(&["workload.bursts"], "`workload.bursts` applies only to `workload.kind = \"bursts\"`");
    }
    warm_up(s)?;
    service(s)?;
    (w.kind.facts().check)(s)
}

/// Request scheduling and placement are used only with key_value.
fn asking(scheme: &Scheme, s: &Settings) -> Result<(), Wrong> {
    let asks = scheme.fan_out.map(|fan_out| (fan_out.row().word, "schedules requests for objects"));
    let places = scheme.gathering.map(|gathering| (gathering.row().word, "places objects"));
    match asks.or(places) {
        Some((word, says)) if s.workload.kind != Kind::KeyValue => {
            let kind = s.workload.kind.word();
            let what = format!(
                "`{word}` {says}, and a {kind} workload has no objects: use it with `workload.kind = \"key_value\"`"
            );
            wrong(&["workload.kind"], what)
        }
        _ => Ok(()),
    }
}

/// A placement is possible: each replica has a rack, and some server can hold any popular object.
fn gathering(scheme: &Scheme, s: &Settings) -> Result<(), Wrong> {
    let Some(gathering) = scheme.gathering else { return Ok(()) };
    let (word, k, picc) = (gathering.row().word, &s.key_value, &s.placements.picc);
    if k.replicas > 1 && k.replica_racks != ReplicaRacks::Distinct {
        let replicas = k.replicas;
        let right = match s.network().map(|fabric| taken_racks(&fabric, 0..s.hosts()).len() as u32) {
            Ok(racks) if racks < replicas => format!(
                "a fabric of {replicas} racks (`fabric.kind = \"leaf-spine\"`) and `key_value.replica_racks = \"distinct\"`, or \
                 `key_value.replicas = 1`"
            ),
            _ => "`key_value.replica_racks = \"distinct\"`".into(),
        };
        let what = format!("`{word}` needs each replica of an object in a different rack: use {right}");
        return wrong(&["key_value.replica_racks", "key_value.replicas"], what);
    }
    if picc.memory < k.most {
        let what = format!(
            "an object of {} does not fit into a server's `picc.memory` of {}: increase `picc.memory`",
            k.most, picc.memory
        );
        return wrong(&["picc.memory", "key_value.most"], what);
    }
    if picc.learn == Learn::Running {
        // Objects in too much demand are not moved.
        return Ok(());
    }
    let asked = (u64::from(s.workload.queries) * u64::from(k.front_ends)).div_ceil(k.replicas.into());
    let most = s.usual_capacity(s.link.rate).computing;
    if asked > most {
        let what = format!(
            "a replica of an object may get {asked} requests per period, but a server handles {most} in {}: use more \
             requests per second, a longer period or fewer queries",
            picc.period
        );
        return wrong(&["picc.requests_per_s", "picc.period", "workload.queries"], what);
    }
    let (bytes, link) = (u128::from(asked) * u128::from(k.most.0), s.usual_capacity(s.link.rate).bandwidth);
    if bytes > u128::from(link) {
        let what = format!(
            "a replica of an object of {} may get {asked} requests per period, but a link of {} sends {} in {}: use a \
             longer period, smaller objects or fewer queries",
            k.most,
            s.link.rate,
            Bytes(link),
            picc.period
        );
        return wrong(&["picc.period", "key_value.most", "workload.queries", "link.rate"], what);
    }
    Ok(())
}

/// The racks of these hosts.
fn taken_racks(fabric: &Fabric, hosts: Range<u32>) -> BTreeSet<u32> {
    hosts.map(|host| fabric.rack(HostId(host))).collect()
}

/// Every rack has a server, and schemes with hubs have several racks.
fn racks(scheme: &Scheme, s: &Settings) -> Result<(), Wrong> {
    let Some(fabric) = s.network().ok().filter(|_| s.workload.kind == Kind::KeyValue) else { return Ok(()) };
    let taken = taken_racks(&fabric, 0..s.hosts());
    if let Some(of_hubs) = scheme.fan_out.filter(|fan_out| fan_out.parts(&s.fan_outs.sicc).is_some() && taken.len() < 2)
    {
        let what = format!(
            "`{}` uses one hub per rack, but all hosts are in one rack: use a fabric of several racks \
             (`fabric.kind = \"leaf-spine\"`) and servers in at least two",
            of_hubs.row().word
        );
        return wrong(&["fabric.kind", "fabric.racks", "fabric.hosts_per_rack", "workload.fan_in"], what);
    }
    let racks = fabric.racks().unwrap_or(taken.len() as u32);
    // The client stores no objects.
    let served = taken_racks(&fabric, 1..s.hosts());
    if (served.len() as u32) < racks {
        let what = format!(
            "{} of {racks} racks have no server: use more servers (`workload.fan_in`), `fabric.placement = \"spread\"` or \
             fewer racks",
            racks - served.len() as u32
        );
        return wrong(&["workload.fan_in", "fabric.racks", "fabric.hosts_per_rack", "fabric.kind"], what);
    }
    let k = &s.key_value;
    if k.replica_racks == ReplicaRacks::Distinct && k.replicas > racks {
        let what = format!(
            "{} replicas of an object in distinct racks, but there are {racks} racks: use at most {racks}",
            k.replicas
        );
        return wrong(&["key_value.replica_racks", "key_value.replicas", "fabric.racks"], what);
    }
    Ok(())
}

/// Sizes of responses, or of data that hosts send one another.
fn answers(s: &Settings) -> Result<(), Wrong> {
    let w = &s.workload;
    let sizes = ["workload.fragment", "workload.block"];
    match (w.kind.facts().payload, w.fragment.0, w.block.0) {
        (Payload::Own, _, _) => Ok(()),
        (_, None, None) => wrong(
            &["workload.kind"],
            format!(
                "the {} workload needs `workload.fragment` (per server) or `workload.block` (total), such as \"256 KiB\"",
                w.kind.word()
            ),
        ),
        (Payload::Fragments, _, Some(_)) => wrong(
            &["workload.block"],
            format!(
                "a {} workload uses `workload.fragment` for each host; `workload.block` does not apply",
                w.kind.word()
            ),
        ),
        (_, Some(Bytes(0)), _) | (_, _, Some(Bytes(0))) => wrong(&sizes, "a response of 0 B: use at least 1 B"),
        (_, _, Some(_)) if w.stripe.0.is_some() => {
            wrong(&["workload.stripe", "workload.block"], "a stripe has parts of `workload.fragment`, not of a block")
        }
        (_, _, Some(block)) if u64::from(s.servers()) > block.0 => {
            wrong(&sizes, format!("a block of {block} is less than one byte for each of {} servers", s.servers()))
        }
        _ => Ok(()),
    }
}

/// The warm-up leaves something to measure.
fn warm_up(s: &Settings) -> Result<(), Wrong> {
    let word = s.workload.kind.word();
    match (s.workload.kind.facts().leaves, s.workload.warm_up.0) {
        (_, None) | (Leaves::TimeOrRounds, Some(WarmUp::Rounds(_))) => Ok(()),
        (Leaves::TimeOrRounds | Leaves::Time, Some(WarmUp::For(time))) => match time > Time::from_secs(100_000) {
            true => wrong(&["workload.warm_up"], format!("a warm-up of {time}: use at most 100000 s")),
            false => Ok(()),
        },
        (Leaves::Time, Some(WarmUp::Rounds(_))) => {
            wrong(&["workload.warm_up"], format!("a {word} workload has no rounds: use a time, such as \"100 ms\""))
        }
        (Leaves::Nothing, Some(_)) => {
            wrong(&["workload.warm_up"], format!("a {word} workload is measured from its start and has no warm-up"))
        }
    }
}

/// Refuses link rates that the clock cannot represent, initially or after `fabric.changes`, and invalid changes of links and hosts.
fn rates_of(s: &Settings, fabric: &Fabric) -> Result<(), Wrong> {
    let right = RATE_MIN..=RATE_MAX;
    if let Some(link) = fabric.links().iter().find(|link| !right.contains(&link.rate)) {
        let path = if s.fabric.edges.is_empty() { "fabric.oversubscription" } else { "fabric.edges" };
        return wrong(&[path], format!("`{path}`: a link has {}; use {RATE_MIN} to {RATE_MAX}", link.rate));
    }
    let changes = s.changes(fabric).map_err(|what| Wrong { paths: vec!["fabric.changes"], what })?;
    s.host_faults(fabric).map_err(|what| Wrong { paths: vec!["faults.hosts"], what })?;
    match changes.iter().find(|change| matches!(change.to, State::Rate(rate) if !right.contains(&rate))) {
        Some(_) => wrong(&["fabric.changes"], format!("`fabric.changes`: use a rate from {RATE_MIN} to {RATE_MAX}")),
        None => Ok(()),
    }
}

/// Refuses runs that are too large for any machine, and names a size that fits.
fn volume(scheme: &Scheme, s: &Settings) -> Result<(), Wrong> {
    let others = s.hosts() - 1;
    if s.workload.background > FAN_IN_MAX - others {
        let what = format!(
            "{} long flows with {others} servers: a network has at most {FAN_IN_MAX} hosts besides the client; use up to {}",
            s.workload.background,
            FAN_IN_MAX - others
        );
        return wrong(&["workload.background"], what);
    }
    let Some(too_much) = s.too_much(scheme) else {
        return match s.least_poisson_gap_ps() < 1.0 {
            true => {
                wrong(&["workload.load"], "each host would start more than one flow per picosecond: reduce the load")
            }
            false => Ok(()),
        };
    };
    let held = |points: &[Settings]| points.iter().all(|settings| settings.too_much(scheme).is_none());
    let (path, fits) = what_would_fit(std::slice::from_ref(s), &held).unwrap_or(("workload.fan_in", "less".into()));
    let what = format!("a run of {too_much} is too large: reduce `{path}` to {fits}, or other sizes");
    wrong(&[path], what)
}

/// The background query service.
fn service(s: &Settings) -> Result<(), Wrong> {
    let v = &s.service;
    let Some(rate) = v.queries_per_s.0 else { return Ok(()) };
    if s.workload.kind.facts().poisson {
        let what = "a poisson workload has no background service: set `workload.load` with another workload";
        return wrong(&["service.queries_per_s"], what);
    }
    let others = s.hosts() - 1;
    let most = s.most_queries_per_s();
    if v.fan_out != 0 && f64::from(rate) > most {
        let what =
            format!("{rate} queries per second exceed the links of {} hosts: use up to {:.0}", s.hosts(), most.floor());
        return wrong(&["service.queries_per_s"], what);
    }
    if v.fan_out == 0 || v.fan_out > others {
        let what = format!("a query cannot use {} of {others} other hosts: use 1 to {others}", v.fan_out);
        return wrong(&["service.fan_out"], what);
    }
    Ok(())
}
