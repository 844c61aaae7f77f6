//! `fanin list`: what there is.

use fanin::words::{Chip, Kind, REGISTRY, Scheme, Stack};
use serde_json::{Value, json};

use crate::arguments::ListArguments;
use crate::failure::Failure;
use crate::figures::{BOLD, GREY};
use crate::terminal::{fold, say};

/// The fabrics, each with what it is.
pub const FABRICS: [(&str, &str); 4] = [
    ("star", "one switch, each host on a link of its own"),
    ("leaf-spine", "racks whose switches each have a link to every spine"),
    ("fat-tree", "pods of racks under spines of their own, joined by cores"),
    ("edges", "any network of switches, given by its links (fabric.edges)"),
];

/// Lists schemes, workloads, fabrics and switches.
pub fn list(arguments: &ListArguments) -> Result<(), Failure> {
    if arguments.json {
        return say(&format!("{}\n", object()));
    }
    let schemes = REGISTRY.iter().map(|e| (e.name, e.aliases.join(", "), e.says)).collect();
    let workloads = Kind::all().into_iter().map(|(kind, says)| (kind.word(), String::new(), says)).collect();
    let fabrics = FABRICS.iter().map(|(name, says)| (*name, String::new(), *says)).collect();
    let parts = match Scheme::parts().split_last() {
        Some((last, others)) => {
            format!("other combinations of a base with {} and {last} are understood too", others.join(", "))
        }
        None => String::new(),
    };
    let switches = Chip::all().into_iter().map(|(chip, says)| (chip.word(), String::new(), says)).collect();
    let [schemes, workloads, fabrics] =
        [section("schemes", schemes), section("workloads", workloads), section("fabrics", fabrics)];
    let switches = section("switches (switch.profile)", switches);
    let stacks = Stack::all().into_iter().map(|(stack, says)| (stack.word(), String::new(), says)).collect();
    let stacks = section("hosts' TCP (tcp.profile)", stacks);
    say(&fold(&format!("{schemes}{GREY}{parts}{GREY:#}\n\n{workloads}\n{fabrics}\n{switches}\n{stacks}")))
}

fn object() -> Value {
    let said = |name: &str, says: &str| json!({"name": name, "says": says});
    json!({
        "schemes": REGISTRY.iter()
            .map(|e| json!({"name": e.name, "aliases": e.aliases, "says": e.says}))
            .collect::<Vec<_>>(),
        "workloads": Kind::all().iter().map(|(kind, says)| said(kind.word(), says)).collect::<Vec<_>>(),
        "fabrics": FABRICS.iter().map(|(name, says)| said(name, says)).collect::<Vec<_>>(),
        "switches": Chip::all().iter().map(|(chip, says)| said(chip.word(), says)).collect::<Vec<_>>(),
        "stacks": Stack::all().iter().map(|(stack, says)| said(stack.word(), says)).collect::<Vec<_>>(),
    })
}

fn section(title: &str, rows: Vec<(&str, String, &str)>) -> String {
    let mut text = format!("{BOLD}{title}{BOLD:#}\n");
    for (name, aliases, says) in rows {
        let aliases = if aliases.is_empty() { aliases } else { format!(" {GREY}(also {aliases}){GREY:#}") };
        text += &format!("  {name:<16} {says}{aliases}\n");
    }
    text
}
