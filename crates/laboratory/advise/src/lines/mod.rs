//! Commands that apply, undo and verify a change, with the place of each, and notes on reboots. `make advise-lines` runs those for
//! Linux; those for switches are untested on hardware, and say so.
//!
//! Each command works alone or in a script that stops at the first error. The previous state is saved once, by a rename, in the tool's
//! own format; undo loads it only if it is complete and matches.

mod application;
mod cards;
mod hosts;
mod switch;

use fanin_spec::{Chip, Settings};

use crate::remedy::Change;

/// Place where a command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Where {
    /// Every server.
    Servers,
    /// The client.
    Client,
    /// Every host, where any one may send to any other.
    Hosts,
    /// The switch.
    Switch,
    /// The application on the client.
    Application,
}

/// Interpreter of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Syntax {
    /// A POSIX shell: Linux's hosts, and SONiC.
    #[default]
    Sh,
    /// The command line of Arista's EOS.
    Eos,
}

/// A command, or a comment after `#`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Line {
    /// Place.
    #[serde(rename = "where")]
    pub place: Where,
    /// Its interpreter.
    pub syntax: Syntax,
    /// The line.
    pub line: String,
}

/// Lines by the machine that they run on, in words: `on every server`.
pub fn by_machine(lines: &[Line]) -> Vec<(&'static str, Vec<&str>)> {
    let group = |place| {
        let own: Vec<&Line> = lines.iter().filter(|line| line.place == place).collect();
        let at = match (place, own.first()?.syntax) {
            (Where::Servers, _) => "on every server",
            (Where::Client, _) => "on the client",
            (Where::Hosts, _) => "on every host",
            (Where::Switch, Syntax::Sh) => "on the switch (SONiC)",
            (Where::Switch, Syntax::Eos) => "on the switch (EOS)",
            (Where::Application, _) => "in the application",
        };
        Some((at, own.iter().map(|line| line.line.as_str()).collect()))
    };
    [Where::Servers, Where::Client, Where::Hosts, Where::Switch, Where::Application]
        .into_iter()
        .filter_map(group)
        .collect()
}

/// Addresses that lines name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// The client's, as a route has it.
    pub client: String,
    /// The servers' network.
    pub servers: String,
}

/// Placeholder addresses (RFC 5737), to be replaced by the user.
impl Default for Addresses {
    fn default() -> Addresses {
        Addresses { client: "192.0.2.1/32".into(), servers: "198.51.100.0/24".into() }
    }
}

/// All lines of a change.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Lines {
    /// Settings of `fanin-limit` that do the same in a client (docs/limit.md).
    pub limiter: Option<serde_json::Value>,
    /// Commands that apply the change.
    pub apply: Vec<Line>,
    /// Commands that restore the previous state.
    pub undo: Vec<Line>,
    /// Commands that verify the change.
    pub verify: Vec<Line>,
    /// The same for reading: one plain command for what a script does with care.
    pub plain: Plain,
    /// Effects on traffic other than the cluster's own.
    pub touches: Vec<&'static str>,
    /// Notes from practice.
    pub notes: Vec<&'static str>,
}

/// Commands for reading. Capitals stand for values of the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Plain {
    /// Commands that apply the change.
    pub apply: Vec<Line>,
    /// Commands that undo it.
    pub undo: Vec<Line>,
    /// Commands that verify it.
    pub verify: Vec<Line>,
}

/// A change in plain commands, one each.
struct InShort<'a> {
    apply: &'a str,
    undo: &'a str,
    verify: &'a str,
}

/// Something that is saved before it is changed.
struct Saved<'a> {
    place: Where,
    /// The file.
    file: &'a str,
    /// Commands that store the current state in variables.
    get: &'a str,
    /// Text of the file, as arguments of `printf` with these variables.
    text: &'a str,
    /// The pattern of the text's last line: by it a save is known to be whole, and of this.
    ours: &'a str,
    /// The command that loads the file.
    load: &'a str,
    /// Values of the present state that the advice assumes.
    today: Vec<Today<'a>>,
}

/// A value of the simulated cluster that a change replaces. On a machine with another one the change may be for the worse, so that it is
/// refused there.
struct Today<'a> {
    /// As a shell has the present value after the state is read.
    now: &'a str,
    /// As the scenario has it.
    value: String,
    /// Its key in the scenario.
    key: &'a str,
}

impl Today<'_> {
    /// A command that fails, with a message, where the value is another.
    fn check(&self) -> String {
        let Today { now, value, key } = self;
        let says = format!(
            "today's value is {now}, but the advice is for {value}: set {key} in the scenario and run fanin advise again"
        );
        format!("{{ [ \"{now}\" = \"{value}\" ] || {{ echo \"{says}\" >&2; false; }}; }}")
    }
}

/// The mark of a route that a remedy made: its protocol, a number that no routing daemon has.
const PROTO: u8 = 250;

