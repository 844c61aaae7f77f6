//! The flags of meta commands: only `q`, which asks for silence, and `b`, which says that the key is in base64, change what stands
//! between a client and a server. Whether flags are right is the server's to say.

/// What was found.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flags<'a> {
    /// The one word that asks for silence. Two are a fault that the server will name.
    pub quiet: Option<&'a [u8]>,
    /// The key is in base64.
    pub base64: bool,
}

pub fn of<'a>(words: &[&'a [u8]]) -> Flags<'a> {
    let mut found = Flags::default();
    let mut quiet = 0;
    for word in words {
        match word.first() {
            Some(b'q') => (found.quiet, quiet) = (Some(*word), quiet + 1),
            Some(b'b') => found.base64 = true,
            _ => {}
        }
    }
    if quiet > 1 {
        found.quiet = None;
    }
    found
}
