//! Minimum completion time of a flow: the reference of its slowdown.

use fanin_fabric::{Fabric, HostId, Link};
use fanin_units::Time;

/// The time from the first bit sent to the last byte received, alone in the network: packets of `mss` and a last one with the
/// rest, which take `on_wire` bytes of a link, are stored and forwarded. No handshake, no window.
pub(crate) fn time(
    fabric: &Fabric,
    from: HostId,
    to: HostId,
    payload: u64,
    mss: u32,
    on_wire: impl Fn(u32) -> u32,
) -> Time {
    let path: Vec<Link> = fabric.path(from, to).copied().collect();
    let delay: u64 = path.iter().map(|link| link.delay.0).sum();
    let full_packets = (payload.div_ceil(mss.into())).saturating_sub(1);
    let last = on_wire((payload - full_packets * u64::from(mss)) as u32); // at most a segment
    let full = on_wire(mss);
    let packet = |link: &Link, bytes: u32| u128::from(link.rate.time_for(bytes.into()).0);
    let over = |links: &[Link], bytes: u32| links.iter().map(|link| packet(link, bytes)).sum::<u128>();
    // A terabyte at a kilobit a second exceeds the range of time.
    let after_delay = |ps: u128| Time(u64::try_from(u128::from(delay) + ps).unwrap_or(Time::NEVER.0));
    if full_packets == 0 {
        return after_delay(over(&path, last));
    }
    // The last packet catches up with those before it at one of the links: that with the largest sum.
    let meets = |at: usize| {
        let slowest = path[..=at].iter().map(|link| packet(link, full)).max().unwrap_or(0);
        over(&path[..=at], full) + u128::from(full_packets - 1) * slowest + over(&path[at..], last)
    };
    after_delay((0..path.len()).map(meets).max().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use fanin_fabric::{Star, star};
    use fanin_units::Rate;

    use super::*;

    const US: u64 = 1_000_000;

    fn fabric(client_mbps: u64) -> Fabric {
        let rate = |mbps: u64| Rate(mbps * 1_000_000);
        star(&Star { servers: 2, rate: rate(1000), client_rate: rate(client_mbps), delay: Time::from_micros(10) })
    }

    fn with_50(payload: u32) -> u32 {
        payload + 50
    }

    #[test]
    fn one_packet_crosses_two_links() {
        // 1000 B at 1 Gbit/s take 8 us.
        assert_eq!(time(&fabric(1000), HostId(1), HostId(2), 950, 1000, with_50), Time((8 + 8 + 20) * US));
    }

    #[test]
    fn equal_packets_queue_at_the_slowest_link() {
        // Three packets of 1000 B: all at the slow link, 80 us each, one at the fast, 8 us.
        for (from, to) in [(0, 1), (1, 0)] {
            assert_eq!(
                time(&fabric(100), HostId(from), HostId(to), 3 * 950, 950, with_50),
                Time((3 * 80 + 8 + 20) * US)
            );
        }
    }

    #[test]
    fn overflowing_times_are_never() {
        let slow = Star { servers: 2, rate: Rate(1_000), client_rate: Rate(1_000), delay: Time::ZERO };
        assert_eq!(time(&star(&slow), HostId(1), HostId(2), 1 << 40, 1460, |payload| payload + 42), Time::NEVER);
    }

    #[test]
    fn short_last_packet_waits_for_the_previous() {
        // 1000 B, then 500 B, at equal rates: the second queues behind the first at the second link.
        assert_eq!(time(&fabric(1000), HostId(1), HostId(2), 950 + 450, 950, with_50), Time((8 + 8 + 4 + 20) * US));
        // Over a fast second link it does not: 80 + 40 at the first, 4 at the second.
        assert_eq!(time(&fabric(100), HostId(0), HostId(1), 950 + 450, 950, with_50), Time((80 + 40 + 4 + 20) * US));
    }
}
