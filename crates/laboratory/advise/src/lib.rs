//! Advice for a cluster with incast: its state, its limits, and remedies that are simulated over their ranges and ranked, with the
//! commands that apply them.
//!
//! [`advise`] is a function of its arguments: its budget is in simulated packets, and each run depends only on the results of earlier ones,
//! never on time or threads.

mod advice;
mod beside;
mod cluster;
mod current;
mod goal;
mod interval;
mod lines;
mod remedy;
mod scripts;
mod search;
mod standing;
mod trials;

pub use advice::{Advice, AdviceError, AtEnds, Base, LoneFlow, Met, Remedy, Standing};
pub use cluster::Asked;
pub use goal::Goal;
pub use lines::{Addresses, Line, Lines, Plain, Syntax, Where, by_machine, lines};
pub use remedy::{Effort, FAMILIES};
pub use search::{AdviceOptions, Update, advise};
pub use standing::{Assumption, Limit, Margin};
pub use trials::Paused;
