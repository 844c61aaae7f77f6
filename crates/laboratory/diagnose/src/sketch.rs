//! A scenario under construction: each value with its origin, and candidates for values that are not measured.

use std::fmt::Write as _;

use fanin_units::Bytes;

use crate::origin::How;

/// A key whose value the recording leaves open.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// Key as in `--set`: `switch.buffer`; or `schemes`.
    pub key: &'static str,
    /// Candidates, as in `--set`.
    pub values: Vec<String>,
}

/// A scenario whose values may still change.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sketch {
    head: String,
    section: &'static str,
    lines: Vec<Line>,
    choices: Vec<Choice>,
}

#[derive(Clone, Debug, PartialEq)]
struct Line {
    section: &'static str,
    key: &'static str,
    value: String,
    how: How,
    why: String,
}

impl Sketch {
    /// A sketch with a header above all keys.
    pub(crate) fn new(head: String) -> Sketch {
        Sketch { head, ..Sketch::default() }
    }

    /// Starts a section for the following keys.
    pub(crate) fn section(&mut self, name: &'static str) {
        self.section = name;
    }

    /// Sets a key to a TOML value.
    pub(crate) fn set(&mut self, key: &'static str, value: &str, how: How, why: &str) {
        self.lines.push(Line { section: self.section, key, value: value.into(), how, why: why.into() });
    }

    /// Leaves a key open, with candidates.
    pub(crate) fn leave_open(&mut self, key: &'static str, values: Vec<String>) {
        self.choices.push(Choice { key, values });
    }

    /// The keys whose values were measured, with these.
    pub fn measured(&self) -> Vec<String> {
        let measured = self.lines.iter().filter(|line| line.how == How::Measured);
        measured.map(|line| format!("{} = {}", line.path(), line.value)).collect()
    }

    /// The open keys.
    pub fn choices(&self) -> &[Choice] {
        &self.choices
    }

    /// The candidates of an open key with sizes, the smallest first, and its present value.
    pub fn sizes(&self, key: &str) -> (Vec<String>, Option<String>) {
        let open = self.choices.iter().find(|choice| choice.key == key);
        let mut values = open.map_or(Vec::new(), |choice| choice.values.clone());
        values.sort_by_key(|value| value.parse::<Bytes>().ok());
        let now = self.lines.iter().find(|line| line.path() == key);
        (values, now.map(|line| line.value.trim_matches('"').to_owned()))
    }

    /// Settles an open key, with the reason.
    pub fn settle(&mut self, key: &str, value: &str, why: &str) {
        let found = self.lines.iter_mut().find(|line| line.path() == key);
        if let Some(line) = found {
            line.value = match key {
                "schemes" => format!("[\"{value}\"]"),
                _ if value.parse::<f64>().is_ok() || value == "true" || value == "false" => value.into(),
                _ => format!("\"{value}\""),
            };
            (line.how, line.why) = (How::Inferred, why.into());
        }
    }

    /// The scenario's file.
    pub fn text(&self) -> String {
        let (mut text, mut section) = (self.head.clone(), "");
        for line in &self.lines {
            if line.section != section {
                section = line.section;
                let _ = write!(text, "\n[{section}]\n");
            }
            let set = format!("{} = {}", line.key, line.value);
            let _ = writeln!(text, "{set:<32}  # {}: {}", line.how.word(), line.why);
        }
        text
    }
}

impl Line {
    fn path(&self) -> String {
        if self.section.is_empty() { self.key.into() } else { format!("{}.{}", self.section, self.key) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settles_open_keys_in_place() {
        let mut sketch = Sketch::new("# of a capture\n".into());
        sketch.set("schemes", "[\"newreno\"]", How::Assumed, "not seen");
        sketch.section("switch");
        sketch.set("buffer", "\"64 KiB\"", How::Inferred, "waits");
        sketch.leave_open("switch.buffer", vec!["48 KiB".into(), "64 KiB".into()]);
        sketch.settle("switch.buffer", "48 KiB", "simulated");
        sketch.settle("schemes", "cubic", "simulated");
        assert_eq!(
            sketch.text(),
            "# of a capture\nschemes = [\"cubic\"]               # inferred: simulated\n\n[switch]\n\
             buffer = \"48 KiB\"                 # inferred: simulated\n"
        );
    }
}
