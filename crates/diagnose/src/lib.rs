//! From what a machine recorded to the cause of slow rounds: captures and counters are read as a stream, and what they show of
//! incast, and of what is none, is told with how sure it is.
//!
//! [`diagnose`] follows from its inputs alone. Memory is bounded whatever they hold; what they lack is said.

mod capture;
mod captured;
mod cautions;
mod chance;
mod copies;
mod counters;
mod diagnosis;
mod dissect;
mod episode;
mod flow;
mod half;
mod host;
mod input;
mod judge;
mod read;
mod record;
mod recording;
mod scenario;
mod sketch;
mod train;
mod verdict;
mod watch;
mod way;

pub use diagnosis::{
    Diagnosis, EpisodeFound, HostFound, How, InputFound, Known, Lane, PointFound, RoundsFound, Signature, Simulated,
    SlowServer, StallFound, Verdict, WayFound,
};
pub use read::{Input, Unread, diagnose};
pub use recording::{Command, commands};
pub use sketch::{Choice, Sketch};
