//! Settings without a counterpart in Linux.

use std::collections::BTreeMap;
use std::fmt;

use fanin_laws::port::many_to_one::Form;
use fanin_laws::port::red;
use fanin_spec::{FabricKind, Kind, RunSpec, Scenario, Scheme, Settings};
use fanin_units::Share;

use super::host::kernels_name;

/// Most servers: each has a network 10.91.i.0/24, and 10.91.254.0/24 is the client's.
pub const MOST_SERVERS: u32 = 253;

/// A setting that Linux cannot have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// The key, such as `switch.shared_buffer`, or `schemes`.
    pub setting: String,
    /// Its value.
    pub value: String,
    /// The reason, and the remedy if there is one.
    pub why: String,
}

impl Unsupported {
    pub(super) fn new(setting: impl Into<String>, value: impl Into<String>, why: impl Into<String>) -> Unsupported {
        Unsupported { setting: setting.into(), value: value.into(), why: why.into() }
    }
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Linux has no `{}` of {}: {}", self.setting, self.value, self.why)
    }
}

impl std::error::Error for Unsupported {}

/// Sections that describe applications and measurements, which do not concern a kernel's settings.
const APPLICATIONS: [&str; 12] = [
    "workload",
    "key_value",
    "mapreduce",
    "service",
    "measure",
    "sweep",
    "run",
    "sliding_window",
    "ictcp_window",
    "sicc",
    "picc",
    "groups",
];

/// Keys that a setup follows, or that have no effect on a kernel: applications' delays, and randomness that the kernel has of its own.
const FOLLOWED: [&str; 29] = [
    "link.rate",
    "link.client_rate",
    "link.delay",
    "link.framing",
    "link.frames",
    "switch.buffer",
    "host.buffer",
    "host.packet_jitter",
    "host.service_time",
    "host.service_jitter",
    "tcp.mss",
    "tcp.rto_min",
    "tcp.initial_window",
    "tcp.delayed_ack",
    "tcp.receive_window",
    "tcp.idle_restart",
    "tcp.timestamps",
    "tcp.ticks_together",
    "ecn_threshold.k",
    "red.min_th",
    "red.max_th",
    "red.max_p",
    "red.weight",
    "red.gentle",
    "codel.target",
    "codel.interval",
    "grants.queue",
    "grants.idle",
    "grants.turn",
];

/// Finds the first setting of a run that Linux cannot have in a star of a client and its servers.
pub(super) fn check(spec: &RunSpec) -> Result<(), Unsupported> {
    scheme(spec)?;
    without_programs(spec)?;
    star(spec)?;
    settings(spec, &APPLICATIONS)?;
    values(spec)
}

/// Finds the first setting of a run that Linux cannot have in any network.
pub(super) fn check_any(spec: &RunSpec) -> Result<(), Unsupported> {
    scheme(spec)?;
    settings(spec, &[&APPLICATIONS[..], &["fabric"]].concat())?;
    values(spec)
}

fn settings(spec: &RunSpec, followed_sections: &[&str]) -> Result<(), Unsupported> {
    let s = &spec.settings;
    let Some(stack) = s.tcp.profile.0 else {
        return Err(Unsupported::new(
            "tcp.profile",
            "none",
            "a kernel's TCP is Linux's: use \"linux\" or \"linux-6.1\"",
        ));
    };
    let kernel = kernels_settings(spec.scheme, stack.word());
    let theirs: BTreeMap<String, String> = kernel.docs().into_iter().map(|doc| (doc.path, doc.default)).collect();
    for doc in s.docs() {
        let (path, own) = (doc.path.as_str(), &theirs[&doc.path]);
        let followed = FOLLOWED.contains(&path) || followed_sections.contains(&doc.section());
        if !followed && doc.default != *own {
            return Err(Unsupported::new(path, &doc.default, why(path, own)));
        }
    }
    Ok(())
}

/// The settings of a kernel's TCP, with the scheme's own keys.
fn kernels_settings(scheme: Scheme, profile: &str) -> Settings {
    let scheme = Scheme { fan_out: None, gathering: None, ..scheme };
    let workload = "kind = \"barrier\"\nfragment = \"64 KiB\"";
    let text = format!(
        "schemes = [\"{scheme}\"]\n[tcp]\nprofile = \"{profile}\"\n[workload]\n{workload}\n[sweep]\nfan_in = [1]\n"
    );
    let variants = Scenario::parse("linux", &text).and_then(|scenario| scenario.variants());
    variants.expect("defaults are valid")[0].settings.clone()
}

