//! The scenario file: read, widened by arguments, resolved into one [`Settings`] a scheme.

use std::sync::Arc;

use sha2::{Digest, Sha256};
use toml_edit::{Document, Item, TableLike, Value};

use crate::problem::{Origin, Problem, Wrong, did_you_mean};
use crate::setting::{FilePath, Literal};
use crate::{Contender, ContenderParts, Ect, Flows, Kind, Scheme, Settings, Sizes, check};

/// One key set to one value, and where.
#[derive(Clone, Debug)]
pub(crate) struct Assignment {
    pub section: String,
    key: String,
    value: Literal,
    pub origin: Origin,
}

/// A scheme as the scenario or the user names it, with settings of its own.
#[derive(Clone, Debug)]
pub(crate) struct Variant {
    label: String,
    pub scheme: Scheme,
    origin: Origin,
    pub own: Vec<Assignment>,
}

/// A scenario as written: nothing is resolved yet.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The file's own name.
    pub name: String,
    /// What it says of itself.
    pub title: Option<String>,
    pub(crate) file: Vec<Assignment>,
    pub(crate) arguments: Vec<Assignment>,
    pub(crate) variants: Vec<Variant>,
    /// Those of the file that were not selected.
    pub(crate) left_out: Vec<Variant>,
}

/// Reads a file that a scenario names: the path gives a name for messages, and the text; or why it cannot be read.
pub type Reader<'a> = dyn Fn(&str) -> Result<(String, String), String> + 'a;

const TOP: [&str; 2] = ["title", "schemes"];

impl Scenario {
    /// Reads a scenario. `name` is how the user calls the file; its own name is the last part.
    ///
    /// # Errors
    /// The first thing that is not understood, with its line and what would be right.
    pub fn parse(name: &str, text: &str) -> Result<Scenario, Problem> {
        let place = Place { name, text };
        let document: Document<&str> = Document::parse(text).map_err(|error| {
            let what = error.message().trim().replace('\n', ", ");
            Problem::new(&place.at(error.span()), format!("not TOML: {what}"))
        })?;
        let own_name = name.rsplit('/').next().unwrap_or(name).to_string();
        let mut scenario = Scenario {
            name: own_name,
            title: None,
            file: Vec::new(),
            arguments: Vec::new(),
            variants: Vec::new(),
            left_out: Vec::new(),
        };
        for (key, item) in document.as_table().iter() {
            let origin = place.at(key_span(document.as_table(), key));
            match (key, item) {
                ("title", Item::Value(Value::String(title))) => scenario.title = Some(title.value().clone()),
                ("title", _) => return Err(Problem::new(&origin, "`title` is a text in quotes")),
                ("schemes", item) => scenario.variants = variants(&place, item, &origin)?,
                (section, item) => match (item.as_table_like(), Settings::keys_of(section)) {
                    (Some(table), Some(_)) => scenario.file.extend(assignments(&place, section, table)?),
                    (None, Some(keys)) => {
                        let what =
                            format!("`{section}` is a section: write [{section}] and below it {} and so on", keys[0]);
                        return Err(Problem::new(&origin, what));
                    }
                    (_, None) => return Err(Problem::new(&origin, unknown_section(section))),
                },
            }
        }
        check::exclusive(&scenario.file)?;
        Ok(scenario)
    }

    /// Sets a key by an argument, over the file and under a variant's own: `assignment` is `path.to.key=VALUE`,
    /// `argument` what the user wrote, such as `--fan-in 2,4` for `sweep.fan_in=[2,4]`.
    ///
    /// # Errors
    /// An assignment that is not `path.to.key=VALUE`, or an unknown key.
    pub fn assign(&mut self, argument: &str, assignment: &str) -> Result<(), Problem> {
        let origin = Origin::Argument(argument.into());
        let Some((path, value)) = assignment.split_once('=') else {
            return Err(Problem::new(&origin, "write it as path.to.key=VALUE, such as link.rate=\"10 Gbit/s\""));
        };
        let path = path.trim();
        let Some((section, key)) = path.split_once('.') else {
            return Err(Problem::new(&origin, unknown_path(path)));
        };
        let assignment = Assignment {
            section: section.trim().into(),
            key: key.trim().into(),
            value: loose_literal(value.trim()),
            origin: origin.clone(),
        };
        if !Settings::keys_of(&assignment.section).is_some_and(|keys| keys.contains(&assignment.key.as_str())) {
            return Err(Problem::new(&origin, unknown_path(path)));
        }
        self.arguments.push(assignment);
        Ok(())
    }

