//! Laws' settings as data, each section in the file of its law: keys, what they mean, their defaults and ranges, and what
//! does not go together. How a value is written in a scenario is the matter of whoever reads one.

use alloc::string::String;
use alloc::vec::Vec;
use core::ops::{Bound, RangeBounds};

use fanin_units::{Bytes, QueueSize, Share, Time};

/// A setting's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A number of something.
    Count(u32),
    /// On or off.
    Flag(bool),
    /// A share of a whole.
    Share(Share),
    /// A time.
    Time(Time),
    /// A time, or none.
    MaybeTime(Option<Time>),
    /// A size.
    Bytes(Bytes),
    /// What a queue holds.
    Size(QueueSize),
    /// What a queue holds, or what the law takes of itself.
    MaybeSize(Option<QueueSize>),
    /// One of some words.
    Word(&'static str, &'static Words),
}

/// Words among which a setting chooses.
#[derive(Debug, PartialEq, Eq)]
pub struct Words {
    /// What is right, in words.
    pub form: &'static str,
    /// All of them.
    pub all: &'static [&'static str],
}

/// What can be a setting of a law.
pub trait Kept: Copy {
    /// It as a value.
    fn value(self) -> Value;
    /// What a value of its kind is.
    fn of(value: Value) -> Option<Self>;
}

macro_rules! kept {
    ($($type:ty = $kind:ident,)*) => {
        $(impl Kept for $type {
            fn value(self) -> Value {
                Value::$kind(self)
            }
            fn of(value: Value) -> Option<$type> {
                if let Value::$kind(value) = value { Some(value) } else { None }
            }
        })*
    };
}

kept! {
    u32 = Count,
    bool = Flag,
    Share = Share,
    Time = Time,
    Option<Time> = MaybeTime,
    Bytes = Bytes,
    QueueSize = Size,
    Option<QueueSize> = MaybeSize,
}

/// One key of a section as it stands.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// Its name behind that of the section, such as `red.min_th`.
    pub path: &'static str,
    /// What it means.
    pub says: &'static str,
    /// Its value.
    pub value: Value,
    /// In what range it lies, both ends among the right ones, where its declaration has one.
    pub range: Option<(Option<Value>, Option<Value>)>,
    /// Why it lies in that range.
    pub why: &'static str,
    /// Why it does not matter, as the section's other keys stand.
    pub idle: Option<&'static str>,
}

/// Keys that do not go together, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Their paths.
    pub paths: &'static [&'static str],
    /// What is wrong, and what would be right.
    pub what: String,
}

/// The settings of a law, or of some laws.
pub trait Section {
    /// Its name.
    fn name(&self) -> &'static str;
    /// What it is of.
    fn says(&self) -> &'static str;
    /// Its keys as they stand.
    fn keys(&self) -> Vec<Key>;
    /// Sets a key, if it is there and the value of its kind.
    fn set(&mut self, key: &str, value: Value) -> Option<()>;
    /// What of it, each within its range, does not go together.
    fn refuses(&self) -> Option<Refusal>;
}

/// The ends of a range.
pub fn ends<T: Kept>(range: impl RangeBounds<T>) -> (Option<Value>, Option<Value>) {
    let end = |bound: Bound<&T>| match bound {
        Bound::Included(&end) | Bound::Excluded(&end) => Some(end.value()),
        Bound::Unbounded => None,
    };
    (end(range.start_bound()), end(range.end_bound()))
}

/// Declares a law's settings, its `Params`, as the file's own section. A key whose values lie in a range says so, and why where
/// that is not plain: `#[range(1..=64, "why")]`; one that matters under some condition on the section alone says which, and
/// why it does not otherwise: `#[needs(|params| …, "why not")]`. Behind the keys may stand what they refuse.
#[macro_export]
macro_rules! params {
    ($(#[doc = $doc:literal])* $section:ident {
        $($(#[doc = $kdoc:literal])* $(#[needs($need:expr, $without:literal)])? $(#[range($range:expr $(, $why:literal)?)])?
        $key:ident: $type:ty = $default:expr,)*
    } $(refuses $refuses:expr;)?) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct Params { $($(#[doc = $kdoc])* pub $key: $type,)* }

        impl Default for Params {
            fn default() -> Params {
                Params { $($key: $default,)* }
            }
        }

        impl $crate::settings::Section for Params {
            fn name(&self) -> &'static str {
                stringify!($section)
            }

            fn says(&self) -> &'static str {
                concat!($($doc),*).trim_ascii()
            }

            fn keys(&self) -> alloc::vec::Vec<$crate::settings::Key> {
                alloc::vec![$($crate::settings::Key {
                    name: stringify!($key),
                    path: concat!(stringify!($section), ".", stringify!($key)),
                    says: concat!($($kdoc),*).trim_ascii(),
                    value: $crate::settings::Kept::value(self.$key),
                    range: $crate::settings::first([$($crate::settings::ends($range))?]),
                    why: concat!($($($why)?)?),
                    idle: $crate::settings::first([$({
                        let matters: fn(&Params) -> bool = $need;
                        (!matters(self)).then_some($without)
                    })?]).flatten(),
                }),*]
            }

            fn set(&mut self, key: &str, value: $crate::settings::Value) -> Option<()> {
                match key {
                    $(stringify!($key) => self.$key = $crate::settings::Kept::of(value)?,)*
                    _ => return None,
                }
                Some(())
            }

            fn refuses(&self) -> Option<$crate::settings::Refusal> {
                $crate::settings::first([$({
                    let refuses: fn(&Params) -> Option<$crate::settings::Refusal> = $refuses;
                    refuses(self)
                })?]).flatten()
            }
        }
    };
}
pub use params;

/// What a declaration says at most once.
pub fn first<T, const N: usize>(said: [T; N]) -> Option<T> {
    said.into_iter().next()
}

/// Declares an enum whose values are words in a scenario.
#[macro_export]
macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $form:literal { $($(#[$vdoc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$vdoc])* $variant,)* }

        impl $crate::settings::Kept for $name {
            fn value(self) -> $crate::settings::Value {
                static WORDS: $crate::settings::Words = $crate::settings::Words { form: $form, all: &[$($word),*] };
                $crate::settings::Value::Word(match self { $($name::$variant => $word,)* }, &WORDS)
            }
            fn of(value: $crate::settings::Value) -> Option<$name> {
                match value {
                    $($crate::settings::Value::Word($word, _) => Some($name::$variant),)*
                    _ => None,
                }
            }
        }
    };
}
pub use words;

/// Declares the struct that holds some laws' sections.
#[macro_export]
macro_rules! sections {
    ($(#[doc = $doc:literal])* $($section:ident: $params:ty,)*) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Settings { $(#[doc = concat!("Section `[", stringify!($section), "]`.")] pub $section: $params,)* }

        impl Settings {
            /// Each section.
            pub fn sections(&self) -> alloc::vec::Vec<&dyn $crate::settings::Section> {
                alloc::vec![$(&self.$section),*]
            }

            /// Each section, to be set.
            pub fn sections_mut(&mut self) -> alloc::vec::Vec<&mut dyn $crate::settings::Section> {
                alloc::vec![$(&mut self.$section),*]
            }
        }
    };
}
pub use sections;
