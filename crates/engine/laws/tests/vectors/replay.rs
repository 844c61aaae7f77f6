//! Replays a file of vectors, fan-outs' too.

use serde_json::Value;

/// Replay a file: `start` makes a driver for a case, which returns names and values for each step.
pub fn replay<D>(
    law: &str,
    file: &Value,
    start: impl Fn(&str, &Value) -> D,
    answer: impl Fn(&mut D, &Value) -> Vec<(&'static str, Value)>,
) {
    let mut checked = 0;
    for case in file["cases"].as_array().expect("cases") {
        assert!(case["source"].is_string(), "{law}: {} has no source", case["name"]);
        let mut driver = start(law, case);
        for (index, step) in (1..).zip(case["steps"].as_array().expect("steps")) {
            let found = answer(&mut driver, step);
            for (name, wanted) in expectations(step) {
                let at = format!("vectors/{law}.json, {}, step {index}:\n  {step}\n", case["name"]);
                let value = found.iter().find(|(known, _)| *known == name).map(|(_, value)| value);
                let value = value.unwrap_or_else(|| panic!("\n{at}  {law} shows no {name}\n"));
                let near = is_near(wanted, value, &file["tolerance"][name]);
                assert!(near, "\n{at}  {name} is {value}, not {wanted}\n  {}\n", case["why"]);
                checked += 1;
            }
        }
    }
    assert!(checked >= 10, "{law}: only {checked} values were checked");
}

/// Expected results of a step: for a sender, `expect` holds names and values; for a port it is the verdict, and `expect_NAME` the rest.
fn expectations(step: &Value) -> Vec<(&str, &Value)> {
    let mut expected = Vec::new();
    for (key, wanted) in step.as_object().into_iter().flatten() {
        match (key.as_str(), wanted) {
            ("expect", Value::Object(values)) => {
                expected.extend(values.iter().map(|(name, wanted)| (name.as_str(), wanted)));
            }
            ("expect", verdict) => expected.push(("verdict", verdict)),
            (key, wanted) => expected.extend(key.strip_prefix("expect_").map(|name| (name, wanted))),
        }
    }
    expected
}

fn is_near(wanted: &Value, found: &Value, tolerance: &Value) -> bool {
    let (Some(wanted), Some(found)) = (wanted.as_f64(), found.as_f64()) else { return wanted == found };
    let within = number(&tolerance["absolute"]).max(number(&tolerance["relative"]) * wanted.abs());
    (wanted - found).abs() <= within
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(0.0)
}
