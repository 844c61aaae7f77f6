//! A library that panics on damaged input, held to errors.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// Whether panics of this thread are caught and not printed.
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Result of a piece of work, or the message of its panic. Data that it was using must not be used afterwards.
pub(super) fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !GUARDED.get() {
                usual(info);
            }
        }));
    });
    let before = GUARDED.replace(true);
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(before);
    done.map_err(|why| {
        let text = why.downcast_ref::<String>().map(String::as_str);
        text.or_else(|| why.downcast_ref::<&str>().copied()).unwrap_or("unknown reason").to_string()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_become_errors_with_their_message() {
        assert_eq!(guarded(|| 7), Ok(7));
        assert_eq!(
            guarded(|| [0u8; 3][std::hint::black_box(5)]).unwrap_err(),
            "index out of bounds: the len is 3 but the index is 5"
        );
        assert_eq!(guarded(|| panic!("as it is")), Err::<(), _>("as it is".to_string()));
        assert!(!GUARDED.get());
    }
}
