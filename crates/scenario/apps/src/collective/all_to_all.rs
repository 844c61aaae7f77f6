//! All-to-alls: every host sends a part to every other host, of one size or by a measured matrix.

use fanin_spec::RunSpec;

use super::schedule::{Schedule, Transfer};

/// The transfers of each all-to-all, which are used in turn.
pub(super) fn schedules(spec: &RunSpec) -> Vec<Schedule> {
    let settings = &spec.settings;
    let at_once = settings.workload.in_flight.0.map_or(usize::MAX, |limit| limit as usize);
    match &settings.inputs.matrix {
        Some(matrix) => matrix
            .operations()
            .iter()
            .map(|cells| {
                let mut of = vec![Vec::new(); settings.hosts() as usize];
                cells.iter().for_each(|cell| of[cell.from as usize].push((cell.to, cell.bytes)));
                schedule(at_once, &of)
            })
            .collect(),
        None => {
            let (hosts, bytes) = (settings.hosts(), settings.workload.fragment.0.map_or(0, |fragment| fragment.0));
            vec![schedule(at_once, &to_all(hosts, bytes))]
        }
    }
}

/// The transfers of an all-to-all of parts of one size, all at once.
pub(super) fn of_one_size(hosts: u32, bytes: u64) -> Schedule {
    schedule(usize::MAX, &to_all(hosts, bytes))
}

/// By host: all others, with these bytes.
fn to_all(hosts: u32, bytes: u64) -> Vec<Vec<(u32, u64)>> {
    (0..hosts).map(|from| (0..hosts).filter(|&to| to != from).map(|to| (to, bytes)).collect()).collect()
}

/// Every host sends to these; at most `at_once` at a time, beginning with the next host, so that no two begin with the same one.
fn schedule(at_once: usize, of: &[Vec<(u32, u64)>]) -> Schedule {
    let hosts = of.len() as u32;
    let mut schedule = Schedule::default();
    for (from, sends) in (0..hosts).zip(of) {
        let mut sends = sends.clone();
        sends.sort_unstable_by_key(|&(to, _)| (to + hosts - from) % hosts);
        let mut numbers = Vec::new();
        for (to, bytes) in sends {
            let before = numbers.len().checked_sub(at_once).map(|earlier| numbers[earlier]);
            numbers.push(schedule.add(Transfer { from, to, bytes }, before));
        }
    }
    schedule.finish()
}
