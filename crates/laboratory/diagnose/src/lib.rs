//! Diagnosis of slow rounds from recordings: reads captures and counters as a stream, and reports causes, incast or others, with their
//! confidence.
//!
//! [`diagnose`] depends on its inputs alone. Its memory is bounded for any input; cautions report gaps in the data. [`calibrate`] settles by
//! simulation what a recording leaves open, and [`page`] shows a diagnosis.

mod calibrate;
mod capture;
mod captured;
mod cause;
mod cautions;
mod chance;
mod copies;
mod counters;
mod covered;
mod diagnosis;
mod dissect;
mod episode;
mod faults;
mod flow;
mod half;
mod host;
mod ids;
mod input;
mod judge;
mod level;
mod observation;
mod origin;
mod page;
mod rdma;
mod read;
mod record;
mod recording;
mod samples;
mod scenario;
mod shares;
mod sketch;
mod standing;
mod steps;
mod train;
mod verdict;
mod watch;
mod way;
mod words;

pub use calibrate::{Simulate, calibrate};
pub use diagnosis::{
    Cause, CauseFound, Diagnosis, EpisodeFound, FlowFound, HostFound, InputFound, Lane, Place, PointFound, RdmaFound,
    RoundsFound, ServerFound, Signature, Simulated, SlowServer, StallFound, Verdict, WayFound,
};
pub use observation::Observation;
pub use origin::{How, Known};
pub use page::page;
pub use read::{Input, Unread, diagnose};
pub use recording::{Command, commands};
pub use sketch::{Choice, Sketch};
