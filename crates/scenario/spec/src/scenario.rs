//! The scenario file: parsed, extended by arguments, and resolved into one [`Settings`] per scheme.

use sha2::{Digest, Sha256};
use toml_edit::{Document, Item, TableLike, Value};

use crate::assignment::Assignment;
use crate::limits;
use crate::literal::Literal;
use crate::point::Written;
use crate::problem::{Origin, Problem, did_you_mean};
use crate::{Scheme, Settings, Variant, check, former};

/// A scheme of the scenario with its own settings.
#[derive(Clone, Debug)]
pub(crate) struct NamedScheme {
    pub label: String,
    pub scheme: Scheme,
    pub origin: Origin,
    pub own: Vec<Assignment>,
}

/// A scenario as written, not yet resolved.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Base name of the file.
    pub name: String,
    /// Title, if any.
    pub title: Option<String>,
    pub(crate) file: Vec<Assignment>,
    pub(crate) arguments: Vec<Assignment>,
    pub(crate) file_axes: Vec<Written>,
    pub(crate) argument_axes: Vec<Written>,
    pub(crate) named_schemes: Vec<NamedScheme>,
    /// Schemes of the file that were not selected.
    pub(crate) left_out: Vec<NamedScheme>,
}

/// Reads a file that a scenario names: takes the path, returns a name for messages and the contents, or why the file cannot be read.
pub type Reader<'a> = dyn Fn(&str) -> Result<(String, Vec<u8>), String> + 'a;

const TOP: [&str; 2] = ["title", "schemes"];

