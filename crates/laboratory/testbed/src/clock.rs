//! The run's clock, and timers that wake its event loop.
#![expect(clippy::disallowed_methods, reason = "a driver over sockets has a clock")]

use std::collections::BTreeMap;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::time::{Duration, Instant};

use fanin_driver::{Meaning, Owner};
use fanin_units::Time;
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

/// Clock and timers of a run.
pub struct Clock {
    started: Instant,
    /// Timers by time; those of one instant in the order in which they were set.
    timers: BTreeMap<(Time, u64), (Owner, Meaning)>,
    set: u64,
    /// Wakes the event loop: epoll's own timeout has milliseconds.
    alarm: TimerFd,
    /// Time for which it is set.
    alarm_at: Time,
}

impl Clock {
    /// A clock that starts now.
    pub fn start() -> nix::Result<Clock> {
        let alarm = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC)?;
        Ok(Clock { started: Instant::now(), timers: BTreeMap::new(), set: 0, alarm, alarm_at: Time::NEVER })
    }

    /// Time since the start.
    pub fn now(&self) -> Time {
        Time(u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX).saturating_mul(1_000))
    }

    /// Goes on from an earlier time, so that what was done since then took no time of the run.
    pub fn go_on_from(&mut self, earlier: Time) {
        self.started += Duration::from_nanos(self.now().since(earlier).0 / 1_000);
    }

    /// Sets a timer.
    pub fn after(&mut self, span: Time, owner: Owner, timer: Meaning) {
        self.set += 1;
        self.timers.insert((self.now().saturating_add(span), self.set), (owner, timer));
    }

    /// Takes a timer that is due by a time.
    pub fn due(&mut self, by: Time) -> Option<(Owner, Meaning)> {
        let first = self.timers.first_entry()?;
        (first.key().0 <= by).then(|| first.remove())
    }

    /// Sets the alarm for the first timer.
    pub fn set_alarm(&mut self) -> nix::Result<()> {
        let first = self.timers.first_key_value().map_or(Time::NEVER, |((at, _), _)| *at);
        if first == self.alarm_at {
            return Ok(());
        }
        self.alarm_at = first;
        if first == Time::NEVER {
            return self.alarm.unset();
        }
        // A time of zero would unset it.
        let nanos = (first.0.saturating_sub(self.now().0) / 1_000).max(1);
        let left = TimeSpec::from_duration(Duration::from_nanos(nanos));
        self.alarm.set(Expiration::OneShot(left), TimerSetTimeFlags::empty())
    }

    /// The alarm has rung.
    pub fn rings(&mut self) {
        self.alarm_at = Time::NEVER;
        let _ = self.alarm.wait();
    }

    /// The alarm, for a poll.
    pub fn file(&self) -> RawFd {
        self.alarm.as_fd().as_raw_fd()
    }
}
