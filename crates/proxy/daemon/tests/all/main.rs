//! Tests of the front end in one binary, to save link time.

mod agent_settings;
mod certificates;
mod store;
mod support;

mod machine;
mod migration;
#[cfg(feature = "opentelemetry")]
mod opentelemetry;
mod over_sockets;
mod security;
