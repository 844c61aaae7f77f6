//! Commands for bundled scenarios, and what Linux cannot have.

use fanin_spec::{RunSpec, Scenario};

use super::{LinuxGrants, Namespaces, RouteAttribute, linux, linux_fabric};

const BARRIER: &str = include_str!("../../../../../scenarios/fixed-fragment.toml");
const INSTANT: &str = include_str!("../../../../../bench/scenarios/linux-instant.toml");
const SERVERS: &str = include_str!("../../../../../bench/scenarios/linux-servers.toml");
const CLIENTS: &str = include_str!("../../../../../scenarios/clients.toml");
const RACKS: &str = include_str!("../../../../../scenarios/two-racks.toml");
const SORT: &str = include_str!("../../../../../scenarios/terasort.toml");
const BACKGROUND: &str = include_str!("../../../../../scenarios/incast-with-background.toml");

fn spec(text: &str, scheme: &str, servers: u32, sets: &[&str]) -> RunSpec {
    let mut scenario = Scenario::parse("linux.toml", text).expect("a scenario");
    scenario.select(scheme, &[scheme]).expect("a scheme");
    scenario.assign("fan_in", &format!("sweep.fan_in=[{servers}]")).expect("a number of servers");
    for set in sets {
        scenario.assign(set, set).expect("a key");
    }
    let variants = scenario.variants().unwrap_or_else(|why| panic!("{why}"));
    variants[0].at(0, 1).expect("a point")
}

/// The queue below the port's rate.
fn queue(text: &str, scheme: &str, sets: &[&str]) -> String {
    let setup = linux(&spec(text, scheme, 2, sets)).unwrap_or_else(|why| panic!("{why}"));
    setup.client_port.queue.to_string()
}

fn refused(text: &str, scheme: &str, sets: &[&str]) -> String {
    linux(&spec(text, scheme, 2, sets)).expect_err("Linux cannot have it").setting
}

#[test]
fn servers_of_their_own_have_namespaces_links_and_routes() {
    let sets = ["link.delay=10 us", "tcp.rto_min=10 ms"];
    let setup = linux(&spec(SERVERS, "cubic", 2, &sets)).expect("Linux has it");
    let [router, _, second, client] = &setup.batches(Namespaces::Own)[..] else { panic!("four namespaces") };
    let names = [router, second, client].map(|batch| batch.namespace.as_str());
    assert_eq!(names, ["router", "h2", "client"]);
    assert_eq!(
        router.ip,
        [
            "link set lo up",
            "link add to_client type veth peer name eth0 netns client",
            "addr add 10.91.254.254/24 dev to_client",
            "link set to_client gso_max_segs 1 up",
            "link add r1 type veth peer name eth0 netns h1",
            "addr add 10.91.1.254/24 dev r1",
            "link set r1 gso_max_segs 1 up",
            "link add r2 type veth peer name eth0 netns h2",
            "addr add 10.91.2.254/24 dev r2",
            "link set r2 gso_max_segs 1 up",
        ]
    );
    assert_eq!(
        router.tc,
        [
            "qdisc add dev to_client root handle 1: htb default 1",
            "class add dev to_client parent 1: classid 1:1 htb rate 200000000bit ceil 200000000bit burst 1600 cburst 1600 quantum 1514",
            "qdisc add dev to_client parent 1:1 handle 10: bfifo limit 65536",
            "qdisc add dev r1 root netem delay 40us limit 100000",
            "qdisc add dev r2 root netem delay 40us limit 100000",
        ]
    );
    assert_eq!(
        second.ip,
        [
            "link set lo up",
            "link set eth0 gso_max_segs 1 up",
            "addr add 10.91.2.1/24 dev eth0",
            "route add default via 10.91.2.254 rto_min 10ms",
        ]
    );
    assert_eq!(
        second.tc[1..],
        [
            "class add dev eth0 parent 1: classid 1:1 htb rate 1000000000bit ceil 1000000000bit burst 1600 cburst 1600 quantum 1514",
            "qdisc add dev eth0 parent 1:1 handle 10: pfifo limit 1000",
        ]
    );
    let sysctls = ["net.ipv4.tcp_congestion_control=cubic", "net.ipv4.tcp_ecn=2", "net.ipv4.tcp_no_metrics_save=1"];
    assert_eq!(
        (&second.sysctls[..], &client.sysctls[..]),
        (&sysctls.map(String::from)[..], &sysctls.map(String::from)[..])
    );
}

