//! Quantities with units: [`Time`] in picoseconds, [`Bytes`], [`Rate`] in bit/s, [`QueueSize`] in bytes or packets; and [`Share`] and
//! [`Ratio`] without units.
//!
//! All are integers, parse from text such as `"25 us"` or `"64 KiB"`, and print so that they parse back to the same value. KB and MB are
//! decimal, KiB and MiB binary. Overflow is an error.
#![no_std]

#[cfg(test)]
extern crate std;

mod parse;
mod quantity;
mod ratio;
mod share;
mod text;

pub use parse::ParseError;
pub use quantity::{Bytes, QueueSize, Rate, Time};
pub use ratio::Ratio;
pub use share::Share;
