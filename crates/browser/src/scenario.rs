//! A scenario's text: what it contains, its problems, and changes of single values.

use fanin_spec::{Problem, Scenario, Variant};
use serde_json::{Map, Value, json};
use toml_edit::{DocumentMut, Item, TableLike};

use crate::exports::problem_of;

/// Name of a playground's scenario in messages.
pub const NAME: &str = "scenario.toml";
/// CPU time of the program for one seed, and memory, beyond which a page leaves a comparison to it.
const MOST_CPU_S: f64 = 20.0;
const MOST_MEMORY: f64 = 1e9;

/// A resolved scenario.
pub struct Read {
    pub scenario: Scenario,
    pub variants: Vec<Variant>,
}

impl Read {
    /// Reads a scenario, to be run with this many seeds.
    ///
    /// # Errors
    /// The first problem.
    pub fn new(text: &str, seeds: u32) -> Result<Read, Problem> {
        let mut scenario = Scenario::parse(NAME, text)?;
        scenario.assign(&format!("--seeds {seeds}"), &format!("run.seeds={seeds}"))?;
        let variants = scenario.variants()?;
        Ok(Read { scenario, variants })
    }

    /// Warnings about its settings.
    pub fn warnings(&self) -> Vec<String> {
        self.scenario.warnings(&self.variants).iter().map(ToString::to_string).collect()
    }

    /// The same in a terminal.
    pub fn arguments(&self, seeds: u32) -> Vec<String> {
        ["compare", NAME, "--seeds", &seeds.to_string()].map(str::to_owned).to_vec()
    }
}

/// Describes a scenario as JSON: `values` by path as the text has them, and either `problem` with its `line` (0: the whole text), or
/// `schemes`, the number of `runs` per seed, and with `too_large` the reason why only the program should carry it out.
pub fn describe(text: &str) -> String {
    let mut object = Map::new();
    if let Ok(document) = text.parse::<DocumentMut>() {
        object.insert("values".into(), values(&document));
    }
    let checked = Read::new(text, 1);
    match checked {
        Err(problem) => {
            object.insert("problem".into(), problem_of(&problem));
        }
        Ok(read) => {
            let specs = read.variants.iter().flat_map(|variant| (0..).map_while(|place| variant.at(place, 1)));
            let needs: Vec<_> = specs.map(|spec| fanin_sim::need(&spec.settings)).collect();
            let cpu: f64 = needs.iter().map(|need| need.cpu_s).sum();
            let memory = needs.iter().map(|need| need.memory.working + need.memory.kept).fold(0.0, f64::max);
            let schemes: Vec<&str> = read.variants.iter().map(|variant| variant.label.as_str()).collect();
            object.insert("schemes".into(), json!(schemes));
            object.insert("runs".into(), json!(needs.len()));
            object.insert("cpu_s".into(), json!(cpu));
            object.insert("warnings".into(), json!(read.warnings()));
            if cpu > MOST_CPU_S || memory > MOST_MEMORY {
                let what = format!(
                    "one seed would take about {cpu:.0} s and {:.1} GB here; run it in a terminal, or make it smaller",
                    memory / 1e9
                );
                object.insert("too_large".into(), json!(what));
            }
        }
    }
    Value::Object(object).to_string()
}

/// Values of all keys, by path; strings without quotes.
fn values(document: &DocumentMut) -> Value {
    let mut found = Map::new();
    for (section, item) in document.iter() {
        match item.as_table_like() {
            Some(table) => {
                found.extend(table.iter().map(|(key, item)| (format!("{section}.{key}"), json!(shown(item)))));
            }
            None => drop(found.insert(section.to_owned(), json!(shown(item)))),
        }
    }
    Value::Object(found)
}

fn shown(item: &Item) -> String {
    item.as_str().map_or_else(|| item.to_string().trim().to_owned(), str::to_owned)
}

/// Sets a value, or with an empty one removes it; the rest of the text stays as it is. `path` is `section.key`, or `schemes` or
/// `title`. Numbers, lists and truth values are written as they are, other values in quotes.
///
/// # Errors
/// A text that is not TOML, or has no section of this name.
pub fn set_value(text: &str, path: &str, value: &str) -> Result<String, String> {
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| error.message().to_owned())?;
    let (section, key) = path.split_once('.').unwrap_or(("", path));
    let table: &mut dyn TableLike = match section {
        "" => document.as_table_mut(),
        _ => {
            let item = document.entry(section).or_insert_with(toml_edit::table);
            item.as_table_like_mut().ok_or_else(|| format!("`{section}` is not a section"))?
        }
    };
    if value.is_empty() {
        table.remove(key);
    } else {
        let literal: toml_edit::Value = match value.parse() {
            Ok(toml_edit::Value::Datetime(_)) | Err(_) => value.into(),
            Ok(literal) => literal,
        };
        replace(table, key, literal);
    }
    if table.is_empty() && !section.is_empty() {
        document.remove(section);
    }
    Ok(document.to_string())
}

/// Replaces a value, with the spaces and comments around the last one.
fn replace(table: &mut dyn TableLike, key: &str, mut value: toml_edit::Value) {
    if let Some(old) = table.get(key).and_then(Item::as_value) {
        *value.decor_mut() = old.decor().clone();
    }
    table.insert(key, Item::Value(value));
}
