//! A message alone in a network takes the time of its path, over any transport, whatever the rates of the links.

use std::sync::Arc;

use fanin_assemble::fabric;
use fanin_fabric::HostId;
use fanin_spec::{FilePath, Flows, Kind, Optional, RunSpec};
use fanin_units::Rate;

use crate::common::{but, run, spec};

/// Schemes of every transport: each law of RDMA and Ultra Ethernet, and one of TCP.
const SCHEMES: [&str; 10] =
    ["dcqcn", "dcqcn-window", "hpcc", "timely", "rdma-dctcp", "nscc", "rccc", "eqds", "ndp", "dctcp"];

/// Networks with links of several rates, and two hosts between which a message crosses some.
const NETWORKS: [(&str, [u32; 2]); 9] = [
    (RAILS, [0, 1]),
    (RAILS, [2, 0]),
    (EDGES, [0, 1]),
    (EDGES, [1, 2]),
    (EDGES, [2, 1]),
    (EDGES, [3, 0]),
    (
        "kind = \"dragonfly\"\npods = 2\nracks = 4\nhosts_per_rack = 1\nglobal_links = 1\nuplink_rate = \"400 Gbit/s\"",
        [0, 3],
    ),
    ("kind = \"leaf-spine\"\nracks = 2\nhosts_per_rack = 2\nspines = 1\nuplink_rate = \"25 Gbit/s\"", [3, 0]),
    ("kind = \"star\"\n[link]\nclient_rate = \"400 Gbit/s\"", [0, 2]),
];

/// Two machines, with links inside that are faster than the network.
const RAILS: &str =
    "kind = \"rails\"\nrails = 2\nracks = 2\nhosts_per_rack = 2\nspines = 1\nmachine_rate = \"900 Gbit/s\"";

/// A fast pair of hosts, one of the usual rate and a slow one.
const EDGES: &str = "kind = \"edges\"\nedges = [\"client a 400 Gbit/s\", \"server1 a 400 Gbit/s\", \"server2 a\", \"server3 a 25 Gbit/s\"]";

/// One message of this size between two hosts of a network.
fn message(scheme: &str, (network, [from, to]): (&str, [u32; 2]), bytes: u64) -> RunSpec {
    let text = format!(
        "schemes = [\"{scheme}\"]\n[fabric]\n{network}\n{}rate = \"100 Gbit/s\"\ndelay = \"2 us\"\n[switch]\nbuffer = \"1 MB\"\n\
         [host]\npacket_jitter = \"none\"\n[ndp]\nwindow = 100\n[eqds]\nwindow = 200\n[tcp]\ninitial_window = 400\nreceive_window = \"16 MiB\"\n[workload]\nfragment = \"1 MB\"\nduration = \"20 ms\"\n",
        if network.contains("[link]") { "" } else { "[link]\n" },
    );
    but(&spec(&text, 3, 1), |s| {
        s.workload.kind = Kind::Flows;
        s.workload.file = Optional(Some(FilePath("a.csv".into())));
        let list = format!("src,dst,bytes,start_us\n{from},{to},{bytes},0\n");
        s.inputs.flows = Some(Arc::new(Flows::parse("a.csv", &list).expect("a list")));
    })
}

#[test]
fn lone_messages_take_the_time_of_their_paths() {
    for (scheme, at) in SCHEMES.iter().flat_map(|scheme| NETWORKS.map(|at| (*scheme, at))) {
        let spec = message(scheme, at, 9_000_000);
        let (s, fabric) = (&spec.settings, fabric(&spec));
        let packet = s.packets(&spec.scheme).payload;
        let round_trip = (1..fabric.hosts()).map(|host| s.round_trip(&fabric, HostId(host), packet)).max();
        let links: Vec<Rate> = fabric.path(HostId(at.1[0]), HostId(at.1[1])).map(|link| link.rate).collect();
        let percent = match scheme {
            // Senders learn of a slower link on the path by its queue.
            _ if links.iter().min() < links.first() => 160,
            // They keep links at 95 % of their rate.
            "hpcc" => 107,
            _ => 103,
        };
        let tables = run(&spec);
        let [took, least] = [tables.flows[0].fct_ps, tables.flows[0].ideal_ps].map(|time| time.expect("an end"));
        let most = least * percent / 100 + 2 * round_trip.map_or(0, |time| time.0);
        assert!((least..=most).contains(&took), "{scheme} in {at:?}: {took} ps, not in {least} to {most}");
    }
}
