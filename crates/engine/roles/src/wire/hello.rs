//! First bytes of each side of a connection between roles. They stay the same in all versions, so that two versions can name each other.
//!
//! ```text
//! +--------------------------+--------+--------+-----------------------------------+
//! | "fanin" and a zero byte  | version| proves | node of the sender                |
//! +--------------------------+--------+--------+-----------------------------------+
//! ```

use super::{Node, Sink};

/// First bytes.
const MAGIC: &[u8; 6] = b"fanin\0";

/// A greeting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Version of the messages that follow.
    pub version: u8,
    /// The sender.
    pub node: Node,
    /// Whether the sender has a secret; then a number follows, for which the other side proves that it has the secret, too.
    pub proves: bool,
}

/// The bytes are not a greeting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotHello;

impl Hello {
    /// Length in bytes.
    pub const LEN: usize = 12;

    /// Encodes it.
    pub fn put(&self, out: &mut impl Sink) {
        out.copy(MAGIC);
        out.copy(&[self.version, self.proves.into()]);
        out.copy(&self.node.0.to_be_bytes());
    }

    /// Decodes it; `None`: more bytes are needed.
    ///
    /// # Errors
    /// The bytes are something else.
    pub fn take(bytes: &[u8]) -> Result<Option<Hello>, NotHello> {
        let magic = bytes.len().min(MAGIC.len());
        if bytes[..magic] != MAGIC[..magic] {
            return Err(NotHello);
        }
        let Some(&[.., version, proves, a, b, c, d]) = bytes.first_chunk::<{ Hello::LEN }>() else { return Ok(None) };
        Ok(Some(Hello { version, node: Node(u32::from_be_bytes([a, b, c, d])), proves: proves != 0 }))
    }
}
