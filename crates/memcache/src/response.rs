//! Responses: what a server sends, piece by piece, and whether it can be an answer to what was asked.
//!
//! Answers with a key have it looked at by whoever knows which was asked, and those of meta commands their mark. The rest is known by
//! its words alone: what another command of the same kind is answered cannot be told from it.

use crate::verb::{Meta, Verb};

/// What kind of answer a request has. Each may be a single line that tells of an error instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `VALUE` lines with their values, then `END`.
    Values,
    /// Whether a value was stored.
    Stored {
        /// Which command stores it.
        verb: Verb,
    },
    /// Whether a key was deleted.
    Deleted,
    /// Whether a key was touched.
    Touched,
    /// A number, or that there was none.
    Number,
    /// A meta command's line, with a value behind it where it begins with `VA`, which it may if one was asked for.
    Meta {
        /// Which.
        command: Meta,
        /// Whether a value was asked for.
        value: bool,
    },
    /// `VERSION`.
    Version,
    /// `OK`, or why not.
    Done,
    /// Lines of `STAT`, `ITEM` or `PREFIX`, then `END`.
    Listing,
    /// Any line, of a connection that nobody else's answers come by.
    Alone,
}

/// The longest line of a server, its end apart.
pub const LONGEST_LINE: usize = 4096;

/// What a server's bytes begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// No whole line yet.
    More,
    /// A line, its end included. `last`: the answer ends with it.
    Line {
        /// The line.
        line: &'a [u8],
        /// Whether the answer ends with it.
        last: bool,
    },
    /// A line, its end included, which so many bytes follow: a value and its end.
    Value {
        /// The line.
        line: &'a [u8],
        /// The key, where the line has one (`VALUE`).
        key: &'a [u8],
        /// Bytes of the value and of its end.
        follow: u32,
        /// Whether the answer ends with the value.
        last: bool,
    },
    /// This is no answer: nothing that follows can be understood.
    Broken,
}

/// Reads one server's answers, each from its first byte on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cursor {
    /// Bytes in which there is no end of a line.
    looked_at: usize,
}

impl Cursor {
    /// The next piece of an answer: `bytes` are what follows the last piece and its value.
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

/// Whether an answer of this kind can end with this line, errors apart.
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

/// Whether a line tells of an error.
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

/// A number of bytes, for which there is room in what memcached counts by.
fn number(word: &[u8]) -> Option<u32> {
    if word.is_empty() || word.len() > 10 {
        return None;
    }
    let add = |sum: u64, digit: &u8| digit.is_ascii_digit().then(|| sum * 10 + u64::from(digit - b'0'));
    let value = word.iter().try_fold(0u64, add)?;
    (value <= i32::MAX as u64 - 2).then_some(value as u32)
}
