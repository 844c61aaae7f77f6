// Package limit limits the bytes on their way into this host, over all servers.
//
// A client that requests from many servers at once receives their responses at once: they overflow the buffer of the switch port to
// its host (incast). A [Limit] admits a request while the bytes of expected responses fit a limit, which it adapts by the concurrency
// limits of fanin, under the names that its scenarios use. The arithmetic is that of the Rust crate fanin-limit, to the last bit: both
// pass the same vectors.
package limit
