//! Settings from a JSON file, such as `fanin advise` writes.

use std::format;
use std::path::Path;
use std::string::{String, ToString};
use std::vec::Vec;

use fanin_laws::settings::{Key, Section, Value as Present};
use fanin_units::{Bytes, ParseError, Rate};
use serde_json::{Map, Value};

use crate::settings::{Law, Settings};
use fanin_fanout::mean::SIZE_MAX;

/// Keys of the file beside the sections of algorithms.
const KEYS: [&str; 5] = ["law", "link", "budget", "expected", "group"];
const SECTIONS: [&str; 2] = ["sliding_window", "ictcp_window"];

/// Reason why settings are invalid: the key, the problem and the solution.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct SettingsError(String);

impl Settings {
    /// Reads settings from a JSON file.
    ///
    /// # Errors
    ///
    /// The file, the key, the problem and the solution.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Settings, SettingsError> {
        let path = path.as_ref();
        let at = |what: String| SettingsError(format!("{}: {what}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|why| at(why.to_string()))?;
        Settings::from_json(&text).map_err(|SettingsError(what)| at(what))
    }

    /// Reads settings from JSON. A key that is absent has its default.
    ///
    /// # Errors
    ///
    /// The key, the problem and the solution.
    pub fn from_json(text: &str) -> Result<Settings, SettingsError> {
        parsed(text).map_err(SettingsError)
    }
}

fn parsed(text: &str) -> Result<Settings, String> {
    let value: Value = serde_json::from_str(text).map_err(|why| format!("invalid JSON: {why}"))?;
    let Value::Object(object) = value else {
        return Err("the settings are not an object; write {\"law\": \"ictcp-window\", \"link\": \"10 Gbit/s\"}".into());
    };
    let mut settings = Settings::default();
    for (key, value) in &object {
        match key.as_str() {
            "law" => settings.law = law(value)?,
            "link" => settings.link = link(value)?,
            "budget" => settings.budget = Some(size("budget", value)?),
            "expected" => settings.expected = size("expected", value)?,
            "group" => settings.group = Some(group(value)?),
            "sliding_window" => section(&mut settings.fanout.sliding_window, value)?,
            "ictcp_window" => section(&mut settings.fanout.ictcp_window, value)?,
            _ => return Err(unknown(key, &[&KEYS[..], &SECTIONS].concat())),
        }
    }
    Ok(settings)
}

fn unknown(key: &str, known: &[&str]) -> String {
    format!("`{key}`: unknown key; use one of {}", known.join(", "))
}

fn law(value: &Value) -> Result<Law, String> {
    let names: Vec<&str> = Law::ALL.iter().map(|law| law.name()).collect();
    let named = value.as_str().and_then(Law::named);
    named.ok_or_else(|| format!("`law`: {value} is no concurrency limit; use one of {}", names.join(", ")))
}

fn link(value: &Value) -> Result<Rate, String> {
    let wrong = |why: String| format!("`link`: {value}: {why}; write a rate above zero such as \"10 Gbit/s\"");
    let text = value.as_str().ok_or_else(|| wrong("it is no text".into()))?;
    let rate: Rate = text.parse().map_err(|why: ParseError| wrong(why.to_string()))?;
    if rate.0 == 0 { Err(wrong("it is zero".into())) } else { Ok(rate) }
}

fn size(key: &str, value: &Value) -> Result<u64, String> {
    let wrong = |why: &str| format!("`{key}`: {value}: {why}; write a size from 1 B to 256 TiB such as \"64 KiB\"");
    let text = value.as_str().ok_or_else(|| wrong("it is no text"))?;
    let bytes: Bytes = text.parse().map_err(|why: ParseError| wrong(&why.to_string()))?;
    if (1..=SIZE_MAX).contains(&bytes.0) { Ok(bytes.0) } else { Err(wrong("it is out of range")) }
}

fn group(value: &Value) -> Result<u32, String> {
    let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
    number.ok_or_else(|| {
        format!(
            "`group`: {value}: it is not the number of a group; write one such as 990 (`getent group NAME` prints it)"
        )
    })
}

/// Sets the keys of an algorithm's section.
fn section(section: &mut dyn Section, value: &Value) -> Result<(), String> {
    let empty = Map::new();
    let object = match value {
        Value::Object(object) => object,
        Value::Null => &empty,
        _ => return Err(format!("`{}`: it is no object; write {{\"most\": 100}}", section.name())),
    };
    for (name, value) in object {
        let keys = section.keys();
        let Some(key) = keys.iter().find(|key| key.name == name) else {
            let known: Vec<&str> = keys.iter().map(|key| key.name).collect();
            return Err(unknown(&format!("{}.{name}", section.name()), &known));
        };
        let parsed = of_kind(key, value)?;
        section.set(name, parsed);
    }
    match section.refuses() {
        Some(refusal) => Err(refusal.what),
        None => Ok(()),
    }
}

/// A value of the same kind as a key's own, in its range.
fn of_kind(key: &Key, value: &Value) -> Result<Present, String> {
    let text = value.as_str().map_or_else(|| value.to_string(), String::from);
    let wrong = |why: &str| format!("`{}`: {value}: {why}", key.path);
    let parsed = match key.value {
        Present::Count(_) => {
            Present::Count(text.parse().map_err(|_| wrong("it is no whole number below 2^32; write one such as 100"))?)
        }
        Present::Share(_) => {
            let parsed = text.parse().map_err(|why: ParseError| wrong(&format!("{why}; write a share such as 0.9")))?;
            Present::Share(parsed)
        }
        Present::Time(_) => {
            let parsed =
                text.parse().map_err(|why: ParseError| wrong(&format!("{why}; write a time such as \"5 ms\"")))?;
            Present::Time(parsed)
        }
        Present::Word(_, words) => {
            let word = words.all.iter().find(|word| **word == text);
            Present::Word(word.ok_or_else(|| wrong(&format!("use {}", words.form)))?, words)
        }
        _ => return Err(wrong("it cannot be set here")),
    };
    let order = order_of(parsed);
    let end = |end: Option<Present>| end.map(|end| (order_of(end), shown(end)));
    if let Some((least, most)) = key.range.map(|(least, most)| (end(least), end(most))) {
        if let Some((_, least)) = least.filter(|(bound, _)| order < *bound) {
            return Err(wrong(&format!("it is below {least}")));
        }
        if let Some((_, most)) = most.filter(|(bound, _)| order > *bound) {
            return Err(wrong(&format!("it is above {most}")));
        }
    }
    Ok(parsed)
}

/// A number that orders values of one kind.
fn order_of(value: Present) -> u64 {
    match value {
        Present::Count(count) => count.into(),
        Present::Share(share) => share.in_q(31).into(),
        Present::Time(time) => time.0,
        _ => 0,
    }
}

fn shown(value: Present) -> String {
    match value {
        Present::Count(count) => count.to_string(),
        Present::Share(share) => share.to_string(),
        Present::Time(time) => time.to_string(),
        _ => String::new(),
    }
}
