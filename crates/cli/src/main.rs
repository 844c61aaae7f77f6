//! `fanin`: predicts, compares and fixes incast.

mod advise;
mod arguments;
mod cache;
mod chart;
mod closed;
mod compare;
mod completions;
mod diagnose;
mod explain;
mod failure;
mod figures;
mod front;
mod list;
mod load;
mod on;
mod plan;
mod progress;
mod reproduce;
mod run;
#[cfg(test)]
mod sample;
mod spread;
mod starter;
mod stop;
mod terminal;
mod trace;
mod verdict;
mod work;

use std::io::Write;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use clap::Parser;

use arguments::{Arguments, Command};
use failure::Failure;
use figures::clean;

fn main() -> ExitCode {
    let done = Arguments::try_parse().map_or_else(|told| answer(&told), |arguments| run_command(arguments.command));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if let Some(text) = failure.text() {
                let red: Style = AnsiColor::Red.on_default().bold();
                let text = text.lines().map(clean).collect::<Vec<_>>().join("\n");
                // Nobody is left to be told where this fails.
                let _ = writeln!(anstream::stderr(), "{red}error{red:#}: {text}");
            }
            failure.exit_code()
        }
    }
}

/// What the command line itself is answered by: help and versions, or what is wrong with it.
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
        Command::Record(arguments) => diagnose::record(&arguments),
        Command::Run(arguments) => run::run(&arguments),
        Command::Trace(arguments) => trace::trace(&arguments),
        Command::Reproduce(arguments) => reproduce::reproduce(&arguments),
        Command::Plan(arguments) => plan::plan(&arguments),
        Command::Front(arguments) => front::front(&arguments),
        Command::List(arguments) => list::list(&arguments),
        Command::Explain(arguments) => explain::explain(&arguments),
        Command::Cache(arguments) => cache::cache(&arguments),
        Command::New(arguments) => starter::new(&arguments),
        Command::Completions(arguments) => completions::completions(&arguments),
    }
}
