//! Tests of the limiter.

mod file;
mod properties;
mod share;
mod tower;
mod vectors;
mod waits;
