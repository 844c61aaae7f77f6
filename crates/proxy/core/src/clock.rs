//! Clock of the daemon, in nanoseconds since start; only the log uses wall-clock time.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use fanin_units::Time;

/// Start of the clock.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

/// Nanoseconds since start.
pub type Nanos = u64;

/// Duration of a loop iteration from which on deadlines of its requests count from its end, ns: shorter ones do not matter to a timeout.
pub const LONG_TURN: Nanos = 1_000_000;

impl Clock {
    /// The clock, from now on.
    #[expect(
        clippy::disallowed_methods,
        reason = "a daemon's time is the machine's; everything else takes it as an argument"
    )]
    pub fn start() -> Clock {
        Clock(Instant::now())
    }

    /// Nanoseconds since its start.
    pub fn now(&self) -> Nanos {
        self.0.elapsed().as_nanos() as Nanos
    }
}

/// Unix time in nanoseconds, for a log.
#[expect(clippy::disallowed_methods, reason = "a log's time is the world's")]
pub fn unix() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

/// Time between two moments, for algorithms, which count in picoseconds.
pub fn span(from: Nanos, to: Nanos) -> Time {
    Time(to.saturating_sub(from).saturating_mul(1000))
}

/// A duration in nanoseconds, rounded down.
pub fn nanos(time: Time) -> Nanos {
    time.0 / 1000
}

/// When this clock has reached a time, if ever.
pub fn reaches(time: Time) -> Option<Nanos> {
    (time < Time::NEVER).then(|| time.0.div_ceil(1000))
}

/// Nanoseconds as a duration of the standard library.
pub fn duration(nanos: Nanos) -> Duration {
    Duration::from_nanos(nanos)
}
