//! Side effects for experiments: local threads ([`Threads`]), the cache ([`Cache`]), input files ([`load()`]) and output files
//! ([`Out`]). `lab` decides which runs to execute and interprets them.

mod cache;
mod cleanup;
mod draft;
mod elsewhere;
pub mod embedded;
mod estimate;
mod forecast;
pub mod input;
mod load;
mod measured;
mod out;
mod ownership;
mod tables;
mod threads;

pub use cache::{Cache, Found, Pruning, Usage};

pub use cleanup::clean_up;
pub use draft::{Draft, is_special, replace};
pub use elsewhere::{BatchResult, Elsewhere, StopReason, Transport, work};
pub use forecast::{Forecast, forecast, free_memory};
pub use load::{LoadError, Loaded, load};
pub use measured::Measured;
pub use out::{ExtraFiles, Out, Refusal};
pub use tables::{Column, Table, Tables, Values};
pub use threads::{Threads, clock};
