//! How sections of a scenario, their keys and their words are declared: each once, in one text.

use crate::literal::Literal;
use crate::problem::{did_you_mean, same_word};
use crate::{Scheme, Settings, limits};

/// A key of the scenario, as the reference lists it.
#[derive(Clone, Debug)]
pub struct KeyDoc {
    /// The full path, such as `link.rate`.
    pub path: String,
    /// What a right value looks like.
    pub form: &'static str,
    /// In what range it lies, where its declaration says so.
    pub range: Option<String>,
    /// The default, printed as a scenario would have it.
    pub default: String,
    /// What it means.
    pub doc: String,
    /// The workloads that look at it, by their words; empty where all do.
    pub workloads: &'static [&'static str],
    /// What else has to be so for it to matter.
    pub(crate) need: Option<&'static Condition>,
}

impl KeyDoc {
    /// The section that it is in.
    pub fn section(&self) -> &str {
        self.path.split('.').next().unwrap_or_default()
    }

    /// What a right value is: its form, and its range.
    pub fn right(&self) -> String {
        match &self.range {
            Some(range) => format!("{}; {range}", self.form),
            None => self.form.into(),
        }
    }

    /// Which workloads alone look at it, to stand behind what it means; empty where all do.
    pub fn scope(&self) -> String {
        match self.workloads {
            [] => String::new(),
            // The section's name says it.
            [word] if self.section() == *word => String::new(),
            words => format!(" ({} alone)", words.join(", ")),
        }
    }
}

/// What has to be so for a key to matter.
#[derive(Debug)]
pub(crate) struct Condition {
    pub(crate) met: fn(&Scheme, &Settings) -> bool,
    /// Why it does not matter where that is not so.
    pub(crate) without: &'static str,
}

/// What keys need; `#[needs(…)]` names one of these.
pub(crate) mod needs {
    use super::Condition;
    use crate::{FabricKind, FanOut, MaxAckDelay, Popularity, ServerOrder};

    pub(crate) const RACKS: Condition = Condition {
        met: |_, s| matches!(s.fabric.kind, FabricKind::LeafSpine | FabricKind::FatTree),
        without: "this fabric has no racks to fill; leaf-spine and fat-tree have",
    };
    pub(crate) const NO_GSS: Condition = Condition {
        met: |scheme, _| !scheme.gss,
        without: "gentle slow start begins at `gss.initial_window` in its place",
    };
    pub(crate) const NO_SACK: Condition =
        Condition { met: |_, s| !s.tcp.sack, without: "recovery goes by SACK; `tcp.sack = false` makes it NewReno's" };
    pub(crate) const SACK: Condition =
        Condition { met: |_, s| s.tcp.sack, without: "ACKs wait for more with `tcp.sack` alone" };
    pub(crate) const PROBES: Condition =
        Condition { met: |_, s| s.tcp.tail_loss_probe, without: "there are no probes without `tcp.tail_loss_probe`" };
    pub(crate) const TICKS: Condition =
        Condition { met: |_, s| s.tcp.tick.0 > 0, without: "clocks have no ticks unless `tcp.tick` is above zero" };
    pub(crate) const RACK_TIMERS: Condition = Condition {
        met: |_, s| s.tcp.rack || s.tcp.tail_loss_probe,
        without: "there is no such timer without `tcp.rack` or `tcp.tail_loss_probe`",
    };
    pub(crate) const VALIDATION: Condition = Condition {
        met: |_, s| s.tcp.rack || s.tcp.tail_loss_probe,
        without: "windows are validated with `tcp.rack` or `tcp.tail_loss_probe` alone",
    };
    pub(crate) const UNDO: Condition = Condition {
        met: |_, s| s.tcp.rack || s.tcp.tail_loss_probe,
        without: "nothing is undone without `tcp.rack` or `tcp.tail_loss_probe`",
    };
    pub(crate) const RACK: Condition =
        Condition { met: |_, s| s.tcp.rack, without: "no loss is told by time without `tcp.rack`" };
    pub(crate) const VARIANCE: Condition = Condition {
        met: |_, s| s.tcp.rack || s.tcp.tail_loss_probe,
        without: "it is RFC 6298's without `tcp.rack` or `tcp.tail_loss_probe`",
    };
    pub(crate) const DELAYED_ACKS: Condition = Condition {
        met: |_, s| {
            s.tcp.delayed_ack > 1 || (s.tcp.tail_loss_probe && s.tcp.max_ack_delay == MaxAckDelay::DelayedAckTimeout)
        },
        without: "no ACK is kept back with `tcp.delayed_ack = 1`",
    };
    pub(crate) const DELAYED_ACKS_AND_GAPS: Condition = Condition {
        met: |_, s| s.tcp.delayed_ack > 1 && s.workload.request_gap > fanin_units::Time::ZERO,
        without: "no ACK is kept back with `tcp.delayed_ack = 1`, and a client reads at once without `workload.request_gap`",
    };
    pub(crate) const DELAYED_ACKS_AND_ECN: Condition = Condition {
        met: |scheme, s| s.tcp.delayed_ack > 1 && scheme.ecn,
        without: "no segment says CWR without ECN, and no ACK is kept back with `tcp.delayed_ack = 1`",
    };
    pub(crate) const ECN: Condition =
        Condition { met: |scheme, _| scheme.ecn, without: "no scheme here uses ECN; dctcp and newreno+red+ecn do" };
    pub(crate) const DEADLINES: Condition = Condition {
        met: |scheme, _| scheme.base.row().heeds.contains(&"workload.deadline"),
        without: "d2tcp alone looks at it",
    };
    pub(crate) const SEVERAL_CLIENTS: Condition =
        Condition { met: |_, s| s.clients() > 1, without: "there is one client; `workload.clients` of 2 would be two" };
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
        without: "no scheme here asks through hubs; sicc does",
    };
    pub(crate) const WINDOWED: Condition = Condition {
        met: |scheme, _| matches!(scheme.fan_out, Some(FanOut::SlidingWindow | FanOut::IctcpWindow)),
        without: "no scheme here has a window over servers; sw and ictcp-window do",
    };
    pub(crate) const ZIPFIAN: Condition = Condition {
        met: |_, s| matches!(s.key_value.popularity, Popularity::Zipfian | Popularity::Pages),
        without: "nothing is asked for by rank; `key_value.popularity` of \"zipfian\" or \"pages\" would",
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
        without: "no object is moved without `key_value.placement` or a scheme that gathers, such as picc",
    };
    pub(crate) const GATHERS: Condition = Condition {
        met: |scheme, _| scheme.gathering.is_some(),
        without: "nothing is planned without a scheme that gathers, such as picc, or `fanin plan`",
    };
    pub(crate) const REORDERED: Condition = Condition {
        met: |scheme, s| match s.key_value.server {
            ServerOrder::Parallel => false,
            ServerOrder::Fifo => scheme.gathering.is_some(),
            ServerOrder::Reordered => true,
        },
        without: "no server reorders what it sends without `key_value.server = \"reordered\"`",
    };
    pub(crate) const REORDERING: Condition = Condition {
        met: |_, s| !s.faults.reordering.is_zero(),
        without: "no packet comes late without `faults.reordering`",
    };
    pub(crate) const MEMORY: Condition = Condition {
        met: |_, s| s.switch.shared_buffer.0.is_some(),
        without: "each port has a buffer of its own without `switch.shared_buffer`",
    };
    pub(crate) const NO_MEMORY: Condition = Condition {
        met: |_, s| s.switch.shared_buffer.0.is_none(),
        without: "ports share `switch.shared_buffer`, and `switch.alpha` says what one gets",
    };
    pub(crate) const ANY_HOSTS: Condition = Condition {
        met: |_, s| {
            let w = &s.workload;
            !w.kind.many_to_one() || w.load.0.is_some() || w.file.0.is_some() || s.service.queries_per_s.0.is_some()
        },
        without: "nothing here goes between any hosts: `workload.load`, `workload.file` and a service would, beside the servers that answer",
    };
}

