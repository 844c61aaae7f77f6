//! The executable `fanin-proxy`.

use std::io::Write as _;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use fanin_daemon::incast::Predictor;
use fanin_proxy::{AgentArguments, Failure, FrontArguments, Program, agent, front};

/// A memcached proxy that schedules multigets so that responses do not collide, and its agent. `fanin front` is the same proxy with a
/// simulator, which predicts incast.
#[derive(Parser)]
#[command(name = "fanin-proxy", version, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the proxy
    Front(FrontArguments),
    /// Run an agent beside a memcached: a hub that collects the responses of its rack
    Agent(AgentArguments),
}

/// Without a simulator.
struct Alone;

impl Program for Alone {
    fn say(&self, text: &str) -> Result<(), Failure> {
        let mut out = std::io::stdout().lock();
        out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Failure::from_stdout)
    }

    fn predictor(&self) -> Option<Box<dyn Predictor>> {
        None
    }
}

#[expect(clippy::print_stderr, reason = "errors")]
fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Front(arguments) => front(&arguments, &Alone),
        Command::Agent(arguments) => agent(&arguments, &Alone),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if failure != Failure::Unread {
                eprintln!("error: {failure}");
            }
            ExitCode::from(failure.exit_code())
        }
    }
}
