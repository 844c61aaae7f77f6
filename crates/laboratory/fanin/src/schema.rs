//! JSON Schema of scenarios, from the declarations of their keys: editors complete and check with it.

use fanin_spec::{KeyDoc, REGISTRY, Settings};
use serde_json::{Map, Value, json};

/// The schema (draft 2020-12): the output of `fanin explain --schema`. It checks names of keys and types of values; units, ranges and what
/// fits together are checked by `fanin` alone.
pub fn schema() -> Value {
    let docs = Settings::default().docs();
    let mut properties = sections(&docs);
    let swept = Settings::sections().into_iter().find(|(section, _)| *section == "sweep");
    properties.extend(swept.map(|(section, says)| (section.into(), sweep(says))));
    properties.insert("title".into(), json!({"type": "string", "description": "Title of the report."}));
    properties.insert("schemes".into(), schemes(&docs));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "fanin scenario",
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    })
}

/// Every section with its keys; `[host.nic]` is inside of another one, too.
fn sections(docs: &[KeyDoc]) -> Map<String, Value> {
    let mut tables = Map::new();
    for (section, says) in Settings::sections() {
        tables.insert(section.into(), table(says, docs.iter().filter(|doc| doc.section() == section)));
    }
    let nic = tables["nic"].clone();
    tables["host"]["properties"]["nic"] = nic;
    tables
}

/// A section with its keys.
fn table<'a>(says: &str, docs: impl Iterator<Item = &'a KeyDoc>) -> Value {
    let key = |doc: &'a KeyDoc| (name(doc).to_string(), value(doc));
    json!({"type": "object", "description": says, "properties": docs.map(key).collect::<Map<_, _>>(), "additionalProperties": false})
}

/// The name of a key in its section.
fn name(doc: &KeyDoc) -> &str {
    doc.path.split_once('.').map_or(doc.path.as_str(), |(_, name)| name)
}

/// Any key may be swept.
fn sweep(says: &str) -> Value {
    json!({"type": "object", "description": says, "additionalProperties": {"type": ["array", "string", "object"]}})
}

/// Names, or tables with keys of any section.
fn schemes(docs: &[KeyDoc]) -> Value {
    let names: Vec<&str> = REGISTRY.iter().map(|entry| entry.name).collect();
    // Combinations of parts are schemes, too.
    let scheme = json!({"anyOf": [{"enum": names}, {"type": "string"}]});
    let mut keys = Map::from_iter([("scheme".into(), scheme.clone()), ("label".into(), json!({"type": "string"}))]);
    keys.extend(sections(docs));
    // Keys of [tcp] need no section there.
    keys.extend(docs.iter().filter(|doc| doc.section() == "tcp").map(|doc| (name(doc).to_string(), value(doc))));
    json!({
        "description": "Names from `fanin list`, or tables with a `scheme`, a `label`, and any key of [tcp] or of other sections.",
        "type": "array",
        "items": {"anyOf": [scheme, {"type": "object", "properties": keys, "required": ["scheme"]}]},
    })
}

/// Values of a key.
fn value(doc: &KeyDoc) -> Value {
    let text = format!("{}{} Valid: {}. Default: {}.", doc.doc, doc.scope(), doc.right(), doc.default);
    let mut schema = kind(doc.form);
    if let Value::Object(schema) = &mut schema {
        schema.insert("description".into(), text.into());
    }
    schema
}

/// Types of values, from the beginning of a form; the words where a form lists words alone.
fn kind(form: &str) -> Value {
    const KINDS: [(&str, &[&str]); 7] = [
        ("a whole number, or", &["integer", "string"]),
        ("a number of packets, or", &["integer", "string"]),
        ("a traffic class", &["integer", "string"]),
        ("a whole number", &["integer"]),
        ("true or false", &["boolean"]),
        ("a share", &["number", "string"]),
        ("a number", &["number", "string"]),
    ];
    if form.starts_with("a list of") {
        return json!({"type": "array", "items": {"type": ["string", "number"]}});
    }
    match (words(form), KINDS.iter().find(|(begins, _)| form.starts_with(begins))) {
        // Old words are accepted, too, with a warning.
        (Some(words), _) => json!({"anyOf": [{"enum": words}, {"type": "string"}]}),
        (None, Some((_, types))) => json!({"type": types}),
        (None, None) => json!({"type": ["string", "number", "boolean"]}),
    }
}

/// The words of a form such as `"a", "b" or "c"`.
fn words(form: &str) -> Option<Vec<&str>> {
    let parts: Vec<&str> = form.split('"').collect();
    let is_list = parts.len() > 1 && parts.len() % 2 == 1;
    let separated = parts.iter().step_by(2).all(|part| matches!(*part, "" | ", " | " or "));
    (is_list && separated).then(|| parts.into_iter().skip(1).step_by(2).collect())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use toml::Value as Toml;

    use super::*;

    /// Whether a schema made here allows a value.
    fn allows(schema: &Value, value: &Toml) -> bool {
        if let Some(any) = schema["anyOf"].as_array() {
            return any.iter().any(|one| allows(one, value));
        }
        if let Some(words) = schema["enum"].as_array() {
            return words.iter().any(|word| word.as_str() == value.as_str());
        }
        let own: &[&str] = match value {
            Toml::String(_) | Toml::Datetime(_) => &["string"],
            Toml::Integer(_) => &["integer", "number"],
            Toml::Float(_) => &["number"],
            Toml::Boolean(_) => &["boolean"],
            Toml::Array(_) => &["array"],
            Toml::Table(_) => &["object"],
        };
        let of_type = match &schema["type"] {
            Value::Array(types) => types.iter().any(|one| own.contains(&one.as_str().unwrap_or_default())),
            one => own.contains(&one.as_str().unwrap_or_default()),
        };
        let within = match value {
            Toml::Array(items) if schema["items"].is_object() => {
                items.iter().all(|item| allows(&schema["items"], item))
            }
            Toml::Table(table) => table.iter().all(|(key, value)| match &schema["properties"][key] {
                Value::Null => schema["additionalProperties"] != json!(false) && schema["properties"].is_null(),
                own => allows(own, value),
            }),
            _ => true,
        };
        of_type && within
    }

    #[test]
    fn bundled_scenarios_are_valid_and_wrong_keys_are_not() {
        let (schema, mut count) = (schema(), 0);
        let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scenarios");
        for entry in fs::read_dir(scenarios).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|ending| ending == "toml") {
                let scenario: Toml = fs::read_to_string(&path).unwrap().parse::<toml::Table>().unwrap().into();
                assert!(allows(&schema, &scenario), "{}", path.display());
                count += 1;
            }
        }
        assert!(count > 15, "{count} scenarios");
        for wrong in [
            "tpc = {}",
            "[tcp]\nrto = \"1 ms\"",
            "[tcp]\nsack = \"yes\"",
            "[workload]\nfan_in = \"eight\"",
            "title = 3",
        ] {
            assert!(!allows(&schema, &wrong.parse::<toml::Table>().unwrap().into()), "{wrong}");
        }
    }

    #[test]
    fn words_come_from_forms() {
        assert_eq!(words("\"a\", \"b\" or \"c d\""), Some(vec!["a", "b", "c d"]));
        assert_eq!(words("\"ethernet\", or at most 1000 B"), None);
        assert_eq!(words("a time"), None);
    }
}
