//! A batch of a multiget: the keys of one server, and their results.

use std::ops::Range;

use fanin_proxy_core::memory::Buffer;

/// Keys of one server.
#[derive(Debug, Default)]
pub struct Batch {
    /// The server.
    pub server: u32,
    /// The request, as a range of the multiget's text, and the end of its part with keys while that is laid out.
    pub asked: Range<usize>,
    pub laid_out: usize,
    /// Index of its first key among all results, and the number of keys with results.
    pub first: usize,
    pub count: usize,
    pub come: usize,
    pub found: usize,
    /// Keys written, and bytes of `held` written.
    pub written: usize,
    pub written_bytes: usize,
    /// Response bytes, in key order.
    pub held: Buffer,
    /// Whether it has ended.
    pub over: bool,
    /// Number of keys that are looked up elsewhere, and the results of such keys by index.
    pub waits: usize,
    /// Keys whose server was not known to be clear at the request.
    pub unclear: Vec<u32>,
    pub more: Vec<(u32, Settled)>,
    pub more_bytes: usize,
}

/// Result of a key that was looked up elsewhere.
#[derive(Debug)]
pub enum Settled {
    /// This value, in place of the server's.
    Value(Buffer),
    /// A miss.
    Missed,
    /// The server's result stands.
    AsServed,
}
