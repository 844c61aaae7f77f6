//! Messages on connections, and the meanings of messages and timers for their application. The simulator carries meanings
//! without interpreting them.

use fanin_units::Time;

/// A message of `bytes`, reported to the receiver when the last byte arrives.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// At least one.
    pub bytes: u64,
    /// Its meaning.
    pub meaning: Meaning,
    /// Its deadline; `NEVER` for none.
    pub deadline: Time,
}

impl Message {
    /// A message without a deadline.
    pub fn new(bytes: u64, meaning: impl Into<Meaning>) -> Message {
        Message { bytes, meaning: meaning.into(), deadline: Time::NEVER }
    }
}

/// An encoded meaning: its kind and a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meaning {
    /// Its index among the application's meanings.
    pub kind: u8,
    /// Its number; zero for none.
    pub number: u32,
}

/// An enum of meanings, each with a number or none. Timers of one instant are due in the order of the enum, then of numbers.
///
/// ```
/// fanin_driver::meanings! {
///     enum Timer { Serve(server), End }
/// }
/// assert_eq!(Timer::from(fanin_driver::Meaning::from(Timer::Serve(7))), Timer::Serve(7));
/// ```
#[macro_export]
macro_rules! meanings {
    ($(#[$attribute:meta])* $visibility:vis enum $name:ident { $($(#[$doc:meta])* $variant:ident $(($number:ident))?),* $(,)? }) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $visibility enum $name { $($(#[$doc])* $variant $(($crate::meanings!(@number $number)))?),* }

        const _: () = {
            enum Kind { $($variant),* }

            impl From<$name> for $crate::Meaning {
                fn from(meaning: $name) -> Self {
                    #[allow(unused_mut, unused_assignments, reason = "a meaning may have no number")]
                    match meaning {
                        $($name::$variant $(($number))? => {
                            let mut number = 0;
                            $(number = $number;)?
                            Self { kind: Kind::$variant as u8, number }
                        })*
                    }
                }
            }

            impl From<$crate::Meaning> for $name {
                fn from(meaning: $crate::Meaning) -> Self {
                    match meaning.kind {
                        $(kind if kind == Kind::$variant as u8 => $name::$variant $(($crate::meanings!(@of $number meaning.number)))?,)*
                        kind => unreachable!("an application gets only its own messages, not {kind}"),
                    }
                }
            }
        };
    };
    (@number $number:ident) => { u32 };
    (@of $number:ident $value:expr) => { $value };
}

#[cfg(test)]
mod tests {
    use super::Meaning;

    meanings! {
        enum Timer { Serve(server), End }
    }

    #[test]
    fn meanings_round_trip() {
        for timer in [Timer::Serve(0), Timer::Serve(u32::MAX), Timer::End] {
            assert_eq!(Timer::from(Meaning::from(timer)), timer);
        }
        assert_eq!(Meaning::from(Timer::Serve(7)), Meaning { kind: 0, number: 7 });
        assert_eq!(Meaning::from(Timer::End), Meaning { kind: 1, number: 0 });
    }
}
