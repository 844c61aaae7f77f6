//! A scenario under construction: each value with how it is known, and what else those may be that are not measured.

use std::fmt::Write as _;

use crate::diagnosis::How;

/// A key of which a recording leaves open what it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// As `--set` has it: `switch.buffer`; or `schemes`.
    pub key: &'static str,
    /// What it may be, as `--set` takes it.
    pub values: Vec<String>,
}

/// A scenario of which values may change still.
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
    /// One with some lines above all keys.
    pub(crate) fn new(head: String) -> Sketch {
        Sketch { head, ..Sketch::default() }
    }

    /// What is set from now on stands in this section.
    pub(crate) fn section(&mut self, name: &'static str) {
        self.section = name;
    }

    /// A key's value, as TOML has it.
    pub(crate) fn set(&mut self, key: &'static str, value: &str, how: How, why: &str) {
        self.lines.push(Line { section: self.section, key, value: value.into(), how, why: why.into() });
    }

    /// A key that is left open.
    pub(crate) fn leave_open(&mut self, key: &'static str, values: Vec<String>) {
        self.choices.push(Choice { key, values });
    }

    /// What is left open.
    pub fn choices(&self) -> &[Choice] {
        &self.choices
    }

    /// Settles one of its choices, and says why it is so.
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

    /// As a scenario's file.
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
    fn what_was_left_open_is_settled_in_its_place() {
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
