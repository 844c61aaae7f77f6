//! Header of the PROXY protocol, version 2 (HAProxy's proxy-protocol.txt, section 2.2).

use std::net::IpAddr;

use ppp::v2::{Addresses, Command, Header, ParseError, Protocol};

/// Length of the fixed part, whose last two bytes are the length of the rest.
const FIXED: usize = 16;
/// Longest header; the addresses take at most 216 bytes, the rest is for TLVs.
const LONGEST: usize = 4096;

/// Origin of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The proxy itself, or unknown to it.
    Proxy,
    /// A client with this address.
    Ip(IpAddr),
    /// A client at a UNIX socket of the proxy.
    Unix,
}

/// Start of a connection's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// An incomplete header: this many bytes belong to it for certain.
    More(usize),
    /// A header.
    Header(Origin),
    /// Anything else.
    Invalid,
}

/// Parses the first bytes of a connection.
pub fn parse(bytes: &[u8]) -> Start {
    let header = match Header::try_from(bytes) {
        Ok(header) => header,
        Err(ParseError::Incomplete(there)) => return Start::More(FIXED - there.min(FIXED - 1)),
        Err(ParseError::Partial(there, length)) if FIXED + length <= LONGEST => return Start::More(length - there),
        Err(_) => return Start::Invalid,
    };
    if bytes.len() > LONGEST || header.tlvs().any(|tlv| tlv.is_err()) {
        return Start::Invalid;
    }
    match (header.command, header.protocol, header.addresses) {
        (Command::Local, ..) | (Command::Proxy, _, Addresses::Unspecified) => Start::Header(Origin::Proxy),
        (Command::Proxy, Protocol::Stream, Addresses::IPv4(ip)) => Start::Header(Origin::Ip(ip.source_address.into())),
        (Command::Proxy, Protocol::Stream, Addresses::IPv6(ip)) => Start::Header(Origin::Ip(ip.source_address.into())),
        (Command::Proxy, Protocol::Stream, Addresses::Unix(_)) => Start::Header(Origin::Unix),
        (Command::Proxy, ..) => Start::Invalid,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

    /// A header with this command, family and protocol, and rest.
    fn header(command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
        [SIGNATURE, &[command, family], &(rest.len() as u16).to_be_bytes(), rest].concat()
    }

    fn ip(text: &str) -> Start {
        Start::Header(Origin::Ip(text.parse().unwrap()))
    }

    #[test]
    fn reads_origin_of_every_family() {
        let four = [192, 0, 2, 7, 10, 0, 0, 1, 1, 2, 3, 4];
        let mut six = [0; 36];
        (six[0], six[1], six[15]) = (0x20, 0x01, 9);
        let unix = [b'/'; 216];
        let tlvs = [&four[..], &[0x04, 0, 3, 0, 0, 0], &[0x20, 0, 1, 9]].concat();
        for (bytes, expected) in [
            (header(0x21, 0x11, &four), ip("192.0.2.7")),
            (header(0x21, 0x11, &tlvs), ip("192.0.2.7")),
            (header(0x21, 0x21, &six), ip("2001::9")),
            (header(0x21, 0x31, &unix), Start::Header(Origin::Unix)),
            (header(0x20, 0x00, &[]), Start::Header(Origin::Proxy)),
            (header(0x20, 0x11, &four), Start::Header(Origin::Proxy)),
            (header(0x21, 0x00, &four), Start::Header(Origin::Proxy)),
        ] {
            assert_eq!(parse(&bytes), expected);
            // Reading never goes beyond the header.
            let mut there = 0;
            while let Start::More(more) = parse(&bytes[..there]) {
                assert!(more > 0 && there + more <= bytes.len());
                there += 1;
            }
            assert_eq!(there, bytes.len());
        }
    }

    #[test]
    fn refuses_other_beginnings() {
        let four = [0; 12];
        let torn = [&four[..], &[0x04, 0, 9, 0]].concat();
        for bytes in [
            b"get a\r\n".to_vec(),
            b"PROXY TCP4 192.0.2.7 10.0.0.1 1 2\r\n".to_vec(),
            header(0x11, 0x11, &four),
            header(0x22, 0x11, &four),
            header(0x21, 0x41, &four),
            header(0x21, 0x13, &four),
            header(0x21, 0x12, &four),
            header(0x21, 0x11, &four[..11]),
            header(0x21, 0x21, &four),
            header(0x21, 0x11, &torn),
            header(0x21, 0x11, &[0; 4096])[..FIXED].to_vec(),
        ] {
            assert_eq!(parse(&bytes), Start::Invalid, "{}", bytes.escape_ascii());
        }
    }
}
