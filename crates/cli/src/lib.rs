//! The program `fanin`, as a library, so that the Python package includes the program without a second copy of the simulator.

mod advice;
mod advise;
mod arguments;
mod cache;
mod chart;
mod closed;
mod compare;
mod completions;
mod described;
mod diagnose;
mod explain;
mod failure;
mod figures;
mod kernel;
mod list;
mod load;
mod on;
mod plan;
mod planner;
mod progress;
#[cfg_attr(not(feature = "proxy"), path = "without_proxy.rs")]
mod proxy;
mod record;
mod reproduce;
mod run;
#[cfg(test)]
mod sample;
mod signal;
mod spread;
mod starter;
mod stop;
mod terminal;
#[cfg_attr(not(feature = "testbed"), path = "without_testbed.rs")]
mod testbed;
mod trace;
mod verdict;
mod watch;
mod work;

use std::ffi::OsString;
use std::io::Write;

use anstyle::{AnsiColor, Style};
use clap::Parser;

use arguments::{Arguments, Command};
use failure::Failure;
use figures::clean;

/// Runs a command line, whose first argument is the program's name, and returns its exit code. Exits the process for an invalid
/// command line, for help, and on a second Ctrl-C.
pub fn main(arguments: Vec<OsString>) -> u8 {
    work::begin(&arguments);
    let parsed = Arguments::try_parse_from(arguments);
    match parsed.map_or_else(|told| answer(&told), |arguments| run_command(arguments.command)) {
        Ok(()) => 0,
        Err(failure) => {
            if let Some(text) = failure.text() {
                let red: Style = AnsiColor::Red.on_default().bold();
                let text = text.lines().map(clean).collect::<Vec<_>>().join("\n");
                // There is nowhere to report a failure of this.
                let _ = writeln!(anstream::stderr(), "{red}error{red:#}: {text}");
            }
            failure.exit_code()
        }
    }
}

/// Prints help, the version, or an error in the command line.
fn answer(told: &clap::Error) -> Result<(), Failure> {
    if !told.use_stderr() {
        closed::check().map_err(Failure::from_stdout)?;
    }
    told.exit()
}

fn run_command(command: Command) -> Result<(), Failure> {
    match command {
        Command::Advise(arguments) => advise::advise(&arguments),
        Command::Compare(arguments) => compare::compare(&arguments),
        Command::Diagnose(arguments) => diagnose::diagnose(&arguments),
        Command::Record(arguments) => record::record(&arguments),
        Command::Run(arguments) => run::run(&arguments),
        Command::Testbed(arguments) => testbed::testbed(&arguments),
        Command::Trace(arguments) => trace::trace(&arguments),
        Command::Reproduce(arguments) => reproduce::reproduce(&arguments),
        Command::Plan(arguments) => plan::plan(&arguments),
        Command::Agent(arguments) => proxy::agent(&arguments),
        Command::Front(arguments) => proxy::front(&arguments),
        Command::Kernel(arguments) => kernel::kernel(&arguments),
        Command::Watch(arguments) => watch::watch(&arguments),
        Command::List(arguments) => list::list(&arguments),
        Command::Explain(arguments) => explain::explain(&arguments),
        Command::Cache(arguments) => cache::cache(&arguments),
        Command::New(arguments) => starter::new(&arguments),
        Command::Completions(arguments) => completions::completions(&arguments),
    }
}
