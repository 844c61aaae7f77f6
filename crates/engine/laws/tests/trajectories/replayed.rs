//! A timeline of the same steps as in vectors.

use serde_json::Value;

use super::table::Table;

/// The steps of a story, each named by `what`, with the driver's state after it.
pub fn run<D>(
    law: &'static str,
    story: &Value,
    mut driver: D,
    step: impl Fn(&mut D, &Value) -> Vec<(&'static str, Value)>,
) -> Table {
    let mut table = Table::new(law, story["says"].as_str().expect("a story says what happens"));
    for (index, of) in story["steps"].as_array().into_iter().flatten().enumerate() {
        let found = step(&mut driver, of);
        if index == 0 {
            let names = found.iter().map(|(name, _)| (*name).to_owned());
            table.row([String::new(), "what happened".into()].into_iter().chain(names).collect());
        }
        let shown = |value: &Value| match value {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            value => value
                .as_u64()
                .map_or_else(|| format!("{:.3}", value.as_f64().unwrap_or(0.0)), |whole| whole.to_string()),
        };
        let what = of["what"].as_str().expect("what happens").to_owned();
        let cells = found.iter().map(|(_, value)| shown(value));
        table.row([(index + 1).to_string(), what].into_iter().chain(cells).collect());
    }
    table
}
