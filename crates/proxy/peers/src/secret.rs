//! Peers without TLS know each other by a secret: each proves in its greeting that it has it, with a number that the other one has drawn
//! (HMAC-SHA256, RFC 2104). A proof is for one connection, in one direction, and for both nodes.

use std::fmt;
use std::io;

use fanin_roles::Node;
use hmac::{Hmac, KeyInit, Mac};
use rand::TryRng;
use rand::rngs::SysRng;
use sha2::Sha256;
use zeroize::Zeroizing;

/// Bytes of a proof, and of the number for which it is.
pub const LEN: usize = 32;
/// Least bytes of a secret.
pub const LEAST: usize = 16;

/// A peer's side of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// It has opened the connection.
    Opened,
    /// It has accepted it.
    Accepted,
}

impl Side {
    /// The other end's.
    pub fn other(self) -> Side {
        if self == Side::Opened { Side::Accepted } else { Side::Opened }
    }
}

/// A peer's node, and the number that it has drawn.
#[derive(Clone, Copy, Debug)]
pub struct Drawn {
    /// The node.
    pub node: Node,
    /// The number.
    pub number: [u8; LEN],
}

/// The secret that front ends and agents share.
pub struct PeerSecret(Zeroizing<Vec<u8>>);

impl fmt::Debug for PeerSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PeerSecret")
    }
}

impl PartialEq for PeerSecret {
    fn eq(&self, other: &PeerSecret) -> bool {
        self.0 == other.0
    }
}

impl PeerSecret {
    /// The bytes of a file, without surrounding white space; none if there are too few.
    pub fn of(bytes: &[u8]) -> Option<PeerSecret> {
        let bytes = bytes.trim_ascii();
        (bytes.len() >= LEAST).then(|| PeerSecret(Zeroizing::new(bytes.to_vec())))
    }

    /// Draws a number for a connection.
    ///
    /// # Errors
    /// The system has no randomness.
    pub fn draw(node: Node) -> io::Result<Drawn> {
        let mut number = [0; LEN];
        SysRng.try_fill_bytes(&mut number).map_err(io::Error::other)?;
        Ok(Drawn { node, number })
    }

    /// The proof of a peer, for the other one.
    pub fn proof(&self, side: Side, of: &Drawn, to: &Drawn) -> [u8; LEN] {
        self.mac(side, of, to).finalize().into_bytes().into()
    }

    /// Whether this is the other peer's proof.
    pub fn is_proof(&self, proof: &[u8; LEN], side: Side, of: &Drawn, to: &Drawn) -> bool {
        self.mac(side, of, to).verify_slice(proof).is_ok()
    }

    fn mac(&self, side: Side, of: &Drawn, to: &Drawn) -> Hmac<Sha256> {
        // A key may have any length.
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).unwrap_or_else(|_| unreachable!());
        mac.update(b"fanin peers 1");
        mac.update(&[side as u8]);
        for peer in [of, to] {
            mac.update(&peer.node.0.to_be_bytes());
            mac.update(&peer.number);
        }
        mac
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proof_is_hmac_of_both_greetings() {
        let secret = PeerSecret::of(b" a secret of the peers \n").unwrap();
        let [one, other] = [(7, 1), (9, 2)].map(|(node, byte)| Drawn { node: Node(node), number: [byte; LEN] });
        // Python: hmac.new(b"a secret of the peers", b"fanin peers 1\x00" + b"\0\0\0\7" + b"\1" * 32 + b"\0\0\0\x09" + b"\2" * 32, "sha256")
        let expected = "2fbddb3cdca72b63b44e02fac320469966f8d4c100dff662a32a3a5249e45051";
        let proof = secret.proof(Side::Opened, &one, &other);
        assert_eq!(proof.iter().map(|byte| format!("{byte:02x}")).collect::<String>(), expected);
        assert!(secret.is_proof(&proof, Side::Opened, &one, &other));
        // It is of no other side, order, number, node or secret.
        assert!(!secret.is_proof(&proof, Side::Accepted, &one, &other));
        assert!(!secret.is_proof(&proof, Side::Opened, &other, &one));
        assert!(!secret.is_proof(&proof, Side::Opened, &Drawn { number: [3; LEN], ..one }, &other));
        assert!(!secret.is_proof(&proof, Side::Opened, &Drawn { node: Node(8), ..one }, &other));
        let another = PeerSecret::of(b"another secret of the peers").unwrap();
        assert!(!another.is_proof(&proof, Side::Opened, &one, &other) && PeerSecret::of(b"too short").is_none());
    }
}
