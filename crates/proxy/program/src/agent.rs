//! The agent: data server and hub beside a memcached, stopped by signals.

use std::thread;
use std::time::Duration;

use fanin_daemon::start_agent;
use fanin_daemon::{AgentSettings, messages};
use sd_notify::NotifyState;

use crate::arguments::AgentArguments;
use crate::failure::Failure;
use crate::program::Program;
use crate::service::{read_file, show_messages, tell_systemd};
use crate::stop;

/// Polling interval for signals.
const LOOK: Duration = Duration::from_millis(50);

/// Runs the agent until it is stopped, or checks its configuration.
///
/// # Errors
/// [`Failure`].
pub fn agent(arguments: &AgentArguments, program: &dyn Program) -> Result<(), Failure> {
    let text = read_file(&arguments.config)?;
    let settings = AgentSettings::of_file(&arguments.config.display().to_string(), &text)
        .map_err(|problem| Failure::Input(problem.to_string()))?;
    if arguments.check {
        show_messages(&settings.messages)?;
        settings.warnings.iter().for_each(|warning| messages::warning(&warning.to_string()));
        return program.say(&format!("configuration OK: {}\n", summary(&settings)));
    }
    stop::on_stop()?;
    let running =
        start_agent(settings).map_err(|error| Failure::Environment(format!("cannot start the agent: {error}")))?;
    program.say(&format!("the agent listens on {}: {}\n", running.listens(), summary(running.settings())))?;
    tell_systemd(&[NotifyState::Ready]);
    while !stop::has_stopped() && !running.has_failed() {
        thread::sleep(LOOK);
    }
    tell_systemd(&[NotifyState::Stopping]);
    running.stop();
    running.wait().map_err(|error| Failure::Environment(format!("the agent failed: {error}")))
}

/// Its server and racks, in words.
fn summary(settings: &AgentSettings) -> String {
    let (memcached, servers) = (&settings.memcached.address, settings.racks.servers.len());
    format!("memcached {memcached}, {servers} servers in {} racks", settings.racks.count())
}
