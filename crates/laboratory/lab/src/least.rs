//! Lower bound of a round's duration.

use fanin_model::Parts;
use fanin_spec::{Scheme, Settings};

use crate::catalogue::figures;
use crate::stats::six_digits;
use crate::upper_bound::allowed;

figures! {
    /// Lower bound of a round's duration in ms.
    #[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
    #[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
    Least {} {
        /// Lower bound of a round of the first client by the closed form of `allowed_mbps`, or of an average burst; absent, like its
        /// parts, if unknown.
        whole_ms: f64, "ms";
        /// Part for packets on the wire.
        wire_ms: f64, "ms";
        /// Part for round trips, handshakes and slow start.
        round_trips_ms: f64, "ms";
        /// Part for servers' service times and start delays.
        work_ms: f64, "ms";
        /// Part for the requests before the last one.
        requests_ms: f64, "ms";
    }
}

impl Least {
    /// The lower bound for these settings, before any run; `None` without a closed form.
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
