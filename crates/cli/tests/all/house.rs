//! The whole project: everything that the registry and the algorithms list is documented and tested under those names.
//!
//! `make docs` rewrites the generated documents.

use std::collections::BTreeSet;
use std::fs;

use fanin_laws::row::Row;
use fanin_spec::{Limit, REGISTRY, Scheme, Settings};

use crate::support::{fanin, is_current, root, text};

fn joined<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

#[test]
fn table_of_schemes_has_every_registered_scheme() {
    let mut table = String::from(
        "# Schemes\n\n`make docs` generates this page from the registry and the algorithms; `make test` checks that it is current.\n\n\
         | scheme | aliases | description | algorithms | own settings |\n| --- | --- | --- | --- | --- |\n",
    );
    let list = fanin(&["list", "--json"]);
    let schemes = list["schemes"].as_array().unwrap();
    assert_eq!(schemes.len(), REGISTRY.len());
    for scheme in schemes {
        let explained = fanin(&["explain", text(&scheme["name"]), "--json"]);
        let laws = joined(explained["laws"].as_array().unwrap().iter().map(|law| text(&law["name"])));
        let keys = joined(explained["keys"].as_array().unwrap().iter().map(|key| text(&key["key"])));
        let aliases = joined(scheme["aliases"].as_array().unwrap().iter().map(text));
        table +=
            &format!("| `{}` | {aliases} | {} | {laws} | {keys} |\n", text(&scheme["name"]), text(&scheme["says"]));
    }
    table += "\nOther combinations of a congestion control with `gss`, `m21`, `ictcp` or `grants`, a queue discipline and `ecn` are valid too, in any \
              order. The schemes from `one-all` on schedule requests: they need `workload.kind = \"key_value\"`, and combine with the \
              others (`sicc+dctcp`). `fanin explain SCHEME` describes each algorithm.\n";
    is_current("docs/schemes.md", &table);
}

/// An algorithm's header as Markdown: its formulae as they are, its other parts as a list.
fn described(header: &str) -> String {
    let (mut says, mut formulae, mut parts) = (String::new(), String::new(), String::new());
    let mut label = "";
    for line in header.lines() {
        // A part begins with its label; its other lines are indented.
        let begins = line.split_once(':').filter(|(word, _)| !says.is_empty() && word.chars().all(char::is_alphabetic));
        if let Some((word, _)) = begins {
            label = word;
        }
        let text = begins.map_or(line, |(_, rest)| rest).trim();
        match (label, begins) {
            ("", _) => says += &format!("{text}\n"),
            ("Law" | "Forms" | "Model", _) => formulae += &format!("{text}\n"),
            (_, Some((word, _))) => parts += &format!("\n- **{word}**: {text}"),
            _ => parts += &format!(" {text}"),
        }
    }
    let formulae = if formulae.is_empty() { formulae } else { format!("```text\n{}\n```\n", formulae.trim_end()) };
    format!("{}\n\n{formulae}{parts}\n", says.trim_end())
}

#[test]
fn page_of_algorithms_has_every_algorithm() {
    let mut page = String::from(
        "# Algorithms\n\n`make docs` generates this page from the headers of the algorithms' files; `make test` checks that it is\n\
         current. [schemes.md](schemes.md) lists the schemes that use them.\n",
    );
    let mut known = BTreeSet::new();
    for scheme in REGISTRY.iter() {
        for law in fanin(&["explain", scheme.name, "--json"])["laws"].as_array().unwrap() {
            if known.insert(text(&law["name"]).to_owned()) {
                page += &format!("\n## `{}`\n\n{}", text(&law["name"]), described(text(&law["header"])));
            }
        }
    }
    assert!(known.len() > 30, "{known:?}");
    is_current("docs/algorithms.md", &page);
}

/// Words that the settings do not declare: the file's own keys, parts of schemes, and extreme numbers.
const OTHER_WORDS: &str = "\
title schemes scheme label [[schemes]] --set --schemes a.csv down up \
client server1..8 1/16 0.16 1e308 nan inf 4294967295 9223372036854775807 18446744073709551615";
const UNITS: [&str; 16] =
    ["s", "ms", "us", "ns", "ps", "B", "KB", "MB", "KiB", "MiB", "GiB", "TiB", "bit/s", "Mbit/s", "Gbit/s", "packets"];

