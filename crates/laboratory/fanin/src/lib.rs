//! Predicts, compares and fixes incast, the collapse of many-to-one traffic in data centres.
//!
//! A [`Scenario`] describes the experiment, a [`Lab`] carries it out, and a [`Comparison`] holds the results:
//!
//! ```
//! use fanin::{CompareOptions, Lab, Scenario};
//!
//! let mut scenario = Scenario::parse(
//!     "rack.toml",
//!     r#"
//!     schemes = ["newreno", "dctcp"]
//!     [workload]
//!     fragment = "64 KiB"
//!     duration = "100 ms"
//!     [sweep]
//!     fan_in = [4, 32]
//!     [run]
//!     seeds = 1
//!     "#,
//! )?;
//! scenario.set("switch.buffer=128 KiB")?;
//! let rack = scenario.resolve()?;
//! let comparison = Lab::default().without_cache().compare(&rack, CompareOptions::default(), &mut |_| {})?;
//! assert_eq!(comparison.summary().rows.len(), 4);
//! let dctcp = comparison.findings().iter().find(|finding| finding.scheme.as_deref() == Some("dctcp"));
//! assert!(dctcp.is_some_and(|finding| finding.head.contains("sustains")));
//! # Ok::<(), fanin::Error>(())
//! ```
//!
//! In the same way, [`Lab::advise`] finds remedies, [`Lab::diagnose`] diagnoses recordings, [`Lab::run`] runs once, [`Lab::trace`] captures
//! packets, [`Lab::plan`] plans object placement, and [`Lab::reproduce`] reproduces papers. Nothing here prints, exits, or panics on bad
//! input.

mod advise;
mod advise_on;
mod comparison;
mod diagnose;
mod error;
mod frame;
mod lab;
pub mod paper;
mod plan;
#[cfg(feature = "testbed")]
pub mod prove;
mod remedies;
mod scenario;
mod schema;
mod simulator;
#[cfg(feature = "testbed")]
pub mod testbed;
mod trace;
pub mod words;

pub use advise::{Advised, Wanted};
pub use advise_on::AdvisedOn;
pub use comparison::Comparison;
pub use diagnose::Diagnosed;
pub use error::Error;
pub use lab::{Lab, Update, engine, user_cache, work};
pub use plan::{Conclusion, Latencies, Plan, describe_empty_plan};
pub use scenario::{Resolved, Scenario};
pub use trace::Capture;

/// Parts of advice.
pub mod advice {
    pub use fanin_advise::{
        Addresses, Advice, Assumption, AtEnds, Effort, FAMILIES, Goal, Line, LoneFlow, Margin, Met, Remedy, Standing,
        Syntax, Where, by_machine,
    };
}

/// Parts of a diagnosis.
pub mod diagnosis {
    pub use fanin_diagnose::{
        Cause, CauseFound, Command, Diagnosis, EpisodeFound, HostFound, How, InputFound, Known, Lane, Observation,
        Place, PointFound, RoundsFound, ServerFound, Signature, Simulated, Sketch, SlowServer, StallFound, Verdict,
        WayFound, commands,
    };
}

// Types in the signatures above.
pub use fanin_execute::{
    BatchResult, Cache, Column, Draft, Forecast, Out, Pruning, Refusal, StopReason, Table, Transport, Usage, Values,
    clean_up, is_special,
};
pub use fanin_lab::{
    Axis, Background, Batch, Broken, CompareOptions, Done, Executor, Finding, Latency, Measurement, Memories, News,
    Onset, Onsets, Outcome, Pace, Pauses, Progress, Provenance, Ranks, Slowdown, SlowestRank, Spread, Squeezed,
    Summary, SummaryRow, Tier, Verdict, figures, line_mbps, notes, place_of, setting, stats, verdict_at,
};
pub use fanin_placement::{Kind as Gathering, Reason};
pub use fanin_plan::requests::Reading;
pub use fanin_plan::{
    CarriedOut, CurrentPlacement, Effect, Memory, Period, PlacementPlan, PlanOptions, PlanningError, Rule, demo,
    write_placement,
};
pub use fanin_report::Report;
/// Why a run can use one core only.
pub use fanin_simulate::one_core;
/// Algorithms of the caller's own, beside the built-in ones.
pub use fanin_spec::law;
pub use fanin_spec::{Coordinate, Origin, Point, Problem, RunSpec, TIERS, Variant, Watch};
pub use fanin_tables::{
    Cause, Cell, CollectiveRow, Counter, HolderRow, MemoryRow, PauseRow, PortRow, Row, RunError, RunTables, Totals,
};
pub use fanin_units::{Bytes, ParseError, QueueSize, Rate, Time};
