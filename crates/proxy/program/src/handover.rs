//! Hand-over of a running proxy to a new process: by `--take-over`, or by SIGUSR2, which makes the running one start its successor.

use std::io::ErrorKind;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use fanin_daemon::control::Orders;
use fanin_daemon::{Predecessor, Running, Settings, messages};
use sd_notify::NotifyState;
use signal_hook::consts::SIGUSR2;

use crate::failure::Failure;
use crate::service::{places, tell_systemd};
use crate::{signals, stop};

/// Whether a successor was requested by a signal.
static SUCCESSOR: AtomicBool = AtomicBool::new(false);
/// Time between two attempts to take over.
const RETRY: Duration = Duration::from_millis(250);
/// Polling interval for the end of the threads.
const LOOK: Duration = Duration::from_millis(10);

/// Starts the proxy in place of the running one, as soon as that can hand over. `read` reads the settings again when the running one has
/// paused its plans.
pub fn take_over(settings: &Settings, read: impl Fn() -> Result<Settings, Failure>) -> Result<Running, Failure> {
    let failed = |error| Failure::Environment(format!("cannot take over from the running proxy: {error}"));
    messages::install(&settings.messages).map_err(failed)?;
    let mut waits_for = String::new();
    loop {
        match try_take_over(settings, &read)? {
            Ok(running) => return Ok(running),
            Err(error) if error.kind() == ErrorKind::ResourceBusy && !stop::has_stopped() => {
                let why = error.to_string();
                if why != waits_for {
                    messages::tell(&format!("waiting to take over: {why}"));
                    waits_for = why;
                }
                std::thread::sleep(RETRY);
            }
            Err(error) => return Err(failed(error)),
        }
    }
}

fn try_take_over(
    settings: &Settings,
    read: impl Fn() -> Result<Settings, Failure>,
) -> Result<std::io::Result<Running>, Failure> {
    let predecessor = match Predecessor::find(&settings.listens()) {
        Ok(Some(predecessor)) => predecessor,
        Ok(None) => {
            let places = places(settings);
            return Err(Failure::Input(format!("no proxy is running at {places}; start this one without --take-over")));
        }
        Err(error) => return Ok(Err(error)),
    };
    if let Err(error) = predecessor.pause(settings) {
        return Ok(Err(error));
    }
    Ok(predecessor.start(&read()?))
}

/// Hands over to the process at the other end; returns whether it has taken over.
pub fn hand_over(running: &mut Running, to: UnixStream, orders: &mut Orders) -> bool {
    let release = |process: i32| {
        orders.close();
        messages::tell(&format!("process {process} takes over"));
        // systemd follows the new process from here on, and accepts its messages.
        tell_systemd(&[NotifyState::MainPid(process.unsigned_abs())]);
    };
    let handed_over = running.hand_over(to, release);
    // The other process says for what it waits.
    if let Err(error) = &handed_over
        && error.kind() != ErrorKind::ResourceBusy
    {
        messages::warning(&format!("no hand-over, this proxy goes on: {error}"));
    }
    handed_over.is_ok()
}

/// Waits until the successor has all clients, or the time for that is over.
pub fn wait_for_clients(running: Running) -> Result<(), Failure> {
    while !running.is_over() {
        if stop::has_stopped() {
            running.stop();
            break;
        }
        std::thread::sleep(LOOK);
    }
    running.wait().map_err(|error| Failure::Environment(format!("the proxy failed: {error}")))
}

/// A new process of the same command line, which takes over.
#[derive(Debug)]
pub struct Successor(Option<Child>);

impl Successor {
    /// Starts one on SIGUSR2.
    pub fn on_signal() -> Result<Successor, Failure> {
        signals::on(&[SIGUSR2], |_| SUCCESSOR.store(true, Relaxed))?;
        Ok(Successor(None))
    }

    /// Starts the process if that was requested, and reports its failure.
    pub fn look(&mut self) {
        if let Some(ended) = self.0.as_mut().and_then(|child| child.try_wait().ok().flatten()) {
            self.0 = None;
            messages::warning(&format!("the new process has not taken over: {ended}"));
        }
        if !SUCCESSOR.swap(false, Relaxed) || self.0.is_some() {
            return;
        }
        match start() {
            Ok(child) => self.0 = Some(child),
            Err(error) => messages::warning(&format!("cannot start a new process: {error}")),
        }
    }
}

fn start() -> std::io::Result<Child> {
    const OPTION: &str = "--take-over";
    let mut words: Vec<_> = std::env::args_os().collect();
    if !words.iter().any(|word| word == OPTION) {
        words.push(OPTION.into());
    }
    let Some((program, arguments)) = words.split_first() else { return Err(std::io::ErrorKind::NotFound.into()) };
    Command::new(program).args(arguments).spawn()
}
