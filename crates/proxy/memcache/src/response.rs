//! Responses: parsing of a server's bytes, and whether they can be a response to the request.
//!
//! The caller checks keys, and the marks of meta commands. Other responses are only checked by their words, which do not distinguish
//! commands of the same kind.

use crate::verb::{Meta, Verb};

/// Kind of a response. Each may also be a single error line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `VALUE` lines with their values, then `END`.
    Values,
    /// Result of a storage command.
    Stored {
        /// The command.
        verb: Verb,
    },
    /// Result of `delete`.
    Deleted,
    /// Result of `touch`.
    Touched,
    /// A number, or a miss.
    Number,
    /// A meta command's line, with a value if it begins with `VA`, which requires that one was requested.
    Meta {
        /// The command.
        command: Meta,
        /// Whether a value was requested.
        value: bool,
    },
    /// `VERSION`.
    Version,
    /// `OK`, or an error.
    Done,
    /// Lines of `STAT`, `ITEM` or `PREFIX`, then `END`.
    Listing,
    /// Any line, on a connection without other clients' responses.
    Alone,
}

/// Maximum length of a server's line, without its end.
pub const LONGEST_LINE: usize = 4096;

/// First piece of a server's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// An incomplete line.
    More,
    /// A line, its end included. `last`: the response ends with it.
    Line {
        /// The line.
        line: &'a [u8],
        /// Whether the response ends with it.
        last: bool,
    },
    /// A line, its end included, with a value after it.
    Value {
        /// The line.
        line: &'a [u8],
        /// The key, if the line has one (`VALUE`).
        key: &'a [u8],
        /// Length of the value and its end.
        follow: u32,
        /// Whether the response ends with the value.
        last: bool,
    },
    /// Not a response: the rest cannot be parsed.
    Broken,
}

/// Parser of a server's responses.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cursor {
    /// Length of a prefix without the end of a line.
    looked_at: usize,
}

impl Cursor {
    /// Parses the next piece: `bytes` begin after the last piece and its value.
    #[inline]
    pub fn next<'a>(&mut self, bytes: &'a [u8], shape: Shape) -> Piece<'a> {
        let Some(end) = memchr::memchr(b'\n', &bytes[self.looked_at.min(bytes.len())..]) else {
            self.looked_at = bytes.len();
            return if bytes.len() > LONGEST_LINE { Piece::Broken } else { Piece::More };
        };
        let line = &bytes[..self.looked_at + end + 1];
        self.looked_at = 0;
        let Some(words) = line.strip_suffix(b"\r\n").filter(|words| !words.is_empty() && words.len() <= LONGEST_LINE)
        else {
            return Piece::Broken;
        };
        match (shape, words) {
            (Shape::Values, [b'V', b'A', b'L', b'U', b'E', b' ', rest @ ..]) => value(line, rest),
            (Shape::Meta { command: Meta::Get | Meta::Arithmetic, value: true }, [b'V', b'A', b' ', rest @ ..]) => {
                let size = rest.split(|byte| *byte == b' ').next().and_then(number);
                size.map_or(Piece::Broken, |bytes| Piece::Value { line, key: &[], follow: bytes + 2, last: true })
            }
            (Shape::Listing, _) if [&b"STAT "[..], b"ITEM ", b"PREFIX "].iter().any(|word| words.starts_with(word)) => {
                Piece::Line { line, last: false }
            }
            _ if can_end(shape, words) || is_error(words) => Piece::Line { line, last: true },
            _ => Piece::Broken,
        }
    }
}

/// Whether a response of this kind can end with this line, apart from errors.
fn can_end(shape: Shape, words: &[u8]) -> bool {
    let code = &words[..words.len().min(2)];
    match shape {
        Shape::Values | Shape::Listing => words == b"END",
        Shape::Stored { verb: Verb::Cas } => matches!(words, b"STORED" | b"EXISTS" | b"NOT_FOUND" | b"NOT_STORED"),
        Shape::Stored { verb: Verb::Set } => words == b"STORED",
        Shape::Stored { .. } => matches!(words, b"STORED" | b"NOT_STORED"),
        Shape::Deleted => matches!(words, b"DELETED" | b"NOT_FOUND"),
        Shape::Touched => matches!(words, b"TOUCHED" | b"NOT_FOUND"),
        Shape::Number => words == b"NOT_FOUND" || words.len() <= 20 && words.iter().all(u8::is_ascii_digit),
        Shape::Meta { .. } if words.get(2).is_some_and(|byte| *byte != b' ') => false,
        Shape::Meta { command: Meta::Get, .. } => matches!(code, b"HD" | b"EN"),
        Shape::Meta { .. } => matches!(code, b"HD" | b"NF" | b"EX" | b"NS"),
        Shape::Version => words.starts_with(b"VERSION "),
        Shape::Done => words == b"OK" || words.starts_with(b"MEMLIMIT_"),
        Shape::Alone => true,
    }
}

/// Whether a line is an error.
pub fn is_error(line: &[u8]) -> bool {
    [&b"ERROR"[..], b"CLIENT_ERROR ", b"SERVER_ERROR "].iter().any(|word| line.starts_with(word))
}

/// `<key> <flags> <bytes>[ <cas>]`.
fn value<'a>(line: &'a [u8], rest: &'a [u8]) -> Piece<'a> {
    let mut words = rest.split(|byte| *byte == b' ');
    let (key, flags, bytes, cas) = (words.next(), words.next(), words.next().and_then(number), words.next());
    let digits = |word: &[u8]| !word.is_empty() && word.iter().all(u8::is_ascii_digit);
    match (key, flags, bytes, cas, words.next()) {
        (Some(key), Some(flags), Some(bytes), cas, None)
            if !key.is_empty() && digits(flags) && cas.is_none_or(digits) =>
        {
            Piece::Value { line, key, follow: bytes + 2, last: false }
        }
        _ => Piece::Broken,
    }
}

/// A length within memcached's range.
fn number(word: &[u8]) -> Option<u32> {
    if word.is_empty() || word.len() > 10 {
        return None;
    }
    let add = |sum: u64, digit: &u8| digit.is_ascii_digit().then(|| sum * 10 + u64::from(digit - b'0'));
    let value = word.iter().try_fold(0u64, add)?;
    (value <= i32::MAX as u64 - 2).then_some(value as u32)
}
