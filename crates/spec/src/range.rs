//! In what range a setting's values lie, as its declaration says.

use std::ops::{Bound, RangeBounds};

use fanin_units::{Bytes, Rate, Ratio, Share, Time};

use crate::setting::{Optional, Setting};

/// The largest fan-in: hosts are numbered in 32 bits, and a million is beyond any switch.
pub(crate) const FAN_IN_MAX: u32 = 1_000_000;

/// The most clients that ask at once.
pub(crate) const CLIENTS_MAX: u32 = 4_096;

/// The slowest link. The time that packets take is counted in picoseconds, of which 64 bits hold 213 days: at this rate, 2 GB.
pub(crate) const RATE_MIN: Rate = Rate(1_000);

/// The fastest link: a full packet takes some twelve picoseconds, and of what is faster all would come at once.
pub(crate) const RATE_MAX: Rate = Rate(1_000_000_000_000_000);

/// The least share above zero.
pub(crate) const LEAST_SHARE: Share = Share::of(1, u32::MAX);

/// A value with an order.
pub(crate) trait Ordered: Setting {
    /// Its place among others.
    fn place(&self) -> u64;

    /// Whether there is a least value above zero that nobody would write: that of a clock, or of arithmetic.
    const FINE: bool;

    /// As a message has it.
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
    // In 2^-32, rounded down: what is above zero has one at least.
    Share, fine true: |share| (share.as_f64() * 4_294_967_296.0) as u64;
}

/// A setting whose declaration may say in what range it lies: the values in it that do.
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

/// From which value to which, both among the right ones, and why.
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

    /// What right values are.
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

    /// What is wrong with a key's values, if anything.
    pub fn refuses(&self, path: &str, values: &[T]) -> Option<String> {
        let under = |value: &T| self.least.is_some_and(|least| value.place() < least.place());
        let over = |value: &T| self.most.is_some_and(|most| value.place() > most.place());
        let wrong = values.iter().find(|value| under(value) || over(value))?;
        let why = if self.why.is_empty() { String::new() } else { format!(" ({})", self.why) };
        Some(format!("`{path}` of {}: right would be {}{why}", wrong.bound(), self.says()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;

    #[test]
    fn a_range_is_said_in_the_values_own_units() {
        assert_eq!(Range::of(Bytes(64)..=Bytes(9_000), "").says(), "64 B to 9 KB");
        assert_eq!(Range::of(..=Time::from_secs(10), "").says(), "at most 10 s");
        assert_eq!(Range::of(1u32.., "").says(), "at least 1");
        assert_eq!(Range::of(Time(1).., "").says(), "above 0");
        assert_eq!(Range::of(LEAST_SHARE..=Share::of(1, 2), "").says(), "above 0 and at most 1/2");
    }

    #[test]
    fn what_lies_out_of_a_range_is_refused_with_it_and_its_ends_are_not() {
        let range = Range::of(1..=64, "1 acknowledges every packet");
        assert_eq!((range.refuses("tcp.delayed_ack", &[1, 64]), range.refuses("tcp.delayed_ack", &[])), (None, None));
        let said = "`tcp.delayed_ack` of 65: right would be 1 to 64 (1 acknowledges every packet)";
        assert_eq!(range.refuses("tcp.delayed_ack", &[7, 65, 0]), Some(said.into()));
        let above_zero = Range::of(LEAST_SHARE.., "");
        assert_eq!(above_zero.refuses("x.y", &[Share::of(1, u32::MAX)]), None);
        assert_eq!(above_zero.refuses("x.y", &[Share::of(0, 7)]), Some("`x.y` of 0: right would be above 0".into()));
    }

    #[test]
    fn every_default_lies_in_its_range() {
        assert_eq!(Settings::default().out_of_range(|_, _| true), None);
    }
}
