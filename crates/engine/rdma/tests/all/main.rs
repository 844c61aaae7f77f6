//! Tests of queue pairs.

mod end;
mod lossy;
mod queue_pair;
