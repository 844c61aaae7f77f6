//! Building blocks of scenarios: schemes and their parts, keys, fabrics, TCP profiles, switches, and limits of the model.

pub use fanin_model::headers as closed_forms;
pub use fanin_spec::{
    Chip, ELSEWHERE, Elsewhere, FabricKind, KeyDoc, Kind, LIMITS, Limit, REGISTRY, Scheme, Settings, Stack,
};

use serde_json::{Map, Value, json};

/// The fabrics with descriptions.
pub const FABRICS: [(&str, &str); 4] = [
    ("star", "one switch; each host has its own link to it"),
    ("leaf-spine", "racks whose switches each have a link to every spine"),
    ("fat-tree", "pods of racks, each pod with its own spines, joined by cores"),
    ("edges", "any network of switches, given by its links (fabric.edges)"),
];

/// All building blocks as one object: the output of `fanin list --json`.
pub fn listed() -> Value {
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

/// Explains a scheme, the keys of a `scenario`, the closed forms of the `model`, the `limits` or one of them: the output of `fanin explain
/// --json`.
///
/// # Errors
/// An unknown subject; the message lists the known ones.
pub fn explained(subject: &str) -> Result<Value, String> {
    Ok(match subject {
        "scenario" => json!({"keys": keys(&Settings::default().docs())}),
        "model" => {
            let form = |(name, file): &(&str, &str)| json!({"name": name, "header": marked(file)});
            json!({"forms": closed_forms().iter().map(form).collect::<Vec<_>>()})
        }
        "limits" => json!({
            "limits": LIMITS.iter().map(limit).collect::<Vec<_>>(),
            "elsewhere": ELSEWHERE.iter().map(elsewhere).collect::<Vec<_>>(),
        }),
        _ => match (Limit::named(subject), Elsewhere::named(subject)) {
            (Some(known), _) => limit(known),
            (None, Some(known)) => elsewhere(known),
            (None, None) => scheme(&understood(subject)?),
        },
    })
}

/// Parses the name of a scheme.
///
/// # Errors
/// An unknown scheme; the message lists other subjects.
pub fn understood(subject: &str) -> Result<Scheme, String> {
    Scheme::parse(subject).map_err(|what| {
        format!(
            "{what}; other subjects: scenario (the file), model (the closed forms), limits (features that are not modelled)"
        )
    })
}

/// The algorithms of a scheme: their names and headers.
pub fn laws(scheme: &Scheme) -> impl Iterator<Item = (&'static str, String)> {
    let files = scheme.rows().into_iter().flat_map(|row| row.laws);
    files.map(|file| (file.law, marked(file.text)))
}

/// The `//!` lines that a file begins with, without those marks.
pub fn marked(file: &str) -> String {
    let lines = file.lines().map_while(|line| line.strip_prefix("//!"));
    lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

/// One line about a scheme.
pub fn says(scheme: &Scheme) -> String {
    let name = scheme.to_string();
    let entry = REGISTRY.iter().find(|e| e.name == name);
    entry.map_or("a combination without a description".into(), |e| e.says.to_string())
}

/// The keys of the scheme's own sections; `dctcp` brings `ect = "all"`.
pub fn own_keys(scheme: &Scheme) -> Vec<KeyDoc> {
    let sections = scheme.sections();
    let own = |doc: &KeyDoc| doc.path.split_once('.').is_some_and(|(section, _)| sections.contains(&section));
    Settings::default().docs().into_iter().filter(own).collect()
}

fn scheme(scheme: &Scheme) -> Value {
    let laws: Vec<Value> = laws(scheme).map(|(law, header)| json!({"name": law, "header": header})).collect();
    json!({
        "scheme": scheme.to_string(),
        "says": says(scheme),
        "laws": laws,
        "keys": keys(&own_keys(scheme)),
        "profiles": Stack::all().iter().map(|(stack, _)| (stack.word().to_string(), profile(*stack))).collect::<Map<_, _>>(),
    })
}

fn profile(stack: Stack) -> Value {
    Value::Object(stack.sets().iter().map(|(key, value)| (key.to_string(), json!(value))).collect())
}

fn keys(docs: &[KeyDoc]) -> Vec<Value> {
    let key = |doc: &KeyDoc| json!({"key": doc.path, "form": doc.form, "range": doc.range, "default": doc.default, "says": doc.doc, "workloads": doc.workloads});
    docs.iter().map(key).collect()
}

fn elsewhere(elsewhere: &Elsewhere) -> Value {
    json!({"names": elsewhere.names, "says": elsewhere.says})
}

fn limit(limit: &Limit) -> Value {
    json!({"name": limit.name, "also": limit.also, "missing": limit.missing, "so": limit.so, "near": limit.near})
}
