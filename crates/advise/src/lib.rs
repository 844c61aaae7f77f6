//! What to change about a cluster that incast hurts: where it stands, what limits it, and remedies that were each simulated over
//! their own range, ranked, with the lines that make them.
//!
//! [`advise`] follows from its arguments alone: the search is paid for in simulated packets, and which runs there are hangs on what
//! those before gave, never on time or threads.

mod advice;
mod beside;
mod cluster;
mod goal;
mod lines;
mod remedy;
mod scripts;
mod search;
mod standing;
mod trials;

pub use advice::{Advice, Met, Remedy, Standing};
pub use cluster::Asked;
pub use goal::Goal;
pub use lines::{Addresses, Line, Lines, Syntax, Where, lines};
pub use remedy::{Effort, FAMILIES};
pub use search::{AdviceError, AdviceOptions, Update, advise};
pub use standing::{Assumption, Limit, Margin};
