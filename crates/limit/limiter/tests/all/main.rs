//! Tests of the limiter.

mod file;
mod properties;
mod vectors;
mod waits;
