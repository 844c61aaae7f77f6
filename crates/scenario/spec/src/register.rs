//! Registration of congestion control supplied by the caller.

use fanin_laws::row::Row;
use fanin_laws::sender::foreign::{Named, Source};

use crate::Invalid;
use crate::foreign;
use crate::registry::{ECN, is_word};

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
pub fn register(name: &str, traits: Traits, source: Box<dyn Source>) -> Result<(), Invalid> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(plain) {
        return Err(format!("`{name}` is not a valid algorithm name; use lowercase letters, digits, `-` or `_`").into());
    }
    if is_word(name) {
        return Err(format!("`{name}` is the name of a built-in algorithm; choose another name").into());
    }
    let brings: &[&str] = if traits.ecn { &["ecn_threshold", ECN] } else { &[] };
    let word = Box::leak(name.to_string().into_boxed_str());
    let law = Named::new(Row { word, brings, is_delay_based: traits.is_delay_based, ..Row::PLAIN }, source);
    foreign::put(law);
    Ok(())
}
