//! Tests of front ends, hubs, data servers and planners in one binary, to save link time. Allocation counts have a binary of their own.

#[path = "../support/mod.rs"]
mod support;

mod data_server;
mod exactly_once;
mod front_end;
mod hub;
mod planner;
mod wire;
