//! Tests of scenarios and their files in one program, because linking takes long.

mod any_text;
mod flows;
mod former;
mod large;
mod rdma;
mod sealed;
mod stack;
mod sweep;
mod switch;
mod topologies;
mod traces;
mod uet;
mod ways;
