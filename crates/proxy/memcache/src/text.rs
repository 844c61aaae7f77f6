//! Responses of memcached 1.6.45, literally.

/// Unknown command.
pub const ERROR: &str = "ERROR\r\n";
/// Too few words, a key over 250 bytes, or an invalid number.
pub const BAD_FORMAT: &str = "CLIENT_ERROR bad command line format\r\n";
/// Invalid words of `delete`.
pub const BAD_DELETE: &str = "CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]\r\n";
/// `touch`, `gat`, `flush_all`.
pub const BAD_EXPTIME: &str = "CLIENT_ERROR invalid exptime argument\r\n";
/// `incr`, `decr`.
pub const BAD_DELTA: &str = "CLIENT_ERROR invalid numeric delta argument\r\n";
/// A meta command with more flags than every server accepts.
pub const FLAGS_TOO_LONG: &str = "CLIENT_ERROR options flags are too long\r\n";
/// A duplicate flag.
pub const FLAG_TWICE: &str = "CLIENT_ERROR duplicate flag\r\n";
/// An unknown flag.
pub const NO_FLAG: &str = "CLIENT_ERROR invalid flag\r\n";
/// Either of them, in `ma`.
pub const NO_FLAG_OR_TWICE: &str = "CLIENT_ERROR invalid or duplicate flag\r\n";
/// An invalid number in a flag.
pub const BAD_TOKEN: &str = "CLIENT_ERROR bad token in command line format\r\n";
/// The flag `J`.
pub const BAD_INITIAL: &str = "CLIENT_ERROR invalid numeric initial value\r\n";
/// The flag `D`.
pub const BAD_FLAG_DELTA: &str = "CLIENT_ERROR invalid numeric delta value\r\n";
/// A key with invalid base64.
pub const BAD_BASE64: &str = "CLIENT_ERROR error decoding key\r\n";
/// The flag `M` of `ms`.
pub const BAD_STORE_MODE: &str = "CLIENT_ERROR invalid mode for ms M token\r\n";
/// The flag `M` of `ma`.
pub const BAD_COUNT_MODE: &str = "CLIENT_ERROR invalid mode for ma M token\r\n";
/// The flag `O`.
pub const OPAQUE_TOO_LONG: &str = "CLIENT_ERROR opaque token too long\r\n";
/// A value above the limit.
pub const TOO_LARGE: &str = "SERVER_ERROR object too large for cache\r\n";
/// A list of keys above the limit.
pub const LINE_TOO_LONG: &str = "SERVER_ERROR out of memory reading request\r\n";
/// A value without its terminator.
pub const BAD_CHUNK: &str = "CLIENT_ERROR bad data chunk\r\n";
/// `stats cachedump` with missing or invalid numbers.
pub const BAD_LINE: &str = "CLIENT_ERROR bad command line\r\n";
/// `stats detail`.
pub const DETAIL_USAGE: &str = "CLIENT_ERROR usage: stats detail on|off|dump\r\n";
/// Response to `stats reset`.
pub const RESET: &str = "RESET\r\n";
/// `flush_all` without permission.
pub const NO_FLUSH: &str = "CLIENT_ERROR flush_all not allowed\r\n";
/// Other administrative commands without permission.
pub const NO_ADMIN: &str = "CLIENT_ERROR administrative commands not allowed\r\n";
/// `shutdown`, which is never allowed.
pub const NO_SHUTDOWN: &str = "SERVER_ERROR: shutdown not enabled\r\n";
/// End of values and of lists.
pub const END: &str = "END\r\n";
/// `mn`.
pub const BARRIER: &str = "MN\r\n";
