//! Links that fail, recover or change their rate.

use fanin_fabric::{Change, Fabric, State};
use fanin_units::{Rate, Time};

use crate::Settings;

/// Maximum number of changes; every port checks all of them at its setup.
const CHANGES_MAX: usize = 10_000;

impl Settings {
    /// Changes of the fabric's links, in the scenario's order.
    ///
    /// # Errors
    /// The first invalid text.
    pub fn changes(&self, fabric: &Fabric) -> Result<Vec<Change>, String> {
        let change =
            |text: &String| change(text, fabric).map_err(|what| format!("`fabric.changes`, \"{text}\": {what}"));
        if self.fabric.changes.len() > CHANGES_MAX {
            return Err(format!("`fabric.changes`: more than {CHANGES_MAX} changes"));
        }
        self.fabric.changes.iter().map(change).collect()
    }
}

fn change(text: &str, fabric: &Fabric) -> Result<Change, String> {
    const FORM: &str = "use a time, two nodes, then down, up or a rate, such as \"10 ms leaf1 spine1 down\"";
    let words: Vec<&str> = text.split_whitespace().collect();
    let [number, unit, one, other, rest @ ..] = words.as_slice() else { return Err(FORM.into()) };
    let at = format!("{number} {unit}").parse::<Time>().map_err(|why| format!("{why}; {FORM}"))?;
    let to = match rest {
        ["down"] => State::Down,
        ["up"] => State::Up,
        [] => return Err(FORM.into()),
        rate => match rate.join(" ").parse() {
            Ok(Rate(0)) => return Err("a rate of zero sends nothing: use \"down\"".into()),
            Ok(rate) => State::Rate(rate),
            Err(why) => return Err(format!("{why}; {FORM}")),
        },
    };
    Ok(Change { at, links: fabric.between([one, other])?, to })
}
