//! `fanin` as a process.

mod bad_input;
mod between_hosts;
mod commands;
mod common;
mod keeping;
mod series;
mod tracing;
