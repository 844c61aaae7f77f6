//! The memcached proxy, reloaded and stopped by signals or by another one.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use fanin_daemon::control::{self, Command, Order, Orders};
use fanin_daemon::settings::import::{self, Note};
use fanin_daemon::{ConfigText, Running, Settings, messages};
use sd_notify::NotifyState;
use signal_hook::consts::SIGHUP;

use crate::arguments::FrontArguments;
use crate::failure::Failure;
use crate::program::Program;
use crate::service::{places, read_file, show_messages, tell_systemd};
use crate::{handover, signals, stop};

/// Whether a reload was requested by a signal.
static RELOAD: AtomicBool = AtomicBool::new(false);
/// Polling interval for signals.
const LOOK: Duration = Duration::from_millis(50);
/// Why `fanin-proxy` does not predict.
const NO_SIMULATOR: &str = "this program has no simulator; `fanin front` has";
/// Attempts to reach a proxy: one that has just started accepts clients before it accepts commands.
const TRIES: u32 = 10;

/// Runs the proxy until it is stopped, or what its arguments request instead.
///
/// # Errors
/// [`Failure`].
pub fn front(arguments: &FrontArguments, program: &dyn Program) -> Result<(), Failure> {
    let say = |text: &str| program.say(&format!("{text}\n"));
    if let Some(file) = &arguments.import {
        return import(file, program);
    }
    let (settings, text) = read(arguments)?;
    if arguments.reload {
        let result = order(&settings, Command::Reload)?;
        return result.map_err(Failure::Input).and_then(|text| say(&text));
    }
    if let (Some(old), Some(name)) = (&arguments.diff, &arguments.config) {
        return say(&diff(&settings, old.as_deref(), &name.display().to_string(), &text)?);
    }
    if arguments.check {
        return say(&check(&settings, program)?);
    }
    run(arguments, &settings, text, program)
}

/// Runs the proxy until it is stopped.
fn run(
    arguments: &FrontArguments,
    settings: &Settings,
    mut text: String,
    program: &dyn Program,
) -> Result<(), Failure> {
    let say = |text: &str| program.say(&format!("{text}\n"));
    stop::on_stop()?;
    signals::on(&[SIGHUP], |_| RELOAD.store(true, Relaxed))?;
    let mut successor = handover::Successor::on_signal()?;
    let mut running = if arguments.take_over {
        handover::take_over(settings, || read(arguments).map(|(settings, _)| settings))?
    } else {
        fanin_daemon::start(settings)
            .map_err(|error| Failure::Environment(format!("cannot start the proxy: {error}")))?
    };
    predict_incast(&mut running, program);
    let mut orders = Orders::default();
    listen_for_orders(&mut orders, &running);
    say(&pools(&running))?;
    if let Some(address) = running.metrics_at() {
        say(&format!("metrics are at http://{address}/metrics"))?;
    }
    tell_systemd(&[NotifyState::Ready]);
    while !stop::has_stopped() && !running.has_failed() {
        if RELOAD.swap(false, Relaxed) && reload(arguments, &mut running, &mut text, program).is_ok() {
            listen_for_orders(&mut orders, &running);
            say(&pools(&running))?;
        }
        successor.look();
        // The sender may have given up.
        match orders.next(LOOK) {
            Some(Order::Command(Command::Reload, result)) => {
                drop(result.send(reload(arguments, &mut running, &mut text, program)));
            }
            Some(Order::Command(Command::Settings, result)) => drop(result.send(Ok(text.clone()))),
            Some(Order::HandOver(to)) => {
                if handover::hand_over(&mut running, to, &mut orders) {
                    return handover::wait_for_clients(running);
                }
            }
            Some(Order::Command(Command::Observed, result)) => {
                drop(result.send(serde_json::to_string(&running.observed()).map_err(|error| error.to_string())));
            }
            None => continue,
        }
        listen_for_orders(&mut orders, &running);
    }
    tell_systemd(&[NotifyState::Stopping]);
    running.stop();
    running.wait().map_err(|error| Failure::Environment(format!("the proxy failed: {error}")))
}

/// Begins to predict incast, if a pool wants that.
fn predict_incast(running: &mut Running, program: &dyn Program) {
    if !predicts_incast(running.settings()) {
        return;
    }
    let predicts = match program.predictor() {
        Some(predictor) => running.predict_with(predictor).map_err(|error| error.to_string()),
        None => Err(NO_SIMULATOR.into()),
    };
    if let Err(why) = predicts {
        warn_of_incast(&why);
    }
}

/// Whether a pool wants predictions.
fn predicts_incast(settings: &Settings) -> bool {
    settings.pools.iter().any(|pool| pool.incast.is_some())
}

fn warn_of_incast(why: &str) {
    messages::warning(&format!("incast is not predicted: {why}"));
}

fn listen_for_orders(orders: &mut Orders, running: &Running) {
    if let Err(error) = orders.listen(&running.listens()) {
        messages::warning(&format!("--reload and --diff cannot reach this proxy: {error}; SIGHUP reloads it"));
    }
}

/// Reads the configuration file again. If it is not valid, the settings stay, and a message says why. Returns the pools.
fn reload(
    arguments: &FrontArguments,
    running: &mut Running,
    text: &mut String,
    program: &dyn Program,
) -> Result<String, String> {
    tell_systemd(&[NotifyState::Reloading]);
    let reloaded = read(arguments).map_err(|failure| failure.to_string()).and_then(|(settings, new_text)| {
        running.reload(&settings).map_err(|error| error.to_string())?;
        predict_incast(running, program);
        *text = new_text;
        Ok(())
    });
    tell_systemd(&[NotifyState::Ready]);
    match reloaded {
        Ok(()) => Ok(pools(running)),
        Err(problem) => {
            let problem = format!("keeping the old settings: {problem}");
            messages::warning(&problem);
            Err(problem)
        }
    }
}

