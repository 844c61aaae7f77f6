//! Prediction of a trial by the simulator: `fanin compare` of a scenario, with and without the congestion control.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Serialize;
use serde_json::Value;

use crate::control::Control;
use crate::trouble::Trouble;

/// The simulator's program.
const PROGRAM: &str = "fanin";

/// Figures of one part.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Predicted {
    /// Median duration of a transfer, ms.
    pub transfer_p50_ms: Option<f64>,
    /// Duration that 1 % of the transfers exceed, ms.
    pub transfer_p99_ms: Option<f64>,
    /// Timeouts for each transfer.
    pub timeouts_per_transfer: Option<f64>,
}

/// A prediction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// The scenario's file.
    pub scenario: String,
    /// Servers of the point.
    pub fan_in: u64,
    /// Without gentle slow start.
    pub untouched: Predicted,
    /// With it.
    pub treated: Predicted,
}

/// Simulates the first point of a scenario.
///
/// # Errors
/// There is no `fanin`, or it refuses the scenario.
pub fn predict(control: &Control, scenario: &Path) -> Result<Prediction, Trouble> {
    let base = control.scheme.trim_end_matches("+gss");
    let schemes = format!("{base},{}", control.scheme);
    let output = Command::new(program()).arg("compare").arg(scenario).args(["--schemes", &schemes, "--json"]).output();
    let output = output.map_err(|error| {
        Trouble::Environment(format!("a prediction needs the program `{PROGRAM}`, beside this one or in PATH: {error}"))
    })?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        let why = why.trim().lines().last().unwrap_or("it fails").trim_start_matches("error: ").to_string();
        return Err(Trouble::Input(format!("scenario `{}`: {why}", scenario.display())));
    }
    let found = serde_json::from_slice(&output.stdout).ok().and_then(|json| read(&json, base, control.scheme));
    let (fan_in, untouched, treated) = found.ok_or_else(|| {
        Trouble::Environment(format!("`{PROGRAM} compare` has no figures of {schemes}: is it older?"))
    })?;
    Ok(Prediction { scenario: scenario.display().to_string(), fan_in, untouched, treated })
}

/// The first point's rows of both schemes.
fn read(json: &Value, base: &str, scheme: &str) -> Option<(u64, Predicted, Predicted)> {
    let row = |name: &str| json["rows"].as_array()?.iter().find(|row| row["scheme"] == name);
    let fan_in = row(base)?["point"]["fan_in"].as_u64()?;
    let part = |row: &Value| {
        let transfers = row["rounds"].as_f64()? * fan_in as f64;
        let timeouts = row["timeouts"].as_f64()?;
        Some(Predicted {
            transfer_p50_ms: row["fct_ms"]["p50"].as_f64(),
            transfer_p99_ms: row["fct_ms"]["p99"].as_f64(),
            timeouts_per_transfer: (transfers > 0.0).then_some(timeouts / transfers),
        })
    };
    Some((fan_in, part(row(base)?)?, part(row(scheme)?)?))
}

fn program() -> PathBuf {
    let beside = env::current_exe().ok().map(|own| own.with_file_name(PROGRAM)).filter(|path| path.is_file());
    beside.unwrap_or_else(|| PROGRAM.into())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn timeouts_are_counted_for_each_transfer() {
        let row = |scheme: &str, p99: f64, timeouts: f64| {
            json!({"scheme": scheme, "point": {"fan_in": 8}, "rounds": 10.0, "timeouts": timeouts,
                   "fct_ms": {"p50": 5.0, "p99": p99}})
        };
        let json = json!({"rows": [row("cubic", 210.0, 20.0), row("cubic+gss", 9.0, 0.0)]});
        let (fan_in, untouched, treated) = read(&json, "cubic", "cubic+gss").unwrap();
        assert_eq!(
            (fan_in, untouched.timeouts_per_transfer, treated.timeouts_per_transfer),
            (8, Some(0.25), Some(0.0))
        );
        assert_eq!((untouched.transfer_p99_ms, treated.transfer_p99_ms), (Some(210.0), Some(9.0)));
        assert_eq!(read(&json, "newreno", "cubic+gss"), None);
    }
}
