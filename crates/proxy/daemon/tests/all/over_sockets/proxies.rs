//! The PROXY protocol, and access lists by address.

use std::io::{Read, Write};
use std::net::SocketAddr;

use fanin_daemon::Running;
use fanin_testing::LIMIT;

use crate::certificates::{client_config, folder, open};
use crate::support::{Client, Server, connect, front, wait_until};

const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

/// A header with this command, family and protocol, and rest.
fn header(command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
    [SIGNATURE, &[command, family], &(rest.len() as u16).to_be_bytes(), rest].concat()
}

fn from(ip: [u8; 4]) -> Vec<u8> {
    header(0x21, 0x11, &[&ip[..], &[10, 0, 0, 1, 1, 2, 3, 4]].concat())
}

fn address(front: &Running, pool: usize) -> SocketAddr {
    front.listens()[pool].ip().unwrap()
}

/// The response to `mn` after these bytes, in pieces of this size; empty if the connection was closed.
fn answer(address: SocketAddr, bytes: &[u8], size: usize) -> String {
    let mut stream = connect(address);
    let all = [bytes, b"mn\r\n"].concat();
    for piece in all.chunks(size) {
        if stream.write_all(piece).is_err() {
            break;
        }
    }
    let mut said = [0; 4];
    let count = stream.read(&mut said).unwrap_or(0);
    String::from_utf8_lossy(&said[..count]).into_owned()
}

#[test]
fn requires_header() {
    let ((folder, authority), server) = (folder(), Server::start());
    let servers = format!("servers = [\"{}\"]\n", server.address);
    let proxied = format!("{servers}proxy_protocol = true\n");
    let tls = "tls = { certificate = \"front.pem\", key = \"front-key.pem\" }\n";
    let front = front(folder.path(), &[servers, proxied.clone(), format!("{proxied}{tls}")]);
    let mut six = [0; 36];
    six[15] = 1;
    let tlvs = [&[192, 0, 2, 7, 10, 0, 0, 1, 1, 2, 3, 4][..], &[4, 0, 200], &[0; 200]].concat();
    for header in [
        from([192, 0, 2, 7]),
        header(0x21, 0x21, &six),
        header(0x20, 0, &[]),
        header(0x21, 0x31, &[b'x'; 216]),
        header(0x21, 0x11, &tlvs),
    ] {
        for size in [1, 15, 17, 5000] {
            assert_eq!(answer(address(&front, 1), &header, size), "MN\r\n");
        }
        // TLS follows the header.
        let mut client = open(address(&front, 2), &client_config(&authority, None, rustls::ALL_VERSIONS).into());
        client.sock.write_all(&header).unwrap();
        client.write_all(b"mn\r\n").unwrap();
        let mut said = [0; 4];
        client.read_exact(&mut said).unwrap();
        assert_eq!(&said, b"MN\r\n");
    }
    let mut plain = Client::to(address(&front, 0));
    assert_eq!(plain.figure("proxy_headers_refused"), 0);
    let wrong = [
        b"get a\r\n".to_vec(),
        b"PROXY TCP4 192.0.2.7 10.0.0.1 1 2\r\n".to_vec(),
        header(0x31, 0x11, &[0; 12]),
        header(0x21, 0x11, &[0; 11]),
        header(0x21, 0x11, &[0; 9000]),
    ];
    for (number, wrong) in wrong.iter().enumerate() {
        assert_eq!(answer(address(&front, 1), wrong, 5000), "", "{}", wrong.escape_ascii());
        assert_eq!(plain.figure("proxy_headers_refused"), number as u64 + 1);
    }
    // One that ends within the header is closed, too.
    let mut torn = connect(address(&front, 1));
    torn.write_all(&from([192, 0, 2, 7])[..20]).unwrap();
    torn.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(torn.read(&mut [0; 10]).unwrap_or(0), 0);
    wait_until("all are closed", || plain.figure("curr_connections") == 1);
}

#[test]
fn access_list_acts_on_address_and_header() {
    let ((folder, _), server) = (folder(), Server::start());
    let servers = format!("servers = [\"{}\"]\n", server.address);
    let with = |allow: &str| format!("{servers}allow = [{allow}]\n");
    let front = front(
        folder.path(),
        &[
            with("\"127.0.0.0/8\""),
            with("\"192.0.2.0/24\", \"::1\", \"127.0.0.9\""),
            format!("{}proxy_protocol = true\n", with("\"127.0.0.1\", \"192.0.2.0/24\"")),
            format!("{}proxy_protocol = true\n", with("\"192.0.2.0/24\"")),
        ],
    );
    let mut plain = Client::to(address(&front, 0));
    let mut denied = 0;
    let mut tries = |pool: usize, bytes: &[u8], is_admitted: bool| {
        let said = answer(address(&front, pool), bytes, 5000);
        assert_eq!(said, if is_admitted { "MN\r\n" } else { "" }, "{pool} {}", bytes.escape_ascii());
        denied += u64::from(!is_admitted);
        assert_eq!(plain.figure("clients_denied"), denied);
    };
    tries(0, b"", true);
    tries(1, b"", false);
    tries(2, &from([192, 0, 2, 200]), true);
    tries(2, &from([192, 0, 3, 200]), false);
    tries(2, &header(0x20, 0, &[]), true);
    tries(2, &header(0x21, 0x31, &[b'x'; 216]), false);
    // A header does not help a client that may not connect.
    tries(3, &from([192, 0, 2, 200]), false);
    // A denied client is closed without a byte.
    let mut silent = connect(address(&front, 1));
    silent.set_read_timeout(Some(LIMIT)).unwrap();
    assert_eq!(silent.read(&mut [0; 10]).unwrap_or(0), 0);
}
