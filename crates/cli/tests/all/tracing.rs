//! Packets as pcapng: correct in every byte, and without complaints by tshark.

use std::fs;
use std::process::Command;

use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use pcap_file::pcapng::{Block, PcapNgReader};

use crate::common::Place;

const LOSSY: &str = "\
[link]
rate = \"1 Gbit/s\"
[switch]
buffer = \"16 KiB\"
[red]
min_th = \"3 packets\"
max_th = \"9 packets\"
[workload]
fragment = \"64 KiB\"
duration = \"40 ms\"
";

/// Traces a scheme at a point and returns the IP packets.
fn packets(place: &Place, scheme: &str, at: &str, set: &[&str]) -> Vec<Vec<u8>> {
    let mut arguments = vec!["trace", "my.toml", "--scheme", scheme, "--fan-in", "6", "--at", at, "--out", "t.pcapng"];
    arguments.extend(set.iter().flat_map(|assignment| ["--set", assignment]));
    place.says(&arguments);
    let file = fs::read(place.path("t.pcapng")).unwrap();
    let mut reader = PcapNgReader::new(file.as_slice()).unwrap();
    let mut found = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.unwrap() {
            assert_eq!(packet.original_len as usize, packet.data.len());
            found.push(packet.data.to_vec());
        }
    }
    found
}

#[test]
fn packets_have_correct_lengths_checksums_and_options() {
    let place = Place::with(LOSSY);
    let mut sacked = 0;
    for scheme in ["newreno", "dctcp", "newreno+red+ecn", "newreno+m21"] {
        for set in [&[][..], &["tcp.timestamps=true"], &["tcp.sack=false"]] {
            let packets = packets(&place, scheme, "client", set);
            assert!(packets.len() > 20, "{scheme} {set:?}: {} packets", packets.len());
            for bytes in &packets {
                let packet = SlicedPacket::from_ip(bytes).unwrap();
                let Some(NetSlice::Ipv4(ip)) = &packet.net else { panic!("not IPv4") };
                let Some(TransportSlice::Tcp(tcp)) = &packet.transport else { panic!("not TCP") };
                let header = ip.header().to_header();
                assert_eq!(usize::from(header.total_len), bytes.len());
                assert_eq!(header.header_checksum, header.calc_header_checksum());
                let sum = tcp.to_header().calc_checksum_ipv4(&header, tcp.payload()).unwrap();
                assert_eq!(tcp.checksum(), sum, "{scheme} {set:?}");
                for option in tcp.options_iterator() {
                    use etherparse::{TcpOptionElement, TcpOptionReadError};
                    match option {
                        Ok(TcpOptionElement::SelectiveAcknowledgement(..)) => sacked += 1,
                        // The experimental option, in which switches assign windows, is in no standard.
                        Ok(_) | Err(TcpOptionReadError::UnknownId(253)) => {}
                        Err(error) => panic!("{scheme} {set:?}: {error:?}"),
                    }
                }
            }
        }
    }
    assert!(sacked > 0, "no SACK block was seen");
}

#[test]
fn captures_at_ports_and_refuses_unknown_points() {
    let place = Place::with(LOSSY);
    let down = packets(&place, "newreno", "switch>client", &[]);
    let both = packets(&place, "newreno", "client", &[]);
    assert!(!down.is_empty() && down.len() < both.len());
    let wrong = ["trace", "my.toml", "--scheme", "newreno", "--fan-in", "2", "--at", "server9", "--out", "x.pcapng"];
    assert!(place.refuses(&wrong).contains("client, server1 to server2"));
    assert!(!place.path("x.pcapng").exists());
}

/// A full switch that pauses or trims, so that every kind of packet is there.
const CROWDED: &str = "\
[link]
rate = \"100 Gbit/s\"
delay = \"1 us\"
[switch]
shared_buffer = \"2 MiB\"
[trimming]
queue = \"60 KB\"
[ecn_ramp]
k_min = \"20 KB\"
k_max = \"100 KB\"
[faults]
loss = 0.001
[workload]
kind = \"one-shot\"
fragment = \"150001 B\"
connections = \"new\"
duration = \"10 ms\"
";

/// RDMA's and Ultra Ethernet's schemes with the UDP port of their packets.
const OVER_UDP: [(&str, u16); 9] = [
    ("dcqcn", 4791),
    ("dcqcn-window", 4791),
    ("hpcc", 4791),
    ("timely", 4791),
    ("rdma-dctcp", 4791),
    ("nscc", 4793),
    ("rccc", 4793),
    ("eqds", 4793),
    ("ndp", 4793),
];

