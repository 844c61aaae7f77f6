//! `fanin new`: a commented scenario to start from: a fabric, and only the keys that it needs.

use fanin::words::{FABRICS, FabricKind, Settings};

use crate::arguments::NewArguments;
use crate::failure::Failure;
use crate::terminal::say;

/// What every starter says, in the order of the sections.
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

/// What a fabric's starter says beside that: 64 hosts, but for the star, which grows with the fan-in, and the fat tree's 128.
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

/// A cluster that `fanin plan` plans for.
pub const CLUSTER_TO_PLAN_FOR: &str = include_str!("cluster.toml");

/// Prints the scenario.
pub fn new(arguments: &NewArguments) -> Result<(), Failure> {
    if arguments.fabric == "cluster" {
        return say(CLUSTER_TO_PLAN_FOR);
    }
    let Some((kind, _)) = FabricKind::all().into_iter().find(|(kind, _)| kind.word() == arguments.fabric) else {
        let known = FABRICS.map(|(name, _)| name).join(", ");
        return Err(Failure::Input(format!(
            "unknown fabric `{}`; right would be {known} or cluster",
            arguments.fabric
        )));
    };
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

/// The first sentence; of a long one the clauses that a line has room for.
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
