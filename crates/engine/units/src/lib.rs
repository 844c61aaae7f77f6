//! Quantities with units: [`Time`] in picoseconds, [`Bytes`], [`Rate`] in bit/s, [`QueueSize`] in bytes or packets; [`Share`] and
//! [`Ratio`] without units; and [`SendRate`], a rate or a share of a link's.
//!
//! All are integers, parse from text such as `"25 us"` or `"64 KiB"`, and print so that they parse back to the same value. KB and MB are
//! decimal, KiB and MiB binary. Overflow is an error.
//!
//! ```
//! use fanin_units::{Bytes, Rate, Time};
//!
//! let rate: Rate = "10 Gbit/s".parse()?;
//! assert_eq!(rate.time_for(1_250), Time::from_micros(1));
//! assert_eq!("64 KiB".parse::<Bytes>()?.to_string(), "64 KiB");
//! # Ok::<(), fanin_units::ParseError>(())
//! ```
#![no_std]

#[cfg(test)]
extern crate std;

mod parse;
mod quantity;
mod ratio;
mod send_rate;
mod share;
mod text;

pub use parse::ParseError;
pub use quantity::{Bytes, QueueSize, Rate, Time};
pub use ratio::Ratio;
pub use send_rate::SendRate;
pub use share::Share;
