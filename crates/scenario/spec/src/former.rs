//! Former names of keys and of their values: accepted with a warning until the next release.

use crate::literal::Literal;

/// Section, former key and present key.
const KEYS: [(&str, &str, &str); 2] =
    [("ictcp_window", "patience", "decrease_after"), ("key_value", "patience", "timeout")];
/// Section, key, former value and present value.
const VALUES: [(&str, &str, &str, &str); 1] = [("sicc", "queue", "told", "reported")];

/// The present name of a key.
pub(crate) fn key<'a>(section: &str, key: &'a str) -> &'a str {
    KEYS.iter().find(|former| (former.0, former.1) == (section, key)).map_or(key, |former| former.2)
}

/// Replaces a former value of a key by its present name.
pub(crate) fn value(section: &str, key: &str, value: Literal) -> Literal {
    let Literal::Text(text) = &value else { return value };
    let present = VALUES.iter().find(|former| (former.0, former.1, former.2) == (section, key, text));
    present.map_or(value, |former| Literal::Text(former.3.into()))
}

/// The warning about former names in an assignment, if it has any.
pub(crate) fn warning(section: &str, written: &str, value: &Literal) -> Option<String> {
    let now = "the old name is accepted until the next release";
    let present = key(section, written);
    if present != written {
        return Some(format!("`{section}.{written}` is now `{section}.{present}`; {now}"));
    }
    let replaced = self::value(section, written, value.clone());
    (replaced != *value).then(|| format!("`{section}.{written}`: {} is now {}; {now}", value.show(), replaced.show()))
}