/// Payload of a captured UDP datagram to this port.
fn datagram(bytes: &[u8], port: u16) -> Vec<u8> {
    let packet = SlicedPacket::from_ip(bytes).unwrap();
    let Some(NetSlice::Ipv4(ip)) = &packet.net else { panic!("not IPv4") };
    let header = ip.header().to_header();
    assert_eq!((usize::from(header.total_len), header.header_checksum), (bytes.len(), header.calc_header_checksum()));
    let Some(TransportSlice::Udp(udp)) = &packet.transport else { panic!("not UDP") };
    assert_eq!((udp.destination_port(), usize::from(udp.length())), (port, bytes.len() - 20));
    udp.payload().to_vec()
}

#[test]
fn rdma_numbers_packets_and_acknowledges_them() {
    let place = Place::with(CROWDED);
    let (mut notified, mut missing) = (0, 0);
    for (scheme, port) in OVER_UDP.into_iter().filter(|(_, port)| *port == 4791) {
        let all = packets(&place, scheme, "client", &["faults.loss=0.01"]);
        let mut newest = std::collections::BTreeMap::new();
        for bytes in &all {
            let transport = datagram(bytes, port);
            let (operation, pad) = (transport[0], usize::from(transport[1] >> 4 & 3));
            let number = u32::from_be_bytes([0, transport[9], transport[10], transport[11]]);
            let pair = u32::from_be_bytes([0, transport[5], transport[6], transport[7]]);
            match operation {
                0x00..=0x05 => {
                    assert!(transport.len().is_multiple_of(4) && pad < 4, "{scheme}");
                    newest.entry(pair).and_modify(|seen: &mut u32| *seen = number.max(*seen)).or_insert(number);
                }
                0x11 => missing += u32::from(transport[12] == 0x60),
                0x81 => notified += u32::from(transport[4] & 0x40 != 0 && transport.len() == 12 + 16 + 4),
                other => panic!("{scheme}: operation {other:#x}"),
            }
        }
        // 150,001 B are 147 packets of 1,024 B; the one before opens the connection, the last closes it.
        let most = newest.values().filter(|number| **number > 2).collect::<Vec<_>>();
        assert!(most.len() == 6 && most.iter().all(|number| (147..=148).contains(*number)), "{scheme}: {newest:?}");
    }
    assert!(notified > 10 && missing > 3, "{notified} notifications, {missing} requests of missing packets");
}

#[test]
fn ultra_ethernet_has_all_kinds_of_packets() {
    let place = Place::with(CROWDED);
    let mut kinds = std::collections::BTreeSet::new();
    for (scheme, port) in OVER_UDP.into_iter().filter(|(_, port)| *port == 4793) {
        for bytes in packets(&place, scheme, "client", &[]) {
            let transport = datagram(&bytes, port);
            assert!(transport.len() >= 18, "{scheme}");
            let word = u16::from_be_bytes([transport[0], transport[1]]);
            let [from, to] = [8, 10].map(|at| u16::from_be_bytes([transport[at], transport[at + 1]]));
            assert!(from != to && from.abs_diff(to) == 1, "{scheme}: {from} and {to} are the ends of one connection");
            kinds.insert((word >> 11, if word >> 11 == 11 { word >> 7 & 15 } else { 0 }));
        }
    }
    // Requests, acknowledgements, negative ones, and control messages with credit and without.
    for kind in [(2, 0), (7, 0), (10, 0), (11, 0), (11, 7)] {
        assert!(kinds.contains(&kind), "{kind:?} of {kinds:?}");
    }
}

/// Lines that tshark finds in `t.pcapng` by a filter.
fn tshark(place: &Place, filter: &str) -> String {
    let output = Command::new("tshark")
        .args(["-r", "t.pcapng", "-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE", "-Y", filter])
        .current_dir(place.folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn tshark_reads_captures_without_complaints() {
    if Command::new("tshark").arg("--version").output().is_err() {
        println!("skipped: there is no tshark here (Debian's package tshark)");
        return;
    }
    let complaints =
        "_ws.malformed || _ws.expert.severity == error || tcp.checksum.status == 0 || ip.checksum.status == 0";
    let place = Place::with(LOSSY);
    for scheme in ["newreno", "dctcp", "newreno+m21"] {
        packets(&place, scheme, "client", &[]);
        let text = tshark(&place, complaints);
        assert!(text.is_empty(), "{scheme}: {text}");
    }
    let place = Place::with(CROWDED);
    for (scheme, port) in OVER_UDP {
        let all = packets(&place, scheme, "client", &["faults.loss=0.01"]).len();
        let text = tshark(&place, complaints);
        assert!(text.is_empty(), "{scheme}: {text}");
        let known =
            if port == 4791 { "infiniband.bth && udp.port == 4791" } else { "udp.port == 4793 && data.len >= 18" };
        assert_eq!(tshark(&place, known).lines().count(), all, "{scheme}: tshark knows every packet");
        if scheme == "dcqcn" {
            assert!(!tshark(&place, "infiniband.bth.opcode == 129").is_empty(), "congestion notifications");
            assert!(!tshark(&place, "infiniband.aeth.syndrome.opcode == 3").is_empty(), "requests of missing packets");
        }
    }
}
