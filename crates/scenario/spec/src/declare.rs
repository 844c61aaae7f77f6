//! Macros that declare sections, keys and words of a scenario, each in one place.

use crate::limits;
use crate::literal::Literal;
use crate::problem::{did_you_mean, same_word};

/// Documentation of a scenario key.
#[derive(Clone, Debug)]
pub struct KeyDoc {
    /// Full path, such as `link.rate`.
    pub path: String,
    /// Form of a valid value.
    pub form: &'static str,
    /// Valid range, if declared.
    pub range: Option<String>,
    /// Default value, as written in a scenario.
    pub default: String,
    /// Meaning.
    pub doc: String,
    /// Names of the workloads that use it; empty for all.
    pub workloads: &'static [&'static str],
    /// Condition under which the key has an effect.
    pub(crate) need: Option<Need>,
}

impl KeyDoc {
    /// Section of the key.
    pub fn section(&self) -> &str {
        self.path.split('.').next().unwrap_or_default()
    }

    /// Description of a valid value: form and range.
    pub fn right(&self) -> String {
        match &self.range {
            Some(range) => format!("{}; {range}", self.form),
            None => self.form.into(),
        }
    }

    /// Text naming the workloads that use the key, to append to its documentation; empty for all.
    pub fn scope(&self) -> String {
        match self.workloads {
            [] => String::new(),
            // The section has the workload's name.
            [word] if self.section() == *word => String::new(),
            words => format!(" (Only for {}.)", words.join(", ")),
        }
    }
}

/// A condition under which a key has an effect; `#[needs(…)]` names one of these. `conditions.rs` says when it is met.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Need {
    Racks,
    NoGss,
    NoSack,
    Sack,
    Probes,
    Ticks,
    RackTimers,
    Validation,
    Undo,
    HyStart,
    Variance,
    DelayedAcks,
    DelayedAcksAndGaps,
    DelayedAcksAndEcn,
    Ecn,
    Deadlines,
    SeveralClients,
    Load,
    Service,
    Hubs,
    AsksServers,
    Windowed,
    Zipfian,
    TwoClasses,
    Pages,
    Plan,
    Gathers,
    Reordered,
    Reordering,
    Memory,
    NoMemory,
    AnyHosts,
    Tree,
    Generator,
    Drain,
    Rdma,
    Classes,
    ClassesOfRdma,
}