impl Scenario {
    /// Parses a scenario. `name` is the file's path as the user gave it; its last part names the scenario.
    ///
    /// # Errors
    /// The first error, with its line and a fix.
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
            file_axes: Vec::new(),
            argument_axes: Vec::new(),
            named_schemes: Vec::new(),
            left_out: Vec::new(),
        };
        for (key, item) in document.as_table().iter() {
            let origin = place.at(key_span(document.as_table(), key));
            match (key, item) {
                ("title", Item::Value(Value::String(title))) => scenario.title = Some(title.value().clone()),
                ("title", _) => return Err(Problem::new(&origin, "`title` must be a string in quotes")),
                ("schemes", item) => scenario.named_schemes = named_schemes(&place, item, &origin)?,
                ("sweep", item) if item.is_table_like() => scenario.file_axes = axes(&place, item)?,
                (section, item) => match (item.as_table_like(), Settings::keys_of(section)) {
                    (Some(table), Some(_)) => scenario.file.extend(assignments(&place, section, table)?),
                    (None, Some(keys)) => {
                        let what = format!(
                            "`{section}` must be a section: write [{section}], and its keys below, such as {}",
                            keys[0]
                        );
                        return Err(Problem::new(&origin, what));
                    }
                    (_, None) => return Err(Problem::new(&origin, unknown_section(section))),
                },
            }
        }
        check::exclusive(&scenario.file)?;
        Ok(scenario)
    }

    /// Sets a key by an argument, which overrides the file but not a scheme's own keys. `assignment` is `path.to.key=VALUE`;
    /// `argument` is the user's text for messages, such as `--fan-in 2,4` for `sweep.fan_in=[2,4]`.
    ///
    /// # Errors
    /// An assignment that is not `path.to.key=VALUE`, or an unknown key.
    pub fn assign(&mut self, argument: &str, assignment: &str) -> Result<(), Problem> {
        let origin = Origin::Argument(argument.into());
        let Some((path, value)) = assignment.split_once('=') else {
            return Err(Problem::new(&origin, "write it as path.to.key=VALUE, such as link.rate=\"10 Gbit/s\""));
        };
        let path = path.trim();
        let path = path.strip_prefix("host.").filter(|inner| inner.starts_with("nic.")).unwrap_or(path);
        let Some((section, key)) = path.split_once('.') else {
            return Err(Problem::new(&origin, unknown_path(path)));
        };
        let (section, key, value) = (section.trim(), key.trim(), loose_literal(value.trim()));
        if section == "sweep" {
            let Literal::List(values) = value else { return Err(Problem::new(&origin, not_a_list(key))) };
            let values = values.into_iter().map(|value| (value, origin.clone())).collect();
            let axis = Written::new(key, values, origin);
            // The last argument for a key counts.
            self.argument_axes.retain(|known| known.path() != axis.path());
            self.argument_axes.push(axis);
            return Ok(());
        }
        let assignment = Assignment::new(section, key, value, origin);
        let Assignment { key, value, origin, .. } = &assignment;
        if !Settings::keys_of(section).is_some_and(|keys| keys.contains(&key.as_str())) {
            return Err(Problem::new(origin, unknown_path(path)));
        }
        // Report an invalid value here, at its argument, rather than when resolving.
        let tried = Settings::default().set(section, key, value);
        tried.map_err(|why| Problem::new(origin, format!("`{section}.{key}`: {why}")))?;
        self.arguments.push(assignment);
        Ok(())
    }

    /// Sweeps a key by an argument, overriding the file's values. `axis` is `KEY=A,B,C`; `argument` is the user's text for messages.
    ///
    /// # Errors
    /// Wrong syntax, an unknown key, a key that an argument already sweeps, and an invalid value.
    pub fn sweep(&mut self, argument: &str, axis: &str) -> Result<(), Problem> {
        let origin = Origin::Argument(argument.into());
        let Some((key, values)) = axis.split_once('=') else {
            return Err(Problem::new(&origin, "write it as KEY=A,B,C, such as workload.load=\"20 %,60 %\""));
        };
        let values = values.split(',').map(str::trim);
        let written: Vec<(Literal, Origin)> = match values.clone().all(str::is_empty) {
            true => Vec::new(),
            false => values.map(|value| (loose_literal(value), origin.clone())).collect(),
        };
        let axis = Written::new(key.trim(), written, origin);
        if self.argument_axes.iter().any(|known| known.path() == axis.path()) {
            let what = format!("`{}` is swept twice: give all of its values at once", axis.key);
            return Err(Problem::new(&axis.origin, what));
        }
        self.argument_axes.push(axis);
        Ok(())
    }

    /// Sets the origins for a text that is not the user's file: a key whose path is in `arguments` comes from that argument, and all
    /// others are defaults.
    pub fn comes_from(&mut self, arguments: &[(&str, String)]) {
        let origin = |path: &str| {
            let argument = arguments.iter().find(|(of, _)| *of == path);
            argument.map_or(Origin::Default, |(_, argument)| Origin::Argument(argument.clone()))
        };
        for assignment in self.file.iter_mut().chain(self.named_schemes.iter_mut().flat_map(|named| &mut named.own)) {
            assignment.origin = origin(&assignment.path());
        }
        for axis in &mut self.file_axes {
            axis.origin = origin(&axis.path());
            axis.values.iter_mut().for_each(|(_, value)| *value = axis.origin.clone());
        }
        self.named_schemes.iter_mut().for_each(|named| named.origin = Origin::Default);
    }

    /// Keeps only these schemes, in this order: labels of the file's schemes, or registry names. `argument` is the user's text for
    /// messages.
    ///
    /// # Errors
    /// An unknown name.
    pub fn select(&mut self, argument: &str, names: &[&str]) -> Result<(), Problem> {
        let origin = Origin::Argument(argument.into());
        let mut chosen: Vec<NamedScheme> = Vec::new();
        for name in names {
            let labelled = |is: &dyn Fn(&str) -> bool| self.named_schemes.iter().find(|v| is(&v.label)).cloned();
            let known = labelled(&|label| label == *name);
            let named = match known.or_else(|| labelled(&|label| label.eq_ignore_ascii_case(name))) {
                Some(named) => named,
                None => plain(name, &origin).map_err(|problem| match self.labels() {
                    labels if labels.is_empty() => problem,
                    labels => Problem::new(&origin, format!("{}; {} has {labels}", problem.what, self.name)),
                })?,
            };
            if chosen.iter().any(|v| v.label == named.label) {
                return Err(Problem::new(&origin, format!("`{}` is listed twice", named.label)));
            }
            chosen.push(named);
        }
        let is_chosen = |named: &NamedScheme| chosen.iter().any(|v| v.label == named.label);
        self.left_out.extend(self.named_schemes.drain(..).filter(|named| !is_chosen(named)));
        self.named_schemes = chosen;
        Ok(())
    }

    /// Whether the file or an argument names a scheme.
    pub fn has_schemes(&self) -> bool {
        !self.named_schemes.is_empty()
    }

    fn labels(&self) -> String {
        self.named_schemes.iter().map(|v| v.label.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// A name for the experiment: the first sixteen hexadecimal digits of SHA-256 over all resolved settings.
    pub fn hash(variants: &[Variant]) -> String {
        let mut hasher = Sha256::new();
        for variant in variants {
            hasher.update(format!("{} = {}\n", variant.label, variant.scheme));
            for at in &variant.points {
                hasher.update(at.settings.canonical(|_| true));
            }
        }
        hex::encode(&hasher.finalize()[..8])
    }
}

/// A file's name and text, to map spans to lines.
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

/// The axes under `[sweep]`, in file order: a key in quotes, or with its section before a dot as elsewhere.
fn axes(place: &Place, sweep: &Item) -> Result<Vec<Written>, Problem> {
    let mut found: Vec<(usize, Written)> = Vec::new();
    let mut add = |table: &dyn TableLike, key: &str, path: &str, item: &Item| {
        let start = key_span(table, key).map_or(0, |span| span.start);
        let origin = place.at(Some(start..start));
        let values = match item {
            Item::Value(Value::Array(items)) => {
                let value = |value: &Value| {
                    let origin = place.at(value.span());
                    let literal = from_value(value).ok_or_else(|| {
                        Problem::new(&origin, "a swept value must be a string in quotes, a number, true or false")
                    })?;
                    Ok((literal, origin))
                };
                items.iter().map(value).collect::<Result<_, Problem>>()?
            }
            _ => return Err(Problem::new(&origin, not_a_list(path))),
        };
        let axis = Written::new(path, values, origin);
        if found.iter().any(|(_, known)| known.path() == axis.path()) {
            return Err(Problem::new(&axis.origin, format!("`{path}` is swept twice: keep one")));
        }
        found.push((start, axis));
        Ok(())
    };
    let Some(table) = sweep.as_table_like() else { return Ok(Vec::new()) };
    for (key, item) in table.iter() {
        match item.as_table_like() {
            Some(section) => {
                for (name, item) in section.iter() {
                    add(section, name, &format!("{key}.{name}"), item)?;
                }
            }
            None => add(table, key, key, item)?,
        }
    }
    found.sort_by_key(|(start, _)| *start);
    Ok(found.into_iter().map(|(_, axis)| axis).collect())
}

fn not_a_list(key: &str) -> String {
    format!("`sweep.{key}` must be a list of values, such as [8, 16] or [\"20 %\", \"60 %\"]")
}

fn key_span(table: &dyn TableLike, key: &str) -> Option<std::ops::Range<usize>> {
    table.get_key_value(key).and_then(|(key, item)| key.span().or_else(|| item.span()))
}

fn assignments(place: &Place, section: &str, table: &dyn TableLike) -> Result<Vec<Assignment>, Problem> {
    let keys = Settings::keys_of(section).unwrap_or_default();
    let mut found = Vec::new();
    for (key, item) in table.iter() {
        let origin = place.at(key_span(table, key));
        if let (Some(inner), Some(_)) = (item.as_table_like(), inner_section(section, key)) {
            found.extend(assignments(place, key, inner)?);
            continue;
        }
        if !keys.contains(&former::key(section, key)) {
            return Err(Problem::new(&origin, unknown_path(&format!("{section}.{key}"))));
        }
        found.push(Assignment::new(section, key, literal(item, &origin)?, origin));
    }
    Ok(found)
}

/// The section that is written inside of another one, such as `[host.nic]`.
fn inner_section<'a>(section: &str, key: &'a str) -> Option<&'a str> {
    (section == "host" && key == "nic").then_some(key)
}

