//! Programs that `fanin-kernel` can load. `fanin kernel list` prints it also where that program is not installed.

use std::fmt;

use serde::Serialize;

use crate::control::CONTROLS;

/// A congestion control, or grants.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Program {
    /// Its name in fanin's schemes.
    pub scheme: &'static str,
    /// Its name in the kernel, if routes and sockets select it.
    pub kernel_name: Option<&'static str>,
    /// Whether senders ask for ECN.
    pub ecn: bool,
    /// One sentence.
    pub says: &'static str,
}

/// Windows granted by this host, which are no congestion control.
pub const GRANTS: Program = Program {
    scheme: "grants",
    kernel_name: None,
    ecn: false,
    says: "windows that this host grants to the connections that it receives on",
};

/// A row of the list.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Row {
    /// The program.
    pub control: Program,
    /// Whether it is loaded, if that is known.
    pub loaded: Option<bool>,
}

/// All rows; `loaded` tells whether a scheme is loaded, if that is known.
pub fn rows(loaded: impl Fn(&str) -> Option<bool>) -> Vec<Row> {
    let controls = CONTROLS.iter().map(|control| Program {
        scheme: control.scheme,
        kernel_name: Some(control.kernel_name),
        ecn: control.ecn,
        says: control.says,
    });
    controls.chain([GRANTS]).map(|control| Row { control, loaded: loaded(control.scheme) }).collect()
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Program { scheme, kernel_name, says, .. } = self.control;
        let state = if self.loaded == Some(true) { " (loaded)" } else { "" };
        writeln!(f, "{scheme:<12} {:<16} {says}{state}", kernel_name.unwrap_or("-"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_is_loaded_only_if_that_is_known() {
        let rows = rows(|scheme| (scheme == "dctcp").then_some(true));
        let text: Vec<String> = rows.iter().map(Row::to_string).collect();
        assert_eq!(text.iter().filter(|line| line.ends_with(" (loaded)\n")).count(), 1);
        assert!(text.last().is_some_and(|line| line.starts_with("grants       -  ")), "{text:?}");
        assert_eq!(serde_json::to_value(rows[0]).unwrap()["loaded"], serde_json::Value::Null);
    }
}