/// Declares an enum whose values are words in a scenario, each with other words for it behind bars; with `for`, gives such
/// words to one of another crate, which acts by it.
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
            /// The word that stands for it in a scenario.
            pub const fn word(self) -> &'static str {
                match self { $($name::$variant => $word,)* }
            }

            /// Every value with what it means, in the order of their declaration.
            pub fn all() -> Vec<($name, &'static str)> {
                vec![$(($name::$variant, concat!($($vdoc),*).trim_ascii())),*]
            }
        }
    };
}
pub(crate) use words;

/// The value that a word stands for, among several words a value.
pub(crate) fn meant<T: Copy>(literal: &Literal, words: &[(&[&str], T)]) -> Result<T, String> {
    let Literal::Text(text) = literal else { return Err("it is not a word".into()) };
    let found = words.iter().find(|(names, _)| names.iter().any(|name| same_word(name, text)));
    found.map(|(_, value)| *value).ok_or_else(|| {
        let near = near(&text.to_ascii_lowercase(), words.iter().map(|(names, _)| *names));
        format!("\"{text}\" is not one of these{near}{}", limits::hint(text))
    })
}

/// The text "(did you mean `x`?)" for the first name of those that have a part in common with a word, or are near it.
fn near<'a>(word: &str, names: impl Iterator<Item = &'a [&'a str]> + Clone) -> String {
    /// What is shorter is a part of too many.
    const TELLING: usize = 3;
    let is_part = |part: &str, whole: &str| part.len() >= TELLING && whole.contains(part);
    let mut others = names.clone().filter(|names| names.iter().any(|name| is_part(name, word) || is_part(word, name)));
    match (others.next(), others.next()) {
        (Some(only), None) => format!(" (did you mean `{}`?)", only[0]),
        _ => did_you_mean(word, names.flatten().copied()),
    }
}

/// Declares a section of the scenario: a struct, its keys, their defaults and documentation, from one text. A key or
/// section that not every workload looks at names those that do: `#[only(Barrier, WebSearch)]`. A key that matters under
/// some condition alone names that: `#[needs(LOAD)]`, of [`needs`]. A key whose values lie in a range says so, and
/// why where that is not plain: `#[range(1..=64, "why")]`. Sections of laws are their schemes' own
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
                            .map_err(|why| format!("{why}; right would be {}", <$type as crate::setting::Setting>::FORM))?;
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

/// A section of the scenario, as [`section!`] declares it.
pub(crate) trait Section: Default {
    const NAME: &'static str;
    const DOC: &'static str;
    const KEYS: &'static [&'static str];
    /// The workloads that look at it; empty where all do.
    const WORKLOADS: &'static [&'static str];
    fn set(&mut self, key: &str, literal: &Literal) -> Result<(), String>;
    /// A key's value, printed, and its place among others.
    fn value(&self, key: &str) -> (String, Option<f64>);
    /// The first key whose value lies out of its range, and what is wrong with it.
    fn out_of_range(&self) -> Option<(&'static str, String)>;
    fn docs(&self) -> Vec<KeyDoc>;
}
