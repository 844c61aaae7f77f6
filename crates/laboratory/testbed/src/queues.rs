//! Bytes in the queues of switches' ports, by rtnetlink, which is quick enough to be asked within a run.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;

use fanin_fabric::{LinkId, NodeId};
use netlink_packet_core::{NLM_F_ECHO, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage, TcStats2};
use netlink_sys::Socket;
use nix::net::if_::if_nametoindex;

use crate::netlink;
use crate::network::LocalNetwork;
use crate::trouble::Trouble;

/// Handle of the port's queue, below the link's rate.
const QUEUE: TcHandle = TcHandle { major: 0x10, minor: 0 };

/// Access to the queues of a network's switches.
pub struct Queues {
    /// A socket in each switch's namespace.
    switches: BTreeMap<NodeId, Socket>,
    /// The switch that sends on a link, and the kernel's number of its device.
    ports: BTreeMap<LinkId, (NodeId, i32)>,
}

impl Queues {
    /// Opens a socket in the namespace of each switch.
    pub fn open(network: &LocalNetwork) -> Result<Queues, Trouble> {
        let mut queues = Queues { switches: BTreeMap::new(), ports: BTreeMap::new() };
        for (link, device, switch, namespace) in network.switch_ports() {
            namespace.enter()?;
            if let Entry::Vacant(place) = queues.switches.entry(switch) {
                place.insert(netlink::open()?);
            }
            let number = if_nametoindex(device.as_str()).map_err(io::Error::from)?;
            queues.ports.insert(link, (switch, number as i32));
        }
        Ok(queues)
    }

    /// Bytes that wait at a switch's port.
    pub fn backlog(&self, link: LinkId) -> io::Result<u64> {
        let (switch, device) = self.ports.get(&link).ok_or_else(|| io::Error::other("not a link of a switch"))?;
        let mut question = TcMessage::default();
        (question.header.index, question.header.handle) = (*device, QUEUE);
        let question = RouteNetlinkMessage::GetQueueDiscipline(question);
        backlog(netlink::ask(&self.switches[switch], question, NLM_F_ECHO)?)
    }
}

fn backlog(answer: NetlinkPayload<RouteNetlinkMessage>) -> io::Result<u64> {
    let attributes = match answer {
        NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewQueueDiscipline(queue)) => queue.attributes,
        other => return Err(io::Error::other(format!("the kernel answers {other:?} for a queue"))),
    };
    let counts = attributes.into_iter().find_map(|attribute| match attribute {
        TcAttribute::Stats2(counts) => Some(counts),
        _ => None,
    });
    let of = |count| match count {
        TcStats2::Queue(queue) => Some(queue.backlog.into()),
        _ => None,
    };
    let found = counts.into_iter().flatten().find_map(of);
    found.ok_or_else(|| io::Error::other("the kernel does not say how much waits in a queue"))
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddrV4;
    use std::thread;

    use fanin_assemble::linux_fabric;
    use fanin_fabric::HostId;
    use fanin_spec::Scenario;
    use socket2::{Domain, Socket, Type};

    use super::*;

    #[test]
    fn backlog_is_what_a_port_holds() {
        // A slow port to the client, host 0.
        let slow = include_str!("../tests/star.toml").replace("20 Mbit/s", "100 kbit/s");
        let spec = Scenario::parse("slow.toml", &slow).unwrap().variants().unwrap()[0].at(0, 1).unwrap();
        let plan = linux_fabric(&spec).unwrap();
        // A namespace is a thread's.
        let held = thread::spawn(move || {
            let network = LocalNetwork::build(plan)?;
            let queues = Queues::open(&network)?;
            network.host(HostId(1)).enter()?;
            let socket = Socket::new(Domain::IPV4, Type::DGRAM, None)?;
            let client = SocketAddrV4::new(network.plan.address(HostId(0).node()), 9);
            let fabric = &network.plan.fabric;
            let to = |host| queues.backlog(fabric.link_ids().find(|link| fabric.link(*link).to == host).unwrap());
            // The first datagrams wait for the client's hardware address.
            fanin_testing::wait_until("datagrams that wait at the port", || {
                let sent = (0..20).all(|_| socket.send_to(&[0; 1_000], &client.into()).is_ok());
                sent && to(HostId(0).node()).is_ok_and(|bytes| bytes >= 10_000)
            });
            Ok([to(HostId(0).node())?, to(HostId(1).node())?])
        });
        match held.join().unwrap() {
            Err(Trouble::Lacks(why)) => eprintln!("skipped: {why}"),
            // The link sends a datagram of 1,042 B in 83 ms.
            Ok([client, server]) => assert!(client > 0 && server == 0, "{client}, {server}"),
            Err(other) => panic!("{other}"),
        }
    }
}
