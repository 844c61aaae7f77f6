//! `fanin list`: available schemes, workloads, fabrics and switches.

use fanin::words::{Chip, DCQCN_PROFILES, FABRICS, Kind, REGISTRY, Scheme, Stack, listed};

use crate::arguments::ListArguments;
use crate::failure::Failure;
use crate::figures::{BOLD, GREY};
use crate::terminal::{fold, say};

/// Lists schemes, workloads, fabrics and switches.
pub fn list(arguments: &ListArguments) -> Result<(), Failure> {
    if arguments.json {
        return say(&format!("{}\n", listed()));
    }
    let schemes = REGISTRY.iter().map(|e| (e.name, e.aliases.join(", "), e.says)).collect();
    let workloads = Kind::all().into_iter().map(|(kind, says)| (kind.word(), String::new(), says)).collect();
    let fabrics = FABRICS.iter().map(|(name, says)| (*name, String::new(), *says)).collect();
    let parts = match Scheme::parts().split_last() {
        Some((last, others)) => {
            format!("other combinations of a congestion control with {} and {last} also work", others.join(", "))
        }
        None => String::new(),
    };
    let switches = Chip::all().into_iter().map(|(chip, says)| (chip.word(), String::new(), says)).collect();
    let [schemes, workloads, fabrics] =
        [section("schemes", schemes), section("workloads", workloads), section("fabrics", fabrics)];
    let switches = section("switches (switch.profile)", switches);
    let stacks = Stack::all().into_iter().map(|(stack, says)| (stack.word(), String::new(), says)).collect();
    let stacks = section("hosts' TCP (tcp.profile)", stacks);
    let cards = DCQCN_PROFILES.iter().map(|(_, word, says)| (*word, String::new(), *says)).collect();
    let cards = section("DCQCN's senders (dcqcn.profile)", cards);
    say(&fold(&format!("{schemes}{GREY}{parts}{GREY:#}\n\n{workloads}\n{fabrics}\n{switches}\n{stacks}\n{cards}")))
}

fn section(title: &str, rows: Vec<(&str, String, &str)>) -> String {
    let mut text = format!("{BOLD}{title}{BOLD:#}\n");
    for (name, aliases, says) in rows {
        let aliases = if aliases.is_empty() { aliases } else { format!(" {GREY}(also {aliases}){GREY:#}") };
        text += &format!("  {name:<16} {says}{aliases}\n");
    }
    text
}