    /// Keeps only these schemes, in this order: labels of the file's variants, or registry names.
    ///
    /// # Errors
    /// A name that is neither.
    pub fn select(&mut self, names: &[&str]) -> Result<(), Problem> {
        let origin = Origin::Argument(format!("--schemes {}", names.join(",")));
        let mut chosen: Vec<Variant> = Vec::new();
        for name in names {
            let known = self.variants.iter().find(|v| v.label == *name).cloned();
            let variant = match known {
                Some(variant) => variant,
                None => plain(name, &origin).map_err(|problem| match self.labels() {
                    labels if labels.is_empty() => problem,
                    labels => Problem::new(&origin, format!("{}; {} has {labels}", problem.what, self.name)),
                })?,
            };
            if chosen.iter().any(|v| v.label == variant.label) {
                return Err(Problem::new(&origin, format!("`{}` stands there twice", variant.label)));
            }
            chosen.push(variant);
        }
        let is_chosen = |variant: &Variant| chosen.iter().any(|v| v.label == variant.label);
        self.left_out.extend(self.variants.drain(..).filter(|variant| !is_chosen(variant)));
        self.variants = chosen;
        Ok(())
    }

    /// Whether the file or an argument names any scheme.
    pub fn has_schemes(&self) -> bool {
        !self.variants.is_empty()
    }

    fn labels(&self) -> String {
        self.variants.iter().map(|v| v.label.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// Resolves and checks every scheme's settings, of a scenario that names no file.
    ///
    /// # Errors
    /// The first value that is wrong, or the first two that do not go together.
    pub fn contenders(&self) -> Result<Vec<Contender>, Problem> {
        self.contenders_with(&|_| Err("no files are read here".into()))
    }

    /// Resolves and checks every scheme's settings; `read` gets a path as the scenario has it and gives the file's name
    /// for messages, and its text.
    ///
    /// # Errors
    /// As [`Scenario::contenders`]; and what is wrong with a file.
    pub fn contenders_with(&self, read: &Reader) -> Result<Vec<Contender>, Problem> {
        if self.variants.is_empty() {
            let what =
                format!("{} names no scheme: add schemes = [\"newreno\", \"dctcp\"] or give --schemes", self.name);
            return Err(Problem::new(&Origin::Default, what));
        }
        self.variants.iter().map(|variant| self.resolve(variant, read)).collect()
    }

    fn resolve(&self, variant: &Variant, read: &Reader) -> Result<Contender, Problem> {
        let mut settings = Settings::default();
        if variant.scheme.exact_echo() {
            settings.tcp.ect = Ect::All;
        }
        let layers = [&self.file, &self.arguments, &variant.own];
        for layer in layers {
            check::exclusive(layer)?;
            for a in layer {
                check::make_room(&mut settings, &a.section, &a.key);
                settings
                    .set(&a.section, &a.key, &a.value)
                    .map_err(|why| Problem::new(&a.origin, format!("`{}.{}`: {why}", a.section, a.key)))?;
            }
        }
        let assigned = |paths: &[&str]| {
            let mut set = layers.iter().rev().flat_map(|layer| layer.iter().rev());
            set.find(|a| paths.contains(&a.path().as_str())).map(|a| &a.origin)
        };
        let refuse = |wrong: Wrong| Problem::new(assigned(&wrong.paths).unwrap_or(&variant.origin), wrong.what);
        let take = |key: &'static str, path: &str| {
            read(path).map_err(|why| refuse(Wrong { paths: vec![key], what: format!("`{key}`: {why}") }))
        };
        let (kind, load) = (settings.workload.kind, settings.workload.load.0);
        if let (Kind::Flows, Some(FilePath(path))) = (kind, &settings.workload.file.0) {
            let (name, text) = take("workload.file", path)?;
            let flows = Flows::parse(&name, &text)?;
            if assigned(&["sweep.fan_in"]).is_none() {
                settings.sweep.fan_in = vec![flows.hosts() - 1];
            }
            settings.inputs.flows = Some(Arc::new(flows));
        }
        if matches!(kind, Kind::Shuffle | Kind::Poisson)
            && assigned(&["sweep.fan_in"]).is_none()
            && let Some(hosts) = settings.fixed_hosts().filter(|&hosts| hosts > 1)
        {
            settings.sweep.fan_in = vec![hosts - 1];
        }
        if load.is_some() {
            let sizes = match settings.workload.sizes.path() {
                None => Sizes::named(&settings.workload.sizes.0),
                Some(path) => {
                    take("workload.sizes", path).and_then(|(name, text)| Sizes::parse(&name, &text)).map(Some)?
                }
            };
            settings.inputs.sizes = sizes.map(Arc::new);
        }
        let parts = ContenderParts { label: variant.label.clone(), scheme: variant.scheme, settings };
        let contender = Contender::checked(parts).map_err(refuse)?;
        contender.list_fits()?;
        Ok(contender)
    }

    /// A name for what is run: the first sixteen hexadecimal digits of SHA-256 over every resolved setting.
    pub fn hash(contenders: &[Contender]) -> String {
        let mut hasher = Sha256::new();
        for contender in contenders {
            hasher.update(format!("{} = {}\n", contender.label, contender.scheme));
            hasher.update(contender.settings.canonical(|_| true));
        }
        hasher.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }
}

impl Assignment {
    pub(crate) fn is(&self, section: &str, key: &str) -> bool {
        self.section == section && self.key == key
    }

