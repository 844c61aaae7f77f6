//! Settings of other proxies as settings of a front end: twemproxy's `nutcracker.yml` and mcrouter's JSON.
//!
//! A setting without an equivalent becomes a note with its line and the action to take.

mod converted;
mod mcrouter;
mod nutcracker;
mod tree;

use std::fmt;

use super::{Problem, Settings};
use converted::{Converted, Pool, quoted};
use tree::Wrong;

/// An imported file.
#[derive(Clone, Debug)]
pub struct Imported {
    /// Equivalent settings, as a TOML file.
    pub toml: String,
    /// Settings without an equivalent, by line.
    pub notes: Vec<Note>,
}

/// A setting without an equivalent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The file and its line, from 1.
    pub place: (String, usize),
    /// The setting, and what to do.
    pub text: String,
    /// Whether clients would see the difference: other servers for keys, other responses, or less protection.
    pub matters: bool,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.place.0, self.place.1, self.text)
    }
}

/// Converts a file: JSON if its name ends in `.json` or it begins with a brace or a comment, else YAML.
///
/// # Errors
/// The file is invalid, or names something that it does not have.
pub fn import(name: &str, text: &str) -> Result<Imported, Problem> {
    let begins = text.trim_start().get(..1).unwrap_or_default();
    let is_json = name.ends_with(".json") || ["{", "/"].contains(&begins);
    let converted = if is_json {
        tree::json(text).and_then(|tree| mcrouter::convert(&tree))
    } else {
        tree::yaml(text).and_then(|tree| nutcracker::convert(&tree))
    };
    let problem = |Wrong { line, text }| Problem { place: Some((name.to_owned(), line.max(1))), text };
    let Converted { settings, pools, mut notes } = converted.map_err(problem)?;
    notes.sort_unstable();
    let notes = notes.into_iter().map(|(line, text, matters)| Note { place: (name.to_owned(), line), text, matters });
    let toml = written(name, &settings, &pools);
    if !pools.is_empty() {
        // An address may be in two pools, or a pool may be its own server.
        Settings::of_file(name, &toml)
            .map_err(|problem| Problem { place: None, text: format!("{name}: {}", problem.text) })?;
    }
    Ok(Imported { toml, notes: notes.collect() })
}

/// Writes the settings.
fn written(name: &str, settings: &[(&str, String)], pools: &[Pool]) -> String {
    let mut out = format!("# Imported from {}.\n", name.replace(char::is_control, " "));
    settings.iter().for_each(|(key, value)| out += &format!("{key} = {value}\n"));
    for pool in pools {
        out += "\n[[pool]]\n";
        pool.comments.iter().for_each(|comment| out += &format!("# {}\n", comment.replace(char::is_control, " ")));
        out += &format!("name = {}\nlisten = {}\n", quoted(&pool.name), quoted(&pool.listen));
        pool.settings.iter().for_each(|(key, value)| out += &format!("{key} = {value}\n"));
        out += "servers = [\n";
        pool.servers.iter().for_each(|server| out += &format!("  {},\n", quoted(server)));
        out += "]\n";
    }
    out
}
