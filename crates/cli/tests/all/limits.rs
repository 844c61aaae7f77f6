//! Features that are not modelled: the output of `fanin explain`, and their page.

use std::collections::BTreeSet;
use std::process::Command;

use crate::support::{fanin, is_current, root, says, text};
use serde_json::Value;

const HEAD: &str = "# Limits

Features that fanin does not model, the consequences for its results, and the closest features that it models. `make docs` generates
this page from `crates/scenario/spec/src/limits.rs`; `fanin explain NAME` prints the same. [validation.md](validation.md) compares the modelled
features with ns-3 and Linux.
";

fn limits() -> Vec<Value> {
    fanin(&["explain", "limits", "--json"])["limits"].as_array().unwrap().clone()
}

fn elsewhere() -> Vec<Value> {
    fanin(&["explain", "limits", "--json"])["elsewhere"].as_array().unwrap().clone()
}

/// The names of a limit or of a scheme.
fn names(entry: &Value) -> Vec<String> {
    let also = entry.get("also").or(entry.get("aliases")).unwrap().as_array().unwrap().iter().map(text);
    [text(&entry["name"])].into_iter().chain(also).map(String::from).collect()
}

#[test]
fn page_of_limits_matches_the_list() {
    let mut page = HEAD.to_string();
    for limit in limits() {
        let also = names(&limit)[1..].iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        page += &format!("\n## {}\n\nAlso known as {also}.\n\n", text(&limit["name"]));
        for (what, key) in [("Not modelled", "missing"), ("Consequence", "so"), ("Closest", "near")] {
            page += &format!("- **{what}**: {}.\n", text(&limit[key]));
        }
    }
    page += "\n## Available under another name\n\n";
    for one in elsewhere() {
        let names = one["names"].as_array().unwrap().iter().map(|name| format!("`{}`", text(name)));
        page += &format!("- {}: {}.\n", names.collect::<Vec<_>>().join(", "), text(&one["says"]));
    }
    is_current("docs/limits.md", &page);
}

#[test]
fn explains_every_name_of_a_limit() {
    let mut seen = BTreeSet::new();
    for limit in limits() {
        for name in names(&limit) {
            let said = says(&["explain", &name]);
            assert!(said.contains("is not modelled") && said.contains("docs/limits.md"), "{name}: {said}");
            assert!(seen.insert(name.clone()), "{name} is given twice");
        }
    }
    for name in elsewhere().iter().flat_map(|one| one["names"].as_array().unwrap().clone()) {
        let said = says(&["explain", text(&name)]);
        assert!(!said.contains("is not modelled") && said.contains('`'), "{name}: {said}");
        assert!(seen.insert(text(&name).into()), "{name} is given twice");
    }
    for name in ["infiniband", "bbr", "homa", "pfabric", "quic"] {
        assert!(seen.contains(name), "{name}");
        assert!(says(&["explain", &name.to_uppercase()]).contains("is not modelled"), "{name}");
    }
    let schemes = fanin(&["list", "--json"]);
    let known = schemes["schemes"].as_array().unwrap().iter().flat_map(names);
    assert!(known.into_iter().all(|name| !seen.contains(&name)));
}

#[test]
fn refuses_unmodelled_schemes_with_their_limit() {
    for scheme in ["bbr", "bbr+ecn", "dctcp+pfabric", "HOMA"] {
        let output = Command::new(env!("CARGO_BIN_EXE_fanin"))
            .args(["compare", "scenarios/fixed-fragment.toml", "--schemes", scheme])
            .current_dir(root())
            .output()
            .unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains("is not modelled") && !message.contains("did you mean"), "{message}");
    }
}
