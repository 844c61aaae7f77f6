//! Settings as data, each section in the file of its algorithm: keys, docs, defaults, ranges and conflicts. Readers of
//! scenarios define how values are written.

use alloc::string::String;
use alloc::vec::Vec;
use core::ops::{Bound, RangeBounds};

use fanin_units::{Bytes, QueueSize, SendRate, Share, Time};

/// A setting's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A number.
    Count(u32),
    /// On or off.
    Flag(bool),
    /// A share of a whole.
    Share(Share),
    /// A rate, or a share of the link's.
    SendRate(SendRate),
    /// A time.
    Time(Time),
    /// A time, or none.
    MaybeTime(Option<Time>),
    /// A size.
    Bytes(Bytes),
    /// Capacity of a queue.
    Size(QueueSize),
    /// Capacity of a queue, or derived by the algorithm.
    MaybeSize(Option<QueueSize>),
    /// One of a set of words.
    Word(&'static str, &'static Words),
}

/// Set of words of a setting.
#[derive(Debug, PartialEq, Eq)]
pub struct Words {
    /// Valid values, in prose.
    pub form: &'static str,
    /// All of them.
    pub all: &'static [&'static str],
}

/// Type of a setting.
pub trait SettingValue: Copy {
    /// Convert to a value.
    fn value(self) -> Value;
    /// Convert from a value of its kind.
    fn of(value: Value) -> Option<Self>;
}

macro_rules! kept {
    ($($type:ty = $kind:ident,)*) => {
        $(impl SettingValue for $type {
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
    SendRate = SendRate,
    Time = Time,
    Option<Time> = MaybeTime,
    Bytes = Bytes,
    QueueSize = Size,
    Option<QueueSize> = MaybeSize,
}

/// One key of a section with its current value.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// Its path with the section's name, such as `red.min_th`.
    pub path: &'static str,
    /// Its docs.
    pub says: &'static str,
    /// Its value.
    pub value: Value,
    /// Its inclusive range, if declared.
    pub range: Option<(Option<Value>, Option<Value>)>,
    /// Reason for the range.
    pub why: &'static str,
    /// Reason that it has no effect, given the section's other keys.
    pub idle: Option<&'static str>,
}

/// Conflicting keys and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Their paths.
    pub paths: &'static [&'static str],
    /// The problem and the solution.
    pub what: String,
}

/// The settings of one algorithm, or of several.
pub trait Section {
    /// Its name.
    fn name(&self) -> &'static str;
    /// Its description.
    fn says(&self) -> &'static str;
    /// Its keys with their current values.
    fn keys(&self) -> Vec<Key>;
    /// Set a key; `None` if there is no such key or the value is of another kind.
    fn set(&mut self, key: &str, value: Value) -> Option<()>;
    /// A conflict among values that are each within their range.
    fn refuses(&self) -> Option<Refusal>;
}

/// The ends of a range.
pub fn ends<T: SettingValue>(range: impl RangeBounds<T>) -> (Option<Value>, Option<Value>) {
    let end = |bound: Bound<&T>| match bound {
        Bound::Included(&end) | Bound::Excluded(&end) => Some(end.value()),
        Bound::Unbounded => None,
    };
    (end(range.start_bound()), end(range.end_bound()))
}

/// Declares an algorithm's settings, its `Params`, as the file's own section. A key may declare a range, with a reason if that is
/// not obvious: `#[range(1..=64, "why")]`. A key that has an effect only under a condition on the section declares it, with the
/// reason: `#[needs(|params| …, "why not")]`. The section's conflicts may follow the keys.
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
                    value: $crate::settings::SettingValue::value(self.$key),
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
                    $(stringify!($key) => self.$key = $crate::settings::SettingValue::of(value)?,)*
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

/// The first value of a declaration that allows at most one.
pub fn first<T, const N: usize>(values: [T; N]) -> Option<T> {
    values.into_iter().next()
}

/// Declares an enum whose values are words in a scenario.
#[macro_export]
macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $form:literal { $($(#[$vdoc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$vdoc])* $variant,)* }

        impl $crate::settings::SettingValue for $name {
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

/// Declares the struct that holds the sections of several algorithms.
#[macro_export]
macro_rules! sections {
    ($(#[doc = $doc:literal])* $($section:ident: $params:ty,)*) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Settings { $(#[doc = concat!("Section `[", stringify!($section), "]`.")] pub $section: $params,)* }

        impl Settings {
            /// Every section.
            pub fn sections(&self) -> alloc::vec::Vec<&dyn $crate::settings::Section> {
                alloc::vec![$(&self.$section),*]
            }

            /// Every section, mutable.
            pub fn sections_mut(&mut self) -> alloc::vec::Vec<&mut dyn $crate::settings::Section> {
                alloc::vec![$(&mut self.$section),*]
            }
        }
    };
}
pub use sections;
