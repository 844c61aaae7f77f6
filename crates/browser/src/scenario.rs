//! A scenario's text: what it contains, its problems, and changes of single values.

use fanin_spec::{Need, Origin, Problem, Scenario, Settings, Variant};
use serde_json::{Map, Value, json};
use toml_edit::{DocumentMut, Item, TableLike};

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
    /// Reads a scenario, to be run with its own number of seeds or this one.
    ///
    /// # Errors
    /// The first problem.
    pub fn new(text: &str, seeds: Option<u32>) -> Result<Read, Problem> {
        let mut scenario = Scenario::parse(NAME, text)?;
        if let Some(seeds) = seeds {
            scenario.assign(&format!("--seeds {seeds}"), &format!("run.seeds={seeds}"))?;
        }
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

/// Keys of a scenario as JSON, by path: the default as `usual`, and the form of a valid value as `right`.
pub fn keys() -> String {
    let docs = Settings::default().docs();
    let keys = docs.into_iter().map(|doc| {
        let right = doc.right();
        (doc.path, json!({"usual": doc.default, "right": right}))
    });
    Value::Object(keys.collect()).to_string()
}

/// Describes a scenario as JSON: `values` by path as the text has them, and either `problem` with its `line` (0: the whole text), or
/// `seeds`, and with `too_large` the reason why only the program should carry it out.
pub fn describe(text: &str) -> String {
    let mut object = Map::new();
    if let Ok(document) = text.parse::<DocumentMut>() {
        object.insert("values".into(), values(&document));
    }
    match Read::new(text, None) {
        Err(problem) => drop(object.insert("problem".into(), problem_of(&problem))),
        Ok(read) => {
            let seeds = read.variants.first().map_or(1, |variant| variant.settings.run.seeds);
            object.insert("seeds".into(), json!(seeds));
            object.extend(too_large(&read.variants, f64::from(seeds)).map(|what| ("too_large".into(), what.into())));
        }
    }
    Value::Object(object).to_string()
}

/// A problem for the page: its line (0: the whole scenario), and its text.
pub fn problem_of(problem: &Problem) -> Value {
    let line = if let Origin::File { line, .. } = problem.origin { line } else { 0 };
    json!({"line": line, "what": problem.what})
}

/// Why a page should not carry out these runs.
fn too_large(variants: &[Variant], seeds: f64) -> Option<String> {
    let points = variants.iter().flat_map(|variant| &variant.points);
    let needs: Vec<Need> = points.map(|point| fanin_sim::need(&point.settings)).collect();
    let cpu_s: f64 = needs.iter().map(|need| need.cpu_s).sum();
    let kept: f64 = needs.iter().map(|need| need.memory.kept).sum();
    let memory = needs.iter().map(|need| need.memory.working).fold(0.0, f64::max) + kept * seeds;
    (cpu_s > MOST_CPU_S || memory > MOST_MEMORY)
        .then(|| format!("a seed takes about {cpu_s:.0} s, and all of them {:.1} GB of memory", memory / 1e9))
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
