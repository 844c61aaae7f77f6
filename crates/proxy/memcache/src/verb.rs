//! Kinds of commands.

/// Storage commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Always.
    Set,
    /// If the key does not exist.
    Add,
    /// If the key exists.
    Replace,
    /// After the existing value.
    Append,
    /// Before the existing value.
    Prepend,
    /// If the value is unchanged.
    Cas,
}

impl Verb {
    pub(crate) const WORDS: [(&'static [u8], Verb); 6] = [
        (b"set", Verb::Set),
        (b"add", Verb::Add),
        (b"replace", Verb::Replace),
        (b"append", Verb::Append),
        (b"prepend", Verb::Prepend),
        (b"cas", Verb::Cas),
    ];

    pub(crate) fn word(self) -> &'static [u8] {
        Verb::WORDS.iter().find(|(_, verb)| *verb == self).map_or(b"", |(word, _)| word)
    }
}

/// Meta commands for one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meta {
    /// `mg`.
    Get,
    /// `ms`.
    Set,
    /// `md`.
    Delete,
    /// `ma`.
    Arithmetic,
}
