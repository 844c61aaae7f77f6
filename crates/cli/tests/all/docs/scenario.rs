//! `docs/scenario.md`: every key, from the settings' declarations.

use fanin_spec::{KeyDoc, Kind, REGISTRY, Scheme, Settings};

use crate::support::is_current;

const HEAD: &str = "\
# The scenario

`make docs` generates this page from the declarations of the settings; `make test` checks that it is current. `fanin explain scenario`
prints the same keys, and `fanin new star > my.toml` writes a commented file to start from.

A scenario is a TOML file: a title, the schemes to compare, and the sections below. Omitted keys have their defaults. An unknown key
is an error that names its line and the nearest valid key.

```toml scenario
title = \"Reads of 64 KiB from each server\"

# Names from `fanin list`, or tables with a label and the scheme's own keys.
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

A scheme's table may have `label`, `scheme`, any key of `[tcp]` or of the scheme's own sections, and any other key with its section,
as `switch.buffer` above. Precedence, highest first: a key in a scheme's table, `--set`, the file, the scheme's own default (`dctcp`
sets `tcp.ect = \"all\"`), the default.

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
        "## Values\n\nA quantity is a string with its unit, such as `\"25 us\"`. Decimals are valid if they are whole in the smallest \
         unit.\n\n| kind | units | also accepted |\n| --- | --- | --- |\n| time | {times} | {times_also} |\n\
         | bytes | {bytes} (KB is 1000 B, KiB 1024 B) | `kB` |\n\
         | rate | {rates} | {rates_also}, and the same with other prefixes |\n| queue size | units of bytes, or {packets} | |\n\n\
         Ambiguous units are errors: `1M` bytes could be 1 MB or 1 MiB, and `5m` could be 5 min or 5 ms. So are rates in bytes per second; the \
         message gives the rate in bits. Words, such as `\"barrier\"`, and names of schemes are case-insensitive.\n\n"
    )
}

fn workloads() -> String {
    let rows = Kind::all().into_iter().map(|(kind, says)| format!("| `{}` | {says} |\n", kind.word()));
    format!("## Workloads\n\n| `workload.kind` | traffic |\n| --- | --- |\n{}\n", rows.collect::<String>())
}

/// The registered schemes that use a section.
fn brought_by(section: &str) -> String {
    let brings = |name: &str| Scheme::parse(name).is_ok_and(|scheme| scheme.sections().contains(&section));
    let names: Vec<String> = REGISTRY.iter().filter(|e| brings(e.name)).map(|e| format!("`{}`", e.name)).collect();
    if names.is_empty() { String::new() } else { format!(" For {}.", names.join(", ")) }
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
            "\n### `[{section}]`\n\n{says}{}\n\n| key | default | meaning | valid values |\n| --- | --- | --- | --- |\n",
            brought_by(section)
        );
        let own = |doc: &&KeyDoc| doc.path.split_once('.').is_some_and(|(of, _)| of == section);
        page.extend(docs.iter().filter(own).map(row));
    }
    for doc in &docs {
        assert!(!doc.doc.is_empty() && !doc.form.is_empty(), "{} has no documentation", doc.path);
        assert!(page.contains(&format!("\n| `{}` |", doc.path)), "{} is missing", doc.path);
    }
    is_current("docs/scenario.md", &page);
}
