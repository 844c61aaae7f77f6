//! Advice in a worker of its own.

use fanin_advise::{Addresses, AdviceOptions, Asked};

use crate::inline::Inline;
use crate::scenario::{NAME, Read};

/// Advises on a scenario's cluster, with a budget in packets: the JSON of `fanin advise --json`.
///
/// # Errors
/// The problem in the scenario.
pub fn advise(text: &str, budget: u64) -> Result<String, String> {
    let read = Read::new(text, None).map_err(|problem| problem.to_string())?;
    let addresses = Addresses::default();
    let asked = Asked {
        scenario: &read.scenario,
        read: &|_| Err("a page reads no files".into()),
        source: &[NAME.to_owned()],
        arguments: Vec::new(),
        servers: None,
        grow_to: None,
        addresses: &addresses,
    };
    let options = AdviceOptions { goal: None, budget, remedies: Vec::new() };
    let advice =
        fanin_advise::advise(&Inline, &asked, &options, &|| false, &|_| {}).map_err(|error| error.to_string())?;
    serde_json::to_string(&advice).map_err(|error| error.to_string())
}
