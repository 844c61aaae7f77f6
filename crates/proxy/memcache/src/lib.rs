//! memcached's text protocols, classic and meta, for proxies: the extent of a request, its key, the length of its value, the equivalent
//! request to a server, and the form of its response.
//!
//! Nothing is allocated: results are ranges of the caller's bytes, and values are only lengths. Any input gives requests, refusals in
//! memcached's words ([`text`]), or a need for more bytes, independent of how it is split. No line of a client is forwarded: an
//! equivalent one is written. Errors that depend on stored data are left to the server.
#![no_std]

#[cfg(test)]
extern crate std;

mod base64;
mod compose;
mod flags;
mod number;
pub mod request;
pub mod response;
pub mod text;
mod token;
mod verb;

pub use crate::base64::decoded;
pub use compose::{Mark, closes, closing_question, retold};
pub use flags::{Argument, Flags};
pub use request::{Command, Every, Figures, Get, Keyed, Keys, Limits, Lines, Next, Request, Store};
pub use response::{Cursor, Piece, Shape};
pub use verb::{Meta, Verb};

/// Maximum length of a key, as stored.
pub const LONGEST_KEY: usize = 250;
/// Maximum length of a line without a list of keys, without its end.
pub const LONGEST_LINE: usize = 2048;
