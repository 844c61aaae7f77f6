//! One short trajectory per algorithm, as a table that can be reviewed in a diff: `trajectories/*.txt`. Its steps are in the algorithm's
//! vectors, under `story`; a row is a step, with its description and the algorithm's results.
//!
//! `UPDATE=1 cargo test -p fanin-fanout --test trajectories` writes the tables; review the changes.

mod support;
#[path = "../../laws/tests/trajectories/table.rs"]
mod table;

use serde_json::Value;

use support::{files, start};
use table::Table;

#[test]
fn algorithms_match_trajectories() {
    let others: Vec<String> = files().filter_map(|(law, file)| table::differs(&tell(law, &file["story"]))).collect();
    assert!(others.is_empty(), "{}", others.concat());
}

fn tell(law: &'static str, story: &Value) -> Table {
    let says = |value: &Value| value["says"].as_str().expect("a story says what happens").to_string();
    let mut table = Table::new(law, &says(story));
    let mut driver = start(law, &story["settings"]);
    let mut header = Vec::new();
    for (number, step) in (1..).zip(story["steps"].as_array().expect("a story has steps")) {
        let found = driver(step);
        let names: Vec<String> = ["step", "what happened"]
            .into_iter()
            .chain(found.iter().map(|(name, _)| *name))
            .map(String::from)
            .collect();
        if names != header {
            table.row(names.clone());
            header = names;
        }
        let cells = found.iter().map(|(_, value)| shown(value));
        table.row([number.to_string(), says(step)].into_iter().chain(cells).collect());
    }
    table
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "-".into(),
        Value::String(text) => text.clone(),
        Value::Array(values) if values.is_empty() => "-".into(),
        Value::Array(values) => {
            let nested = values.iter().any(Value::is_array);
            values.iter().map(shown).collect::<Vec<_>>().join(if nested { "; " } else { " " })
        }
        other => other.to_string(),
    }
}
