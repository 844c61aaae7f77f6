//! Tests of the limiter.

mod file;
mod properties;
mod tower;
mod vectors;
mod waits;
