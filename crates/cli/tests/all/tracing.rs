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

#[test]
fn tshark_reads_captures_without_complaints() {
    if Command::new("tshark").arg("--version").output().is_err() {
        println!("skipped: there is no tshark here (Debian's package tshark)");
        return;
    }
    let place = Place::with(LOSSY);
    for scheme in ["newreno", "dctcp", "newreno+m21"] {
        packets(&place, scheme, "client", &[]);
        let complaints = "_ws.malformed || tcp.checksum.status == 0 || ip.checksum.status == 0";
        let output = Command::new("tshark")
            .args(["-r", "t.pcapng", "-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE", "-Y", complaints])
            .current_dir(place.folder.path())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.is_empty(), "{scheme}: {text}");
    }
}
