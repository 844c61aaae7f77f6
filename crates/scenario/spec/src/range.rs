//! Declared ranges of settings.

use std::ops::{Bound, RangeBounds};

use fanin_units::{Bytes, Rate, Ratio, Share, Time};

use crate::setting::{Optional, Setting};

/// The largest fan-in: hosts are numbered in 32 bits, and a million is beyond any switch.
pub(crate) const FAN_IN_MAX: u32 = 1_000_000;

/// Maximum number of clients.
pub(crate) const CLIENTS_MAX: u32 = 4_096;

/// Minimum link rate. Transmission times are in 64-bit picoseconds, which overflow after 213 days: at this rate, 2 GB.
pub(crate) const RATE_MIN: Rate = Rate(1_000);

/// Maximum link rate: a full packet takes about twelve picoseconds; beyond that, transmission times round to zero.
pub(crate) const RATE_MAX: Rate = Rate(1_000_000_000_000_000);

/// The smallest share above zero.
pub(crate) const LEAST_SHARE: Share = Share::of(1, u32::MAX);

/// An ordered value.
pub(crate) trait Ordered: Setting {
    /// Rank for comparison.
    fn place(&self) -> u64;

    /// Whether the type's smallest value above zero is an artefact of its resolution, which messages show as "above 0".
    const FINE: bool;

    /// The value in a message.
    fn bound(&self) -> String {
        self.show().trim_matches('"').into()
    }
}

macro_rules! ordered {
    ($($type:ty, fine $fine:literal: $place:expr;)*) => {
        $(impl Ordered for $type {
            const FINE: bool = $fine;
            fn place(&self) -> u64 {
                let place: fn($type) -> u64 = $place;
                place(*self)
            }
        })*
    };
}

ordered! {
    u32, fine false: u64::from;
    Bytes, fine false: |bytes| bytes.0;
    Rate, fine false: |rate| rate.0;
    Time, fine true: |time| time.0;
    Ratio, fine false: |ratio| ratio.in_q16();
    // In units of 2^-32, rounded down.
    Share, fine true: |share| (share.as_f64() * 4_294_967_296.0) as u64;
}

/// A setting that can have a declared range.
pub(crate) trait Ranged {
    type Of: Ordered;
    fn values(&self) -> &[Self::Of];
}

impl<T: Ordered> Ranged for T {
    type Of = T;
    fn values(&self) -> &[T] {
        std::slice::from_ref(self)
    }
}

impl<T: Ordered> Ranged for Optional<T> {
    type Of = T;
    fn values(&self) -> &[T] {
        self.0.as_slice()
    }
}

/// An inclusive range, and the reason for it.
pub(crate) struct Range<T> {
    least: Option<T>,
    most: Option<T>,
    why: &'static str,
}

impl<T: Ordered + Copy> Range<T> {
    pub fn of(range: impl RangeBounds<T>, why: &'static str) -> Range<T> {
        let bound = |bound| match bound {
            Bound::Included(&value) => Some(value),
            Bound::Excluded(_) => unreachable!("a range of settings holds its ends"),
            Bound::Unbounded => None,
        };
        Range { least: bound(range.start_bound()), most: bound(range.end_bound()), why }
    }

    /// The valid values, in words.
    pub fn says(&self) -> String {
        let above_zero = self.least.is_some_and(|least| least.place() == 1 && T::FINE);
        match (&self.least, &self.most) {
            (None, None) => "any".into(),
            (None, Some(most)) => format!("at most {}", most.bound()),
            (Some(_), None) if above_zero => "above 0".into(),
            (Some(_), Some(most)) if above_zero => format!("above 0 and at most {}", most.bound()),
            (Some(least), None) => format!("at least {}", least.bound()),
            (Some(least), Some(most)) => format!("{} to {}", least.bound(), most.bound()),
        }
    }

    /// The error for a key with these values, if any is out of range.
    pub fn refuses(&self, path: &str, values: &[T]) -> Option<String> {
        let under = |value: &T| self.least.is_some_and(|least| value.place() < least.place());
        let over = |value: &T| self.most.is_some_and(|most| value.place() > most.place());
        let wrong = values.iter().find(|value| under(value) || over(value))?;
        let why = if self.why.is_empty() { String::new() } else { format!(" ({})", self.why) };
        Some(format!("`{path}` of {}: use {}{why}", wrong.bound(), self.says()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;

    #[test]
    fn prints_ranges_in_the_values_units() {
        assert_eq!(Range::of(Bytes(64)..=Bytes(9_000), "").says(), "64 B to 9 KB");
        assert_eq!(Range::of(..=Time::from_secs(10), "").says(), "at most 10 s");
        assert_eq!(Range::of(1u32.., "").says(), "at least 1");
        assert_eq!(Range::of(Time(1).., "").says(), "above 0");
        assert_eq!(Range::of(LEAST_SHARE..=Share::of(1, 2), "").says(), "above 0 and at most 1/2");
    }

    #[test]
    fn refuses_values_outside_the_range_only() {
        let range = Range::of(1..=64, "1 acknowledges every packet");
        assert_eq!((range.refuses("tcp.delayed_ack", &[1, 64]), range.refuses("tcp.delayed_ack", &[])), (None, None));
        let said = "`tcp.delayed_ack` of 65: use 1 to 64 (1 acknowledges every packet)";
        assert_eq!(range.refuses("tcp.delayed_ack", &[7, 65, 0]), Some(said.into()));
        let above_zero = Range::of(LEAST_SHARE.., "");
        assert_eq!(above_zero.refuses("x.y", &[Share::of(1, u32::MAX)]), None);
        assert_eq!(above_zero.refuses("x.y", &[Share::of(0, 7)]), Some("`x.y` of 0: use above 0".into()));
    }

    #[test]
    fn all_defaults_are_in_range() {
        assert_eq!(Settings::default().out_of_range(|_, _| true), None);
    }
}
