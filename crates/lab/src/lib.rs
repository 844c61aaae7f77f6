//! The laboratory: from resolved schemes to runs ([`plan`]), through local threads ([`execute`]), to rows with
//! intervals over seeds ([`Summary`]) and tables on disk ([`Out`]).
//!
//! What runs a spec is a [`Runner`]; which one, the caller decides.

mod allowed;
mod axis;
mod cache;
mod cleanup;
pub mod columns;
mod draft;
mod estimate;
mod executor;
pub mod figures;
mod forecast;
pub mod input;
mod latency;
mod load;
mod out;
pub mod paper;
mod plan;
mod report;
mod runner;
mod setting;
mod slowdown;
pub mod stats;
mod summary;
mod tables;
mod tiers;

pub use allowed::allowed_mbps;
pub use axis::{Axis, place_of};
pub use cache::{Cache, Found, Pruning, Usage};
pub use cleanup::clean_up;
pub use draft::{Draft, is_special};
pub use executor::{Broken, Done, Lab, Outcome, Progress, conduct, execute};
pub use forecast::{Forecast, forecast, free_memory};
pub use latency::Latency;
pub use load::{Loaded, Unloaded, load};
pub use out::{Beside, Manifest, Out, Refusal};
pub use plan::{MOST_SEEDS, Planner, Wishes, plan};
pub use report::{Finding, Report, State, Verdict, findings, line_mbps, report, state_at};
pub use runner::{Runner, Watching};
pub use setting::{notes, setting};
pub use slowdown::Slowdown;
pub use summary::{Background, Cost, Onset, Onsets, Precision, Slowest, Spread, Summary, SummaryRow, summarise};
pub use tiers::Tier;
