//! Star: every host has one link to the only switch.

use fanin_units::{Rate, Time};

use crate::ids::{Link, NodeId};

/// Parameters of a star.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Star {
    /// Number of hosts besides the client, which is host 0.
    pub servers: u32,
    /// Rate of the servers' links.
    pub rate: Rate,
    /// Rate of the client's link.
    pub client_rate: Rate,
    /// Delay of each link, one way.
    pub delay: Time,
}

/// Its links: link `h` goes from the switch to host `h`, link `hosts + h` back.
pub(crate) fn links(star: &Star) -> Vec<Link> {
    let hosts = star.servers + 1;
    let switch = NodeId(hosts);
    let rate = |host: u32| if host == 0 { star.client_rate } else { star.rate };
    let down = (0..hosts).map(|host| Link { from: switch, to: NodeId(host), rate: rate(host), delay: star.delay });
    let up = (0..hosts).map(|host| Link { from: NodeId(host), to: switch, rate: rate(host), delay: star.delay });
    down.chain(up).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HostId, star};
    use proptest::prelude::*;

    const GBIT: Rate = Rate(1_000_000_000);

    proptest! {
        #![proptest_config(fanin_testing::cases(256))]

        #[test]
        fn every_host_reaches_every_other_over_the_switch(servers in 1u32..200, a: u32, b: u32) {
            let fabric = star(&Star { servers, rate: GBIT, client_rate: GBIT, delay: Time::from_micros(25) });
            let (from, to) = (HostId(a % fabric.hosts()), HostId(b % fabric.hosts()));
            let [up, down] = fabric.path(from, to).collect::<Vec<_>>()[..] else { panic!("two links") };
            prop_assert_eq!((up.from, down.to), (from.node(), to.node()));
            prop_assert!(up.to == down.from && !fabric.is_host(up.to));
        }

        #[test]
        fn links_are_numbered_by_receiver_then_sender(servers in 1u32..200) {
            let fabric = star(&Star { servers, rate: GBIT, client_rate: GBIT, delay: Time::ZERO });
            prop_assert!(fabric.links().is_sorted_by_key(|link| (link.to, link.from)));
            prop_assert!((0..fabric.hosts()).map(HostId).all(|host| fabric.reverse(fabric.downlink(host)) == fabric.uplink(host)));
        }
    }

    #[test]
    fn only_the_clients_link_has_the_clients_rate() {
        let fabric = star(&Star { servers: 2, rate: GBIT, client_rate: Rate(5), delay: Time::ZERO });
        let slow: Vec<String> =
            fabric.link_ids().filter(|&l| fabric.link(l).rate == Rate(5)).map(|l| fabric.link_name(l)).collect();
        assert_eq!(slow, ["switch>client", "client>switch"]);
    }
}
