//! Settings of algorithms: declared as data in their own files; parsed, printed and checked here like all others.

use std::ops::Bound;

use fanin_laws::settings::{Key, Section, Value, Words};
use fanin_units::{Bytes, QueueSize, SendRate, Share, Time};

use crate::literal::Literal;
use crate::problem::{did_you_mean, same_word};
use crate::range::{Ordered, Range};
use crate::setting::{Optional, Setting};

/// Sets an existing key.
pub(crate) fn set(section: &mut dyn Section, name: &str, literal: &Literal) -> Result<(), String> {
    let keys = section.keys();
    let key = keys.iter().find(|key| key.name == name).expect("keys are looked up before they are set");
    let value = read(key.value, literal).map_err(|why| format!("{why}; use {}", form(key.value)))?;
    section.set(name, value).expect("it is of the key's own kind");
    Ok(())
}

/// A key's value as text, and its rank.
pub(crate) fn value(section: &dyn Section, name: &str) -> (String, Option<f64>) {
    let key =
        section.keys().into_iter().find(|key| key.name == name).expect("keys are looked up before they are asked for");
    (show(key.value), number(key.value))
}

/// The first key whose value is out of range, by its path, and the error.
pub(crate) fn out_of_range(section: &dyn Section) -> Option<(&'static str, String)> {
    section.keys().iter().find_map(|key| Some((key.path, limits(key)?.refuses(key)?)))
}

/// The valid range in words, if any.
pub(crate) fn range(key: &Key) -> Option<String> {
    limits(key).map(|limits| limits.says())
}

/// A value of the same kind as the current one.
fn read(present: Value, literal: &Literal) -> Result<Value, String> {
    Ok(match present {
        Value::Count(_) => Value::Count(u32::read(literal)?),
        Value::Flag(_) => Value::Flag(bool::read(literal)?),
        Value::Share(_) => Value::Share(Share::read(literal)?),
        Value::SendRate(_) => Value::SendRate(SendRate::read(literal)?),
        Value::Time(_) => Value::Time(Time::read(literal)?),
        Value::MaybeTime(_) => Value::MaybeTime(Optional::read(literal)?.0),
        Value::Bytes(_) => Value::Bytes(Bytes::read(literal)?),
        Value::Size(_) => Value::Size(threshold(literal)?),
        Value::MaybeSize(_) if *literal == Literal::Text(AUTO.into()) => Value::MaybeSize(None),
        Value::MaybeSize(_) => Value::MaybeSize(Some(threshold(literal)?)),
        Value::Word(_, words) => Value::Word(word(words, literal)?, words),
    })
}

/// Form of a threshold.
const THRESHOLD: &str = "a number of packets, or a size with its unit, such as 20, \"20 packets\" or \"64 KiB\"";

/// The word for a value that the algorithm chooses.
const AUTO: &str = "auto";
const THRESHOLD_OR_AUTO: &str =
    "a number of packets, or a size with its unit, such as 20, \"20 packets\" or \"64 KiB\"; or \"auto\"";

/// A queue length at which a port acts. A plain number counts packets, as in papers and switches.
fn threshold(literal: &Literal) -> Result<QueueSize, String> {
    match literal {
        Literal::Integer(_) => u32::read(literal).map(QueueSize::Packets),
        other => QueueSize::read(other),
    }
}

fn word(words: &'static Words, literal: &Literal) -> Result<&'static str, String> {
    let Literal::Text(text) = literal else { return Err("it is not a word".into()) };
    let found = words.all.iter().find(|word| same_word(word, text));
    let near = || did_you_mean(text, words.all.iter().copied());
    found.copied().ok_or_else(|| format!("\"{text}\" is not one of these{}", near()))
}

/// Form of a valid value.
pub(crate) fn form(value: Value) -> &'static str {
    match value {
        Value::Count(_) => u32::FORM,
        Value::Flag(_) => bool::FORM,
        Value::Share(_) => Share::FORM,
        Value::SendRate(_) => SendRate::FORM,
        Value::Time(_) => Time::FORM,
        Value::MaybeTime(_) => Optional::<Time>::FORM,
        Value::Bytes(_) => Bytes::FORM,
        Value::Size(_) => THRESHOLD,
        Value::MaybeSize(_) => THRESHOLD_OR_AUTO,
        Value::Word(_, words) => words.form,
    }
}

/// A value as written in a scenario.
pub(crate) fn show(value: Value) -> String {
    match value {
        Value::Count(count) => count.show(),
        Value::Flag(flag) => flag.show(),
        Value::Share(share) => share.show(),
        Value::SendRate(rate) => rate.show(),
        Value::Time(time) => time.show(),
        Value::MaybeTime(time) => Optional(time).show(),
        Value::Bytes(bytes) => bytes.show(),
        Value::Size(size) => size.show(),
        Value::MaybeSize(size) => size.map_or(format!("\"{AUTO}\""), |size| size.show()),
        Value::Word(word, _) => format!("\"{word}\""),
    }
}

/// A value's rank among others of its kind; `None` if not a number.
fn number(value: Value) -> Option<f64> {
    match value {
        Value::Count(count) => count.number(),
        Value::Flag(flag) => flag.number(),
        Value::Share(share) => share.number(),
        Value::SendRate(rate) => rate.number(),
        Value::Time(time) => time.number(),
        Value::MaybeTime(time) => Optional(time).number(),
        Value::Bytes(bytes) => bytes.number(),
        Value::Size(size) => size.number(),
        Value::MaybeSize(size) => size.and_then(|size| size.number()),
        Value::Word(..) => None,
    }
}

/// A key's range, by the type of its ends.
enum Limits {
    Count(Range<u32>),
    Share(Range<Share>),
    Time(Range<Time>),
    Bytes(Range<Bytes>),
}

fn limits(key: &Key) -> Option<Limits> {
    fn of<T: Ordered + Copy>(ends: (Option<T>, Option<T>), why: &'static str) -> Range<T> {
        let end = |end: Option<T>| end.map_or(Bound::Unbounded, Bound::Included);
        Range::of((end(ends.0), end(ends.1)), why)
    }
    let (least, most) = key.range?;
    macro_rules! of_kind {
        ($($kind:ident),*) => {
            match least.or(most)? {
                $(Value::$kind(_) => {
                    let end = |value| if let Some(Value::$kind(end)) = value { Some(end) } else { None };
                    Limits::$kind(of((end(least), end(most)), key.why))
                })*
                other => unreachable!("{other:?} has no order"),
            }
        };
    }
    Some(of_kind!(Count, Share, Time, Bytes))
}

impl Limits {
    fn says(&self) -> String {
        match self {
            Limits::Count(range) => range.says(),
            Limits::Share(range) => range.says(),
            Limits::Time(range) => range.says(),
            Limits::Bytes(range) => range.says(),
        }
    }

    fn refuses(&self, key: &Key) -> Option<String> {
        let path = key.path;
        match (self, key.value) {
            (Limits::Count(range), Value::Count(count)) => range.refuses(path, &[count]),
            (Limits::Share(range), Value::Share(share)) => range.refuses(path, &[share]),
            (Limits::Time(range), Value::Time(time)) => range.refuses(path, &[time]),
            (Limits::Time(range), Value::MaybeTime(time)) => range.refuses(path, time.as_slice()),
            (Limits::Bytes(range), Value::Bytes(bytes)) => range.refuses(path, &[bytes]),
            (_, other) => unreachable!("{path} is {other:?}, which is not of its range"),
        }
    }
}
