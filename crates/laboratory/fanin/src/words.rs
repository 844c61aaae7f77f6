//! Building blocks of scenarios: schemes and their parts, keys, fabrics, TCP profiles, switches, and limits of the model.

pub use crate::schema::schema;
pub use fanin_model::headers as closed_forms;
pub use fanin_spec::{
    Chip, DCQCN_PROFILES, ELSEWHERE, Elsewhere, FabricKind, KeyDoc, Kind, LIMITS, Limit, REGISTRY, Scheme, Settings,
    Stack,
};

use std::collections::BTreeMap;

use fanin_spec::{Literal, dcqcn_keys};
use serde_json::{Map, Value, json};

/// The fabrics with descriptions.
pub const FABRICS: [(&str, &str); 6] = [
    ("star", "one switch; each host has its own link to it"),
    ("leaf-spine", "racks whose switches each have a link to every spine"),
    ("fat-tree", "pods of racks, each pod with its own spines, joined by cores"),
    ("rails", "machines of several hosts, each on the switches of its own rail under common spines"),
    ("dragonfly", "groups of racks whose switches link to one another, and every two groups by global links"),
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
        "cards": DCQCN_PROFILES.iter().map(|(_, word, says)| said(word, says)).collect::<Vec<_>>(),
    })
}

/// A subject of `fanin explain`.
pub enum Subject {
    /// All keys of a scenario.
    Scenario,
    /// The closed forms.
    Model,
    /// All limits of the simulator.
    Limits,
    /// One of them.
    Limit(&'static Limit),
    /// A feature with another name, and the keys that its description names.
    Elsewhere(&'static Elsewhere, Vec<KeyDoc>),
    /// A scheme.
    Scheme(Scheme),
    /// A value of a key: a workload, a fabric, a switch or a TCP profile.
    Value {
        /// The key.
        key: &'static str,
        /// The value.
        word: &'static str,
        /// Its description.
        says: &'static str,
    },
    /// A key, the keys of a section, or keys of the same name in several sections.
    Keys(Vec<KeyDoc>),
    /// A term of the glossary.
    Term {
        /// The term.
        word: &'static str,
        /// Its meaning.
        says: &'static str,
    },
}

impl Subject {
    /// The subject that a word names.
    ///
    /// # Errors
    /// An unknown subject; the message names similar ones.
    pub fn named(text: &str) -> Result<Subject, String> {
        match text {
            "scenario" => return Ok(Subject::Scenario),
            "model" => return Ok(Subject::Model),
            "limits" => return Ok(Subject::Limits),
            _ => {}
        }
        if let Ok(scheme) = Scheme::parse(text) {
            return Ok(Subject::Scheme(scheme));
        }
        let elsewhere = || Elsewhere::named(text).map(|there| Subject::Elsewhere(there, keys_in(there.says)));
        let known = Limit::named(text).map(Subject::Limit).or_else(elsewhere);
        known.or_else(|| value(text)).or_else(|| keys_named(text)).or_else(|| term(text)).ok_or_else(|| {
            let near: Vec<String> = nearest(text).iter().map(|word| format!("`{word}`")).collect();
            format!(
                "unknown subject `{text}`; similar: {}. Subjects are schemes, workloads, fabrics, switches and TCP profiles of `fanin list`, \
                 keys (tcp.rto_min), sections (tcp), terms of the glossary, scenario, model and limits",
                near.join(", ")
            )
        })
    }
}

/// Terms of the glossary with their meanings: each is a row of a table, and may have other names in the last column.
fn glossary() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let rows = include_str!("glossary.md").lines().filter_map(|line| line.strip_prefix("| "));
    rows.filter_map(|row| {
        let mut cells = row.trim_end_matches('|').split(" | ").map(str::trim);
        let (word, says) = (cells.next()?, cells.next()?);
        let is_term = !word.is_empty() && word != "word" && !word.starts_with('-') && !says.starts_with('`');
        is_term.then_some((word, says, cells.next().unwrap_or("")))
    })
}

/// The term of the glossary with this name, or one of its other names.
fn term(text: &str) -> Option<Subject> {
    let is = |names: &str| {
        names.split([',', '(', ')']).any(|name| {
            let name = name.trim();
            name.eq_ignore_ascii_case(text) || name.strip_suffix('s').is_some_and(|one| one.eq_ignore_ascii_case(text))
        })
    };
    let (word, says, _) = glossary().find(|(word, _, others)| is(word) || is(others))?;
    Some(Subject::Term { word, says })
}

/// The keys and the sections that a sentence names in backticks.
fn keys_in(says: &'static str) -> Vec<KeyDoc> {
    // A table within another, such as `[host.nic]`, has its own name in paths.
    let bare = |code: &'static str| code.trim_matches(['[', ']']).trim_start_matches("host.");
    let named: Vec<&str> = says.split('`').skip(1).step_by(2).map(bare).collect();
    let is_named = |doc: &KeyDoc| {
        named.iter().any(|code| {
            let section = doc.path.strip_prefix(*code).is_some_and(|rest| rest.starts_with('.'));
            section || code.split(' ').next() == Some(&doc.path)
        })
    };
    Settings::default().docs().into_iter().filter(is_named).collect()
}

/// The three subjects whose names are most similar to a word.
fn nearest(text: &str) -> Vec<String> {
    let schemes = REGISTRY.iter().flat_map(|offer| offer.aliases.iter().copied().chain([offer.name]));
    let others = ELSEWHERE.iter().flat_map(|there| there.names).copied();
    let limits = LIMITS.iter().flat_map(|limit| limit.also.iter().copied().chain([limit.name]));
    let sections = Settings::sections().into_iter().map(|(section, _)| section);
    let mut names: Vec<String> = schemes.chain(others).chain(limits).chain(sections).map(str::to_owned).collect();
    names.extend(glossary().map(|(word, ..)| word.to_owned()));
    names.extend(Settings::default().docs().iter().map(|doc| doc.path.clone()));
    let text = text.to_lowercase();
    let distance = |name: &String| {
        let parts = name.split(['.', ' ', '_', '-']).chain([name.as_str()]);
        let near = parts.map(|part| strsim::damerau_levenshtein(&text, &part.to_lowercase())).min();
        (near, name.len())
    };
    names.sort_by_cached_key(distance);
    names.dedup();
    names.truncate(3);
    names
}

/// The value of a key that a word names.
fn value(text: &str) -> Option<Subject> {
    let workloads = Kind::all().into_iter().map(|(kind, says)| ("workload.kind", kind.word(), says));
    let fabrics = FABRICS.into_iter().map(|(word, says)| ("fabric.kind", word, says));
    let switches = Chip::all().into_iter().map(|(chip, says)| ("switch.profile", chip.word(), says));
    let stacks = Stack::all().into_iter().map(|(stack, says)| ("tcp.profile", stack.word(), says));
    let cards = DCQCN_PROFILES.into_iter().map(|(_, word, says)| ("dcqcn.profile", word, says));
    let mut all = workloads.chain(fabrics).chain(switches).chain(stacks).chain(cards);
    let (key, word, says) = all.find(|(_, word, _)| word.eq_ignore_ascii_case(text))?;
    Some(Subject::Value { key, word, says })
}

/// The key with this path, the keys with this name or first word, or the keys of this section.
fn keys_named(text: &str) -> Option<Subject> {
    let begins = |part: &str| part.strip_prefix(text).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'));
    let is_meant = |doc: &KeyDoc| doc.path == text || doc.path.split('.').any(begins);
    let keys: Vec<KeyDoc> = Settings::default().docs().into_iter().filter(is_meant).collect();
    (!keys.is_empty()).then_some(Subject::Keys(keys))
}

/// Explains a subject: the output of `fanin explain --json`.
///
/// # Errors
/// An unknown subject; the message lists the known ones.
pub fn explained(subject: &str) -> Result<Value, String> {
    Ok(match Subject::named(subject)? {
        Subject::Scenario => json!({"keys": keys(&Settings::default().docs())}),
        Subject::Model => {
            let form = |(name, file): &(&str, &str)| json!({"name": name, "header": marked(file)});
            json!({"forms": closed_forms().iter().map(form).collect::<Vec<_>>()})
        }
        Subject::Limits => json!({
            "limits": LIMITS.iter().map(limit).collect::<Vec<_>>(),
            "elsewhere": ELSEWHERE.iter().map(elsewhere).collect::<Vec<_>>(),
        }),
        Subject::Limit(known) => limit(known),
        Subject::Elsewhere(known, own) => json!({"names": known.names, "says": known.says, "keys": keys(&own)}),
        Subject::Term { word, says } => json!({"term": word, "says": says}),
        Subject::Scheme(known) => scheme(&known),
        Subject::Value { key, word, says } => json!({"key": key, "value": word, "says": says}),
        Subject::Keys(known) => json!({"keys": keys(&known)}),
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
        "profiles": profiles(scheme).map(|profile| (profile.word.to_string(), json!(profile.sets.into_iter().collect::<BTreeMap<_, _>>()))).collect::<Map<_, _>>(),
    })
}

/// A value of a key that sets other keys.
pub struct Profile {
    /// The key.
    pub key: &'static str,
    /// Its value.
    pub word: &'static str,
    /// Its meaning.
    pub says: &'static str,
    /// The keys that it sets, with their values.
    pub sets: Vec<(&'static str, Literal)>,
}

/// The profiles of a scheme's transport.
pub fn profiles(scheme: &Scheme) -> impl Iterator<Item = Profile> {
    let stacks = Stack::all().into_iter().map(|(stack, says)| Profile {
        key: "tcp.profile",
        word: stack.word(),
        says: says.trim(),
        sets: stack.sets(),
    });
    let cards = DCQCN_PROFILES.into_iter().map(|(profile, word, says)| Profile {
        key: "dcqcn.profile",
        word,
        says,
        sets: dcqcn_keys(profile),
    });
    let (is_tcp, has_dcqcn) = (scheme.is_tcp(), scheme.sections().contains(&"dcqcn"));
    stacks.filter(move |_| is_tcp).chain(cards.filter(move |_| has_dcqcn))
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
