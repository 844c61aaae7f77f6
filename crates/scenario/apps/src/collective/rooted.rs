//! Collectives with a root, host 0: broadcast, reduce, gather and scatter.

use super::all_reduce::part;
use super::schedule::{Schedule, Transfer};

/// The root's vector goes from host to host in chunks, as in NCCL's ring: a host passes a chunk on once it has received it.
pub(super) fn broadcast(hosts: u32, vector: u64, chunk: u64) -> Schedule {
    chain(hosts, vector, chunk, |place| (place, place + 1))
}

/// The sum of all vectors comes to the root in chunks: from the last host on each adds its own.
pub(super) fn reduce(hosts: u32, vector: u64, chunk: u64) -> Schedule {
    chain(hosts, vector, chunk, |place| (hosts - 1 - place, hosts - 2 - place))
}

/// Every host sends its vector to the root at once.
pub(super) fn gather(hosts: u32, vector: u64) -> Schedule {
    star((1..hosts).map(|host| Transfer { from: host, to: 0, bytes: vector }))
}

/// The root sends every host its part at once.
pub(super) fn scatter(hosts: u32, vector: u64) -> Schedule {
    star((1..hosts).map(|host| Transfer { from: 0, to: host, bytes: part(vector, hosts, host) }))
}

fn star(transfers: impl Iterator<Item = Transfer>) -> Schedule {
    let mut schedule = Schedule::default();
    for transfer in transfers {
        schedule.add(transfer, []);
    }
    schedule.finish()
}

/// A vector in chunks along the hosts; `link` has the ends of the chain's links by number.
fn chain(hosts: u32, vector: u64, chunk: u64, link: impl Fn(u32) -> (u32, u32)) -> Schedule {
    let mut schedule = Schedule::default();
    let chunks = vector.div_ceil(chunk).max(1) as u32;
    for number in 0..chunks {
        let mut received = None;
        for (from, to) in (0..hosts - 1).map(&link) {
            received = Some(schedule.add(Transfer { from, to, bytes: part(vector, chunks, number) }, received));
        }
    }
    schedule.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_go_along_the_chain() {
        let pairs = |schedule: &Schedule| -> Vec<_> {
            schedule.transfers.iter().map(|transfer| (transfer.from, transfer.to, transfer.bytes)).collect()
        };
        let schedule = broadcast(3, 5, 4);
        assert_eq!(pairs(&schedule), [(0, 1, 3), (1, 2, 3), (0, 1, 2), (1, 2, 2)]);
        assert_eq!(schedule.waits(), [0, 1, 0, 1]);
        assert!(schedule.is_local());
        assert_eq!(pairs(&reduce(3, 5, 8)), [(2, 1, 5), (1, 0, 5)]);
        assert_eq!(pairs(&gather(3, 5)), [(1, 0, 5), (2, 0, 5)]);
        // Parts of four bytes over three hosts: 2, 1 and 1.
        assert_eq!(pairs(&scatter(3, 4)), [(0, 1, 1), (0, 2, 1)]);
    }
}