#[test]
fn fuzzing_dictionary_has_all_keys_and_words() {
    let mut words = BTreeSet::new();
    for key in fanin(&["explain", "scenario", "--json"])["keys"].as_array().unwrap() {
        words.extend(text(&key["key"]).split('.').map(String::from));
        // The quoted parts of a form are values.
        words.extend(text(&key["form"]).split('"').skip(1).step_by(2).map(String::from));
    }
    for entry in REGISTRY.iter() {
        words.extend(entry.aliases.iter().chain([&entry.name]).map(|name| name.to_string()));
    }
    words.extend(Scheme::parts().iter().map(|part| format!("+{part}")));
    words.extend(OTHER_WORDS.split(' ').map(String::from).chain(UNITS.map(|unit| format!(" {unit}"))));
    assert!(words.contains("queries_per_s") && words.contains("mapreduce") && words.contains("leaf-spine"));
    let lines: String = words.iter().map(|word| format!("\"{}\"\n", word.replace('\\', "\\\\"))).collect();
    is_current(
        "fuzz/scenario.dict",
        &format!("# Words of scenarios, for the fuzzer: `make docs` writes them.\n{lines}"),
    );
}

#[test]
fn algorithms_have_vectors_and_trajectories_that_headers_name() {
    let mut wrong = Vec::new();
    let of = |rows: Vec<&'static Row>, home| rows.into_iter().flat_map(|row| row.laws).map(move |file| (home, file));
    let laws = of(fanin_laws::rows().collect(), "crates/engine/laws");
    for (home, file) in laws.chain(of(fanin_fanout::rows().collect(), "crates/engine/fanout")) {
        let law = file.law;
        let header: String = file.text.lines().take_while(|line| line.starts_with("//!")).collect();
        for label in ["Sources:", "Law:", "Units:", "Owns:", "Departs:", "Checked:"] {
            if !header.contains(&format!("//! {label}")) {
                wrong.push(format!("the header of {law} has no line `//! {label}`"));
            }
        }
        let vectors = format!("vectors/{law}.json");
        let trajectory = format!("tests/trajectories/{law}.txt");
        for (named, file) in [(&vectors, vectors.clone()), (&trajectory, format!("{home}/{trajectory}"))] {
            if !header.contains(named.as_str()) {
                wrong.push(format!("the header of {law} does not name {named}"));
            }
            if !fs::metadata(root().join(&file)).is_ok_and(|meta| meta.len() > 0) {
                wrong.push(format!("{file} is missing or empty"));
            }
        }
    }
    assert!(wrong.is_empty(), "docs/adding-an-algorithm.md says what a law comes with:\n  {}", wrong.join("\n  "));
}

#[test]
fn headers_of_placement_algorithms_name_their_tests() {
    for file in fanin_placement::rows().flat_map(|row| row.laws) {
        let header: String = file.text.lines().take_while(|line| line.starts_with("//!")).collect();
        for label in ["Sources:", "Law:", "Units:", "Owns:", "Departs:", "Checked:"] {
            assert!(header.contains(&format!("//! {label}")), "the header of {} has no line `//! {label}`", file.law);
        }
        let own = header.contains("Checked: its own tests") && file.text.contains("#[cfg(test)]");
        let named = header.split("Checked: ").nth(1).and_then(|named| named.split(['.', ':', ',']).next());
        let apart = named.map(|named| root().join("crates/engine/placement").join(named).with_extension("rs"));
        assert!(own || apart.is_some_and(|path| path.is_file()), "the tests that {} names are not there", file.law);
    }
}

#[test]
fn every_algorithm_is_part_of_a_registered_scheme() {
    let used: Vec<String> = REGISTRY
        .iter()
        .flat_map(|entry| {
            let explained = fanin(&["explain", entry.name, "--json"]);
            let laws = explained["laws"].as_array().unwrap().iter().map(|law| text(&law["name"]).to_string());
            laws.collect::<Vec<_>>()
        })
        .collect();
    for file in fanin_laws::rows().flat_map(|row| row.laws) {
        assert!(used.iter().any(|name| name == file.law), "no registered scheme has the law {}", file.law);
    }
}

