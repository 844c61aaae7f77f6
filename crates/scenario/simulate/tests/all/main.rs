//! Tests of the simulator in one program, because linking takes long. Tests that count allocations have their own.

#[path = "../common/mod.rs"]
mod common;

mod beside;
mod between_hosts;
mod bounds;
mod bursts;
mod changing_links;
mod classes;
mod clients;
mod collectives;
mod connections;
mod cores;
mod engine_name;
mod fault_schedules;
mod faults;
mod grants;
mod host_ports;
mod hubs;
mod ictcp;
mod jitter;
mod key_value;
mod lists;
mod many_switches;
mod mapreduce;
mod no_effect;
mod occupancy;
mod pause;
mod physics;
mod pools;
mod properties;
mod pulls;
mod rdma;
mod roce_lossy;
mod sawtooth;
mod service;
mod several_links;
mod stalls;
mod stepping;
mod swift;
mod traces;
mod transports;
mod uet;
mod warm_up;
mod watching;
mod workloads;
