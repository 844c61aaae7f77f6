//! Limit of the bytes on their way into this host, over all servers.
//!
//! A client that requests from many servers at once receives their responses at once: they overflow the buffer of the switch port to its
//! host (incast). A [`Limiter`] admits a request while the bytes of expected responses fit a limit, which it adapts by the concurrency
//! limits of `fanin-fanout`, under the names that scenarios use.
//!
//! ```
//! use fanin_limit::{Limiter, Settings};
//!
//! let mut limiter = Limiter::new(Settings { budget: Some(100_000), ..Settings::default() });
//! let first = limiter.request(0, 0, Some(64_000));
//! let second = limiter.request(0, 0, Some(64_000));
//! assert!(limiter.is_admitted(first) && !limiter.is_admitted(second));
//! limiter.received(first, 28_000);
//! assert_eq!(limiter.admit_next(500_000), Some(second));
//! limiter.finish(900_000, first, 64_000);
//! ```
#![no_std]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

#[cfg(feature = "std")]
mod file;
#[cfg(feature = "std")]
mod folder;
mod limiter;
#[cfg(feature = "std")]
mod metrics;
#[cfg(feature = "object_store")]
pub mod object_store;
mod queue;
mod settings;
#[cfg(feature = "std")]
mod share;
mod slots;
#[cfg(feature = "tower")]
pub mod tower;
#[cfg(feature = "std")]
mod wait;

pub use fanin_fanout::mean::SIZE_MAX;
#[cfg(feature = "std")]
pub use file::SettingsError;
pub use limiter::{Figures, Limiter};
#[cfg(feature = "std")]
pub use metrics::Metric;
pub use settings::{Law, Settings};
#[cfg(feature = "std")]
pub use share::Share;
pub use slots::Ticket;
#[cfg(feature = "std")]
pub use wait::{Grant, Limit, Ready};

#[cfg(all(doctest, feature = "std"))]
#[doc = include_str!("../README.md")]
struct Readme;
