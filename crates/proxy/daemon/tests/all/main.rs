//! Tests of the front end in one binary, to save link time. Socket tests run once with each event loop.

#![allow(clippy::duplicate_mod, reason = "socket tests run once with each event loop")]

mod agent_settings;
mod certificates;
mod store;
mod support;

mod by_default;
mod by_epoll;
mod import;
mod machine;
mod migration;
#[cfg(feature = "opentelemetry")]
mod opentelemetry;
mod routing;
mod schedule;
mod security;
mod settings;
