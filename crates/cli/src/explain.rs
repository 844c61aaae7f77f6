//! `fanin explain`: schemes, scenario keys and their values, the closed-form model of incast, and limits of the simulator.

use fanin::words::{
    ELSEWHERE, Elsewhere, KeyDoc, LIMITS, Limit, Profile, Scheme, Settings, Subject, closed_forms, explained, laws,
    marked, own_keys, profiles, says, schema,
};

use crate::arguments::ExplainArguments;
use crate::failure::Failure;
use crate::figures::{BOLD, GREY, clean, wrap};
use crate::terminal::{fold, say};

/// Prints the explanation of a subject.
pub fn explain(arguments: &ExplainArguments) -> Result<(), Failure> {
    let Some(subject) = &arguments.subject else { return say(&format!("{:#}\n", schema())) };
    if arguments.json {
        return say(&format!("{}\n", explained(subject).map_err(Failure::Input)?));
    }
    say(&fold(&match Subject::named(subject).map_err(Failure::Input)? {
        Subject::Scenario => scenario(&Settings::default().docs()),
        Subject::Model => model_text(),
        Subject::Limits => limits_text(),
        Subject::Limit(limit) => limit_text(subject, limit),
        Subject::Elsewhere(there, keys) => {
            format!("{BOLD}{}{BOLD:#}: {}\n{}", clean(subject), there.says, key_lines(&keys))
        }
        Subject::Term { word, says } => format!("{BOLD}{word}{BOLD:#}: {says} (docs/glossary.md)\n"),
        Subject::Scheme(scheme) => scheme_text(&scheme),
        Subject::Value { key, word, says } => format!("{BOLD}{word}{BOLD:#} ({key} = \"{word}\"): {says}\n"),
        Subject::Keys(keys) => key_lines(&keys),
    }))
}

fn model_text() -> String {
    let says = "Closed forms of incast: formulas that need no simulation, and that no simulation may contradict.";
    let form = |(name, file): &(&str, &str)| format!("\n{BOLD}{name}{BOLD:#}\n{}\n", header(&marked(file)));
    format!("{BOLD}model{BOLD:#}: {says}\n{}", closed_forms().iter().map(form).collect::<String>())
}

fn limits_text() -> String {
    let says = "Features that the simulator does not model. See `fanin explain NAME` or docs/limits.md for details.";
    let line = |limit: &Limit| {
        format!("  {}\n", wrap(&format!("{} is not modelled: {}", limit.name, limit.missing), 98, "    "))
    };
    let there =
        |one: &Elsewhere| format!("  {}\n", wrap(&format!("{}: {}", one.names.join(", "), one.says), 98, "    "));
    format!(
        "{BOLD}limits{BOLD:#}: {says}\n\n{}\nAvailable under another name:\n\n{}",
        LIMITS.iter().map(line).collect::<String>(),
        ELSEWHERE.iter().map(there).collect::<String>()
    )
}

fn limit_text(name: &str, limit: &Limit) -> String {
    let name = clean(name);
    let of = if name == limit.name { String::new() } else { format!(" (see `{}`)", limit.name) };
    let part = |what: &str, says: &str| format!("  {}\n", wrap(&format!("{what}: {says}."), 98, "    "));
    format!(
        "{BOLD}{name}{BOLD:#} is not modelled{of}\n\n{}{}{}\n  docs/limits.md lists all limits\n",
        part("Missing", limit.missing),
        part("Consequence", limit.so),
        part("Closest", limit.near)
    )
}

fn scheme_text(scheme: &Scheme) -> String {
    let mut text = format!("{BOLD}{scheme}{BOLD:#}: {}\n", says(scheme));
    for (law, file) in laws(scheme) {
        text += &format!("\n{BOLD}{law}{BOLD:#}\n{}\n", header(&file));
    }
    let keys = own_keys(scheme);
    if !keys.is_empty() {
        text += &format!("\n{BOLD}settings{BOLD:#} of the scheme{}\n{}", besides(scheme), key_lines(&keys));
    }
    if scheme.exact_echo() {
        text += &format!("  tcp.ect = \"all\"\n    {GREY}default of this scheme{GREY:#}\n");
    }
    text += &profile_lines(scheme);
    text
}

/// Where the scheme's hosts have further settings.
fn besides(scheme: &Scheme) -> &'static str {
    if scheme.is_tcp() { ", in addition to [tcp]" } else { "" }
}

/// The profiles of a scheme's transport with the keys that they set, for `fold`.
fn profile_lines(scheme: &Scheme) -> String {
    let mut text = String::new();
    for Profile { key, word, says, sets } in profiles(scheme) {
        if text.is_empty() {
            let section = key.split('.').next().unwrap_or_default();
            text = format!("\n{BOLD}profiles{BOLD:#} for [{section}]; explicit keys override them\n");
        }
        let sets: Vec<String> = sets.iter().map(|(key, value)| format!("{key} = {}", value.show())).collect();
        text += &format!("  {key} = \"{word}\"  {says}\n    {GREY}{}{GREY:#}\n", sets.join(", "));
    }
    text
}

fn scenario(docs: &[KeyDoc]) -> String {
    let mut text = wrap(
        "A scenario is a TOML file: a title, the schemes, and the sections below. Omitted keys have their defaults. \
         `schemes` is a list of names from `fanin list`, or of tables [[schemes]]. A table has `scheme`, a `label`, and any \
         key of [tcp] or of the scheme's own sections; it may also have keys of other sections, such as switch.buffer. \
         Precedence, highest first: a key in a scheme's table, --set, the file, the scheme's own default, the default.",
        100,
        "",
    ) + "\n";
    for (section, says) in Settings::sections() {
        let keys: Vec<KeyDoc> =
            docs.iter().filter(|d| d.path.split_once('.').is_some_and(|(s, _)| s == section)).cloned().collect();
        text += &format!("\n{BOLD}[{section}]{BOLD:#} {says}\n{}", key_lines(&keys));
    }
    text
}

/// Keys with their documentation, a line each, for `fold`.
fn key_lines(keys: &[KeyDoc]) -> String {
    let line = |doc: &KeyDoc| {
        format!("  {} = {}  {GREY}{}{GREY:#}\n    {}{}\n", doc.path, doc.default, doc.right(), doc.doc, doc.scope())
    };
    keys.iter().map(line).collect()
}

/// Labels of a header's parts.
const LABELS: [&str; 8] = ["Sources", "Law", "Model", "Forms", "Units", "Owns", "Departs", "Checked"];

/// A module's header with one line per part, for `fold`; only equations keep their lines.
fn header(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut forms = false;
    for line in text.lines() {
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        match (line.split_once(':').filter(|(label, _)| LABELS.contains(label)), lines.last_mut()) {
            (Some((label, rest)), _) => {
                forms = label == "Forms";
                lines.push(format!("  {:<11}{}", format!("{label}:"), words(rest)));
            }
            (None, Some(last)) if !forms && !line.is_empty() && !last.is_empty() => {
                *last = format!("{last} {}", line.trim_start());
            }
            (None, _) if line.is_empty() => lines.push(String::new()),
            (None, _) => lines.push(format!("  {}{}", if forms { "           " } else { "" }, words(line))),
        }
    }
    lines.join("\n")
}