/// Declares an enum whose values are words of a scenario, with aliases after bars. With `for`, declares words for an enum of another
/// crate.
macro_rules! words {
    (for $name:ident, $form:literal { $($variant:ident = $word:literal $(| $also:literal)*,)* }) => {
        impl crate::setting::Setting for $name {
            const FORM: &'static str = $form;
            fn read(literal: &crate::Literal) -> Result<$name, String> {
                const WORDS: &[(&[&str], $name)] = &[$((&[$word $(, $also)*], $name::$variant)),*];
                crate::declare::meant(literal, WORDS)
            }
            fn show(&self) -> String {
                format!("\"{}\"", match self { $($name::$variant => $word,)* })
            }
        }
    };
    ($(#[$doc:meta])* $name:ident, $form:literal {
        $($(#[doc = $vdoc:literal])* $variant:ident = $word:literal $(| $also:literal)*,)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[doc = $vdoc])* $variant,)* }

        crate::declare::words! { for $name, $form { $($variant = $word $(| $also)*,)* } }

        impl $name {
            /// The word for it in a scenario.
            pub const fn word(self) -> &'static str {
                match self { $($name::$variant => $word,)* }
            }

            /// Every value with its documentation, in the order of declaration.
            pub fn all() -> Vec<($name, &'static str)> {
                vec![$(($name::$variant, concat!($($vdoc),*).trim_ascii())),*]
            }
        }
    };
}
pub(crate) use words;

/// The value that a word names, among several words per value.
pub(crate) fn meant<T: Copy>(literal: &Literal, words: &[(&[&str], T)]) -> Result<T, String> {
    let Literal::Text(text) = literal else { return Err("it is not a word".into()) };
    let found = words.iter().find(|(names, _)| names.iter().any(|name| same_word(name, text)));
    found.map(|(_, value)| *value).ok_or_else(|| {
        let near = near(&text.to_ascii_lowercase(), words.iter().map(|(names, _)| *names));
        format!("\"{text}\" is not one of these{near}{}", limits::hint(text))
    })
}

/// The text "(did you mean `x`?)" for the first name that shares a part with the word or is close to it.
fn near<'a>(word: &str, names: impl Iterator<Item = &'a [&'a str]> + Clone) -> String {
    /// Shorter parts match too many names.
    const TELLING: usize = 3;
    let is_part = |part: &str, whole: &str| part.len() >= TELLING && whole.contains(part);
    let mut others = names.clone().filter(|names| names.iter().any(|name| is_part(name, word) || is_part(word, name)));
    match (others.next(), others.next()) {
        (Some(only), None) => format!(" (did you mean `{}`?)", only[0]),
        _ => did_you_mean(word, names.flatten().copied()),
    }
}

/// Declares a section of the scenario: a struct with its keys, defaults and documentation. Optional attributes: `#[only(Barrier,
/// WebSearch)]` lists the workloads that use a section or key; `#[needs(Load)]` names a condition ([`Need`]) under which a key has an
/// effect; `#[range(1..=64, "why")]` gives a range and, if not obvious, the reason. Sections of algorithms belong to their schemes
/// (`Scheme::sections`).
macro_rules! section {
    ($(#[doc = $doc:literal])* $(#[only($($all:ident),*)])? $name:ident in $section:literal {
        $($(#[doc = $kdoc:literal])* $(#[only($($kind:ident),*)])? $(#[needs($need:ident)])?
        $(#[range($range:expr $(, $why:literal)?)])?
        $key:ident: $type:ty = $default:expr,)*
    }) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name { $($(#[doc = $kdoc])* pub $key: $type,)* }

        impl Default for $name {
            fn default() -> $name {
                $name { $($key: $default,)* }
            }
        }

        impl crate::declare::Section for $name {
            const NAME: &'static str = $section;
            const DOC: &'static str = concat!($($doc),*);
            const KEYS: &'static [&'static str] = &[$(stringify!($key)),*];
            const WORKLOADS: &'static [&'static str] = &[$($(crate::Kind::$all.word()),*)?];

            fn set(&mut self, key: &str, literal: &crate::Literal) -> Result<(), String> {
                match key {
                    $(stringify!($key) => {
                        self.$key = <$type as crate::setting::Setting>::read(literal)
                            .map_err(|why| format!("{why}; use {}", <$type as crate::setting::Setting>::FORM))?;
                    })*
                    _ => unreachable!("keys are looked up before they are set"),
                }
                Ok(())
            }

            fn value(&self, key: &str) -> (String, Option<f64>) {
                match key {
                    $(stringify!($key) => (crate::setting::Setting::show(&self.$key), crate::setting::Setting::number(&self.$key)),)*
                    _ => unreachable!("keys are looked up before they are asked for"),
                }
            }

            fn out_of_range(&self) -> Option<(&'static str, String)> {
                $($({
                    let path = concat!($section, ".", stringify!($key));
                    let range = crate::range::Range::of($range, concat!($($why)?));
                    if let Some(what) = range.refuses(path, crate::range::Ranged::values(&self.$key)) {
                        return Some((path, what));
                    }
                })?)*
                None
            }

            fn docs(&self) -> Vec<crate::declare::KeyDoc> {
                vec![$(crate::declare::KeyDoc {
                    path: format!("{}.{}", $section, stringify!($key)),
                    form: <$type as crate::setting::Setting>::FORM,
                    range: [$(crate::range::Range::of($range, "").says())?].first().cloned(),
                    default: crate::setting::Setting::show(&self.$key),
                    doc: concat!($($kdoc),*).trim().to_string(),
                    workloads: match const { &[$($(crate::Kind::$kind.word()),*)?] as &[&str] } {
                        [] => Self::WORKLOADS,
                        own => own,
                    },
                    need: [$(crate::declare::Need::$need)?].first().copied(),
                }),*]
            }
        }
    };
}
pub(crate) use section;

/// A section of the scenario, declared by [`section!`].
pub(crate) trait Section: Default {
    const NAME: &'static str;
    const DOC: &'static str;
    const KEYS: &'static [&'static str];
    /// The workloads that use it; empty for all.
    const WORKLOADS: &'static [&'static str];
    fn set(&mut self, key: &str, literal: &Literal) -> Result<(), String>;
    /// A key's value as text, and its rank.
    fn value(&self, key: &str) -> (String, Option<f64>);
    /// The first key whose value is out of range, and the error.
    fn out_of_range(&self) -> Option<(&'static str, String)>;
    fn docs(&self) -> Vec<KeyDoc>;
}
