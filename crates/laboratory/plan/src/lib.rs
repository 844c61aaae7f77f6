//! Plans from logs of requests: reads logs ([`requests`]), decides which objects should share servers, and says what that would change.
//! The algorithms are those of `placement`.

mod current_placement;
mod draws;
mod error;
mod memory;
mod plan;
pub mod requests;

pub use current_placement::{CurrentPlacement, KeyLookup, Rule};
pub use draws::{Draws, Harmonic};
pub use error::PlanningError;
pub use memory::Memory;
pub use plan::{CarriedOut, Effect, Period, PlacementPlan, PlanOptions, demo, identity_of, make_plan, write_placement};
