//! `fanin new`: a commented scenario to start from, written from the settings' own documentation.

use fanin_spec::{KeyDoc, Settings};

use crate::arguments::NewArguments;
use crate::failure::Failure;
use crate::figures::wrap;
use crate::list::FABRICS;
use crate::say;

/// Keys that the starter sets; the others stand there commented out, with their defaults.
const LIVE: [&str; 9] = [
    "link.rate",
    "link.delay",
    "switch.buffer",
    "tcp.rto_min",
    "workload.kind",
    "workload.fragment",
    "workload.duration",
    "sweep.fan_in",
    "run.seeds",
];

const HEAD: &str = "\
# A scenario for fanin: one switch, each host on a link of its own.
#
#   fanin compare my.toml
#   fanin compare my.toml --fan-in 8,16,24 --set switch.buffer=\"128 KiB\"
#
# A key behind a # shows its default: take the # away and change the value.

title = \"My cluster\"

# Names of `fanin list`. To compare settings, give a scheme a label and keys of its own:
#   schemes = [\"newreno\", { label = \"newreno-1ms\", scheme = \"newreno\", rto_min = \"1 ms\" }]
schemes = [\"newreno\", \"dctcp\", \"newreno+gss\", \"newreno+m21\"]
";

/// Prints the scenario.
pub fn new(arguments: &NewArguments) -> Result<(), Failure> {
    let names: Vec<&str> = FABRICS.iter().map(|(name, _)| *name).collect();
    if !names.contains(&arguments.fabric.as_str()) {
        let known = names.join(", ");
        return Err(Failure::Input(format!("unknown fabric `{}`; right would be {known}", arguments.fabric)));
    }
    say(&scenario())
}

fn scenario() -> String {
    let docs = Settings::default().docs();
    let mut text = HEAD.to_string();
    for (section, says) in Settings::sections() {
        text += &format!("\n# {says}\n[{section}]\n");
        for doc in &docs {
            if let Some((_, key)) = doc.path.split_once('.').filter(|(s, _)| *s == section) {
                text += &entry(doc, key);
            }
        }
    }
    text
}

fn entry(doc: &KeyDoc, key: &str) -> String {
    let says = wrap(&format!("# {}{}", doc.doc, doc.scope()), 100, "#   ");
    // A barrier read needs a size, which has no default that suits all.
    let value = if doc.path == "workload.fragment" { "\"256 KiB\"" } else { &doc.default };
    let hidden = if LIVE.contains(&doc.path.as_str()) { "" } else { "#" };
    format!("{says}\n#   Right: {}\n{hidden}{key} = {value}\n", doc.form)
}