fn scheme(spec: &RunSpec) -> Result<(), Unsupported> {
    let scheme = &spec.scheme;
    let refuse = |why: &str| Err(Unsupported::new("schemes", scheme.to_string(), why));
    if let Some(why) = scheme.transport.lacks_in_linux() {
        return refuse(why);
    }
    if scheme.ictcp {
        return refuse("its receivers do not control senders' windows (ICTCP)");
    }
    if scheme.m21 && spec.settings.laws.parts.m21.offer == Form::Count {
        return Err(Unsupported::new("m21.offer", "\"count\"", "fanin's programs write windows: use \"window\""));
    }
    match kernels_name(*scheme) {
        Some(_) => Ok(()),
        None => refuse(
            "it has no such congestion control; it has newreno (reno), cubic and dctcp, alone or with gss, and vegas",
        ),
    }
}

/// Refuses features that Linux has only by the programs that `fanin kernel` loads.
fn without_programs(spec: &RunSpec) -> Result<(), Unsupported> {
    let scheme = &spec.scheme;
    let refuse = |why: &str| Err(Unsupported::new("schemes", scheme.to_string(), why));
    match (scheme.m21, scheme.gss, scheme.grants) {
        (true, ..) => refuse("no Linux queue discipline assigns windows to senders (M21)"),
        (_, _, true) => refuse("its receivers do not grant windows to senders"),
        (_, true, _) => refuse("it has no gentle slow start (GSS) of its own"),
        _ => Ok(()),
    }
}

fn star(spec: &RunSpec) -> Result<(), Unsupported> {
    let s = &spec.settings;
    if s.fabric.kind != FabricKind::Star {
        let kind =
            s.docs().into_iter().find(|doc| doc.path == "fabric.kind").map_or_else(String::new, |doc| doc.default);
        return Err(Unsupported::new("fabric.kind", kind, "this setup is a star: one router"));
    }
    let kind: Kind = s.workload.kind;
    if !kind.many_to_one() {
        let why = "only links from servers to one client are shaped: use a workload of many servers and one client";
        return Err(Unsupported::new("workload.kind", format!("\"{}\"", kind.word()), why));
    }
    if s.clients() > 1 {
        let why = "only one client's port is shaped: use 1";
        return Err(Unsupported::new("workload.clients", s.clients().to_string(), why));
    }
    if spec.fan_in > MOST_SERVERS {
        let why =
            format!("servers' networks are 10.91.1.0/24 to 10.91.{MOST_SERVERS}.0/24: use at most {MOST_SERVERS}");
        return Err(Unsupported::new("workload.fan_in", spec.fan_in.to_string(), why));
    }
    let hosts = crate::network::fabric(spec).hosts();
    if hosts > spec.fan_in + 1 {
        let why = "this setup has the client and its servers only, without hosts for background traffic";
        return Err(Unsupported::new("fabric.hosts", hosts.to_string(), why));
    }
    Ok(())
}

/// Values of keys that Linux has, but not with every value.
fn values(spec: &RunSpec) -> Result<(), Unsupported> {
    let t = &spec.settings.tcp;
    if t.delayed_ack > 2 {
        let why = "it acknowledges every second full segment, or every segment (quickack): use 2 or 1";
        return Err(Unsupported::new("tcp.delayed_ack", t.delayed_ack.to_string(), why));
    }
    let red::Params { gentle, max_p, .. } = spec.settings.laws.ports.red;
    if spec.scheme.discipline == fanin_spec::Discipline::Red && gentle && max_p != Share::of(1, 1) {
        let why = "its RED drops or marks every packet above max_th: use false";
        return Err(Unsupported::new("red.gentle", "true", why));
    }
    Ok(())
}

fn why(path: &str, own: &str) -> String {
    let section = path.split('.').next().unwrap_or_default();
    match section {
        "switch" => "a router's ports have separate queues of one size".into(),
        "fabric" => "this setup is a star: one router".into(),
        "faults" => "this setup loses, delays and crashes nothing".into(),
        "red" => format!("its RED has {own} only"),
        _ => format!("the kernel has {own} and no setting for it"),
    }
}
