//! Requests to servers, rewritten in the form that every version from 1.6.18 on interprets as the client meant, with single spaces, and
//! without any of the client's bytes but the key.
//!
//! A meta command has a mark as its opaque token in place of the client's, which its response repeats ([`Mark`]). The client's own opaque,
//! and flags that are not sent to the server, are recorded in a note ([`note`], [`retold`]).

use core::mem;

use crate::base64::canonical;
use crate::flags::Argument;
use crate::request::{Command, Every, Figures, Get, Keyed};
use crate::token::Each;
use crate::verb::{Meta, Verb};

/// End of a line.
const LINE: &[u8] = b"\r\n";
/// Hexadecimal digits.
const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Opaque token of a request: 64 unpredictable bits in hexadecimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark([u8; 16]);

impl Mark {
    /// Its length.
    pub const LEN: usize = 16;

    /// Its digits.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// From random bits.
    pub fn of(bits: u64) -> Mark {
        Mark(core::array::from_fn(|digit| DIGITS[(bits >> (60 - 4 * digit)) as usize & 15]))
    }
}

/// Writes a request whose response is a line that [`closes`] the request before it, and nothing else: for a key that does not exist.
pub fn closing_question(Mark(mark): Mark, mut put: impl FnMut(&[u8])) {
    [b"mg ", &mark[..], b" O", &mark, LINE].iter().for_each(|bytes| put(bytes));
}

/// Whether a line, its end included, is the response to [`closing_question`] with this mark.
pub fn closes(line: &[u8], mark: &[u8]) -> bool {
    let words = line.strip_suffix(LINE).and_then(|line| line.strip_prefix(b"EN O"));
    words == Some(mark)
}

/// Writes a number.
fn number(value: impl itoa::Integer, put: &mut impl FnMut(&[u8])) {
    put(itoa::Buffer::new().format(value).as_bytes());
}

impl Get<'_> {
    /// Writes the command before the keys, with the time to live if it has one.
    pub fn head(&self, mut put: impl FnMut(&[u8])) {
        put(match (self.time, self.unique) {
            (None, false) => b"get",
            (None, true) => b"gets",
            (Some(_), false) => b"gat ",
            (Some(_), true) => b"gats ",
        });
        self.time.into_iter().for_each(|time| number(time, &mut put));
    }
}

impl Keyed<'_> {
    /// Writes the line. A value of `follow` bytes, its end included, comes after it, if any.
    pub fn line(&self, follow: Option<u32>, mark: Mark, mut put: impl FnMut(&[u8])) {
        let put = &mut put;
        let verb: &[u8] = match self.command {
            Command::Delete => b"delete",
            Command::Touch(_) => b"touch",
            Command::Increase(_) => b"incr",
            Command::Decrease(_) => b"decr",
            Command::Store { verb, .. } => verb.word(),
            Command::Meta(Meta::Get, _) => b"mg",
            Command::Meta(Meta::Set, _) => b"ms",
            Command::Meta(Meta::Delete, _) => b"md",
            Command::Meta(Meta::Arithmetic, _) => b"ma",
            Command::Inspect(_) => b"me",
        };
        [verb, b" ", self.key].iter().for_each(|bytes| put(bytes));
        let size = follow.map(|follow| follow - 2);
        match self.command {
            // As the last word, 1.6.45 would take it for a request for silence.
            Command::Delete if self.key == b"noreply" => put(b" 0"),
            Command::Delete => {}
            Command::Touch(time) => behind(time, put),
            Command::Increase(by) | Command::Decrease(by) => behind(by, put),
            Command::Store { verb, flags, time, unique } => {
                behind(flags, put);
                behind(time, put);
                behind(size.unwrap_or(0), put);
                if verb == Verb::Cas {
                    behind(unique, put);
                }
            }
            Command::Meta(_, flags) => {
                size.into_iter().for_each(|size| behind(size, put));
                flags.passed_on().for_each(|(letter, argument)| flag_with(letter, argument, mark, put));
                if !flags.has(b'O') {
                    flag_with(b'O', Argument::Opaque(&[]), mark, put);
                }
            }
            // Without the second, 1.6.45 ignores the first.
            Command::Inspect(base64) => put(if base64 { b" b b" } else { b"" }),
        }
        put(LINE);
    }

    /// Writes the note of a meta command, which is needed to parse its response: its mark, and each flag that its response repeats, with
    /// the client's version of flags that the server does not know.
    pub fn note(&self, mark: Mark, mut put: impl FnMut(&[u8])) {
        let Command::Meta(_, flags) = self.command else { return };
        put(&mark.0);
        for (letter, argument) in flags.each() {
            match (letter, argument) {
                (b'O', Argument::Opaque(word)) => [b"O", word, b"\n"].iter().for_each(|bytes| put(bytes)),
                (b'k', _) if flags.has(b'b') => {
                    put(b"k");
                    canonical(self.key, &mut put);
                    put(b" b\n");
                }
                (b's' | b't' | b'c' | b'f' | b'l' | b'h' | b'k', _) => put(&[letter, b'\n']),
                _ => {}
            }
        }
    }
}