#[test]
fn servers_of_one_namespace_have_tables_of_routes() {
    let setup =
        linux(&spec(INSTANT, "newreno", 1, &["tcp.delayed_ack=1", "tcp.initial_window=4"])).expect("Linux has it");
    let [_, servers, client] = &setup.batches(Namespaces::Shared)[..] else { panic!("three namespaces") };
    assert_eq!(
        servers.ip[3..],
        [
            "route add default via 10.91.1.254 dev s1 table 1001 rto_min 200ms initcwnd 4",
            "rule add from 10.91.1.1 lookup 1001",
        ]
    );
    assert_eq!(client.ip[3], "route add default via 10.91.254.254 quickack 1");
    assert_eq!(servers.sysctls[0], "net.ipv4.tcp_congestion_control=reno");
}

#[test]
fn a_queue_has_one_frame_more_than_fanins() {
    assert_eq!(queue(INSTANT, "cubic", &[]), "bfifo limit 524288");
    assert_eq!(queue(INSTANT, "cubic", &["switch.buffer=100 packets"]), "pfifo limit 101");
    assert_eq!(queue(BACKGROUND, "cubic", &["tcp.profile=linux", "switch.buffer=128 KiB"]), "bfifo limit 132586");
}

#[test]
fn a_threshold_is_red_with_its_largest_weight() {
    let k = ["ecn_threshold.k=30000 B"];
    let red = "red limit 524288 min 30000 max 30001 avpkt 1500 burst 20 probability 1 bandwidth 10000000kbit ecn";
    assert_eq!(queue(INSTANT, "dctcp", &k), red);
    let step = ["red.min_th=30000 B", "red.max_th=30001 B", "red.max_p=1", "red.weight=1/2", "red.gentle=false"];
    assert_eq!(queue(INSTANT, "dctcp+red+ecn", &step), red);
}

#[test]
fn red_and_codel_keep_their_settings() {
    assert_eq!(
        queue(INSTANT, "cubic+red", &["red.gentle=false"]),
        "red limit 524288 min 22710 max 37850 avpkt 1500 burst 91 probability 0.02 bandwidth 10000000kbit"
    );
    assert_eq!(
        queue(INSTANT, "cubic+codel+ecn", &["codel.target=100 us", "codel.interval=2 ms"]),
        "codel limit 346 target 100us interval 2000us ecn"
    );
}

#[test]
fn frames_determine_mtu_burst_and_overhead() {
    let jumbo = linux(&spec(INSTANT, "cubic", 1, &["link.frames=jumbo"])).expect("Linux has it");
    assert_eq!((jumbo.mtu, jumbo.client_port.rate.burst, jumbo.client_port.rate.quantum), (9_000, 9_100, 9_014));
    assert!(jumbo.batches(Namespaces::Own)[0].ip.contains(&"link set r1 mtu 9000 gso_max_segs 1 up".into()));
    let ethernet = linux(&spec(INSTANT, "cubic", 1, &["link.framing=ethernet"])).expect("Linux has it");
    assert!(ethernet.client_port.rate.to_string().ends_with("quantum 1514 overhead 24 mpu 84"), "38 B less 14 B");
}

#[test]
fn a_delay_is_whole_ticks_and_microseconds() {
    let delay = |text| linux(&spec(INSTANT, "cubic", 1, &[text])).expect("Linux has it").round_trip.0 / 1_000_000;
    assert_eq!([delay("link.delay=0 s"), delay("link.delay=6 us"), delay("link.delay=25 us")], [0, 24, 104]);
}

#[test]
fn a_receive_window_is_the_routes_or_the_sockets() {
    let window = ["tcp.receive_window=2896 B"];
    let new = linux(&spec(INSTANT, "cubic", 1, &window)).expect("Linux has it").client;
    assert_eq!((new.receive_buffer, new.route.len()), (Some(3_456), 0), "three packets of 2,304 B, halved");
    let old = linux(&spec(SERVERS, "cubic", 1, &window)).expect("Linux has it").client;
    assert_eq!((old.receive_buffer, old.route[0].to_string()), (None, "window 2896".into()));
    assert_eq!(
        old.sysctls.last().map(ToString::to_string),
        Some("net.ipv4.tcp_moderate_rcvbuf=0".into()),
        "or it widens"
    );
}

#[test]
fn names_the_scheme_that_no_kernel_has() {
    for scheme in ["newreno+m21", "newreno+gss", "newreno+ictcp", "newreno+grants", "d2tcp", "l2dct"] {
        assert_eq!(refused(INSTANT, scheme, &[]), "schemes", "{scheme}");
    }
}

