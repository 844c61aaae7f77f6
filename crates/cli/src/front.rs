//! `fanin front`: a memcached proxy, stopped by a signal.

use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

use fanin::front::Settings;
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::arguments::FrontArguments;
use crate::failure::Failure;
use crate::{stop, terminal};

/// Polling interval for signals.
const LOOK: Duration = Duration::from_millis(50);

pub fn front(arguments: &FrontArguments) -> Result<(), Failure> {
    let mut settings = match (&arguments.config, &arguments.listen) {
        (Some(file), _) => self::settings(file)?,
        (None, listen) => Settings::of_servers(listen.as_deref().unwrap_or_default(), &arguments.servers)
            .map_err(|problem| Failure::Input(problem.to_string()))?,
    };
    if let Some(log) = &arguments.log {
        settings.log_to(log).map_err(|problem| Failure::Input(problem.to_string()))?;
    }
    settings.threads = arguments.threads.map_or(settings.threads, usize::from);
    if arguments.check {
        settings.warnings.iter().for_each(|warning| warn(&warning.to_string()));
        settings.check_plans().map_err(|problem| Failure::Input(problem.to_string()))?;
        let servers: usize = settings.pools.iter().map(|pool| pool.servers.len()).sum();
        let mut text = format!(
            "configuration OK: {}, {}, {}",
            counted(settings.pools.len(), "pool"),
            counted(servers, "server"),
            counted(settings.threads, "thread")
        );
        for (pool, plan) in settings.pools.iter().filter_map(|pool| Some((pool, pool.plan.as_ref()?))) {
            text +=
                &format!("\n{}: the plan migrates {} keys, stage {}", pool.name, plan.moves.len(), plan.stage.word());
        }
        return say(&text);
    }
    stop::listen_to(&[SIGINT, SIGTERM])?;
    stop::on_hangup(|| warn("ignoring SIGHUP: settings are read only at startup, plans when their files change"))?;
    let running = fanin::front::start(&settings)
        .map_err(|error| Failure::Environment(format!("cannot start the proxy: {error}")))?;
    for (pool, listens) in settings.pools.iter().zip(&running.listens) {
        say(&format!("{} listens on {listens} for {}", pool.name, counted(pool.servers.len(), "server")))?;
    }
    while !stop::STOP.load(Relaxed) && !running.has_failed() {
        thread::sleep(LOOK);
    }
    running.stop();
    running.wait().map_err(|error| Failure::Environment(format!("the proxy failed: {error}")))
}

fn counted(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

/// Reads a configuration file.
pub fn settings(file: &Path) -> Result<Settings, Failure> {
    let text = fs::read_to_string(file)
        .map_err(|error| Failure::Input(format!("{}: cannot read: {error}", file.display())))?;
    Settings::of_file(&file.display().to_string(), &text).map_err(|problem| Failure::Input(problem.to_string()))
}

#[expect(clippy::print_stderr, reason = "messages for the sender of the signal")]
fn warn(text: &str) {
    eprintln!("warning: {text}");
}

fn say(text: &str) -> Result<(), Failure> {
    terminal::say(&format!("{text}\n"))
}