/// How the configuration differs from another file, or from the running proxy's.
fn diff(settings: &Settings, old: Option<&Path>, name: &str, text: &str) -> Result<String, Failure> {
    let (old_name, old_text) = match old {
        Some(old) => (old.display().to_string(), read_file(old)?),
        None => {
            let running = order(settings, Command::Settings)?.map_err(Failure::Environment)?;
            ("the running proxy".to_owned(), running)
        }
    };
    let old = ConfigText { name: &old_name, text: &old_text };
    let lines =
        fanin_daemon::diff(old, ConfigText { name, text }).map_err(|problem| Failure::Input(problem.to_string()))?;
    let before = Settings::of_file(&old_name, &old_text).map_err(|problem| Failure::Input(problem.to_string()))?;
    let refused = before.check_reload(settings).err().map(|problem| format!("a reload is refused: {problem}"));
    let lines: Vec<String> = lines.into_iter().chain(refused).collect();
    Ok(if lines.is_empty() { "no changes".to_owned() } else { lines.join("\n") })
}

/// Sends a command to the running proxy with one of these addresses.
fn order(settings: &Settings, command: Command) -> Result<Result<String, String>, Failure> {
    let addresses = settings.listens();
    for _ in 0..TRIES {
        let result = control::send(&addresses, command)
            .map_err(|error| Failure::Environment(format!("cannot control the running proxy: {error}")))?;
        match result {
            Some(result) => return Ok(result),
            None => thread::sleep(LOOK),
        }
    }
    Err(Failure::Environment(format!("no proxy is running at {}", places(settings))))
}

/// Checks the settings and the plans, and describes them.
fn check(settings: &Settings, program: &dyn Program) -> Result<String, Failure> {
    show_messages(&settings.messages)?;
    fanin_daemon::warnings(settings).iter().for_each(|warning| messages::warning(warning));
    if predicts_incast(settings) && program.predictor().is_none() {
        warn_of_incast(NO_SIMULATOR);
    }
    fanin_daemon::check_plans(settings).map_err(|problem| Failure::Input(problem.to_string()))?;
    let servers: usize = settings.pools.iter().map(|pool| pool.servers.len()).sum();
    let mut text = format!(
        "configuration OK: {}, {}, {}",
        counted(settings.pools.len(), "pool"),
        counted(servers, "server"),
        counted(settings.threads, "thread")
    );
    for (pool, plan) in settings.pools.iter().filter_map(|pool| Some((pool, pool.plan.as_ref()?))) {
        text += &format!("\n{}: the plan migrates {} keys, stage {}", pool.name, plan.moves.len(), plan.stage.word());
    }
    Ok(text)
}

/// A line per pool.
fn pools(running: &Running) -> String {
    let pools = running.settings().pools.iter().zip(running.listens());
    let lines = pools.map(|(pool, listens)| {
        format!("{} listens on {listens} for {}", pool.name, counted(pool.servers.len(), "server"))
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn counted(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

/// Prints another proxy's settings as TOML, and what has no equivalent.
fn import(file: &Path, program: &dyn Program) -> Result<(), Failure> {
    let imported = import::import(&file.display().to_string(), &read_file(file)?)
        .map_err(|problem| Failure::Input(problem.to_string()))?;
    program.say(&imported.toml)?;
    imported.notes.iter().filter(|note| !note.matters).for_each(|note| note_down(&note.to_string()));
    let matter: Vec<String> = imported.notes.iter().filter(|note| note.matters).map(Note::to_string).collect();
    if matter.is_empty() { Ok(()) } else { Err(Failure::Input(matter.join("\nerror: "))) }
}

#[expect(clippy::print_stderr, reason = "standard output is the configuration")]
fn note_down(text: &str) {
    eprintln!("note: {text}");
}

/// Settings of the configuration file or of the arguments, and the text of the file.
fn read(arguments: &FrontArguments) -> Result<(Settings, String), Failure> {
    let wrong = |problem: fanin_daemon::Problem| Failure::Input(problem.to_string());
    let (mut settings, text) = match (&arguments.config, &arguments.listen) {
        (Some(file), _) => {
            let text = read_file(file)?;
            (Settings::of_file(&file.display().to_string(), &text).map_err(wrong)?, text)
        }
        (None, listen) => {
            let listen = listen.as_deref().unwrap_or_default();
            let settings = Settings::of_servers(listen, &arguments.servers).map_err(wrong)?;
            let text = format!("[[pool]]\nname = \"front\"\nlisten = {listen:?}\nservers = {:?}\n", arguments.servers);
            (settings, text)
        }
    };
    if let Some(log) = &arguments.log {
        settings.log_to(log).map_err(wrong)?;
    }
    settings.threads = arguments.threads.map_or(settings.threads, usize::from);
    Ok((settings, text))
}

/// Settings of the configuration file or of the arguments.
///
/// # Errors
/// The file cannot be read, or a setting is wrong.
pub fn settings_of(arguments: &FrontArguments) -> Result<Settings, Failure> {
    read(arguments).map(|(settings, _)| settings)
}

/// Settings of a configuration file.
///
/// # Errors
/// The file cannot be read, or a setting is wrong.
pub fn settings_of_file(file: &Path) -> Result<Settings, Failure> {
    let text = read_file(file)?;
    Settings::of_file(&file.display().to_string(), &text).map_err(|problem| Failure::Input(problem.to_string()))
}
