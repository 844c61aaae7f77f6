//! memcached's own words, as of 1.6.18.

/// An unknown command, or one with too few or too many words.
pub const ERROR: &str = "ERROR\r\n";
/// A key over 250 bytes, or a number that is none.
pub const BAD_FORMAT: &str = "CLIENT_ERROR bad command line format\r\n";
/// `delete` with words that it does not take.
pub const BAD_DELETE: &str = "CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]\r\n";
/// `touch`, `gat`, `flush_all`.
pub const BAD_EXPTIME: &str = "CLIENT_ERROR invalid exptime argument\r\n";
/// `incr`, `decr`.
pub const BAD_DELTA: &str = "CLIENT_ERROR invalid numeric delta argument\r\n";
/// `mg` with more than 17 flags.
pub const GET_FLAGS_TOO_LONG: &str = "CLIENT_ERROR options flags are too long\r\n";
/// The other meta commands with more than 17 words behind the key.
pub const FLAGS_TOO_LONG: &str = "CLIENT_ERROR options flags too long\r\n";
/// A value over the limit.
pub const TOO_LARGE: &str = "SERVER_ERROR object too large for cache\r\n";
/// A list of keys over the limit.
pub const LINE_TOO_LONG: &str = "SERVER_ERROR out of memory reading request\r\n";
/// A value that does not end where it should.
pub const BAD_CHUNK: &str = "CLIENT_ERROR bad data chunk\r\n";
/// `shutdown`, which stops no server from here.
pub const NO_SHUTDOWN: &str = "ERROR: shutdown not enabled\r\n";
/// The end of values and of lists.
pub const END: &str = "END\r\n";
/// `mn`.
pub const BARRIER: &str = "MN\r\n";
