//! Flags of meta commands. A proxy must know every flag, since it forwards no others. Only a flag's letter, and the part of its argument
//! that memcached reads, are kept.

use crate::base64::decoded;
use crate::number::{signed_32, unsigned_32, unsigned_64};
use crate::token::Each;
use crate::verb::Meta;
use crate::{LONGEST_KEY, text};

/// Maximum length of an opaque, without its letter.
pub const LONGEST_OPAQUE: usize = 31;
/// Maximum number of words of a line that every server accepts: 1.6.18 does not discard the value of an `ms` with more.
pub const MOST_WORDS: usize = 19;

/// Argument of a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument<'a> {
    /// None.
    None,
    /// A time.
    Time(i32),
    /// A number.
    Number(u64),
    /// A mode's letter.
    Mode(u8),
    /// The client's opaque, which the response repeats.
    Opaque(&'a [u8]),
    /// Words for other proxies, which servers ignore.
    Ignored,
}

/// Error text of memcached.
type Wrong = &'static str;

/// Parses a flag.
pub fn flag(word: &[u8]) -> Result<(u8, Argument<'_>), Wrong> {
    let (&letter, rest) = word.split_first().ok_or(text::NO_FLAG)?;
    let number = |wrong| unsigned_64(rest).map(Argument::Number).ok_or(wrong);
    let argument = match letter {
        b'b' | b'k' | b's' | b't' | b'c' | b'f' | b'v' | b'l' | b'h' | b'u' | b'q' | b'x' | b'I' => Argument::None,
        b'T' | b'N' | b'R' => Argument::Time(signed_32(rest).ok_or(text::BAD_TOKEN)?),
        b'C' | b'E' => number(text::BAD_TOKEN)?,
        b'J' => number(text::BAD_INITIAL)?,
        b'D' => number(text::BAD_FLAG_DELTA)?,
        b'F' => Argument::Number(unsigned_32(rest).ok_or(text::BAD_FORMAT)?.into()),
        // Without one, memcached uses the space after it.
        b'M' => Argument::Mode(rest.first().copied().unwrap_or(b' ')),
        b'O' => Argument::Opaque(rest),
        b'P' | b'L' => Argument::Ignored,
        _ => return Err(text::NO_FLAG),
    };
    Ok((letter, argument))
}

/// Valid flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags<'a> {
    /// The words.
    words: &'a [u8],
    /// A bit for each letter present, from `A` on.
    there: u64,
}

impl<'a> Flags<'a> {
    /// Parses a command's flags, after its key and its value's length; or returns memcached's error.
    pub fn read(command: Meta, key: &[u8], words: &'a [u8]) -> Result<Flags<'a>, Wrong> {
        let flags = Flags::known(key, words)
            .map_err(|wrong| if command == Meta::Arithmetic { text::NO_FLAG_OR_TWICE } else { wrong })?;
        // The words themselves, without those not forwarded, plus the opaque.
        let mut count = if command == Meta::Set { 3 } else { 2 };
        count += flags.passed_on().count() + usize::from(!flags.has(b'O'));
        if count > MOST_WORDS {
            return Err(text::FLAGS_TOO_LONG);
        }
        for (_, argument) in flags.each() {
            match (argument, command) {
                (Argument::Mode(mode), Meta::Set) if !b"EAPRS".contains(&mode) => return Err(text::BAD_STORE_MODE),
                (Argument::Mode(mode), Meta::Arithmetic) if !b"I+D-".contains(&mode) => {
                    return Err(text::BAD_COUNT_MODE);
                }
                _ => {}
            }
        }
        for (_, argument) in flags.each() {
            match argument {
                Argument::Opaque(word) if word.len() > LONGEST_OPAQUE => return Err(text::OPAQUE_TOO_LONG),
                Argument::Opaque(word) if word.iter().any(u8::is_ascii_control) => return Err(text::BAD_FORMAT),
                _ => {}
            }
        }
        Ok(flags)
    }

    /// Checks that each flag is known, occurs once, and has its argument.
    fn known(key: &[u8], words: &'a [u8]) -> Result<Flags<'a>, Wrong> {
        let (mut there, mut wrong) = (0u64, None);
        for word in Each(words) {
            let letter = word[0];
            if !letter.is_ascii_alphabetic() {
                return Err(text::NO_FLAG);
            }
            if there >> (letter - b'A') & 1 == 1 {
                return Err(text::FLAG_TWICE);
            }
            there |= 1 << (letter - b'A');
            let base64 = letter == b'b' && decoded(key, &mut [0; LONGEST_KEY]).is_none();
            match flag(word) {
                Err(text::NO_FLAG) => return Err(text::NO_FLAG),
                // memcached has no specific error for this.
                Err(text::BAD_FORMAT) => wrong = wrong.or(Some(text::BAD_FORMAT)),
                // It reports the last error.
                Err(other) => wrong = Some(other),
                Ok(_) if base64 => wrong = Some(text::BAD_BASE64),
                Ok(_) => {}
            }
        }
        wrong.map_or(Ok(Flags { words, there }), Err)
    }

    /// Whether a flag is present.
    pub fn has(&self, letter: u8) -> bool {
        self.there >> (letter - b'A') & 1 == 1
    }

    /// All flags, in order.
    pub fn each(&self) -> impl Iterator<Item = (u8, Argument<'a>)> + use<'a> {
        Each(self.words).filter_map(|word| flag(word).ok())
    }

    /// Flags for the server: without those for silence, since the proxy needs a response, and without `k` of a key in base64, which some
    /// servers print decoded.
    pub fn passed_on(&self) -> impl Iterator<Item = (u8, Argument<'a>)> + use<'a> {
        let base64 = self.has(b'b');
        self.each().filter(move |(letter, argument)| {
            *letter != b'q' && !(base64 && *letter == b'k') && *argument != Argument::Ignored
        })
    }
}