#[test]
fn names_the_setting_that_no_kernel_has() {
    for (set, setting) in [
        ("link.rate=100 Gbit/s", "link.rate"),
        ("link.framing=2 B", "link.framing"),
        ("switch.shared_buffer=1 MiB", "switch.shared_buffer"),
        ("host.queue=switch", "host.queue"),
        ("tcp.delayed_ack=3", "tcp.delayed_ack"),
        ("tcp.rack=false", "tcp.rack"),
        ("tcp.rto_max=10 s", "tcp.rto_max"),
        ("cubic.variant=rfc9438", "cubic.variant"),
        ("faults.loss=1 %", "faults.loss"),
    ] {
        assert_eq!(refused(INSTANT, "cubic", &[set]), setting);
    }
    assert_eq!(refused(INSTANT, "cubic+red", &[]), "red.gentle");
    assert_eq!(refused(INSTANT, "cubic+red", &["red.gentle=false", "red.weight=1"]), "red.weight");
    assert_eq!(refused(INSTANT, "cubic+red", &["red.gentle=false", "red.instantaneous=true"]), "red.instantaneous");
    assert_eq!(refused(BARRIER, "newreno", &[]), "tcp.profile");
}

#[test]
fn rates_above_the_ticks_of_htb_are_refused() {
    for (set, is_possible) in [
        (&["link.rate=25 Gbit/s"][..], true),
        (&["link.rate=25.1 Gbit/s"], false),
        (&["link.rate=100 Gbit/s", "link.frames=jumbo"], true),
    ] {
        assert_eq!(linux(&spec(INSTANT, "cubic", 2, set)).is_ok(), is_possible, "{set:?}");
    }
    let why = linux(&spec(INSTANT, "cubic", 2, &["link.rate=40 Gbit/s"])).expect_err("too fast").why;
    assert!(why.contains("at most 25 Gbit/s"), "{why}");
}

#[test]
fn names_the_network_that_is_no_star_of_one_client() {
    assert_eq!(refused(RACKS, "newreno", &["tcp.profile=linux"]), "fabric.kind");
    assert_eq!(refused(CLIENTS, "newreno", &["tcp.profile=linux"]), "workload.clients");
    assert_eq!(refused(SORT, "newreno", &["tcp.profile=linux"]), "workload.kind");
    let many = linux(&spec(INSTANT, "cubic", 254, &[])).expect_err("addresses end");
    assert_eq!((many.setting.as_str(), many.value.as_str()), ("workload.fan_in", "254"));
}

#[test]
fn says_what_to_do() {
    let why = linux(&spec(INSTANT, "cubic", 1, &["link.framing=2 B"])).expect_err("no Ethernet").to_string();
    assert_eq!(
        why,
        "Linux has no `link.framing` of 2 B: the kernel counts 14 B of Ethernet header per packet: use \"14 B\" or \"ethernet\""
    );
}

#[test]
fn refuses_hosts_with_several_links() {
    let edges = "fabric.edges=[\"client a\", \"client b\", \"server1..2 a\", \"server1 b\"]";
    let refused = linux_fabric(&spec(INSTANT, "cubic", 2, &["fabric.kind=edges", edges])).expect_err("two links");
    assert_eq!(
        refused.to_string(),
        "Linux has no `fabric.edges` of client on 2 edges: a host of the testbed has one link: keep one edge for each host, or simulate the scenario only"
    );
    assert!(
        linux_fabric(&spec(
            INSTANT,
            "cubic",
            2,
            &["fabric.kind=edges", "fabric.edges=[\"client a\", \"server1..2 a\"]"]
        ))
        .is_ok()
    );
}

#[test]
fn programs_have_names_ports_and_the_first_window() {
    let gentle = linux_fabric(&spec(INSTANT, "cubic+gss", 2, &[])).expect("a program has it");
    assert_eq!((gentle.congestion_control, gentle.allots.len()), ("fanin_gss_cubic", 0));
    assert!(gentle.host.route.contains(&RouteAttribute::InitialWindow(2)), "{:?}", gentle.host.route);
    let assigned = linux_fabric(&spec(INSTANT, "newreno+m21", 2, &["switch.buffer=64 KiB"])).expect("a program has it");
    assert_eq!(assigned.congestion_control, "reno");
    // The switch's ports to the client and two servers.
    assert_eq!(assigned.allots.iter().map(|(_, bytes)| *bytes).collect::<Vec<_>>(), [65_536; 3]);
    let granting = linux_fabric(&spec(INSTANT, "cubic+grants", 3, &["grants.queue=9000 B", "grants.turn=2"]));
    let granting = granting.expect("a program has it");
    assert_eq!(granting.grants.len(), 1, "the client, not its servers");
    let LinuxGrants { uplink, rate, queue, turn, segment, .. } = granting.grants[0];
    assert_eq!(granting.fabric.link(uplink).from.0, 0);
    assert_eq!((rate.to_string(), queue, turn, segment), ("10 Gbit/s".into(), 9_000, 2, 1_448));
    assert!(granting.host.route.contains(&RouteAttribute::QuickAck), "{:?}", granting.host.route);
    let counting = linux_fabric(&spec(INSTANT, "newreno+m21", 2, &["m21.offer=count"])).expect_err("windows only");
    assert_eq!(counting.setting, "m21.offer");
}