    pub(crate) fn path(&self) -> String {
        format!("{}.{}", self.section, self.key)
    }
}

/// A file's name and text, to turn a span into a line.
struct Place<'a> {
    name: &'a str,
    text: &'a str,
}

impl Place<'_> {
    fn at(&self, span: Option<std::ops::Range<usize>>) -> Origin {
        let before = span.map_or(0, |s| s.start.min(self.text.len()));
        let line = 1 + self.text.as_bytes()[..before].iter().filter(|&&b| b == b'\n').count();
        Origin::File { name: self.name.into(), line }
    }
}

fn key_span(table: &dyn TableLike, key: &str) -> Option<std::ops::Range<usize>> {
    table.get_key_value(key).and_then(|(key, item)| key.span().or_else(|| item.span()))
}

fn assignments(place: &Place, section: &str, table: &dyn TableLike) -> Result<Vec<Assignment>, Problem> {
    let keys = Settings::keys_of(section).unwrap_or_default();
    let mut found = Vec::new();
    for (key, item) in table.iter() {
        let origin = place.at(key_span(table, key));
        if !keys.contains(&key) {
            return Err(Problem::new(&origin, unknown_path(&format!("{section}.{key}"))));
        }
        found.push(Assignment { section: section.into(), key: key.into(), value: literal(item, &origin)?, origin });
    }
    Ok(found)
}

fn variants(place: &Place, item: &Item, origin: &Origin) -> Result<Vec<Variant>, Problem> {
    let mut found: Vec<Variant> = Vec::new();
    let mut add = |variant: Variant| {
        if found.iter().any(|v| v.label == variant.label) {
            let what = format!("two schemes are called `{}`: give one a label of its own", variant.label);
            return Err(Problem::new(&variant.origin, what));
        }
        found.push(variant);
        Ok(())
    };
    match item {
        Item::ArrayOfTables(tables) => {
            for table in tables {
                add(variant(place, table, &place.at(table.span()))?)?;
            }
        }
        Item::Value(Value::Array(names)) => {
            for value in names {
                let origin = place.at(value.span());
                add(match value {
                    Value::String(name) => plain(name.value(), &origin)?,
                    Value::InlineTable(table) => variant(place, table, &origin)?,
                    _ => return Err(Problem::new(&origin, "a scheme is a name in quotes, or a table with `scheme`")),
                })?;
            }
        }
        _ => {
            let what = "`schemes` is a list of names, such as [\"newreno\", \"dctcp\"], or tables under [[schemes]]";
            return Err(Problem::new(origin, what));
        }
    }
    Ok(found)
}