/// Writes a number after a space.
fn behind(value: impl itoa::Integer, put: &mut impl FnMut(&[u8])) {
    put(b" ");
    number(value, put);
}

fn flag_with(letter: u8, argument: Argument<'_>, Mark(mark): Mark, put: &mut impl FnMut(&[u8])) {
    put(&[b' ', letter]);
    match argument {
        Argument::Time(time) => number(time, put),
        Argument::Number(value) => number(value, put),
        Argument::Mode(mode) => put(&[mode]),
        Argument::Opaque(_) => put(&mark),
        Argument::None | Argument::Ignored => {}
    }
}

/// Rewrites a response to a meta command, without its end, for the client, by the command's note. None if it is not the response to this
/// command, since it does not have its mark.
pub fn retold(answer: &[u8], note: &[u8], mut put: impl FnMut(&[u8])) -> Option<()> {
    let (mark, noted) = note.split_at_checked(Mark::LEN)?;
    let mut noted = noted.split(|byte| *byte == b'\n').filter(|entry| !entry.is_empty()).peekable();
    let mut is_marked = false;
    let mut words = Each(answer);
    let first = words.next()?;
    put(first);
    if first == b"VA" {
        [b" ", words.next()?].iter().for_each(|bytes| put(bytes));
    }
    // Flags before this one that were not sent to the server.
    let mut told_before = |letter: Option<u8>, put: &mut dyn FnMut(&[u8])| {
        if letter.is_some() && !noted.clone().any(|entry| entry.first() == letter.as_ref()) {
            return;
        }
        for entry in noted.by_ref() {
            if entry.len() > 1 {
                [b" ", entry].iter().for_each(|bytes| put(bytes));
            }
            if entry.first() == letter.as_ref() {
                return;
            }
        }
    };
    for word in words {
        match word.split_first()? {
            (b'O', opaque) => {
                if opaque != mark || mem::replace(&mut is_marked, true) {
                    return None;
                }
                told_before(Some(b'O'), &mut put);
            }
            (letter, rest) => {
                // Status flags, such as that another client has the lease, come last.
                let last = matches!(letter, b'W' | b'X' | b'Z') && rest.is_empty();
                told_before(if last { None } else { Some(*letter) }, &mut put);
                [b" ", word].iter().for_each(|bytes| put(bytes));
            }
        }
    }
    told_before(None, &mut put);
    is_marked.then_some(())
}

impl Every {
    /// Writes the line.
    pub fn line(&self, mut put: impl FnMut(&[u8])) {
        let put = &mut put;
        match self {
            Every::Flush(time) => {
                put(b"flush_all");
                time.iter().for_each(|time| behind(*time, put));
            }
            Every::Verbosity(level) => {
                put(b"verbosity");
                behind(*level, put);
            }
            Every::Memory(limit) => {
                put(b"cache_memlimit");
                behind(*limit, put);
            }
        }
        put(LINE);
    }
}

impl Figures {
    /// Writes the line.
    pub fn line(&self, mut put: impl FnMut(&[u8])) {
        let put = &mut put;
        put(b"stats");
        match self {
            Figures::Own | Figures::Reset | Figures::General => {}
            Figures::List(name) | Figures::Command(name, _) => {
                [b" ", name.as_bytes()].iter().for_each(|bytes| put(bytes))
            }
            Figures::Dump(class, limit) => {
                put(b" cachedump");
                behind(*class, put);
                behind(*limit, put);
            }
        }
        put(LINE);
    }
}
