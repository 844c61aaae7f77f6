//! What a round cannot do without.

use fanin_model::Parts;
use fanin_spec::{Scheme, Settings};

use crate::allowed::allowed;
use crate::catalogue::figures;
use crate::stats::six_digits;

figures! {
    /// What a round cannot do without, in ms.
    #[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
    #[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
    Least {} {
        /// What a round of the first client takes at the least by the closed form of `allowed_mbps`, a burst on average; absent
        /// where that is not known, as what it is made of.
        whole_ms: f64, "ms";
        /// Of it, packets on the wire.
        wire_ms: f64, "ms";
        /// Of it, ways there and back, handshakes and slow start.
        round_trips_ms: f64, "ms";
        /// Of it, what servers need, and are put off.
        work_ms: f64, "ms";
        /// Of it, the requests before the last one.
        requests_ms: f64, "ms";
    }
}

impl Least {
    /// What a round needs at the least with these settings, before anything is run; `None` where no closed form knows.
    pub fn known(scheme: &Scheme, s: &Settings) -> Option<Least> {
        Least::of(&allowed(scheme, s)?.round)
    }

    pub(crate) fn of(parts: &Parts) -> Option<Least> {
        let ms = |s: f64| six_digits(s * 1e3);
        (parts.all_s() > 0.0).then(|| Least {
            whole_ms: ms(parts.all_s()),
            wire_ms: ms(parts.wire_s),
            round_trips_ms: ms(parts.round_trips_s),
            work_ms: ms(parts.work_s),
            requests_ms: ms(parts.requests_s),
        })
    }
}
