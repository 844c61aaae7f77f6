//! Tests of scenarios and their files in one program, because linking takes long.

mod any_text;
mod flows;
mod rdma;
mod sealed;
mod stack;
mod sweep;
mod switch;
mod uet;
