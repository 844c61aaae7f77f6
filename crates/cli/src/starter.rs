//! `fanin new`: a commented scenario to start from, with a fabric and the keys that it needs.

use std::fmt::Display;

use fanin::words::{FABRICS, FabricKind, Settings};
use fanin::{Bytes, Rate, Scenario};

use crate::arguments::{NewArguments, PlacedArguments};
use crate::failure::Failure;
use crate::terminal::say;

/// Keys of every starter, in the order of the sections.
const CLUSTER: [(&str, &str); 13] = [
    ("link.rate", "\"10 Gbit/s\""),
    ("link.delay", "\"5 us\""),
    ("switch.buffer", "\"256 KiB\""),
    ("host.service_time", "\"20 us\""),
    ("host.service_jitter", "\"50 us\""),
    ("tcp.profile", "\"linux\""),
    ("tcp.rto_min", "\"200 ms\""),
    ("workload.kind", "\"barrier\""),
    ("workload.fragment", "\"64 KiB\""),
    ("workload.duration", "\"1 s\""),
    ("sweep.fan_in", "[2, 4, 8, 16, 32, 48]"),
    ("run.seeds", "3"),
    ("ecn_threshold.k", "\"65 packets\""),
];

/// Additional keys of a fabric's starter: 64 hosts, or 128 for the fat tree; the star grows with the fan-in.
fn fabric(kind: FabricKind) -> &'static [(&'static str, &'static str)] {
    match kind {
        FabricKind::Star => &[("fabric.kind", "\"star\"")],
        FabricKind::LeafSpine => &[
            ("fabric.kind", "\"leaf-spine\""),
            ("fabric.racks", "4"),
            ("fabric.hosts_per_rack", "16"),
            ("fabric.spines", "2"),
            ("fabric.oversubscription", "2"),
            ("fabric.placement", "\"spread\""),
        ],
        FabricKind::FatTree => {
            &[("fabric.kind", "\"fat-tree\""), ("fabric.arity", "8"), ("fabric.placement", "\"spread\"")]
        }
        FabricKind::Rails => &[
            ("fabric.kind", "\"rails\""),
            ("fabric.rails", "8"),
            ("fabric.racks", "8"),
            ("fabric.hosts_per_rack", "8"),
            ("fabric.spines", "8"),
            ("fabric.machine_rate", "\"900 Gbit/s\""),
        ],
        FabricKind::Dragonfly => &[
            ("fabric.kind", "\"dragonfly\""),
            ("fabric.pods", "4"),
            ("fabric.racks", "12"),
            ("fabric.hosts_per_rack", "6"),
            ("fabric.global_links", "2"),
        ],
        FabricKind::Edges => &[
            ("fabric.kind", "\"edges\""),
            (
                "fabric.edges",
                "[\n    \"client tor1\", \"server1..15 tor1\", \"server16..63 tor2\",\n    \
                 \"tor1 core 40 Gbit/s\", \"tor2 core 40 Gbit/s 10 us\",\n]",
            ),
        ],
    }
}

/// Template of a cluster for `fanin plan`, with values in braces.
const CLUSTER_TO_PLAN_FOR: &str = include_str!("cluster.toml");

/// The cluster of `fanin plan --demo`.
pub fn cluster_of_demo() -> String {
    let all_said = PlacedArguments {
        servers: Some(SERVERS),
        racks: Some(RACKS),
        replicas: Some(REPLICAS),
        rate: Some(RATE),
        buffer: Some(BUFFER),
        memory: Some(MEMORY),
    };
    cluster(&all_said)
}

// Default values of a cluster.
const SERVERS: u32 = 200;
const RACKS: u32 = 5;
const REPLICAS: u32 = 3;
const RATE: Rate = Rate(1_000_000_000);
const BUFFER: Bytes = Bytes(64 << 10);
const MEMORY: Bytes = Bytes(64 << 30);

/// The cluster's scenario, with comments on assumed values.
fn cluster(said: &PlacedArguments) -> String {
    let servers = said.servers.unwrap_or(SERVERS);
    let replicas = said.replicas.unwrap_or(REPLICAS.min(servers));
    let racks = said.racks.unwrap_or(RACKS.min(servers).max(replicas));
    let spread = if are_filled(servers, racks) { "" } else { "placement = \"spread\"  # each rack has a server\n" };
    let quoted = |value: &dyn Display| format!("\"{value}\"");
    let values = [
        ("servers", servers.to_string(), said.servers.is_some()),
        ("racks", racks.to_string(), said.racks.is_some()),
        ("replicas", replicas.to_string(), said.replicas.is_some()),
        ("rate", quoted(&said.rate.unwrap_or(RATE)), said.rate.is_some()),
        ("buffer", quoted(&said.buffer.unwrap_or(BUFFER)), said.buffer.is_some()),
        ("memory", quoted(&said.memory.unwrap_or(MEMORY)), said.memory.is_some()),
    ];
    let text = CLUSTER_TO_PLAN_FOR.replace("{hosts_per_rack}", &hosts_per_rack(servers, racks).to_string());
    let text = text.replace("{spread}\n", spread);
    values.iter().fold(text, |text, (key, value, is_said)| {
        let assumed = if *is_said { String::new() } else { format!("  # assumed; set with --{key}") };
        text.replace(&format!("{{{key}}}"), &format!("{value}{assumed}"))
    })
}

