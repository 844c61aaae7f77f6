//! The laboratory: from resolved schemes to runs ([`plan`]), through local threads ([`execute`]), to rows with
//! intervals over seeds ([`Summary`]) and tables on disk ([`Out`]).
//!
//! What runs a spec is a [`Runner`]; which one, the caller decides.

mod cache;
pub mod columns;
mod estimate;
mod executor;
pub mod figures;
mod latency;
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

pub use cache::{Cache, Found, Usage};
pub use executor::{Broken, Done, Lab, Outcome, Progress, conduct, execute};
pub use latency::Latency;
pub use out::{Beside, Manifest, Out, Refusal};
pub use plan::{MOST_SEEDS, Planner, Wishes, plan};
pub use report::{Finding, Report, Verdict, findings, report};
pub use runner::{RunError, Runner, Watching};
pub use setting::setting;
pub use slowdown::Slowdown;
pub use summary::{Cost, Onsets, Point, Spread, Summary, SummaryRow, summarise};
pub use tiers::Tier;
