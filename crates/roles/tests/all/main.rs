//! Front ends, hubs, data servers and planners, in one program: to link is what takes long. What counts allocations has a program of its own.

#[path = "../support/mod.rs"]
mod support;

mod data_server;
mod exactly_once;
mod front_end;
mod hub;
mod planner;
mod wire;
