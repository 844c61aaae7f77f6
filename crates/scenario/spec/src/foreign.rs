//! Congestion control supplied by the caller, by registered name. The registry is global to the process, so a scheme's name has one
//! meaning in it.

use std::sync::{PoisonError, RwLock};

use fanin_laws::sender::foreign::Named;

static LAWS: RwLock<Vec<Named>> = RwLock::new(Vec::new());

/// Stores an algorithm, replacing an earlier one of the same name; schemes that were parsed before keep the earlier one.
pub(crate) fn put(law: Named) {
    let mut laws = LAWS.write().unwrap_or_else(PoisonError::into_inner);
    laws.retain(|known| known.row().word != law.row().word);
    laws.push(law);
}

/// The algorithm registered under a name.
pub(crate) fn called(name: &str) -> Option<Named> {
    all().into_iter().find(|law| law.row().word == name)
}

/// All registered algorithms.
pub(crate) fn all() -> Vec<Named> {
    LAWS.read().unwrap_or_else(PoisonError::into_inner).clone()
}
