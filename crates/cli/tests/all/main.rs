//! `fanin` as a process, and the house as a whole, in one program: its tests take turns, so that none waits for the longest alone.

mod advising;
mod allowed;
mod bad_input;
mod between_hosts;
mod claims;
mod commands;
mod common;
mod cores;
mod coverage;
mod diagnosing;
mod docs;
mod front;
mod house;
mod keeping;
mod limits;
mod outputs;
mod planning;
mod reproducing;
mod scorecards;
mod series;
mod support;
mod sweeping;
mod too_large;
mod tracing;
mod verdicts;
mod warnings;
