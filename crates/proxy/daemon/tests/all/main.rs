//! Tests of the front end in one binary, to save link time.

mod agent_settings;
mod certificates;
mod store;
mod support;

mod import;
mod machine;
mod migration;
#[cfg(feature = "opentelemetry")]
mod opentelemetry;
mod over_sockets;
mod routing;
mod schedule;
mod security;
mod settings;
