//! memcached's text protocols, classic and meta, as something between clients and servers needs them: where a request ends, whose
//! key it has, how much value follows, what its server is asked in its place, and what the answer must look like.
//!
//! Nothing is allocated: what is read are ranges of the caller's bytes, and a value is a number of bytes that follow. Any bytes end in
//! a request, a refusal in memcached's own words ([`text`]) or a wish for more, and however they are cut into pieces, they end in the
//! same. No line of a client is passed on: what its words mean is written anew. What a server must judge by what it stores is left to
//! it.
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

/// The longest key, as it is stored.
pub const LONGEST_KEY: usize = 250;
/// The longest line of a command that does not name keys without end, its end apart.
pub const LONGEST_LINE: usize = 2048;
