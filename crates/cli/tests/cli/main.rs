//! `fanin` as a process.

mod advising;
mod bad_input;
mod between_hosts;
mod claims;
mod commands;
mod common;
mod front;
mod keeping;
mod outputs;
mod planning;
mod reproducing;
mod series;
mod sweeping;
mod too_large;
mod tracing;
mod verdicts;
mod warnings;
