//! Tests of settings files, and of settings of other proxies.

mod import;
mod settings;
