//! Tests of the limiter.

mod file;
mod folder;
mod properties;
mod share;
mod tower;
mod vectors;
mod waits;
