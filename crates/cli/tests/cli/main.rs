//! `fanin` as a process.

mod bad_input;
mod between_hosts;
mod claims;
mod commands;
mod common;
mod keeping;
mod reproducing;
mod series;
mod tracing;
mod warnings;
