//! Measurements without a simulation run: an algorithm's own time, or a computed result.

use super::measure::Measure;

/// A measurement without a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Apart {
    /// Forms swarms and their tree for these numbers of target servers, and times it.
    Swarms(Vec<u32>),
    /// Plans a placement from a period's queries at these rates an hour, and times it.
    Planning(Vec<u32>),
    /// Orders a server's queue of objects of these sizes.
    Queue(Vec<u32>),
}

impl Apart {
    /// Its curves.
    pub fn curves(&self) -> &'static [&'static str] {
        match self {
            Apart::Swarms(_) => &["swarms and tree"],
            Apart::Planning(_) => &["ictcp-window", "picc"],
            Apart::Queue(_) => &["in order", "reordered", "gain"],
        }
    }

    /// Its only measure.
    pub fn measure(&self) -> Measure {
        match self {
            Apart::Swarms(_) => Measure::TreeMs,
            Apart::Planning(_) => Measure::ComputingMs,
            Apart::Queue(_) => Measure::QueueMean,
        }
    }

    /// Its x values.
    pub fn xs(&self) -> Vec<f64> {
        match self {
            Apart::Swarms(xs) | Apart::Planning(xs) => xs.iter().map(|&x| x.into()).collect(),
            Apart::Queue(sizes) => vec![sizes.len() as f64],
        }
    }

    /// Its x axis title.
    pub(super) fn axis(&self) -> &'static str {
        match self {
            Apart::Swarms(_) => "target servers",
            Apart::Planning(_) => "queries an hour",
            Apart::Queue(_) => "objects",
        }
    }

    /// Whether the result is computed exactly, without any chance.
    pub(super) fn is_exact(&self) -> bool {
        matches!(self, Apart::Queue(_))
    }
}
