//! Settings of another proxy on their way to a front end's.

use super::tree::{Node, Wrong};

/// A pool of the other proxy.
#[derive(Debug, Default)]
pub struct Pool {
    pub name: String,
    pub listen: String,
    /// Keys and values of other settings, with the values as in TOML.
    pub settings: Vec<(&'static str, String)>,
    pub servers: Vec<String>,
    /// Comments on settings without an equivalent.
    pub comments: Vec<String>,
}

/// Converted settings.
#[derive(Debug, Default)]
pub struct Converted {
    /// Settings of the front end.
    pub settings: Vec<(&'static str, String)>,
    pub pools: Vec<Pool>,
    pub notes: Vec<(usize, String, bool)>,
}

impl Converted {
    /// A setting whose equivalent is the default, or that has no effect here.
    pub fn harmless(&mut self, line: usize, text: impl Into<String>) {
        self.notes.push((line, text.into(), false));
    }

    /// A setting without an equivalent that matters.
    pub fn matters(&mut self, line: usize, text: impl Into<String>) {
        self.notes.push((line, text.into(), true));
    }
}

/// A TOML string.
pub fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// Text of a scalar.
pub fn scalar<'a>(key: &str, node: &'a Node) -> Result<&'a str, Wrong> {
    node.text().ok_or_else(|| Wrong::at(node.line, format!("`{key}` must be a single value")))
}

/// A whole number.
pub fn number(key: &str, node: &Node) -> Result<u64, Wrong> {
    let text = scalar(key, node)?;
    text.parse().map_err(|_| Wrong::at(node.line, format!("`{key}: {text}` must be a whole number")))
}

/// A timeout in milliseconds, within the bounds of a pool's.
pub fn timeout(key: &str, node: &Node, converted: &mut Converted) -> Result<String, Wrong> {
    let asked = number(key, node)?;
    let millis = asked.clamp(1, 3_600_000);
    if millis != asked {
        converted.harmless(node.line, format!("`{key}: {asked}`: a timeout is 1 ms to 1 h here: {millis} ms is set"));
    }
    Ok(quoted(&format!("{millis} ms")))
}
