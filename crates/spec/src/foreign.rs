//! Base laws from outside the house, by the names under which callers have brought them. They are the process's, as its modules are: a
//! scheme's name means the same in all of it.

use std::sync::{PoisonError, RwLock};

use fanin_laws::row::Row;
use fanin_laws::sender::foreign::{Named, Source};

use crate::registry::{ECN, is_word};

static LAWS: RwLock<Vec<Named>> = RwLock::new(Vec::new());

/// What such a law says of itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Traits {
    /// It answers marks, as DCTCP does: ports mark, and marks are echoed one by one.
    pub ecn: bool,
    /// It takes from the window outside a cut, too.
    pub gives_way: bool,
}

/// Brings a law under a name, in place of one that was brought under it before: schemes that were read then keep that one.
///
/// # Errors
/// What is wrong with the name.
pub fn register(name: &str, traits: Traits, source: Box<dyn Source>) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(plain) {
        return Err(format!("`{name}` is no name of a law; right would be letters such as `gentle-2`"));
    }
    if is_word(name) {
        return Err(format!("`{name}` is a law's name already; right would be one of its own"));
    }
    let brings: &[&str] = if traits.ecn { &["ecn_threshold", ECN] } else { &[] };
    let word = Box::leak(name.to_string().into_boxed_str());
    let law = Named::new(Row { word, brings, gives_way: traits.gives_way, ..Row::PLAIN }, source);
    let mut laws = LAWS.write().unwrap_or_else(PoisonError::into_inner);
    laws.retain(|known| known.row().word != name);
    laws.push(law);
    Ok(())
}

/// The law that was brought under a name.
pub(crate) fn called(name: &str) -> Option<Named> {
    all().into_iter().find(|law| law.row().word == name)
}

/// All that were brought.
pub(crate) fn all() -> Vec<Named> {
    LAWS.read().unwrap_or_else(PoisonError::into_inner).clone()
}
