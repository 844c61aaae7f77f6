//! What no single value shows: settings that cannot work, alone or together.

use fanin_fabric::Fabric;
use fanin_units::{Bytes, QueueSize, Rate, Time};

use crate::problem::Problem;
use crate::run::ContenderParts;
use crate::scenario::Assignment;
use crate::volume::what_would_fit;
use crate::{Discipline, FabricSettings, Kind, Settings, State, WarmUp};

/// The largest fan-in: hosts are numbered in 32 bits, and a million is beyond any switch.
pub(crate) const FAN_IN_MAX: u32 = 1_000_000;

/// No point has more seeds: its interval is narrow long before.
const SEEDS_MAX: u32 = 1_000_000;

/// The slowest link. The time that packets take is counted in picoseconds, of which 64 bits hold 213 days: at this rate, 2 GB.
const RATE_MIN: Rate = Rate(1_000);

/// The keys that a fabric follows from.
const FABRIC: [&str; 10] = [
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

/// A problem and the keys that it lies in.
pub(crate) struct Wrong {
    pub paths: Vec<&'static str>,
    pub what: String,
}

/// `fragment` and `block` exclude one another within one layer of settings.
pub(crate) fn exclusive(layer: &[Assignment]) -> Result<(), Problem> {
    let fragment = layer.iter().find(|a| a.is("workload", "fragment"));
    let block = layer.iter().find(|a| a.is("workload", "block"));
    match (fragment, block) {
        (Some(_), Some(block)) => Err(Problem::new(
            &block.origin,
            "`workload.fragment` and `workload.block` exclude one another: keep the one that is meant",
        )),
        _ => Ok(()),
    }
}

/// A later layer's `fragment` takes the place of an earlier one's `block`, and the other way round.
pub(crate) fn make_room(settings: &mut Settings, section: &str, key: &str) {
    match (section, key) {
        ("workload", "fragment") => settings.workload.block.0 = None,
        ("workload", "block") => settings.workload.fragment.0 = None,
        _ => {}
    }
}

/// Refuses what cannot work.
pub(crate) fn settings(contender: &ContenderParts) -> Result<(), Wrong> {
    let ContenderParts { scheme, settings: s, .. } = contender;
    let wrong = |paths: &[&'static str], what: String| Err(Wrong { paths: paths.to_vec(), what });

    if s.sweep.fan_in.is_empty() {
        return wrong(&["sweep.fan_in"], "`sweep.fan_in` is empty: write at least one number, such as [8]".into());
    }
    if let Some(n) = s.sweep.fan_in.iter().find(|&&n| n == 0 || n > FAN_IN_MAX) {
        return wrong(&["sweep.fan_in"], format!("a fan-in of {n}: right would be a number from 1 to {FAN_IN_MAX}"));
    }
    if !s.sweep.fan_in.is_sorted_by(|a, b| a < b) {
        return wrong(&["sweep.fan_in"], "the fan-ins must rise, each once, such as [2, 4, 8]".into());
    }
    if s.run.seeds == 0 {
        return wrong(&["run.seeds"], "no seeds: right would be at least 1".into());
    }
    if s.run.seeds > SEEDS_MAX {
        return wrong(&["run.seeds"], format!("{} seeds: right would be 1 to {SEEDS_MAX}", s.run.seeds));
    }
    if s.run.first_seed.checked_add(s.run.seeds.into()).is_none() {
        return wrong(&["run.first_seed"], "`run.first_seed` leaves no room for the other seeds".into());
    }

    if !(64..=9_000).contains(&s.tcp.mss.0) {
        return wrong(&["tcp.mss"], format!("an MSS of {}: right would be 64 B to 9000 B", s.tcp.mss));
    }
    if s.tcp.initial_window == 0 || s.tcp.initial_window > 1_000 {
        return wrong(&["tcp.initial_window"], "an initial window is 1 to 1000 segments".into());
    }
    if s.tcp.delayed_ack == 0 || s.tcp.delayed_ack > 64 {
        return wrong(&["tcp.delayed_ack"], "an ACK covers 1 to 64 segments (1 acknowledges every packet)".into());
    }
    if s.tcp.quick_acks > 255 {
        return wrong(&["tcp.quick_acks"], "at most 255 segments are acknowledged at once".into());
    }
    if s.tcp.rto_min > s.tcp.rto_max || s.tcp.rto_initial > s.tcp.rto_max {
        return wrong(
            &["tcp.rto_min", "tcp.rto_max", "tcp.rto_initial"],
            format!(
                "rto_min {} and rto_initial {} must not exceed rto_max {}",
                s.tcp.rto_min, s.tcp.rto_initial, s.tcp.rto_max
            ),
        );
    }
    if s.tcp.rto_min == Time::ZERO || s.tcp.rto_initial == Time::ZERO || s.tcp.syn_timeout.0 == Some(Time::ZERO) {
        return wrong(
            &["tcp.rto_min", "tcp.rto_initial", "tcp.syn_timeout"],
            "a retransmission timeout of zero would resend for ever: right would be \"200 ms\" or, boldly, \"1 ms\""
                .into(),
        );
    }
    if s.tcp.rto_initial < s.tcp.rto_min {
        let what = format!(
            "rto_initial {} is below rto_min {}: no timeout is shorter than the least, so that the first one cannot be; right would be an rto_initial of {} or more, or a lower rto_min",
            s.tcp.rto_initial, s.tcp.rto_min, s.tcp.rto_min
        );
        return wrong(&["tcp.rto_initial", "tcp.rto_min"], what);
    }
    if s.tcp.rto_max > Time::from_secs(3_600) {
        return wrong(&["tcp.rto_max"], "rto_max is at most an hour (3600 s)".into());
    }
    if s.tcp.receive_window < s.tcp.mss || s.tcp.receive_window.0 > 1 << 30 {
        return wrong(&["tcp.receive_window", "tcp.mss"], "a receive window is from one MSS to 1 GiB".into());
    }
    for (on, path) in [(s.tcp.rack, "tcp.rack"), (s.tcp.tail_loss_probe, "tcp.tail_loss_probe")] {
        if on && !s.tcp.sack {
            let what = format!(
                "`{path}` works on selective acknowledgements (RFC 8985): set `tcp.sack = true`, or leave it off"
            );
            return wrong(&[path, "tcp.sack"], what);
        }
    }
    for (path, span) in [("tcp.max_ack_delay", s.tcp.max_ack_delay.0), ("tcp.timer_margin", Some(s.tcp.timer_margin))] {
        if span.is_some_and(|span| span > Time::from_secs(10)) {
            return wrong(&[path], format!("`{path}` is at most 10 s"));
        }
    }
    if s.link.delay > Time::from_secs(10) {
        return wrong(&["link.delay"], format!("a link delay of {}: right would be at most 10 s", s.link.delay));
    }

    let full = s.full_frame();
    for (path, size) in [("switch.buffer", Some(s.switch.buffer)), ("host.buffer", s.host.buffer.0)] {
        let small = match size {
            Some(QueueSize::Bytes(bytes)) => bytes < full.0,
            Some(QueueSize::Packets(packets)) => packets == 0,
            None => false,
        };
        if small {
            let what = format!("`{path}` does not hold one packet: right would be at least {full} or 1 packet");
            return wrong(&[if path == "switch.buffer" { "switch.buffer" } else { "host.buffer" }, "tcp.mss"], what);
        }
    }

    workload(s)?;
    rates(s)?;
    volume(s)?;
    // A plain star always fits. What fits the largest fan-in fits the others.
    if s.fabric != FabricSettings::default()
        && let Some(&largest) = s.sweep.fan_in.last()
    {
        match s.network(largest) {
            // What does not fit one server does not fit any number of them.
            Err(what) => return wrong(if s.network(1).is_err() { &FABRIC } else { &["sweep.fan_in"] }, what),
            Ok(fabric) => rates_of(s, &fabric)?,
        }
    }

    if scheme.discipline == Discipline::Red {
        let delay = s.red.target_delay.0;
        if delay.is_some_and(|delay| delay == Time::ZERO || delay > Time::from_secs(100)) {
            return wrong(
                &["red.target_delay"],
                "RED's target_delay is above 0 and at most 100 s, such as \"500 us\"".into(),
            );
        }
        if s.red.mean_packet.0 == 0 || s.red.mean_packet.0 > 9_000 {
            return wrong(
                &["red.mean_packet"],
                format!("a mean packet of {}: right would be 1 B to 9000 B", s.red.mean_packet),
            );
        }
        match (s.red.min_th, s.red.max_th) {
            _ if delay.is_some() => {}
            (QueueSize::Bytes(low), QueueSize::Bytes(high)) if low <= high && high > 0 => {}
            (QueueSize::Packets(low), QueueSize::Packets(high)) if low <= high && high > 0 => {}
            (low, high) => {
                let what = format!(
                    "RED's min_th {low} and max_th {high}: both in packets or both in bytes, the first not above the second"
                );
                return wrong(&["red.min_th", "red.max_th"], what);
            }
        }
        if s.red.weight.in_q(32) == 0 && !s.red.instantaneous {
            return wrong(&["red.weight"], "a weight of zero never moves RED's average".into());
        }
    }
    if scheme.discipline == Discipline::CoDel
        && (s.codel.target == Time::ZERO
            || s.codel.target > s.codel.interval
            || s.codel.interval > Time::from_secs(100))
    {
        let what = format!(
            "CoDel's target {} and interval {}: right would be a target above 0 and an interval from that up to 100 s",
            s.codel.target, s.codel.interval
        );
        return wrong(&["codel.target", "codel.interval"], what);
    }
    if scheme.base.is_dctcp_like() && s.dctcp.g.in_q(16) == 0 {
        return wrong(&["dctcp.g"], "a g of zero never moves DCTCP's alpha: the usual value is \"1/16\"".into());
    }
    if scheme.base == crate::Base::Cubic && (s.cubic.beta.in_q(10) == 0 || s.cubic.c.in_q(10) == 0) {
        return wrong(
            &["cubic.beta", "cubic.c"],
            "CUBIC's beta and c are above zero: the usual values are 0.7 and 0.4".into(),
        );
    }
    if scheme.gss && (s.gss.initial_window == 0 || s.gss.initial_window > 1_000) {
        return wrong(&["gss.initial_window"], "an initial window is 1 to 1000 segments".into());
    }
    Ok(())
}

fn workload(s: &Settings) -> Result<(), Wrong> {
    let wrong = |paths: &[&'static str], what: String| Err(Wrong { paths: paths.to_vec(), what });
    let w = &s.workload;
    let sizes = ["workload.fragment", "workload.block"];
    match (w.kind, w.fragment.0, w.block.0) {
        (Kind::Long | Kind::Flows | Kind::Poisson | Kind::MapReduce, _, _) => {}
        (_, None, None) => {
            return wrong(
                &["workload.kind"],
                format!(
                    "the {} workload needs `workload.fragment` (a server) or `workload.block` (in all), such as \"256 KiB\"",
                    w.kind.word()
                ),
            );
        }
        (Kind::Shuffle, _, Some(_)) => {
            let what = "a shuffle sends `workload.fragment` from each host to each other one: `workload.block` has no part in it";
            return wrong(&["workload.block"], what.into());
        }
        (_, Some(Bytes(0)), _) | (_, _, Some(Bytes(0))) => {
            return wrong(&sizes, "an answer of 0 B: right would be at least 1 B".into());
        }
        (_, _, Some(block)) => {
            if let Some(n) = s.sweep.fan_in.iter().find(|&&n| u64::from(n) > block.0) {
                return wrong(&sizes, format!("a block of {block} leaves less than a byte for each of {n} servers"));
            }
        }
        _ => {}
    }
    if w.fragment.0.or(w.block.0).is_some_and(|size| size.0 > 1 << 40) {
        return wrong(&sizes, "an answer is at most 1 TiB".into());
    }
    if w.duration == Time::ZERO || w.duration > Time::from_secs(100_000) {
        return wrong(
            &["workload.duration"],
            format!("a duration of {}: right would be above 0 and at most 100000 s", w.duration),
        );
    }
    if w.kind == Kind::WebSearch && (w.queries == 0 || w.request.0 == 0) {
        return wrong(
            &["workload.queries", "workload.request"],
            "a web search has at least one query, and its request at least 1 B".into(),
        );
    }
    if w.in_flight.0 == Some(0) {
        return wrong(
            &["workload.in_flight"],
            "no server may be asked: right would be at least 1, or \"none\" for no cap".into(),
        );
    }
    if w.in_flight.0.is_some() && !matches!(w.kind, Kind::Barrier | Kind::WebSearch) {
        return wrong(
            &["workload.in_flight"],
            format!("a {} workload asks nobody: in_flight goes with barrier and web-search", w.kind.word()),
        );
    }
    warm_up(s)?;
    flows(s)?;
    service(s)?;
    if w.kind == Kind::MapReduce {
        mapreduce(s)?;
    }
    if w.request > Bytes(1 << 20) {
        return wrong(&["workload.request"], format!("a request of {}: right would be at most 1 MiB", w.request));
    }
    for (path, span) in [
        ("workload.start_jitter", w.start_jitter),
        ("host.service_time", s.host.service_time),
        ("host.service_jitter", s.host.service_jitter),
    ] {
        if span > Time::from_secs(1_000) {
            return Err(Wrong {
                paths: vec![path],
                what: format!("`{path}` of {span}: right would be at most 1000 s"),
            });
        }
    }
    Ok(())
}

/// What is left out at the beginning leaves something to measure.
fn warm_up(s: &Settings) -> Result<(), Wrong> {
    let wrong = |what: String| Err(Wrong { paths: vec!["workload.warm_up"], what });
    let word = s.workload.kind.word();
    match (s.workload.kind, s.workload.warm_up.0) {
        (_, None) | (Kind::Barrier | Kind::WebSearch, Some(WarmUp::Rounds(_))) => Ok(()),
        (Kind::Barrier | Kind::WebSearch | Kind::Long | Kind::Poisson, Some(WarmUp::For(time))) => {
            match time > Time::from_secs(100_000) {
                true => wrong(format!("a warm-up of {time}: right would be at most 100000 s")),
                false => Ok(()),
            }
        }
        (Kind::Long | Kind::Poisson, Some(WarmUp::Rounds(_))) => {
            wrong(format!("a {word} workload has no rounds: right would be a time, such as \"100 ms\""))
        }
        (_, Some(_)) => wrong(format!("a {word} workload is measured whole: it has no warm-up")),
    }
}

/// Refuses links that are too slow for the clock.
fn rates(s: &Settings) -> Result<(), Wrong> {
    let given = [
        ("link.rate", Some(s.link.rate)),
        ("link.client_rate", s.link.client_rate.0),
        ("fabric.uplink_rate", s.fabric.uplink_rate.0),
    ];
    match given.into_iter().find(|(_, rate)| rate.is_some_and(|rate| rate < RATE_MIN)) {
        Some((path, _)) => Err(Wrong { paths: vec![path], what: format!("`{path}` is at least {RATE_MIN}") }),
        None => Ok(()),
    }
}

/// Refuses them in a list of edges and among what becomes of links, too; and changes that are not understood.
fn rates_of(s: &Settings, fabric: &Fabric) -> Result<(), Wrong> {
    let wrong = |path: &'static str, what: String| Err(Wrong { paths: vec![path], what });
    if let Some(link) = fabric.links().iter().find(|link| link.rate < RATE_MIN) {
        let path = if s.fabric.edges.is_empty() { "fabric.oversubscription" } else { "fabric.edges" };
        return wrong(path, format!("`{path}`: a link of {}: right would be at least {RATE_MIN}", link.rate));
    }
    let changes = s.changes(fabric).map_err(|what| Wrong { paths: vec!["fabric.changes"], what })?;
    match changes.iter().find(|change| matches!(change.to, State::Rate(rate) if rate < RATE_MIN)) {
        Some(_) => wrong("fabric.changes", format!("`fabric.changes`: a link's rate is at least {RATE_MIN}")),
        None => Ok(()),
    }
}

/// Refuses what no machine could hold, with what would fit.
fn volume(s: &Settings) -> Result<(), Wrong> {
    let largest = s.sweep.fan_in.last().copied().unwrap_or(0);
    if s.workload.background > FAN_IN_MAX - largest {
        let what = format!(
            "{} long flows beside {largest} servers: a network has at most {FAN_IN_MAX} hosts besides the client, so that up to {} would fit",
            s.workload.background,
            FAN_IN_MAX - largest
        );
        return Err(Wrong { paths: vec!["workload.background"], what });
    }
    if s.can_be_held() {
        return Ok(());
    }
    let (path, fits) = what_would_fit(s, &Settings::can_be_held).unwrap_or(("sweep.fan_in", "less".into()));
    let connections = s.volume(largest).connections;
    let what = format!(
        "a run of {connections:.0} connections cannot be held: `{path}` of {fits} would fit, where all else stays as it is"
    );
    Err(Wrong { paths: vec![path], what })
}

/// Lists of flows, Poisson flows, and pairs of a shuffle.
fn flows(s: &Settings) -> Result<(), Wrong> {
    let wrong = |path: &'static str, what: &str| Err(Wrong { paths: vec![path], what: what.into() });
    let w = &s.workload;
    match (w.kind, &w.file.0) {
        (Kind::Flows, None) => {
            return wrong("workload.kind", "the flows workload needs `workload.file`, such as \"flows.csv\"");
        }
        (Kind::Flows, Some(_)) if s.sweep.fan_in.len() > 1 => {
            let what =
                "a list of flows runs on one cluster: `sweep.fan_in` has one number, the hosts besides the client";
            return wrong("sweep.fan_in", what);
        }
        (Kind::Flows, Some(_)) | (_, None) => {}
        (_, Some(_)) => return wrong("workload.file", "`workload.file` goes with `workload.kind = \"flows\"` alone"),
    }
    if w.kind == Kind::Shuffle && w.pairs.in_q(32) == 0 {
        return wrong(
            "workload.pairs",
            "a shuffle between none of the pairs: right would be a share above 0, such as 0.1",
        );
    }
    match w.load.0 {
        Some(load) if load.in_q(32) == 0 => wrong(
            "workload.load",
            "a load of 0: right would be a share above 0 and at most 1, or \"none\" for no Poisson flows",
        ),
        None if w.kind == Kind::Poisson => wrong(
            "workload.kind",
            "the poisson workload needs `workload.load`, a share of the hosts' links such as 0.5",
        ),
        _ => Ok(()),
    }
}

/// The query service beside the workload.
fn service(s: &Settings) -> Result<(), Wrong> {
    let wrong = |path: &'static str, what: String| Err(Wrong { paths: vec![path], what });
    let v = &s.service;
    let Some(rate) = v.queries_per_s.0 else { return Ok(()) };
    if rate == 0 {
        return wrong(
            "service.queries_per_s",
            "a service of no queries: right would be 1 and more, or \"none\"".into(),
        );
    }
    if s.workload.kind == Kind::Poisson {
        let what = "a poisson workload has no service beside it: set `workload.load` beside another workload";
        return wrong("service.queries_per_s", what.into());
    }
    let least = s.sweep.fan_in[0];
    let most = s.most_queries_per_s();
    if v.fan_out != 0 && f64::from(rate) > most {
        let what = format!(
            "{rate} queries a second are more than the links of {} hosts carry: up to {:.0} would fit",
            least + 1,
            most.floor()
        );
        return wrong("service.queries_per_s", what);
    }
    if v.fan_out == 0 || v.fan_out > least {
        let what = format!("a query cannot ask {} of {least} other hosts: right would be 1 to {least}", v.fan_out);
        return wrong("service.fan_out", what);
    }
    for (path, bytes) in [("service.answer", v.answer), ("service.request", v.request)] {
        if bytes.0 == 0 {
            return wrong(path, format!("`{path}` of 0 B: right would be at least 1 B"));
        }
    }
    Ok(())
}

fn mapreduce(s: &Settings) -> Result<(), Wrong> {
    let m = &s.mapreduce;
    let wrong = |path: &'static str, what: String| Err(Wrong { paths: vec![path], what });
    for (path, count) in [
        ("mapreduce.maps", m.maps),
        ("mapreduce.reduces", m.reduces.0.unwrap_or(1)),
        ("mapreduce.replicas", m.replicas),
        ("mapreduce.output_replicas", m.output_replicas),
        ("mapreduce.map_slots", m.map_slots),
        ("mapreduce.reduce_slots", m.reduce_slots),
        ("mapreduce.tasks_per_heartbeat", m.tasks_per_heartbeat),
        ("mapreduce.parallel_fetches", m.parallel_fetches),
        ("mapreduce.fetches_per_node", m.fetches_per_node),
    ] {
        // Hadoop has no more either (dfs.replication.max).
        let most = if path.ends_with("replicas") { 512 } else { 100_000 };
        if count == 0 || count > most {
            return wrong(path, format!("`{path}` of {count}: right would be 1 to {most}"));
        }
    }
    if m.input.0 < u64::from(m.maps) {
        return wrong("mapreduce.input", format!("{} leave less than a byte for each of {} maps", m.input, m.maps));
    }
    if s.workload.request.0 == 0 {
        return wrong("workload.request", "a mapreduce job's nodes ask each other: a request has at least 1 B".into());
    }
    if m.heartbeat == Time::ZERO {
        return wrong("mapreduce.heartbeat", "a heartbeat of 0 s never lets time pass: Hadoop's is 3 s".into());
    }
    Ok(())
}
