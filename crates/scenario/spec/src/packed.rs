//! Serialised scheme and settings of a run, for another process with the same engine, which validates them again.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::scenario::loose_literal;
use crate::{Inputs, Invalid, Scheme, Settings, Variant};

/// Scheme and settings shared by runs that differ only in their seeds, without the contents of files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Packed {
    scheme: String,
    /// Section, key and value of each setting that differs from its default.
    set: Vec<[String; 3]>,
}

impl Packed {
    /// Packs a scheme with its settings.
    pub fn of(scheme: &Scheme, settings: &Settings) -> Packed {
        let (own, usual) = (settings.docs(), Settings::default().docs());
        let moved = own.into_iter().zip(usual).filter(|(own, usual)| own.default != usual.default);
        let set = moved.filter_map(|(own, _)| {
            let (section, key) = own.path.split_once('.')?;
            Some([section.into(), key.into(), own.default])
        });
        Packed { scheme: scheme.to_string(), set: set.collect() }
    }

    /// Unpacks and validates them, given the contents of files: a variant with one point, which makes runs for any seed.
    ///
    /// # Errors
    /// Data that this engine did not pack.
    pub fn unpack(&self, inputs: Inputs) -> Result<Variant, Invalid> {
        let mut settings = Settings { inputs, ..Settings::default() };
        for [section, key, value] in &self.set {
            if !Settings::keys_of(section).is_some_and(|keys| keys.contains(&key.as_str())) {
                return Err(format!("unknown key `{section}.{key}`").into());
            }
            settings.set(section, key, &loose_literal(value))?;
        }
        Variant::new("packed", Scheme::parse(&self.scheme)?, settings)
    }
}

impl Inputs {
    /// Whether both share the same objects in memory.
    pub fn is(&self, other: &Inputs) -> bool {
        fn one<T>(a: Option<&Arc<T>>, b: Option<&Arc<T>>) -> bool {
            match (a, b) {
                (Some(a), Some(b)) => Arc::ptr_eq(a, b),
                (None, None) => true,
                _ => false,
            }
        }
        one(self.flows.as_ref(), other.flows.as_ref())
            && one(self.sizes.as_ref(), other.sizes.as_ref())
            && one(self.bursts.as_ref(), other.bursts.as_ref())
            && one(self.matrix.as_ref(), other.matrix.as_ref())
            && one(self.pulls.as_ref(), other.pulls.as_ref())
            && one(self.trace.as_ref(), other.trace.as_ref())
            && one(self.requests.as_ref(), other.requests.as_ref())
            && one(self.plan.as_ref(), other.plan.as_ref())
    }
}

/// Serialises times as picoseconds.
pub(crate) mod ps {
    use fanin_units::Time;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(time: &Time, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(time.0)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Time, D::Error> {
        u64::deserialize(from).map(Time)
    }
}

/// Serialises lists of times as picoseconds.
pub(crate) mod list_of_ps {
    use fanin_units::Time;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(times: &[Time], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(times.iter().map(|time| time.0))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Time>, D::Error> {
        Ok(Vec::<u64>::deserialize(from)?.into_iter().map(Time).collect())
    }
}

/// Serialises moves as object, hosts, and whether correlation is the reason.
pub(crate) mod moves {
    use fanin_placement::{Move, Object, Reason, Server};
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(moves: &[Move], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(moves.iter().map(|of| (of.object.0, of.from.0, of.to.0, of.reason == Reason::Correlated)))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Move>, D::Error> {
        let read = |(object, from, to, correlated)| {
            let reason = if correlated { Reason::Correlated } else { Reason::Popular };
            Move { object: Object(object), from: Server(from), to: Server(to), reason }
        };
        Ok(Vec::<(u32, u32, u32, bool)>::deserialize(from)?.into_iter().map(read).collect())
    }
}
