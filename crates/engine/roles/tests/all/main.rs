//! Tests of front ends, hubs and data servers in one binary, to save link time. Allocation counts have a binary of their own.

#[path = "../support/mod.rs"]
mod support;

mod data_server;
mod exactly_once;
mod front_end;
mod hub;
mod machine;
mod wire;
