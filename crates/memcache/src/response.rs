//! Responses: what a server sends, piece by piece.

/// What kind of answer a request has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One line.
    Line,
    /// `VALUE` lines with their values, then `END`; or one line that is an error.
    Values,
    /// One line, with a value behind it where it begins with `VA`.
    Meta,
    /// Any number of such, then `MN`.
    UntilBarrier,
    /// Lines of `STAT`, `ITEM` or `PREFIX`, then `END`; or a single line that is none of these.
    Listing,
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
        match shape {
            Shape::Line => Piece::Line { line, last: true },
            Shape::Values => match words {
                [b'V', b'A', b'L', b'U', b'E', b' ', rest @ ..] => value(line, rest),
                b"END" => Piece::Line { line, last: true },
                _ if is_error(words) => Piece::Line { line, last: true },
                _ => Piece::Broken,
            },
            Shape::Meta => meta(line, words, true),
            Shape::UntilBarrier if words == b"MN" => Piece::Line { line, last: true },
            Shape::UntilBarrier => meta(line, words, false),
            Shape::Listing => {
                let goes_on = [&b"STAT "[..], b"ITEM ", b"PREFIX "].iter().any(|word| words.starts_with(word));
                Piece::Line { line, last: !goes_on }
            }
        }
    }
}

/// Whether a line tells of an error.
pub fn is_error(line: &[u8]) -> bool {
    [&b"ERROR"[..], b"CLIENT_ERROR", b"SERVER_ERROR"].iter().any(|word| line.starts_with(word))
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

fn meta<'a>(line: &'a [u8], words: &'a [u8], last: bool) -> Piece<'a> {
    let Some(rest) = words.strip_prefix(b"VA ") else { return Piece::Line { line, last } };
    let end = rest.iter().position(|byte| *byte == b' ').unwrap_or(rest.len());
    match number(&rest[..end]) {
        Some(bytes) => Piece::Value { line, key: &[], follow: bytes + 2, last },
        None => Piece::Broken,
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