/// Hosts per rack, including the client.
fn hosts_per_rack(servers: u32, racks: u32) -> u32 {
    (servers + 1).div_ceil(racks)
}

/// Whether every rack has a server if racks are filled in order.
fn are_filled(servers: u32, racks: u32) -> bool {
    let hosts = hosts_per_rack(servers, racks);
    hosts > 1 && (racks - 1) * hosts <= servers
}

/// Refuses impossible clusters, naming the options.
fn checked(said: &PlacedArguments) -> Result<String, Failure> {
    let text = cluster(said);
    let count = |flag: &str, value: Option<u32>| value.map(|value| format!("--{flag} {value}"));
    let arguments = [
        ("workload.fan_in", count("servers", said.servers)),
        ("fabric.racks", count("racks", said.racks)),
        ("key_value.replicas", count("replicas", said.replicas)),
        ("link.rate", said.rate.map(|rate| format!("--rate {rate}"))),
        ("switch.buffer", said.buffer.map(|buffer| format!("--buffer {buffer}"))),
        ("picc.memory", said.memory.map(|memory| format!("--memory {memory}"))),
    ];
    let said: Vec<(&str, String)> = arguments.into_iter().filter_map(|(key, said)| Some((key, said?))).collect();
    Scenario::made_of(&said, text.as_str())?.resolve()?;
    Ok(text)
}

/// Prints the scenario.
pub fn new(arguments: &NewArguments) -> Result<(), Failure> {
    if arguments.fabric.eq_ignore_ascii_case("cluster") {
        return say(&checked(&arguments.placed)?);
    }
    let known = FABRICS.map(|(name, _)| name).join(", ");
    let Some((kind, _)) =
        FabricKind::all().into_iter().find(|(kind, _)| kind.word().eq_ignore_ascii_case(&arguments.fabric))
    else {
        return Err(Failure::Input(format!("unknown fabric `{}`; use {known} or cluster", arguments.fabric)));
    };
    if arguments.placed != PlacedArguments::default() {
        let what = format!(
            "--servers, --racks, --replicas, --rate, --buffer and --memory apply only to `fanin new cluster`; edit the keys in what \
             `fanin new {}` prints",
            kind.word()
        );
        return Err(Failure::Input(what));
    }
    say(&scenario(kind))
}

fn scenario(kind: FabricKind) -> String {
    let says = FABRICS.iter().find(|(name, _)| *name == kind.word()).map_or("", |(_, says)| says);
    let mut text = format!(
        "\
# A scenario for fanin: {says}.
#
#   fanin compare my.toml
#   fanin compare my.toml --fan-in 8,16,24 --set switch.buffer=\"128 KiB\"
#
# Here stands what a cluster like this one has to say; every other key has a default: `fanin explain scenario`.

title = \"My cluster\"

# Names of `fanin list`. To compare settings, give a scheme a label and keys of its own, such as
#   {{ label = \"cubic-5ms\", scheme = \"cubic\", rto_min = \"5 ms\", delayed_ack = 1 }}
schemes = [\"cubic\", \"dctcp\"]
"
    );
    let live = || CLUSTER.iter().chain(fabric(kind));
    let docs = Settings::default().docs();
    for (section, says) in Settings::sections() {
        let lines: String = docs
            .iter()
            .filter_map(|doc| {
                let key = doc.path.strip_prefix(section)?.strip_prefix('.')?;
                let (_, value) = live().find(|(path, _)| *path == doc.path)?;
                Some(format!("# {}\n{key} = {value}\n", in_a_line(&doc.doc)))
            })
            .collect();
        if !lines.is_empty() {
            text += &format!("\n# {}\n[{section}]\n{lines}", in_a_line(says));
        }
    }
    text
}

/// The first sentence, shortened to the clauses that fit into a line.
fn in_a_line(says: &str) -> String {
    const WIDTH: usize = 110;
    let sentence = says.split_once(". ").map_or(says, |(first, _)| first).trim_end_matches('.');
    let mut clauses = sentence.split("; ");
    let mut line = clauses.next().unwrap_or_default().to_string();
    for clause in clauses.take_while(|clause| !clause.is_empty()) {
        if line.len() + clause.len() > WIDTH {
            break;
        }
        line += &format!("; {clause}");
    }
    line + "."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_for_clusters_of_any_size() {
        for servers in (1..=60).chain([199, 200, 201, 5000]) {
            checked(&PlacedArguments { servers: Some(servers), ..Default::default() })
                .unwrap_or_else(|why| panic!("{servers}: {why:?}"));
        }
        for replicas in 1..=8 {
            let said = PlacedArguments { servers: Some(24), replicas: Some(replicas), ..Default::default() };
            checked(&said).unwrap_or_else(|why| panic!("{replicas}: {why:?}"));
        }
    }

    #[test]
    fn marks_assumed_properties_of_a_cluster() {
        let text = checked(&PlacedArguments { servers: Some(12), ..Default::default() }).unwrap();
        assert!(text.contains("\nfan_in = 12\n"), "{text}");
        assert!(text.contains("\nrate = \"1 Gbit/s\"  # assumed; set with --rate\n"), "{text}");
        assert!(!cluster_of_demo().contains("assumed"));
    }
}
