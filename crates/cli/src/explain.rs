//! `fanin explain`: a scheme and its laws, every key of a scenario, the closed forms of incast, or what is not modelled.

use fanin::words::{KeyDoc, LIMITS, Limit, REGISTRY, Scheme, Settings, Stack, closed_forms};
use serde_json::{Map, Value, json};

use crate::arguments::ExplainArguments;
use crate::failure::Failure;
use crate::figures::{BOLD, GREY, clean, wrap};
use crate::terminal::{fold, say};

/// Explains what was asked for.
pub fn explain(arguments: &ExplainArguments) -> Result<(), Failure> {
    if arguments.subject == "scenario" {
        let docs = Settings::default().docs();
        return say(&if arguments.json {
            format!("{}\n", json!({"keys": json_keys(&docs)}))
        } else {
            fold(&scenario(&docs))
        });
    }
    if arguments.subject == "model" {
        return say(&if arguments.json { format!("{}\n", model_object()) } else { fold(&model_text()) });
    }
    if arguments.subject == "limits" {
        return say(&if arguments.json { format!("{}\n", limits_object()) } else { fold(&limits_text()) });
    }
    if let Some(limit) = Limit::named(&arguments.subject) {
        let subject = &arguments.subject;
        return say(&if arguments.json {
            format!("{}\n", limit_object(limit))
        } else {
            fold(&limit_text(subject, limit))
        });
    }
    let scheme = Scheme::parse(&arguments.subject).map_err(|what| {
        Failure::Input(format!(
            "{what}; `fanin explain scenario` explains the file, `fanin explain model` the closed forms, `fanin explain limits` what is not modelled"
        ))
    })?;
    say(&if arguments.json { format!("{}\n", scheme_object(&scheme)) } else { fold(&scheme_text(&scheme)) })
}

/// The laws that a scheme is made of: their names and headers.
fn laws(scheme: &Scheme) -> impl Iterator<Item = (&'static str, String)> {
    let files = scheme.rows().into_iter().flat_map(|row| row.laws);
    files.map(|file| (file.law, marked(file.text)))
}