fn plain(name: &str, origin: &Origin) -> Result<Variant, Problem> {
    let scheme = Scheme::parse(name).map_err(|what| Problem::new(origin, what))?;
    Ok(Variant { label: scheme.to_string(), scheme, origin: origin.clone(), own: Vec::new() })
}

fn variant(place: &Place, table: &dyn TableLike, origin: &Origin) -> Result<Variant, Problem> {
    let text = |key: &str| match table.get(key) {
        None => Ok(None),
        Some(Item::Value(Value::String(text))) => Ok(Some(text.value().clone())),
        Some(_) => Err(Problem::new(&place.at(key_span(table, key)), format!("`{key}` is a text in quotes"))),
    };
    let Some(name) = text("scheme")? else {
        return Err(Problem::new(origin, "a scheme needs `scheme = \"…\"`, a name of `fanin list`"));
    };
    let mut variant = plain(&name, &place.at(key_span(table, "scheme")))?;
    if let Some(label) = text("label")? {
        if label.is_empty() || label.contains(',') {
            return Err(Problem::new(&place.at(key_span(table, "label")), "a label is not empty and has no comma"));
        }
        variant.label = label;
    }
    variant.origin = origin.clone();
    for (key, item) in table.iter().filter(|(key, _)| !["scheme", "label"].contains(key)) {
        let origin = place.at(key_span(table, key));
        if ["sweep", "run"].contains(&key) {
            let what = format!(
                "`{key}` is not a scheme's own: every scheme runs at the same points and seeds; write it under [{key}]"
            );
            return Err(Problem::new(&origin, what));
        }
        if let (Some(section), Some(_)) = (item.as_table_like(), Settings::keys_of(key)) {
            variant.own.extend(assignments(place, key, section)?);
            continue;
        }
        let mut homes = variant.scheme.sections();
        homes.insert(0, "tcp");
        match homes.iter().find(|s| Settings::keys_of(s).is_some_and(|keys| keys.contains(&key))) {
            Some(section) => variant.own.push(Assignment {
                section: (*section).into(),
                key: key.into(),
                value: literal(item, &origin)?,
                origin,
            }),
            None => {
                let known = homes.iter().flat_map(|s| Settings::keys_of(s).unwrap_or_default());
                let near = did_you_mean(key, known);
                let what = format!(
                    "unknown key `{key}` of a scheme{near}; it takes label, scheme, keys of {}, and sections such as switch.buffer",
                    homes.iter().map(|s| format!("[{s}]")).collect::<Vec<_>>().join(" and ")
                );
                return Err(Problem::new(&origin, what));
            }
        }
    }
    check::exclusive(&variant.own)?;
    Ok(variant)
}

fn literal(item: &Item, origin: &Origin) -> Result<Literal, Problem> {
    let wrong = || Problem::new(origin, "a value is a text in quotes, a number, true, false or a list");
    item.as_value().and_then(from_value).ok_or_else(wrong)
}

fn from_value(value: &Value) -> Option<Literal> {
    Some(match value {
        Value::String(text) => Literal::Text(text.value().clone()),
        Value::Integer(n) => Literal::Integer(*n.value()),
        Value::Float(x) => Literal::Float(*x.value()),
        Value::Boolean(b) => Literal::Bool(*b.value()),
        Value::Array(items) => Literal::List(items.iter().map(from_value).collect::<Option<_>>()?),
        Value::Datetime(_) | Value::InlineTable(_) => return None,
    })
}

/// A value behind `--set`: as in the file, or a text without its quotes.
fn loose_literal(text: &str) -> Literal {
    let parsed: Option<Value> = text.parse().ok();
    parsed.as_ref().and_then(from_value).unwrap_or_else(|| Literal::Text(text.into()))
}

fn unknown_section(name: &str) -> String {
    let sections: Vec<&str> = Settings::sections().iter().map(|(name, _)| *name).chain(TOP).collect();
    format!("unknown section or key `{name}`{}", did_you_mean(name, sections))
}

fn unknown_path(path: &str) -> String {
    let docs = Settings::default().docs();
    let near = did_you_mean(path, docs.iter().map(|d| d.path.as_str()));
    let hint = if near.is_empty() { "; `fanin explain scenario` lists them all" } else { "" };
    format!("unknown key `{path}`{near}{hint}")
}
