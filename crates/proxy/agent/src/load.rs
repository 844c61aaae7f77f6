//! How busy an agent is, as it reports it to front ends: each period while it is a hub for one, else when it has changed much.

use fanin_roles::wire::Load;
use procfs::{CurrentSI, KernelStats};

use fanin_proxy_core::clock::Nanos;

/// Time between two reports, and between two looks at the processors.
pub const PERIOD: Nanos = 10_000_000;
pub const LOOK: Nanos = 1_000_000_000;
/// Parts of all objects by which the spare number has to change to be reported.
const PARTS: u32 = 8;

/// The load of a machine.
#[derive(Debug)]
pub struct MachineLoad {
    /// Most objects in progress.
    objects: u32,
    /// Busy and total time of the processors at the last look, and the share of a look that was busy, in 1/256.
    looked_at: Nanos,
    times: (u64, u64),
    busy: u32,
}

impl MachineLoad {
    /// An agent that may have this many objects in progress.
    pub fn new(objects: u32) -> MachineLoad {
        MachineLoad { objects, looked_at: 0, times: times(), busy: 0 }
    }

    /// Looks at the processors, if that is due.
    pub fn look(&mut self, now: Nanos) {
        if now < self.looked_at + LOOK {
            return;
        }
        let (before, after) = (self.times, times());
        let (busy, all) = (after.0.saturating_sub(before.0), after.1.saturating_sub(before.1));
        (self.looked_at, self.times) = (now, after);
        self.busy = (busy * 256).checked_div(all).unwrap_or(0).min(255) as u32;
    }

    /// Objects that the machine could take, if its roles have room for `spare`: fewer if its processors are busy.
    pub fn spare(&self, spare: u32) -> u32 {
        let free = u64::from(self.objects) * u64::from(256 - self.busy) / 256;
        // An agent that is there counts more than one that is not.
        u32::try_from(free).unwrap_or(u32::MAX).min(spare).max(1)
    }

    /// Whether a report differs so much from the last one that it is sent without a request.
    pub fn has_changed(&self, last: Option<Load>, load: Load) -> bool {
        last.is_none_or(|last| last.spare.abs_diff(load.spare) > self.objects / PARTS)
    }
}

/// Busy and total time of all processors, in ticks; zero if unknown.
fn times() -> (u64, u64) {
    let Ok(stats) = KernelStats::current() else { return (0, 0) };
    let total = stats.total;
    let idle = total.idle + total.iowait.unwrap_or(0);
    let busy = total.user + total.nice + total.system + total.irq.unwrap_or(0) + total.softirq.unwrap_or(0);
    (busy, busy + idle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_machine_has_less_room() {
        let load = |busy| MachineLoad { objects: 1000, looked_at: 0, times: (0, 0), busy };
        assert_eq!([0, 128, 255].map(|busy| load(busy).spare(1000)), [1000, 500, 3]);
        assert_eq!((load(0).spare(7), load(0).spare(0)), (7, 1));
        let report = |spare| Load { spare, round_trip: 0 };
        assert!(load(0).has_changed(None, report(1000)));
        assert!(!load(0).has_changed(Some(report(1000)), report(900)));
        assert!(load(0).has_changed(Some(report(1000)), report(800)));
    }
}