fn named_schemes(place: &Place, item: &Item, origin: &Origin) -> Result<Vec<NamedScheme>, Problem> {
    let mut found: Vec<NamedScheme> = Vec::new();
    let mut add = |named: NamedScheme| {
        if found.iter().any(|v| v.label == named.label) {
            let what = format!("two schemes have the name `{}`: give one a different label", named.label);
            return Err(Problem::new(&named.origin, what));
        }
        found.push(named);
        Ok(())
    };
    match item {
        Item::ArrayOfTables(tables) => {
            for table in tables {
                add(named(place, table, &place.at(table.span()))?)?;
            }
        }
        Item::Value(Value::Array(names)) => {
            for value in names {
                let origin = place.at(value.span());
                add(match value {
                    Value::String(name) => plain(name.value(), &origin)?,
                    Value::InlineTable(table) => named(place, table, &origin)?,
                    _ => {
                        return Err(Problem::new(
                            &origin,
                            "a scheme must be a name in quotes, or a table with `scheme`",
                        ));
                    }
                })?;
            }
        }
        _ => {
            let what =
                "`schemes` must be a list of names, such as [\"newreno\", \"dctcp\"], or tables under [[schemes]]";
            return Err(Problem::new(origin, what));
        }
    }
    Ok(found)
}

