//! Macros that declare sections, keys and words of a scenario, each in one place.

use crate::literal::Literal;
use crate::problem::{did_you_mean, same_word};
use crate::{Scheme, Settings, limits};

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
    pub(crate) need: Option<&'static Condition>,
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

/// A condition under which a key has an effect.
#[derive(Debug)]
pub(crate) struct Condition {
    pub(crate) met: fn(&Scheme, &Settings) -> bool,
    /// Why the key has no effect otherwise.
    pub(crate) without: &'static str,
}

/// Conditions; `#[needs(…)]` names one of these.
pub(crate) mod needs {
    use super::Condition;
    use crate::{FabricKind, FanOut, MaxAckDelay, Popularity, ServerOrder};

    pub(crate) const RACKS: Condition = Condition {
        met: |_, s| matches!(s.fabric.kind, FabricKind::LeafSpine | FabricKind::FatTree),
        without: "this fabric has no racks; leaf-spine and fat-tree do",
    };
    pub(crate) const NO_GSS: Condition =
        Condition { met: |scheme, _| !scheme.gss, without: "gentle slow start uses `gss.initial_window` instead" };
    pub(crate) const NO_SACK: Condition =
        Condition { met: |_, s| !s.tcp.sack, without: "recovery uses SACK; set `tcp.sack = false` for NewReno's" };
    pub(crate) const SACK: Condition =
        Condition { met: |_, s| s.tcp.sack, without: "ACK compression needs `tcp.sack`" };
    pub(crate) const PROBES: Condition =
        Condition { met: |_, s| s.tcp.tail_loss_probe, without: "there are no probes without `tcp.tail_loss_probe`" };
    pub(crate) const TICKS: Condition =
        Condition { met: |_, s| s.tcp.tick.0 > 0, without: "timers are exact unless `tcp.tick` is above zero" };
    pub(crate) const RACK_TIMERS: Condition = Condition {
        met: |_, s| s.tcp.rack || s.tcp.tail_loss_probe,
        without: "there is no such timer without `tcp.rack` or `tcp.tail_loss_probe`",
    };
    pub(crate) const VALIDATION: Condition = Condition {
        met: |_, s| s.tcp.rack || s.tcp.tail_loss_probe,
        without: "window validation needs `tcp.rack` or `tcp.tail_loss_probe`",
    };
    pub(crate) const UNDO: Condition = Condition {
        met: |_, s| s.tcp.rack || s.tcp.tail_loss_probe,
        without: "undo needs `tcp.rack` or `tcp.tail_loss_probe`",
    };
    pub(crate) const RACK: Condition =
        Condition { met: |_, s| s.tcp.rack, without: "time-based loss detection needs `tcp.rack`" };
    pub(crate) const VARIANCE: Condition = Condition {
        met: |_, s| s.tcp.rack || s.tcp.tail_loss_probe,
        without: "RFC 6298's is used without `tcp.rack` or `tcp.tail_loss_probe`",
    };
    pub(crate) const DELAYED_ACKS: Condition = Condition {
        met: |_, s| {
            s.tcp.delayed_ack > 1 || (s.tcp.tail_loss_probe && s.tcp.max_ack_delay == MaxAckDelay::DelayedAckTimeout)
        },
        without: "ACKs are not delayed with `tcp.delayed_ack = 1`",
    };
    pub(crate) const DELAYED_ACKS_AND_GAPS: Condition = Condition {
        met: |_, s| s.tcp.delayed_ack > 1 && s.workload.request_gap > fanin_units::Time::ZERO,
        without: "ACKs are not delayed with `tcp.delayed_ack = 1`, and a client reads immediately without `workload.request_gap`",
    };
    pub(crate) const DELAYED_ACKS_AND_ECN: Condition = Condition {
        met: |scheme, s| s.tcp.delayed_ack > 1 && scheme.ecn,
        without: "there is no CWR without ECN, and ACKs are not delayed with `tcp.delayed_ack = 1`",
    };
    pub(crate) const ECN: Condition = Condition {
        met: |scheme, _| scheme.ecn,
        without: "none of these schemes uses ECN; dctcp and newreno+red+ecn do",
    };
    pub(crate) const DEADLINES: Condition = Condition {
        met: |scheme, _| scheme.base.row().reads_keys.contains(&"workload.deadline"),
        without: "only d2tcp uses it",
    };
    pub(crate) const SEVERAL_CLIENTS: Condition =
        Condition { met: |_, s| s.clients() > 1, without: "there is one client; set `workload.clients` to 2 or more" };
    pub(crate) const LOAD: Condition = Condition {
        met: |_, s| s.workload.load.0.is_some(),
        without: "there are no Poisson flows without `workload.load`",
    };
    pub(crate) const SERVICE: Condition = Condition {
        met: |_, s| s.service.queries_per_s.0.is_some(),
        without: "there is no service without `service.queries_per_s`",
    };
    pub(crate) const HUBS: Condition = Condition {
        met: |scheme, s| scheme.fan_out.is_some_and(|fan_out| fan_out.parts(&s.fan_outs.sicc).is_some()),
        without: "none of these schemes uses hubs; sicc does",
    };
    pub(crate) const WINDOWED: Condition = Condition {
        met: |scheme, _| matches!(scheme.fan_out, Some(FanOut::SlidingWindow | FanOut::IctcpWindow)),
        without: "none of these schemes has a concurrency limit over servers; sw and ictcp-window do",
    };
    pub(crate) const ZIPFIAN: Condition = Condition {
        met: |_, s| matches!(s.key_value.popularity, Popularity::Zipfian | Popularity::Pages),
        without: "requests do not follow ranks; set `key_value.popularity` to \"zipfian\" or \"pages\"",
    };
    pub(crate) const TWO_CLASSES: Condition = Condition {
        met: |_, s| s.key_value.popularity == Popularity::TwoClass,
        without: "there are no two classes of objects without `key_value.popularity = \"two-class\"`",
    };
    pub(crate) const PAGES: Condition = Condition {
        met: |_, s| s.key_value.popularity == Popularity::Pages,
        without: "there are no pages without `key_value.popularity = \"pages\"`",
    };
    pub(crate) const PLAN: Condition = Condition {
        met: |scheme, s| s.key_value.placement.0.is_some() || scheme.gathering.is_some(),
        without: "objects do not move without `key_value.placement` or a scheme with a placement, such as picc",
    };
    pub(crate) const GATHERS: Condition = Condition {
        met: |scheme, _| scheme.gathering.is_some(),
        without: "there is no placement without a scheme that has one, such as picc, or `fanin plan`",
    };
    pub(crate) const REORDERED: Condition = Condition {
        met: |scheme, s| match s.key_value.server {
            ServerOrder::Parallel => false,
            ServerOrder::Fifo => scheme.gathering.is_some(),
            ServerOrder::Reordered => true,
        },
        without: "servers do not reorder without `key_value.server = \"reordered\"`",
    };
    pub(crate) const REORDERING: Condition = Condition {
        met: |_, s| !s.faults.reordering.is_zero(),
        without: "packets are not reordered without `faults.reordering`",
    };
    pub(crate) const MEMORY: Condition = Condition {
        met: |_, s| s.switch.shared_buffer.0.is_some(),
        without: "each port has its own buffer without `switch.shared_buffer`",
    };
    pub(crate) const NO_MEMORY: Condition = Condition {
        met: |_, s| s.switch.shared_buffer.0.is_none(),
        without: "ports share `switch.shared_buffer`, divided by `switch.alpha`",
    };
    pub(crate) const ANY_HOSTS: Condition = Condition {
        met: |_, s| {
            let w = &s.workload;
            !w.kind.many_to_one() || w.load.0.is_some() || w.file.0.is_some() || s.service.queries_per_s.0.is_some()
        },
        without: "no flows run between any hosts without `workload.load`, `workload.file` or a service",
    };
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
/// WebSearch)]` lists the workloads that use a section or key; `#[needs(LOAD)]` names a condition of [`needs`] under which a key has an
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
                    need: [$(&crate::declare::needs::$need)?].first().copied(),
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
