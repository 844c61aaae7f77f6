//! What is asked, where it has kinds.

/// How a value is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Whatever is there.
    Set,
    /// Where nothing is.
    Add,
    /// Where something is.
    Replace,
    /// Behind what is there.
    Append,
    /// In front of it.
    Prepend,
    /// Where nobody has since.
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

/// The meta commands of one key.
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