#[test]
fn every_algorithm_file_has_a_row_with_unique_words() {
    // Files that algorithms share, and tables.
    let others = [
        "mod",
        "control",
        "credits",
        "foreign",
        "manage",
        "trim",
        "lib",
        "kind",
        "window",
        "server_queue",
        "mean",
        "sicc",
        "picc",
    ];
    // Inputs and data structures of the placement algorithms.
    let placed = ["cluster", "effect", "hypergraph", "loads", "moves", "placement", "request_log", "hash_placement"];
    let rows = fanin_laws::rows().chain(fanin_fanout::rows()).chain(fanin_placement::rows());
    let named: Vec<&str> = rows.flat_map(|row| row.laws).map(|file| file.law).collect();
    for folder in ["laws/src/sender", "laws/src/port", "fanout/src", "placement/src"] {
        for entry in fs::read_dir(root().join("crates/engine").join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let law = path.file_stem().unwrap().to_str().unwrap();
            let shared = others.contains(&law) || placed.contains(&law);
            assert!(shared || named.contains(&law), "{} has no row", path.display());
        }
    }
    let mut words = BTreeSet::new();
    for row in fanin_laws::rows() {
        assert!(words.insert(row.word), "two rows say `{}`", row.word);
        assert!(Limit::named(row.word).is_none(), "{} is said not to be modelled", row.word);
        for word in row.brings.iter().chain(row.refuses.iter().map(|(word, _)| word)) {
            let known = *word == "ecn" || fanin_laws::rows().any(|other| other.word == *word);
            assert!(known, "the row of {} brings or refuses `{word}`, which is nothing", row.word);
        }
        for section in row.sections {
            assert!(Settings::sections().iter().any(|(name, _)| name == section), "there is no section [{section}]");
        }
    }
}

#[test]
fn every_scheme_and_alias_parses_to_itself() {
    for entry in REGISTRY.iter() {
        for name in entry.aliases.iter().chain([&entry.name]) {
            let scheme = Scheme::parse(name).unwrap();
            assert_eq!(scheme.to_string(), entry.name, "{name}");
        }
    }
}

#[test]
fn all_scenario_files_are_valid() {
    let mut seen = 0;
    for folder in ["scenarios", "scenarios/flows", "bench/scenarios"] {
        let files = fs::read_dir(root().join(folder)).unwrap().map(|file| file.unwrap().path());
        for path in files.filter(|path| path.extension().is_some_and(|ending| ending == "toml")) {
            let text = fs::read_to_string(&path).unwrap();
            let scenario = fanin_spec::Scenario::parse(&path.to_string_lossy(), &text).unwrap();
            let beside = |file: &str| Ok((file.into(), fs::read(root().join(folder).join(file)).unwrap()));
            scenario.variants_with(&beside).unwrap_or_else(|problem| panic!("{problem}"));
            seen += 1;
        }
    }
    assert!(seen >= 11, "only {seen} scenarios found");
}

#[test]
fn decisions_are_dated_and_indexed() {
    let folder = root().join("docs/decisions");
    let index = fs::read_to_string(folder.join("README.md")).unwrap();
    let mut lines: BTreeSet<&str> = index.lines().filter(|line| line.starts_with("- ")).collect();
    for name in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()) {
        let text = fs::read_to_string(folder.join(&name)).unwrap();
        let (Some(head), Some(date)) = (text.lines().next(), text.lines().nth(2)) else { panic!("{name} is empty") };
        if name != "README.md" {
            let row = format!("- [{}]({name}), {}: ", head.trim_start_matches("# "), &date[..10.min(date.len())]);
            let found = lines.iter().copied().find(|line| line.starts_with(&row));
            assert!(lines.remove(found.unwrap_or_default()), "the index has no line `{row}…`");
        }
    }
    assert!(lines.is_empty(), "of no decision: {lines:?}");
}
