//! Diagnosis of a capture that a reader dropped on the page.

use std::io::Cursor;

use fanin_diagnose::Input;
use fanin_spec::Scenario;
use serde_json::json;

use crate::scenario::NAME;

/// Diagnoses a capture, or counters: the JSON of `fanin diagnose --json` as `diagnosis`, and a matching `scenario`, if there is one.
///
/// # Errors
/// Bytes that are neither, or hold nothing usable.
pub fn diagnose(name: &str, bytes: &[u8]) -> Result<String, String> {
    let input = Input { name: name.to_owned(), stream: Box::new(Cursor::new(bytes)) };
    let diagnosis = fanin_diagnose::diagnose(vec![input]).map_err(|error| error.to_string())?;
    let runs = |text: &String| Scenario::parse(NAME, text).and_then(|scenario| scenario.variants()).is_ok();
    let scenario = diagnosis.sketch.as_ref().map(fanin_diagnose::Sketch::text).filter(runs);
    Ok(json!({"diagnosis": diagnosis, "scenario": scenario}).to_string())
}