fn plain(name: &str, origin: &Origin) -> Result<NamedScheme, Problem> {
    let scheme = Scheme::parse(name).map_err(|what| Problem::new(origin, what))?;
    Ok(NamedScheme { label: scheme.to_string(), scheme, origin: origin.clone(), own: Vec::new() })
}

fn named(place: &Place, table: &dyn TableLike, origin: &Origin) -> Result<NamedScheme, Problem> {
    let text = |key: &str| match table.get(key) {
        None => Ok(None),
        Some(Item::Value(Value::String(text))) => Ok(Some(text.value().clone())),
        Some(_) => Err(Problem::new(&place.at(key_span(table, key)), format!("`{key}` must be a string in quotes"))),
    };
    let Some(name) = text("scheme")? else {
        return Err(Problem::new(origin, "a scheme needs `scheme = \"…\"`, a name from `fanin list`"));
    };
    let mut named = plain(&name, &place.at(key_span(table, "scheme")))?;
    if let Some(label) = text("label")? {
        if label.is_empty() || label.contains(',') {
            return Err(Problem::new(
                &place.at(key_span(table, "label")),
                "a label must not be empty or contain a comma",
            ));
        }
        named.label = label;
    }
    named.origin = origin.clone();
    for (key, item) in table.iter().filter(|(key, _)| !["scheme", "label"].contains(key)) {
        let origin = place.at(key_span(table, key));
        if ["sweep", "run"].contains(&key) {
            let what = format!(
                "`{key}` cannot differ between schemes: every scheme runs at the same points and seeds; set it under [{key}]"
            );
            return Err(Problem::new(&origin, what));
        }
        if let (Some(section), Some(_)) = (item.as_table_like(), Settings::keys_of(key)) {
            named.own.extend(assignments(place, key, section)?);
            continue;
        }
        let mut homes = named.scheme.sections();
        homes.insert(0, "tcp");
        let has_key = |s: &&&str| Settings::keys_of(s).is_some_and(|keys| keys.contains(&former::key(s, key)));
        match homes.iter().find(has_key) {
            Some(section) => named.own.push(Assignment::new(section, key, literal(item, &origin)?, origin)),
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
    check::exclusive(&named.own)?;
    Ok(named)
}

fn literal(item: &Item, origin: &Origin) -> Result<Literal, Problem> {
    let wrong = || Problem::new(origin, "a value must be a string in quotes, a number, true, false or a list");
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

/// A value after `--set`: as in the file, or a text without quotes.
pub(crate) fn loose_literal(text: &str) -> Literal {
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
    let missing = limits::hint(path.rsplit('.').next().unwrap_or(path));
    format!("unknown key `{path}`{near}{hint}{missing}")
}
