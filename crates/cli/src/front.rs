//! `fanin front`: a memcached proxy, stopped by a signal.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use fanin::front::{Note, Running, Settings};
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::arguments::FrontArguments;
use crate::failure::Failure;
use crate::{stop, terminal};

/// Whether a reload was requested.
static RELOAD: AtomicBool = AtomicBool::new(false);
/// Polling interval for signals.
const LOOK: Duration = Duration::from_millis(50);

pub fn front(arguments: &FrontArguments) -> Result<(), Failure> {
    if let Some(file) = &arguments.import {
        return import(file);
    }
    let settings = all_settings(arguments)?;
    if arguments.check {
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
    stop::on_hangup(|| RELOAD.store(true, Relaxed))?;
    let mut running = fanin::front::start(&settings)
        .map_err(|error| Failure::Environment(format!("cannot start the proxy: {error}")))?;
    say_pools(&running)?;
    if let Some(address) = running.metrics_at() {
        say(&format!("metrics are at http://{address}/metrics"))?;
    }
    while !stop::STOP.load(Relaxed) && !running.has_failed() {
        if RELOAD.swap(false, Relaxed) {
            reload(arguments, &mut running)?;
        }
        thread::sleep(LOOK);
    }
    running.stop();
    running.wait().map_err(|error| Failure::Environment(format!("the proxy failed: {error}")))
}

/// Settings of the configuration file or of the arguments.
fn all_settings(arguments: &FrontArguments) -> Result<Settings, Failure> {
    let mut settings = match (&arguments.config, &arguments.listen) {
        (Some(file), _) => self::settings(file)?,
        (None, listen) => Settings::of_servers(listen.as_deref().unwrap_or_default(), &arguments.servers)
            .map_err(|problem| Failure::Input(problem.to_string()))?,
    };
    if let Some(log) = &arguments.log {
        settings.log_to(log).map_err(|problem| Failure::Input(problem.to_string()))?;
    }
    settings.threads = arguments.threads.map_or(settings.threads, usize::from);
    Ok(settings)
}

/// Reads the configuration file again. If it is not valid, the settings stay, and a message says why.
fn reload(arguments: &FrontArguments, running: &mut Running) -> Result<(), Failure> {
    let reloaded = all_settings(arguments)
        .map_err(|failure| failure.text().unwrap_or_default().to_owned())
        .and_then(|settings| running.reload(&settings).map_err(|error| error.to_string()));
    match reloaded {
        Ok(()) => say_pools(running),
        Err(problem) => {
            warn(&format!("keeping the old settings: {problem}"));
            Ok(())
        }
    }
}

fn say_pools(running: &Running) -> Result<(), Failure> {
    for (pool, listens) in running.settings().pools.iter().zip(running.listens()) {
        say(&format!("{} listens on {listens} for {}", pool.name, counted(pool.servers.len(), "server")))?;
    }
    Ok(())
}

fn counted(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

/// Prints another proxy's settings as TOML, and what has no equivalent.
fn import(file: &Path) -> Result<(), Failure> {
    let imported = fanin::front::import(&file.display().to_string(), &read(file)?)
        .map_err(|problem| Failure::Input(problem.to_string()))?;
    terminal::say(&imported.toml)?;
    imported.notes.iter().filter(|note| !note.matters).for_each(|note| warn_of("note", &note.to_string()));
    let matter: Vec<String> = imported.notes.iter().filter(|note| note.matters).map(Note::to_string).collect();
    if matter.is_empty() { Ok(()) } else { Err(Failure::Input(matter.join("\nerror: "))) }
}

fn read(file: &Path) -> Result<String, Failure> {
    fs::read_to_string(file).map_err(|error| Failure::Input(format!("{}: cannot read: {error}", file.display())))
}

/// Reads a configuration file.
pub fn settings(file: &Path) -> Result<Settings, Failure> {
    let text = read(file)?;
    Settings::of_file(&file.display().to_string(), &text).map_err(|problem| Failure::Input(problem.to_string()))
}

fn warn(text: &str) {
    warn_of("warning", text);
}

#[expect(clippy::print_stderr, reason = "messages for operators")]
fn warn_of(kind: &str, text: &str) {
    eprintln!("{kind}: {text}");
}

fn say(text: &str) -> Result<(), Failure> {
    terminal::say(&format!("{text}\n"))
}
