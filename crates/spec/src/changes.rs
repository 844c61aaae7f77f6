//! Links that fail, heal or change their rate, as a scenario tells them.

use fanin_fabric::{Fabric, LinkId};
use fanin_units::{Rate, Time};

use crate::Settings;

/// Something that becomes of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// When, since the start of the run.
    pub at: Time,
    /// The two directions.
    pub links: [LinkId; 2],
    /// What.
    pub to: State,
}

/// What a link can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It takes packets.
    Up,
    /// It takes none.
    Down,
    /// It sends so fast from the next packet on.
    Rate(Rate),
}

/// Every port looks at all of them as it is set up.
const CHANGES_MAX: usize = 10_000;

impl Settings {
    /// What becomes of the links of the fabric, in the order of the scenario.
    ///
    /// # Errors
    /// The text that is not understood, and what would be right.
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
    const FORM: &str = "right would be a time, two nodes, then down, up or a rate, such as \"10 ms leaf1 spine1 down\"";
    let words: Vec<&str> = text.split_whitespace().collect();
    let [number, unit, one, other, rest @ ..] = words.as_slice() else { return Err(FORM.into()) };
    let at = format!("{number} {unit}").parse::<Time>().map_err(|why| format!("{why}; {FORM}"))?;
    let to = match rest {
        ["down"] => State::Down,
        ["up"] => State::Up,
        [] => return Err(FORM.into()),
        rate => match rate.join(" ").parse() {
            Ok(Rate(0)) => return Err("a rate of zero moves nothing: right would be \"down\"".into()),
            Ok(rate) => State::Rate(rate),
            Err(why) => return Err(format!("{why}; {FORM}")),
        },
    };
    Ok(Change { at, links: fabric.between([one, other])?, to })
}
