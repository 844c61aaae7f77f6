//! Errors in a TOML file, with their lines.

use super::foreign::foreign;
use super::types::Problem;
use super::values::{Wrong, line_of};

/// Returns the problem of a wrong value in a file, with its line.
pub fn in_lines(name: &str, text: &str) -> impl Fn(Wrong) -> Problem {
    move |Wrong(place, why)| {
        let line = place.map_or(1, |place| line_of(text, place.start));
        Problem { place: Some((name.to_owned(), line)), text: why }
    }
}

/// Converts a TOML or unknown-key error.
pub fn unread(name: &str, error: &toml::de::Error) -> Wrong {
    let text = error.message();
    let unknown = text.strip_prefix("unknown field `").and_then(|rest| rest.split_once('`'));
    let is_other = [".yml", ".yaml", ".json"].iter().any(|ending| name.ends_with(ending));
    let text = match unknown {
        Some((unknown, expected)) => unknown_key(unknown, expected),
        None if is_other => "settings must be TOML; docs/front.md shows a pool of nutcracker.yml as TOML".to_owned(),
        None if text.ends_with("map, expected a sequence") => "write a pool as [[pool]]".to_owned(),
        None => {
            text.replace("expected i64", "expected a whole number").replace("expected usize", "expected a whole number")
        }
    };
    Wrong(error.span(), text)
}

/// Message for an unknown key: its equivalent, the nearest key, or all keys, which `expected` has in backticks.
fn unknown_key(unknown: &str, expected: &str) -> String {
    /// Words less similar than this are not suggested.
    const ALIKE: f64 = 0.75;
    if let Some(says) = foreign(unknown) {
        return format!("unknown key `{unknown}`: {says}");
    }
    let known: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
    let alike = |key: &&&str| strsim::jaro(unknown, key);
    match known.iter().max_by(|a, b| alike(a).total_cmp(&alike(b))).filter(|nearest| alike(nearest) >= ALIKE) {
        Some(nearest) => format!("unknown key `{unknown}`: did you mean `{nearest}`?"),
        None => format!("unknown key `{unknown}`: use one of {}", known.join(", ")),
    }
}
