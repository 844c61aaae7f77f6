//! Speed of a link.

use fanin_units::Rate;

/// Speed of a link: picoseconds per byte if that is a whole number; else bits per second, with the highest bit set.
#[derive(Clone, Copy)]
pub(crate) struct Pace(u64);

impl Pace {
    const BITS_A_SECOND: u64 = 1 << 63;

    pub fn of(rate: Rate) -> Pace {
        let bits_ps = 8_000_000_000_000u64;
        let whole = bits_ps.is_multiple_of(rate.0);
        Pace(if whole { bits_ps / rate.0 } else { Pace::BITS_A_SECOND | rate.0 })
    }

    /// Transmission time of `bytes`.
    #[inline(always)]
    pub fn time_for(self, bytes: u32) -> u64 {
        match self.0 & Pace::BITS_A_SECOND {
            0 => self.0 * u64::from(bytes),
            _ => Rate(self.0 & !Pace::BITS_A_SECOND).time_for(bytes.into()).0,
        }
    }
}
