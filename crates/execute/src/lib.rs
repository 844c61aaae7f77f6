//! Side effects for experiments: local threads ([`Threads`]), the cache ([`Cache`]), input files ([`load()`]) and output files
//! ([`Out`]). `lab` decides which runs to execute and interprets them.

mod advice;
mod cache;
mod carried;
mod cell;
mod cleanup;
mod current_placement;
mod draft;
mod draws;
mod elsewhere;
mod estimate;
mod forecast;
pub mod input;
mod load;
mod measured;
mod out;
mod ownership;
pub mod paper;
pub mod requests;
mod tables;
mod threads;

pub use advice::{Advice, Effect, Period, PlanOptions, PlanningError, advise, demo};
pub use cache::{Cache, Found, Pruning, Usage};
pub use cleanup::clean_up;
pub use current_placement::{CurrentPlacement, KeyLookup, Rule};
pub use draft::{Draft, is_special};
pub use elsewhere::{BatchResult, Elsewhere, StopReason, Transport, work};
pub use forecast::{Forecast, forecast, free_memory};
pub use load::{LoadError, Loaded, load};
pub use measured::Measured;
pub use out::{ExtraFiles, Out, Refusal};
pub use tables::{Column, Table, Tables, Values};
pub use threads::Threads;
