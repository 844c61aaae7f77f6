//! A YAML or JSON file as a tree whose nodes know their lines.

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use saphyr_parser::{Event, Parser};

/// Deepest nesting that is read.
const DEEPEST: usize = 64;

/// A problem and its line.
#[derive(Debug)]
pub struct Wrong {
    pub line: usize,
    pub text: String,
}

impl Wrong {
    pub fn at(line: usize, text: String) -> Wrong {
        Wrong { line, text }
    }
}

/// A node and its line, from 1.
#[derive(Clone, Debug)]
pub struct Node {
    pub line: usize,
    pub value: Value,
}

/// Value of a node.
#[derive(Clone, Debug)]
pub enum Value {
    Map(Vec<Entry>),
    List(Vec<Node>),
    /// A text, number or word, as written.
    Text(String),
}

/// An entry of a map.
#[derive(Clone, Debug)]
pub struct Entry {
    pub line: usize,
    pub key: String,
    pub node: Node,
}

impl Node {
    /// Its entries, if it is a map.
    pub fn entries(&self) -> Option<&[Entry]> {
        if let Value::Map(entries) = &self.value { Some(entries) } else { None }
    }

    /// Its items, if it is a list.
    pub fn items(&self) -> Option<&[Node]> {
        if let Value::List(items) = &self.value { Some(items) } else { None }
    }

    /// Its text, if it has one.
    pub fn text(&self) -> Option<&str> {
        if let Value::Text(text) = &self.value { Some(text) } else { None }
    }

    /// The value of a key, if it is a map that has it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries()?.iter().find(|entry| entry.key == key).map(|entry| &entry.node)
    }
}

/// A map or list under construction.
enum Open {
    /// The line, the entries, and the key whose value is next.
    Map(usize, Vec<Entry>, Option<(usize, String)>),
    List(usize, Vec<Node>),
}

/// Reads the first document of a YAML file.
pub fn yaml(text: &str) -> Result<Node, Wrong> {
    let mut open: Vec<Open> = Vec::new();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| Wrong::at(error.marker().line(), error.info().to_owned()))?;
        let line = span.start.line();
        let ended = match event {
            Event::MappingStart(..) => {
                open.push(Open::Map(line, Vec::new(), None));
                None
            }
            Event::SequenceStart(..) => {
                open.push(Open::List(line, Vec::new()));
                None
            }
            Event::Scalar(text, ..) => Some(Node { line, value: Value::Text(text.into_owned()) }),
            Event::MappingEnd | Event::SequenceEnd => match open.pop() {
                Some(Open::Map(line, entries, _)) => Some(Node { line, value: Value::Map(entries) }),
                Some(Open::List(line, items)) => Some(Node { line, value: Value::List(items) }),
                None => None,
            },
            Event::Alias(_) => return Err(Wrong::at(line, "an alias (`*`): write its value out".to_owned())),
            Event::DocumentEnd | Event::StreamEnd => break,
            Event::Nothing | Event::StreamStart | Event::DocumentStart(_) => None,
        };
        if open.len() > DEEPEST {
            return Err(Wrong::at(line, format!("nested more than {DEEPEST} times")));
        }
        if let Some(node) = ended
            && let Some(root) = put(&mut open, node)?
        {
            return Ok(root);
        }
    }
    Err(Wrong::at(1, "the file is empty".to_owned()))
}

/// Adds a complete node to the map or list that contains it; returns it if there is none.
fn put(open: &mut [Open], node: Node) -> Result<Option<Node>, Wrong> {
    match open.last_mut() {
        None => return Ok(Some(node)),
        Some(Open::List(_, items)) => items.push(node),
        Some(Open::Map(_, entries, key)) => match key.take() {
            Some((line, key)) => entries.push(Entry { line, key, node }),
            None => {
                let Node { line, value: Value::Text(text) } = node else {
                    return Err(Wrong::at(node.line, "a map or list is not a key".to_owned()));
                };
                no_such_key(entries, line, &text)?;
                *key = Some((line, text));
            }
        },
    }
    Ok(None)
}