/// The `//!` lines that a file begins with, without those marks.
fn marked(file: &str) -> String {
    let lines = file.lines().map_while(|line| line.strip_prefix("//!"));
    lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

fn model_text() -> String {
    let says = "What can be said of incast without a simulation, and what no simulation may contradict.";
    let form = |(name, file): &(&str, &str)| format!("\n{BOLD}{name}{BOLD:#}\n{}\n", indent(&marked(file)));
    format!("{BOLD}model{BOLD:#}: {says}\n{}", closed_forms().iter().map(form).collect::<String>())
}

fn model_object() -> Value {
    let form = |(name, file): &(&str, &str)| json!({"name": name, "header": marked(file)});
    json!({"forms": closed_forms().iter().map(form).collect::<Vec<_>>()})
}

fn limits_text() -> String {
    let says = "What is not modelled. `fanin explain NAME` says more of each, as docs/limits.md does.";
    let line = |limit: &Limit| {
        format!("  {}\n", wrap(&format!("{} is not modelled: {}", limit.name, limit.missing), 98, "    "))
    };
    format!("{BOLD}limits{BOLD:#}: {says}\n\n{}", LIMITS.iter().map(line).collect::<String>())
}

fn limit_text(name: &str, limit: &Limit) -> String {
    let name = clean(name);
    let of = if name == limit.name { String::new() } else { format!(" (see `{}`)", limit.name) };
    let part = |what: &str, says: &str| format!("  {}\n", wrap(&format!("{what}: {says}."), 98, "    "));
    format!(
        "{BOLD}{name}{BOLD:#} is not modelled{of}\n\n{}{}{}\n  docs/limits.md lists what else is not\n",
        part("Missing", limit.missing),
        part("Not to be trusted", limit.so),
        part("Near", limit.near)
    )
}

fn limit_object(limit: &Limit) -> Value {
    json!({"name": limit.name, "also": limit.also, "missing": limit.missing, "so": limit.so, "near": limit.near})
}

fn limits_object() -> Value {
    json!({"limits": LIMITS.iter().map(limit_object).collect::<Vec<_>>()})
}

fn says(scheme: &Scheme) -> String {
    let name = scheme.to_string();
    let entry = REGISTRY.iter().find(|e| e.name == name);
    entry.map_or("a combination that the registry does not name".into(), |e| e.says.to_string())
}

/// The keys of the scheme's own sections; `dctcp` brings `ect = "all"`.
fn own_keys(scheme: &Scheme) -> Vec<KeyDoc> {
    let sections = scheme.sections();
    let own = |doc: &KeyDoc| doc.path.split_once('.').is_some_and(|(section, _)| sections.contains(&section));
    Settings::default().docs().into_iter().filter(own).collect()
}

fn scheme_text(scheme: &Scheme) -> String {
    let mut text = format!("{BOLD}{scheme}{BOLD:#}: {}\n", says(scheme));
    for (law, header) in laws(scheme) {
        text += &format!("\n{BOLD}{law}{BOLD:#}\n{}\n", indent(&header));
    }
    let keys = own_keys(scheme);
    if !keys.is_empty() {
        text += &format!("\n{BOLD}settings{BOLD:#} of its own, beside those of [tcp]\n{}", key_lines(&keys));
    }
    if scheme.exact_echo() {
        text +=
            &format!("  tcp.ect = \"all\"\n    {GREY}what the scheme brings where the scenario says nothing{GREY:#}\n");
    }
    text += &format!("\n{BOLD}profiles{BOLD:#} of [tcp]; what is set beside one stands over it\n");
    for (stack, says) in Stack::all() {
        let sets: Vec<String> = stack.sets().iter().map(|(key, value)| format!("{key} = {}", value.show())).collect();
        let sets = wrap(&format!("    {GREY}{}{GREY:#}", sets.join(", ")), 100, "    ");
        text += &format!("  tcp.profile = \"{}\"  {}\n    {}\n", stack.word(), says.trim(), sets.trim_start());
    }
    text
}

fn scheme_object(scheme: &Scheme) -> Value {
    let laws: Vec<Value> = laws(scheme).map(|(law, header)| json!({"name": law, "header": header})).collect();
    json!({
        "scheme": scheme.to_string(),
        "says": says(scheme),
        "laws": laws,
        "keys": json_keys(&own_keys(scheme)),
        "profiles": Stack::all().iter().map(|(stack, _)| (stack.word().to_string(), profile_object(*stack))).collect::<Map<_, _>>(),
    })
}

fn profile_object(stack: Stack) -> Value {
    Value::Object(stack.sets().iter().map(|(key, value)| (key.to_string(), json!(value))).collect())
}

fn json_keys(docs: &[KeyDoc]) -> Vec<Value> {
    let key = |doc: &KeyDoc| json!({"key": doc.path, "form": doc.form, "range": doc.range, "default": doc.default, "says": doc.doc, "workloads": doc.workloads});
    docs.iter().map(key).collect()
}

fn scenario(docs: &[KeyDoc]) -> String {
    let mut text = wrap(
        "A scenario is a TOML file: a title, the schemes, and the sections below. What is left out has its default. \
         `schemes` is a list of names of `fanin list`, or of tables [[schemes]] with `scheme`, a `label`, and any key \
         of [tcp] and of the scheme's own sections, or a key of another section such as switch.buffer. \
         Precedence: a scheme's own key over --set over the file over the scheme's own default.",
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

fn key_lines(keys: &[KeyDoc]) -> String {
    let line = |doc: &KeyDoc| {
        let says = wrap(&format!("    {}{}", doc.doc, doc.scope()), 100, "    ");
        format!("  {} = {}  {GREY}{}{GREY:#}\n    {}\n", doc.path, doc.default, doc.right(), says.trim_start())
    };
    keys.iter().map(line).collect()
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}
