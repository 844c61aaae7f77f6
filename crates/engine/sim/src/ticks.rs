//! Clock ticks of hosts: with ticks, a timer is served at its host's next one.

use fanin_driver::{Purpose, SmallStream};
use fanin_fabric::LinkId;
use fanin_units::Time;

use crate::network::HostTicks;

/// All hosts' ticks.
#[derive(Clone, Debug)]
pub(crate) struct Ticks {
    /// From one to the next.
    tick: Time,
    /// Whether all hosts tick in phase.
    together: bool,
    seed: u64,
}

impl Ticks {
    /// Ticks of hosts.
    pub fn new(HostTicks { period, together }: HostTicks, seed: u64) -> Ticks {
        Ticks { tick: period, together, seed }
    }

    /// When the host with this first outgoing link serves a timer due at `due`.
    pub fn next(&self, due: Time, host: LinkId) -> Time {
        let of = if self.together { 0 } else { host.0 };
        let phase = SmallStream::new(self.seed, Purpose::Tick, of).up_to(self.tick);
        let since = due.0 + self.tick.0 - phase.0;
        Time(since.div_ceil(self.tick.0) * self.tick.0 + phase.0 - self.tick.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000_000;

    #[test]
    fn timers_are_served_at_host_ticks() {
        let ticks = Ticks::new(HostTicks { period: Time::from_millis(4), together: false }, 1);
        let phases: Vec<u64> = (0..8).map(|host| ticks.next(Time::ZERO, LinkId(host)).0).collect();
        for (host, &phase) in (0..8).zip(&phases) {
            for due in [0, 1, phase, phase + 1, 5 * MS, 1000 * MS + 7] {
                let at = ticks.next(Time(due), LinkId(host)).0;
                assert!((due..due + 4 * MS).contains(&at), "due at {due}, served at {at}");
                assert_eq!(at % (4 * MS), phase % (4 * MS));
            }
        }
        assert!(phases.windows(2).any(|two| two[0] != two[1]), "{phases:?}");
        let together = Ticks::new(HostTicks { period: Time::from_millis(4), together: true }, 1);
        let served = |host| together.next(Time(5 * MS), LinkId(host));
        assert!((1..8).all(|host| served(host) == served(0)), "one clock");
    }
}
