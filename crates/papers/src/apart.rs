//! What a figure shows that no run gives: an algorithm's own time, or what it works out.

use super::measure::Measure;

/// What is carried out by itself.
#[derive(Clone, Debug, PartialEq)]
pub enum Apart {
    /// Swarms and their tree, formed for so many target servers, and timed.
    Swarms(Vec<u32>),
    /// A placement, planned from a period's queries, of which there are so many an hour, and timed.
    Planning(Vec<u32>),
    /// A server's queue of objects of these sizes.
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

    /// What it gives, and nothing else.
    pub fn measure(&self) -> Measure {
        match self {
            Apart::Swarms(_) => Measure::TreeMs,
            Apart::Planning(_) => Measure::ComputingMs,
            Apart::Queue(_) => Measure::QueueMean,
        }
    }

    /// Where its points are.
    pub fn xs(&self) -> Vec<f64> {
        match self {
            Apart::Swarms(xs) | Apart::Planning(xs) => xs.iter().map(|&x| x.into()).collect(),
            Apart::Queue(sizes) => vec![sizes.len() as f64],
        }
    }

    /// The words of what its points are along.
    pub(super) fn axis(&self) -> &'static str {
        match self {
            Apart::Swarms(_) => "target servers",
            Apart::Planning(_) => "queries an hour",
            Apart::Queue(_) => "objects",
        }
    }

    /// Whether it is worked out, so that nothing in it is due to chance.
    pub(super) fn is_exact(&self) -> bool {
        matches!(self, Apart::Queue(_))
    }
}
