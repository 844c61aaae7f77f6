//! Common parts of the proxy and the agent as services: reading their settings' file, systemd, and the addresses in messages.

use std::fs;
use std::path::Path;

use fanin_daemon::{Settings, messages};
use sd_notify::NotifyState;

use crate::failure::Failure;

pub fn read_file(file: &Path) -> Result<String, Failure> {
    fs::read_to_string(file).map_err(|error| Failure::Input(format!("{}: cannot read: {error}", file.display())))
}

/// Lets messages appear on stderr, in their format, before a start; none goes to a collector.
pub fn show_messages(settings: &messages::Settings) -> Result<(), Failure> {
    let shown = messages::Settings { otlp: None, ..settings.clone() };
    messages::install(&shown).map_err(|error| Failure::Environment(format!("cannot print messages: {error}")))
}

/// Reports a state to systemd, if that has started this process.
pub fn tell_systemd(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        messages::warning(&format!("cannot notify systemd: {error}"));
    }
}

/// Addresses of the pools, in words.
pub fn places(settings: &Settings) -> String {
    settings.listens().iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ")
}
