//! Experiments: from resolved schemes to a plan of runs ([`plan()`]), and from their results to rows with confidence intervals
//! ([`Summary`]) and findings. Everything is a function of its arguments: there are no files, threads, clocks or environment
//! variables.
//!
//! The caller provides a [`Runner`] for single runs and an [`Executor`] for batches of them.

mod axis;
mod background;
pub mod catalogue;
mod causes;
mod compare;
pub mod fairness;
pub mod figures;
mod findings;
mod jitter;
mod jobs;
mod latency;
mod least;
mod manifest;
mod measurement;
mod measures;
mod memories;
mod notes;
mod outcome;
mod pauses;
mod plan;
mod queue_pairs;
mod ranks;
mod runner;
mod session;
mod setting;
mod shell;
mod slowdown;
mod slowest;
mod spread;
pub mod stats;
mod summary;
pub mod tasks;
mod tiers;
mod upper_bound;

pub use axis::{Axis, place_of};
pub use background::{Background, Service};
pub use causes::{Causes, Stalled};
pub use compare::{Compared, compare};
pub use findings::{
    Finding, Seen, Verdict, findings, findings_with, focus, line_mbps, start_decides, sure_onsets, verdict_at,
};
pub use jitter::with_jitter;
pub use latency::Latency;
pub use least::Least;
pub use manifest::Manifest;
pub use measurement::{Measurement, Provenance};
pub use measures::SummaryRow;
pub use memories::{Memories, Squeezed};
pub use notes::notes;
pub use outcome::{Broken, Done, Outcome, Runs};
pub use pauses::{Pauses, paused_share};
pub use plan::{CompareOptions, MOST_SEEDS, Planner, plan};
pub use ranks::{Ranks, SlowestRank};
pub use runner::{Reached, Runner};
pub use session::{Batch, Executor, News, Pace, Progress, Session, conduct, execute};
pub use setting::setting;
pub use shell::quoted;
pub use slowdown::Slowdown;
pub use slowest::Slowest;
pub use spread::{Spread, workload_fcts};
pub use summary::{Cost, Onset, Onsets, Precision, Summary, summarise};
pub use tiers::Tier;
pub use upper_bound::allowed_mbps;