fn no_such_key(entries: &[Entry], line: usize, key: &str) -> Result<(), Wrong> {
    let twice = entries.iter().any(|entry| entry.key == key);
    if twice { Err(Wrong::at(line, format!("`{key}` occurs twice: remove one"))) } else { Ok(()) }
}

/// Reads a JSON file, with comments as mcrouter allows them.
pub fn json(text: &str) -> Result<Node, Wrong> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options)
        .map_err(|error| Wrong::at(error.line_display(), error.kind().to_string()))?;
    match parsed.value {
        Some(value) => of_json(value, &Lines::of(text), 0),
        None => Err(Wrong::at(1, "the file is empty".to_owned())),
    }
}

/// Offsets at which lines end.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Lines {
        Lines(text.match_indices('\n').map(|(at, _)| at).collect())
    }

    /// The line of an offset.
    fn line(&self, at: usize) -> usize {
        1 + self.0.partition_point(|end| *end < at)
    }
}

fn of_json(value: ast::Value<'_>, lines: &Lines, depth: usize) -> Result<Node, Wrong> {
    let line = lines.line(value.range().start);
    if depth > DEEPEST {
        return Err(Wrong::at(line, format!("nested more than {DEEPEST} times")));
    }
    let value = match value {
        ast::Value::StringLit(text) => Value::Text(text.value.into_owned()),
        ast::Value::NumberLit(number) => Value::Text(number.value.to_owned()),
        ast::Value::BooleanLit(word) => Value::Text(word.value.to_string()),
        ast::Value::NullKeyword(_) => Value::Text("null".to_owned()),
        ast::Value::Array(array) => {
            let items = array.elements.into_iter().map(|item| of_json(item, lines, depth + 1));
            Value::List(items.collect::<Result<_, _>>()?)
        }
        ast::Value::Object(object) => {
            let mut entries = Vec::new();
            for property in object.properties {
                let (line, key) = (lines.line(property.range.start), property.name.as_str().to_owned());
                no_such_key(&entries, line, &key)?;
                entries.push(Entry { line, key, node: of_json(property.value, lines, depth + 1)? });
            }
            Value::Map(entries)
        }
    };
    Ok(Node { line, value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_have_their_lines() {
        let tree = yaml("# a pool\nalpha:\n  listen: a:1\n  servers:\n   - b:2\n   - c:3 three\n").unwrap();
        let servers = tree.get("alpha").unwrap().get("servers").unwrap().items().unwrap();
        assert_eq!((servers[1].line, servers[1].text()), (6, Some("c:3 three")));
        let tree = json("{ // pools\n \"pools\": {\n  \"A\": [1,\n true, null] } }").unwrap();
        let entry = &tree.get("pools").unwrap().entries().unwrap()[0];
        let items = entry.node.items().unwrap();
        assert_eq!((entry.line, items[0].line, items[1].text(), items[2].line), (3, 3, Some("true"), 4));
    }

    #[test]
    fn invalid_files_are_errors_with_a_line() {
        for (text, line) in [("", 1), ("a: [1\nb: 2\n", 2), ("a:\n  b: 1\n  b: 2\n", 3), ("a: &x 1\nb: *x\n", 2)] {
            assert_eq!(yaml(text).unwrap_err().line, line, "{text}");
        }
        for (text, line) in [("", 1), ("{\n'a': 1}", 2), ("{\"a\": 1,\n\"a\": 2}", 2), ("{\n\"a\": \n", 3)] {
            assert_eq!(json(text).unwrap_err().line, line, "{text}");
        }
        yaml(&"[".repeat(100_000)).unwrap_err();
        json(&"[".repeat(100_000)).unwrap_err();
        yaml(&"- ".repeat(10_000)).unwrap_err();
    }
}
