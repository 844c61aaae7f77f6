//! Errors in the user's input, with their location and remedy.

use std::fmt;

/// Origin of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A line of the scenario file.
    File {
        /// The file's name as the user gave it.
        name: String,
        /// Counted from one.
        line: usize,
    },
    /// An entry of a file without lines.
    Entry {
        /// The file's name as the user gave it.
        name: String,
        /// Which one, such as "node 5".
        entry: String,
    },
    /// An argument, such as `--set link.rate=10`.
    Argument(String),
    /// Not from the user: a default, or the scenario as a whole.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::File { name, line } => write!(f, "{name}:{line}: "),
            Origin::Entry { name, entry } => write!(f, "{name}, {entry}: "),
            Origin::Argument(text) => write!(f, "{text}: "),
            Origin::Default => Ok(()),
        }
    }
}

/// An error that the user has to fix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{origin}{what}")]
pub struct Problem {
    /// Location.
    pub origin: Origin,
    /// The error, with its remedy.
    pub what: String,
}

impl Problem {
    /// A problem at a location.
    pub fn new(origin: &Origin, what: impl Into<String>) -> Problem {
        Problem { origin: origin.clone(), what: what.into() }
    }
}

/// An invalid value: what is wrong and what to do. The caller knows its location.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Invalid(String);

impl From<String> for Invalid {
    fn from(what: String) -> Invalid {
        Invalid(what)
    }
}

impl From<&str> for Invalid {
    fn from(what: &str) -> Invalid {
        Invalid(what.into())
    }
}

impl From<Invalid> for String {
    fn from(Invalid(what): Invalid) -> String {
        what
    }
}

/// An error in settings, with the keys involved.
pub(crate) struct Wrong {
    pub paths: Vec<&'static str>,
    pub what: String,
}

/// The first characters of a text, in backticks, for a message.
pub(crate) fn excerpt(text: &str) -> String {
    const SHOWN: usize = 60;
    let cut = if text.chars().count() > SHOWN { "…" } else { "" };
    format!("`{}{cut}`", text.chars().take(SHOWN).collect::<String>().escape_debug())
}

/// The text "(did you mean `x`?)" for the closest of `known`, or nothing if none is close.
pub(crate) fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    known
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(word, candidate), candidate))
        .min_by_key(|&(distance, _)| distance)
        .filter(|&(distance, candidate)| distance <= 2 + candidate.len() / 4)
        .map_or(String::new(), |(_, candidate)| format!(" (did you mean `{candidate}`?)"))
}

pub(crate) fn wrong(paths: &[&'static str], what: impl Into<String>) -> Result<(), Wrong> {
    Err(Wrong { paths: paths.to_vec(), what: what.into() })
}

/// Whether two words differ only in case, hyphens, underscores and spaces.
pub(crate) fn same_word(one: &str, other: &str) -> bool {
    fn letters(text: &str) -> impl Iterator<Item = char> {
        text.chars().filter(|c| !"-_ ".contains(*c)).map(|c| c.to_ascii_lowercase())
    }
    letters(one).eq(letters(other))
}
