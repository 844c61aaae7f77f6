//! Vector files, and settings from their cases, for fan-outs too.

use std::fs;
use std::path::PathBuf;

use fanin_laws::row::Row;
use fanin_laws::settings::{Section, Value as Present};
use serde_json::Value;

/// The vectors of all algorithms in these rows, each once.
pub fn vectors(rows: impl Iterator<Item = &'static Row>) -> impl Iterator<Item = (&'static str, Value)> {
    let mut laws: Vec<&str> = rows.flat_map(|row| row.laws).map(|file| file.law).collect();
    laws.sort_unstable();
    laws.dedup();
    laws.into_iter().map(|law| {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../../vectors/{law}.json"));
        let text = fs::read_to_string(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
        let vectors: Value = serde_json::from_str(&text).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
        assert_eq!(vectors["law"], law, "{}", path.display());
        (law, vectors)
    })
}

/// Set the keys of an algorithm's section from a case; `place` lists the case's other keys.
pub fn set_from(
    case: &Value,
    law: &str,
    mut rows: impl Iterator<Item = &'static Row>,
    sections: Vec<&mut dyn Section>,
    place: &[&str],
) {
    let row = rows.find(|row| row.laws.iter().any(|file| file.law == law)).expect("it has a row");
    // The section of its own name, if the row has several.
    let mut own = sections.into_iter().filter(|section| row.sections.contains(&section.name())).collect::<Vec<_>>();
    let place_of_own = own.iter().position(|section| section.name() == law).unwrap_or(0);
    let mut own = (!own.is_empty()).then(|| own.swap_remove(place_of_own));
    for (key, value) in case.as_object().into_iter().flatten() {
        let present = own.iter().flat_map(|section| section.keys()).find(|present| present.name == key);
        match (present, &mut own) {
            (Some(present), Some(section)) => {
                let value = kept(present.value, value);
                let value = value.unwrap_or_else(|| panic!("vectors/{law}.json: {key} is no {:?}", present.value));
                section.set(key, value).expect("it is of the key's kind");
            }
            _ => assert!(place.contains(&key.as_str()), "vectors/{law}.json: {law} has no setting {key}"),
        }
    }
}

/// Parse a value of the same kind as a present one.
fn kept(present: Present, value: &Value) -> Option<Present> {
    let text = value.as_str().map_or_else(|| value.to_string(), String::from);
    Some(match present {
        Present::Count(_) => Present::Count(text.parse().ok()?),
        Present::Flag(_) => Present::Flag(value.as_bool()?),
        Present::Share(_) => Present::Share(text.parse().ok()?),
        Present::SendRate(_) => Present::SendRate(text.parse().ok()?),
        Present::Time(_) => Present::Time(text.parse().ok()?),
        Present::MaybeTime(_) => Present::MaybeTime(Some(text.parse().ok()?)),
        Present::Bytes(_) => Present::Bytes(text.parse().ok()?),
        Present::Size(_) => Present::Size(text.parse().ok()?),
        Present::MaybeSize(_) => Present::MaybeSize(Some(text.parse().ok()?)),
        Present::Word(_, words) => Present::Word(words.all.iter().find(|word| **word == text)?, words),
    })
}
