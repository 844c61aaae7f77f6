//! `docs/scenario.md`: every key, from the settings' declarations.

use fanin_spec::{KeyDoc, Kind, REGISTRY, Scheme, Settings};

use crate::support::is_current;

const HEAD: &str = "\
# The scenario

Generated from the settings' declarations by `make docs`; `make test` checks it. `fanin explain scenario` prints the same
keys, and `fanin new star > my.toml` a commented file to start from.

A scenario is a TOML file: a title, the schemes to compare, and the sections below. What is left out has its default. An
unknown key is an error that names its line and the nearest key.

```toml scenario
title = \"Reads of 64 KiB from each server\"

# Names of `fanin list`; or tables, with a label and with keys of the scheme's own.
schemes = [
    \"dctcp\",
    { label = \"newreno-10ms\", scheme = \"newreno\", rto_min = \"10 ms\", delayed_ack = 1, switch.buffer = \"128 KiB\" },
]

[link]
rate = \"10 Gbit/s\"

[workload]
kind = \"barrier\"
fragment = \"64 KiB\"
duration = \"1 s\"
```

A scheme's own keys are `label`, `scheme`, every key of `[tcp]` and of the sections that the scheme brings, and any other
key with its section before it, as `switch.buffer` above. A scheme's own key stands over `--set`, `--set` over the file, the
file over what the scheme brings (`dctcp` brings `tcp.ect = \"all\"`), and that over the default.

";

/// Units of a quantity; each must parse.
fn units<T: std::str::FromStr>(names: &[&str]) -> String {
    for name in names {
        assert!(format!("1 {name}").parse::<T>().is_ok(), "{name}");
    }
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" ")
}

fn values() -> String {
    use fanin_units::{Bytes, QueueSize, Rate, Time};
    let times = units::<Time>(&["h", "min", "s", "ms", "us", "ns", "ps"]);
    let times_also = units::<Time>(&["\u{b5}s", "usec", "msec", "sec"]);
    let bytes = units::<Bytes>(&["B", "KB", "MB", "GB", "KiB", "MiB", "GiB"]);
    let rates = units::<Rate>(&["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"]);
    let rates_also = units::<Rate>(&["G", "GbE", "Gb/s", "Gbps", "Gbit"]);
    let packets = units::<QueueSize>(&["packets"]);
    format!(
        "## Values\n\nA quantity is a text with its unit, such as `\"25 us\"`; decimals are fine as long as they are whole in the smallest \
         unit.\n\n| kind | units | read, too |\n| --- | --- | --- |\n| time | {times} | {times_also} |\n\
         | bytes | {bytes} (KB is 1000 B, KiB 1024 B) | `kB` |\n\
         | rate | {rates} | {rates_also}, and so with other prefixes |\n| size of a queue | those of bytes, or {packets} | |\n\n\
         A unit with two readings is refused: `1M` of bytes may be 1 MB or 1 MiB, and `5m` 5 min or 5 ms. So are rates in bytes per second, with \
         the rate in bits. Words, such as `\"barrier\"`, and schemes' names may have any case.\n\n"
    )
}

fn workloads() -> String {
    let rows = Kind::all().into_iter().map(|(kind, says)| format!("| `{}` | {says} |\n", kind.word()));
    format!("## Workloads\n\n| `workload.kind` | what it does |\n| --- | --- |\n{}\n", rows.collect::<String>())
}

/// The registered schemes that use a section.
fn brought_by(section: &str) -> String {
    let brings = |name: &str| Scheme::parse(name).is_ok_and(|scheme| scheme.sections().contains(&section));
    let names: Vec<String> = REGISTRY.iter().filter(|e| brings(e.name)).map(|e| format!("`{}`", e.name)).collect();
    if names.is_empty() { String::new() } else { format!(" Of {}.", names.join(", ")) }
}

fn row(doc: &KeyDoc) -> String {
    let cell = |text: &str| text.replace('|', "\\|");
    let says = format!("{}{}", doc.doc, doc.scope());
    format!("| `{}` | `{}` | {} | {} |\n", doc.path, cell(&doc.default), cell(&says), cell(&doc.right()))
}

#[test]
fn scenario_reference_matches_the_settings() {
    let docs = Settings::default().docs();
    let mut page = HEAD.to_string() + &values() + &workloads() + "## Keys\n";
    for (section, says) in Settings::sections() {
        page += &format!(
            "\n### `[{section}]`\n\n{says}{}\n\n| key | default | what it means | right is |\n| --- | --- | --- | --- |\n",
            brought_by(section)
        );
        let own = |doc: &&KeyDoc| doc.path.split_once('.').is_some_and(|(of, _)| of == section);
        page.extend(docs.iter().filter(own).map(row));
    }
    for doc in &docs {
        assert!(!doc.doc.is_empty() && !doc.form.is_empty(), "{} says nothing of itself", doc.path);
        assert!(page.contains(&format!("\n| `{}` |", doc.path)), "{} is missing", doc.path);
    }
    is_current("docs/scenario.md", &page);
}
