//! Congestion control supplied by the caller, by registered name. The registry is global to the process, so a scheme's name has one
//! meaning in it.

use std::sync::{PoisonError, RwLock};

use fanin_laws::row::Row;
use fanin_laws::sender::foreign::{Named, Source};

use crate::registry::{ECN, is_word};

static LAWS: RwLock<Vec<Named>> = RwLock::new(Vec::new());

/// Properties that an algorithm declares.
#[derive(Clone, Copy, Debug, Default)]
pub struct Traits {
    /// It responds to ECN marks, as DCTCP does: ports mark, and receivers echo each mark.
    pub ecn: bool,
    /// It also reduces the window without a loss or mark.
    pub is_delay_based: bool,
}

/// Registers an algorithm under a name, replacing an earlier one; schemes that were parsed before keep the earlier one.
///
/// # Errors
/// An invalid name.
pub fn register(name: &str, traits: Traits, source: Box<dyn Source>) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(plain) {
        return Err(format!("`{name}` is not a valid algorithm name; use lowercase letters, digits, `-` or `_`"));
    }
    if is_word(name) {
        return Err(format!("`{name}` is the name of a built-in algorithm; choose another name"));
    }
    let brings: &[&str] = if traits.ecn { &["ecn_threshold", ECN] } else { &[] };
    let word = Box::leak(name.to_string().into_boxed_str());
    let law = Named::new(Row { word, brings, is_delay_based: traits.is_delay_based, ..Row::PLAIN }, source);
    let mut laws = LAWS.write().unwrap_or_else(PoisonError::into_inner);
    laws.retain(|known| known.row().word != name);
    laws.push(law);
    Ok(())
}

/// The algorithm registered under a name.
pub(crate) fn called(name: &str) -> Option<Named> {
    all().into_iter().find(|law| law.row().word == name)
}

/// All registered algorithms.
pub(crate) fn all() -> Vec<Named> {
    LAWS.read().unwrap_or_else(PoisonError::into_inner).clone()
}