/// Commands for a change of a cluster: `today` are its settings, `after` the changed ones.
pub fn lines(change: &Change, [today, after]: [&Settings; 2], addresses: &Addresses) -> Lines {
    let mut lines = Lines::default();
    lines.routes(change, [today, after], addresses);
    lines.idle_restart(change);
    lines.congestion_control(change);
    lines.grants(change, after);
    let eos = matches!(after.switch.profile.0, Some(Chip::A7060 | Chip::A7050 | Chip::A7060X6));
    lines.marks(change, [today, after], eos);
    lines.alpha(change, eos);
    lines.lossless(change, today, eos);
    lines.trim_queue(change, after);
    lines.cards(change, [today, after]);
    lines.frames(change, eos);
    if lines.apply.iter().any(|line| line.place == Where::Switch) {
        lines.note("The commands for the switch are untested on hardware.");
    }
    lines.application(change, after);
    lines.bought(change);
    if !after.workload.kind.many_to_one() {
        lines.among_hosts();
    }
    lines
}

/// A shell's line at a place.
fn sh(place: Where, line: impl Into<String>) -> Line {
    Line { place, syntax: Syntax::Sh, line: line.into() }
}

impl Lines {
    fn apply(&mut self, place: Where, line: impl Into<String>) {
        let line = sh(place, line);
        self.plain.apply.push(line.clone());
        self.apply.push(line);
    }

    fn undo(&mut self, place: Where, line: impl Into<String>) {
        let line = sh(place, line);
        self.plain.undo.push(line.clone());
        self.undo.push(line);
    }

    fn verify(&mut self, place: Where, line: impl Into<String>) {
        let line = sh(place, line);
        self.plain.verify.push(line.clone());
        self.verify.push(line);
    }

    /// Adds a change in plain commands; `lines` adds its careful form, which is for scripts alone.
    fn in_short(&mut self, place: Where, short: &InShort<'_>, lines: impl FnOnce(&mut Lines)) {
        let mut plain = self.plain.clone();
        plain.apply.push(sh(place, short.apply));
        plain.undo.push(sh(place, short.undo));
        plain.verify.push(sh(place, short.verify));
        lines(self);
        self.plain = plain;
    }

    /// A line with a placeholder, at the start of apply, undo and verify.
    fn with(&mut self, place: Where, line: &str) {
        self.apply(place, line);
        self.undo(place, line);
        self.verify(place, line);
    }

    /// Commands for servers and the client are for all hosts, each once.
    fn among_hosts(&mut self) {
        let Plain { apply, undo, verify } = &mut self.plain;
        for lines in [&mut self.apply, &mut self.undo, &mut self.verify, apply, undo, verify] {
            let mut seen: Vec<Line> = Vec::new();
            for mut line in std::mem::take(lines) {
                if matches!(line.place, Where::Servers | Where::Client) {
                    line.place = Where::Hosts;
                }
                if !seen.contains(&line) {
                    seen.push(line);
                }
            }
            *lines = seen;
        }
    }

    /// Lines of a configuration of EOS: to make it, to take it back, and the command that shows it.
    fn eos(&mut self, apply: &[&str], undo: &[&str], show: &str) {
        let line = |line: &str| Line { place: Where::Switch, syntax: Syntax::Eos, line: line.into() };
        let configured = |lines: &[&str]| -> Vec<Line> {
            core::iter::once(&"configure").chain(lines).map(|text| line(text)).collect()
        };
        let (apply, undo, verify) = (configured(apply), configured(undo), line(show));
        self.plain.apply.extend_from_slice(&apply);
        self.plain.undo.extend_from_slice(&undo);
        self.plain.verify.push(verify.clone());
        self.apply.extend(apply);
        self.undo.extend(undo);
        self.verify.push(verify);
    }

    fn note(&mut self, note: &'static str) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    fn touch(&mut self, what: &'static str) {
        if !self.touches.contains(&what) {
            self.touches.push(what);
        }
    }

    /// Saves the current state before a command changes it, and adds the undo. A repeated change must not save the changed state.
    fn change(&mut self, saved: &Saved<'_>, command: &str) {
        let Saved { place, file, get, text, ours, load, ref today } = *saved;
        let get = today.iter().fold(get.to_owned(), |get, today| format!("{get} && {}", today.check()));
        let whole = format!("grep -qx \"{ours}\" \"$SAVE\"");
        self.apply(place, format!("SAVE={file}"));
        self.apply(
            place,
            format!(
                "[ -e \"$SAVE\" ] || ( {get} && printf '%s\\n' {text} > \"$SAVE.new\" && mv \"$SAVE.new\" \"$SAVE\" )"
            ),
        );
        self.apply(place, format!("( {whole} && {command} )"));
        self.undo(place, format!("SAVE={file}"));
        self.undo(place, "rm -f \"$SAVE.new\"");
        let refuse = "{ echo \"$SAVE: not a whole save of this\" >&2; exit 1; }";
        self.undo(
            place,
            format!("[ ! -e \"$SAVE\" ] || ( {{ {whole} || {refuse}; }} && {load} \"$SAVE\" && rm \"$SAVE\" )"),
        );
    }
}

#[cfg(test)]
mod tests;
