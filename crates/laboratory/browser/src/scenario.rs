//! A scenario's text: what it contains, and its problems.

use fanin_spec::{Need, Origin, Problem, Scenario, Settings, Variant};
use serde_json::{Map, Value, json};
use toml_edit::{DocumentMut, Item};

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
    let needs = |variant: &Variant| -> Vec<Need> {
        variant.points.iter().map(|point| fanin_simulate::need(&variant.scheme, &point.settings)).collect()
    };
    let needs: Vec<Need> = variants.iter().flat_map(needs).collect();
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
